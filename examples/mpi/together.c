/* All ranks write one file together, with a bound: docs/guide/mpi.md has the commands. */
#include <mpi.h>
#include <stdio.h>
#include "sleek_hdf5.h"

int main(int argc, char **argv)
{
    enum { ROWS = 100, COLUMNS = 500 }; /* of each rank */
    static float t[ROWS][COLUMNS];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) t[y][x] = 280 + 0.02f * (rank * ROWS + y) * (x % 50);

    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE); /* without it HDF5 refuses to write */
    hsize_t all[2] = {ranks * ROWS, COLUMNS}, chunk[2] = {50, COLUMNS}, start[2] = {rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    H5Pset_chunk(creation, 2, chunk);
    H5Pset_sleek_abs(creation, 1e-3);

    hid_t file = H5Fcreate("t.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(2, all, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t dset = H5Dcreate2(file, "t", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL); /* H5Sselect_none for a rank that has nothing */
    herr_t written = H5Dwrite(dset, H5T_NATIVE_FLOAT, memory, space, transfer, t);
    herr_t closed = H5Dclose(dset) | H5Fclose(file);
    if (rank == 0) puts(written < 0 || closed < 0 ? "not written" : "written");
    MPI_Finalize();
    return written < 0 || closed < 0;
}
