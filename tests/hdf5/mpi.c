/* Two or more ranks write one dataset collectively, then each reads all of it.
 *     mpi FILE ROWS        ROWS is the height of a chunk: 100 is one for each rank, 150 is shared between ranks */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <mpi.h>
#include "sleek_hdf5.h"

enum { ROWS = 100, COLUMNS = 200 };
static const double BOUND = 1e-3;

static float value(hsize_t row, hsize_t column) { return (float)(280 + 10 * sin(0.03 * (double)row + 0.05 * (double)column)); }

#define CHECK(call) do { if ((call) < 0) { fprintf(stderr, "line %d: %s\n", __LINE__, #call); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

int main(int argc, char **argv)
{
    int rank, ranks, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
    const hsize_t dims[2] = {(hsize_t)ranks * ROWS, COLUMNS}, chunk[2] = {(hsize_t)atoi(argv[2]), COLUMNS};
    const hsize_t start[2] = {(hsize_t)rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    const size_t all = dims[0] * dims[1];
    float *field = malloc(all * sizeof *field);
    if (field == NULL) MPI_Abort(MPI_COMM_WORLD, 3);

    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dxpl = H5Pcreate(H5P_DATASET_XFER), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL));
    CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE));
    CHECK(H5Pset_chunk(dcpl, 2, chunk));
    CHECK(H5Pset_sleek_abs(dcpl, BOUND));
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t space = H5Screate_simple(2, dims, NULL), part = H5Screate_simple(2, count, NULL);
    CHECK(file);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    hid_t dset = H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset);
    for (hsize_t i = 0; i < ROWS * COLUMNS; i++) field[i] = value(start[0] + i / COLUMNS, i % COLUMNS);
    CHECK(H5Dwrite(dset, H5T_NATIVE_FLOAT, part, space, dxpl, field));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));

    file = H5Fopen(argv[1], H5F_ACC_RDONLY, fapl);
    CHECK(file);
    dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, dxpl, field));
    if (H5Dget_storage_size(dset) >= all * sizeof *field / 2) status = 4;
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    for (size_t i = 0; i < all; i++)
        if (!(fabs((double)field[i] - value(i / COLUMNS, i % COLUMNS)) <= BOUND)) status = 5;
    free(field);
    printf("rank %d of %d: %s\n", rank, ranks, status == 0 ? "kept" : "BROKEN");
    MPI_Finalize();
    return status;
}
