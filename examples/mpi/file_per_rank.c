/* Each rank writes a file of its own, and a virtual dataset shows all of them as one.
 *
 *     h5pcc -shlib -Iinclude examples/mpi/file_per_rank.c -o file_per_rank -L<directory of libsleek.so> -lsleek -lm
 *     export HDF5_PLUGIN_PATH=<directory of the plugin>
 *     mpirun -n 4 ./file_per_rank
 *
 * No rank waits for another, and finished chunks go straight to the file (H5Dwrite_chunk), which HDF5 cannot do in a file that
 * ranks share. Readers open snapshot.h5 and need not know. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "sleek.h"
#include "sleek_hdf5.h"

enum { ROWS = 300, COLUMNS = 500, CHUNK_ROWS = 100 }; /* rows of each rank, and of a chunk, of which a rank has several */
static const double BOUND = 1e-3;
static int rank, ranks;
static float field[ROWS][COLUMNS], back[ROWS][COLUMNS];

#define CHECK(call) ((call) < 0 ? stop(#call, "see HDF5's messages") : (void)0)

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "rank %d: %s failed: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static float value(int row, int column) { return (float)(280 + 10 * sin(0.02 * row) * cos(0.03 * column)); }

/* This rank's rows. H5Dwrite_sleek compresses them, from GPU memory too, and hands HDF5 finished chunks. */
static void write_own_file(const char *path)
{
    const hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {CHUNK_ROWS, COLUMNS};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(file);
    CHECK(H5Pset_chunk(creation, 2, chunk));
    CHECK(H5Pset_sleek_abs(creation, BOUND));
    hid_t dset = H5Dcreate2(file, "t", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    sleek_h5d_info info;
    info.struct_size = sizeof info;
    if (H5Dwrite_sleek(dset, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, NULL, &info) != SLEEK_OK)
        stop("H5Dwrite_sleek", sleek_last_error());
    if (info.route == SLEEK_H5D_ORDINARY) stop("writing chunks directly", info.reason);
    if (rank == 0) printf("rank 0 wrote %d chunks, ratio %.1f\n", (int)info.chunks, (double)info.raw_bytes / (double)info.stored_bytes);
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Sclose(space));
    CHECK(H5Fclose(file));
}

/* One dataset over the files of all ranks. They are named relative to it, so that the folder can be moved. */
static void write_index(const char *path)
{
    const hsize_t all[2] = {(hsize_t)ranks * ROWS, COLUMNS}, part[2] = {ROWS, COLUMNS};
    const float missing = NAN; /* what a reader gets for a rank whose file is lost: HDF5 says nothing */
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, all, NULL), source = H5Screate_simple(2, part, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(file);
    CHECK(H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &missing));
    for (int r = 0; r < ranks; r++) {
        const hsize_t start[2] = {(hsize_t)r * ROWS, 0};
        char name[64];
        snprintf(name, sizeof name, "snapshot.%04d.h5", r);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL));
        CHECK(H5Pset_virtual(creation, space, name, "t", source));
    }
    hid_t dset = H5Dcreate2(file, "t", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(source));
    CHECK(H5Fclose(file));
}

/* The rows that another rank has written, through the one dataset. */
static double error_of(const char *path, int other)
{
    const hsize_t start[2] = {(hsize_t)other * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    double worst = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(dset);
    hid_t space = H5Dget_space(dset), memory = H5Screate_simple(2, count, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    CHECK(H5Dread(dset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, back));
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) {
            const double error = fabs((double)back[y][x] - value(other * ROWS + y, x));
            if (error > worst || isnan(error)) worst = error;
        }
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    return worst;
}

int main(int argc, char **argv)
{
    char path[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) field[y][x] = value(rank * ROWS + y, x);

    snprintf(path, sizeof path, "snapshot.%04d.h5", rank);
    write_own_file(path);
    if (rank == 0) write_index("snapshot.h5");
    MPI_Barrier(MPI_COMM_WORLD);

    const int other = (rank + 1) % ranks;
    const double worst = error_of("snapshot.h5", other);
    printf("rank %d read what rank %d wrote: largest error %.3g, bound %g: %s\n", rank, other, worst, BOUND,
           worst <= BOUND ? "kept" : "BROKEN");
    MPI_Finalize();
    return worst <= BOUND ? 0 : 1;
}
