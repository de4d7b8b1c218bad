/* Heat in a cube, with checkpoints that are written in parallel and compressed with an error bound.
 *
 *     h5pcc -shlib -Iinclude examples/mpi/heat.c -o heat -lm
 *     export HDF5_PLUGIN_PATH=<directory of libsleek.so>
 *     mpirun -n 4 ./heat              200 steps, with a checkpoint after half of them
 *     mpirun -n 2 ./heat restart      the second half once more, from the checkpoint, with any number of ranks
 *
 * The first run says what the bound did to the checkpoint; the second one, what that became by the end. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sleek_hdf5.h"

enum { N = 64, STEPS = 200 };              /* points in each direction; steps */
static const double BOUND = 1e-3;          /* of a temperature in a checkpoint, in kelvin */
static const double DIFFUSION = 0.15;      /* kappa dt / dx^2: below 1/6 the scheme is stable */
static const hsize_t CHUNK[3] = {8, N, N}; /* a few whole planes, so that most chunks belong to one rank */

static int rank, ranks;
static int first, planes; /* this rank computes the planes first ... first + planes - 1 */

/* Planes 1 ... planes are this rank's own, 0 and planes + 1 copies of its neighbours' or the walls. */
typedef double plane[N][N];

#define CHECK(call) ((call) < 0 ? stop(#call) : (void)0)

static void stop(const char *what)
{
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int first_of(int r) { return N * r / ranks; }

static plane *field(void)
{
    plane *u = calloc((size_t)planes + 2, sizeof *u);
    if (u == NULL) stop("calloc");
    return u;
}

/* A ball of 900 K in a cube of 300 K, whose walls keep what they have. */
static void begin(plane *u)
{
    for (int k = 0; k < planes + 2; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                const double z = first + k - 1 - 0.4 * N, y = j - 0.5 * N, x = i - 0.6 * N;
                u[k][j][i] = x * x + y * y + z * z < N * N / 16.0 ? 900 : 300 + 0.5 * j;
            }
}

/* Copies of the planes on either side, from the neighbours. */
static void exchange(plane *u)
{
    const int below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(u[1], N * N, MPI_DOUBLE, below, 0, u[planes + 1], N * N, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u[planes], N * N, MPI_DOUBLE, above, 1, u[0], N * N, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void step(plane *u, plane *next)
{
    exchange(u);
    for (int k = 1; k <= planes; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                const int z = first + k - 1, wall = z % (N - 1) == 0 || j % (N - 1) == 0 || i % (N - 1) == 0;
                next[k][j][i] = u[k][j][i];
                if (!wall)
                    next[k][j][i] += DIFFUSION * (u[k - 1][j][i] + u[k + 1][j][i] + u[k][j - 1][i] + u[k][j + 1][i]
                                                  + u[k][j][i - 1] + u[k][j][i + 1] - 6 * u[k][j][i]);
            }
}

/* The file's and the memory's part of this rank: its own planes, without the copies. */
static void own_planes(hid_t *file_space, hid_t *memory_space)
{
    const hsize_t all[3] = {N, N, N}, held[3] = {(hsize_t)planes + 2, N, N}, count[3] = {(hsize_t)planes, N, N};
    const hsize_t in_file[3] = {(hsize_t)first, 0, 0}, in_memory[3] = {1, 0, 0};
    *file_space = H5Screate_simple(3, all, NULL);
    *memory_space = H5Screate_simple(3, held, NULL);
    CHECK(H5Sselect_hyperslab(*file_space, H5S_SELECT_SET, in_file, NULL, count, NULL));
    CHECK(H5Sselect_hyperslab(*memory_space, H5S_SELECT_SET, in_memory, NULL, count, NULL));
}

static hid_t open_file(const char *path, int create)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
    CHECK(file);
    CHECK(H5Pclose(access));
    return file;
}

/* HDF5 writes compressed datasets by calls in which every rank takes part. */
static hid_t collective(void)
{
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    return transfer;
}

/* Writes the field: with a bound, or losslessly if that is 0. Under its name it appears when it is complete. */
static void save(const char *path, plane *u, int steps, double bound)
{
    char unfinished[256];
    snprintf(unfinished, sizeof unfinished, "%s.part", path);
    hid_t file = open_file(unfinished, 1), transfer = collective(), space, memory;
    own_planes(&space, &memory);

    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(creation, 3, CHUNK));
    CHECK(bound > 0 ? H5Pset_sleek_abs(creation, bound) : H5Pset_sleek_lossless(creation));
    hid_t dset = H5Dcreate2(file, "temperature", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dwrite(dset, H5T_NATIVE_DOUBLE, memory, space, transfer, u));

    hid_t scalar = H5Screate(H5S_SCALAR), attribute = H5Acreate2(dset, "steps", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(attribute);
    CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &steps));
    CHECK(H5Aclose(attribute));
    CHECK(H5Sclose(scalar));
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Pclose(transfer));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
    CHECK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(rename(unfinished, path));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Reads this rank's planes of a field, whatever the number of ranks that wrote it; `ratio` may be NULL. */
static int load(const char *path, plane *u, double *ratio)
{
    int steps;
    hid_t file = open_file(path, 0), transfer = collective(), space, memory;
    own_planes(&space, &memory);
    hid_t dset = H5Dopen2(file, "temperature", H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dread(dset, H5T_NATIVE_DOUBLE, memory, space, transfer, u));
    if (ratio != NULL) *ratio = (double)N * N * N * sizeof(double) / (double)H5Dget_storage_size(dset);
    hid_t attribute = H5Aopen(dset, "steps", H5P_DEFAULT);
    CHECK(attribute);
    CHECK(H5Aread(attribute, H5T_NATIVE_INT, &steps));
    CHECK(H5Aclose(attribute));
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(transfer));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
    CHECK(H5Fclose(file));
    return steps;
}

/* The largest difference of two fields, over all ranks. */
static double difference(plane *a, plane *b)
{
    double own = 0, all;
    for (int k = 1; k <= planes; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) own = fmax(own, fabs(a[k][j][i] - b[k][j][i]));
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Says how far a field is from what it should be; 1 if farther than the bound. */
static int judge(const char *what, double ratio, double error)
{
    if (rank == 0)
        printf("%s: ratio %.1f, largest error %.3g K, bound %g K: %s\n", what, ratio, error, BOUND, error <= BOUND ? "kept" : "BROKEN");
    return error <= BOUND ? 0 : 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    first = first_of(rank);
    planes = first_of(rank + 1) - first;
    plane *u = field(), *next = field(), *saved = field();

    int broken = 0, steps = 0;
    double ratio;
    const int restart = argc > 1 && strcmp(argv[1], "restart") == 0;
    if (restart) {
        steps = load("heat_checkpoint.h5", u, &ratio);
        if (rank == 0) printf("restart after %d steps, on %d ranks\n", steps, ranks);
    } else {
        begin(u);
    }
    while (steps < STEPS) {
        step(u, next);
        plane *last = u;
        u = next;
        next = last;
        steps++;
        if (!restart && steps == STEPS / 2) {
            save("heat_checkpoint.h5", u, steps, BOUND);
            load("heat_checkpoint.h5", saved, &ratio);
            broken += judge("checkpoint", ratio, difference(u, saved));
        }
    }
    if (restart) {
        /* A step takes means, so what the checkpoint's errors have become cannot be larger. */
        load("heat_end.h5", saved, NULL);
        broken += judge("end after the restart", ratio, difference(u, saved));
    } else {
        save("heat_end.h5", u, steps, 0);
    }
    free(u);
    free(next);
    free(saved);
    MPI_Finalize();
    return broken;
}
