/* The ways to write a checkpoint that the table compares. */
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sleek.h"
#include "sleek_hdf5.h"
#include "checkpoint.h"

const way WAYS[] = {
    {"none", EACH, .request = NULL},
    {"none-together", TOGETHER, .request = NULL},
    {"gzip", TOGETHER, .gzip = 1},
    {"fast", TOGETHER, .request = ",profile=fast"},
    {"adaptive", TOGETHER, .request = ""},
    {"small", TOGETHER, .request = ",profile=small"},
    {"direct", DIRECT, .request = ""},
    {"direct-small", DIRECT, .request = ",profile=small"},
    {"multi", DIRECT, .request = "", .one_by_one = 1},
    {"multi-small", DIRECT, .request = ",profile=small", .one_by_one = 1},
    {"none-files", OWN_FILE, .request = NULL},
    {"files", OWN_FILE, .request = ""},
    {"files-small", OWN_FILE, .request = ",profile=small"},
#ifdef WITH_FORTRAN
    {"fortran", FORTRAN, .request = ""},
#endif
};
const int WAYS_COUNT = sizeof WAYS / sizeof *WAYS;

static const char *const NAME = "temperature";
enum { CHUNK_PLANES = 32, CHUNK_ROWS = 64 }; /* and whole rows: 4 MiB of rows of 512 */

#define CHECK(call) ((call) < 0 ? stop(#call, "see HDF5's messages") : (void)0)

static void stop(const char *what, const char *why)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %s failed: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void own_path(char *own, size_t size, const char *path, int rank) { snprintf(own, size, "%s.%04d", path, rank); }

static hid_t creation_of(const way *w, const hsize_t dims[3], double bound)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[3] = {CHUNK_PLANES, CHUNK_ROWS, dims[2]};
    for (int d = 0; d < 3; d++) chunk[d] = chunk[d] < dims[d] ? chunk[d] : dims[d];
    if (w->gzip || w->request != NULL) CHECK(H5Pset_chunk(creation, 3, chunk));
    if (w->gzip) {
        CHECK(H5Pset_shuffle(creation));
        CHECK(H5Pset_deflate(creation, w->gzip));
    }
    if (w->request != NULL) {
        char request[64];
        snprintf(request, sizeof request, "abs=%.17g%s", bound, w->request);
        CHECK(H5Pset_sleek(creation, request));
    }
    return creation;
}

static void write_step(hid_t dset, int step)
{
    hid_t scalar = H5Screate(H5S_SCALAR), attribute = H5Acreate2(dset, "step", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(attribute);
    CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &step));
    CHECK(H5Aclose(attribute));
    CHECK(H5Sclose(scalar));
}

/* Into one dataset of one file. */
static void write_shared(const way *w, const char *path, const float *own, slab s, int step, double bound, sleek_h5d_info *info)
{
    const hsize_t all[3] = {(hsize_t)s.nz, (hsize_t)s.ny, (hsize_t)s.nx}, start[3] = {(hsize_t)s.first, 0, 0};
    const hsize_t count[3] = {(hsize_t)s.planes, all[1], all[2]};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    CHECK(H5Pset_dxpl_mpio(transfer, w->manner == EACH ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE));

    if (w->one_by_one) CHECK(H5Pset_dxpl_mpio_chunk_opt(transfer, H5FD_MPIO_CHUNK_MULTI_IO));

    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), space = H5Screate_simple(3, all, NULL);
    CHECK(file);
    hid_t creation = creation_of(w, all, bound);
    hid_t dset = H5Dcreate2(file, NAME, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    if (w->manner == DIRECT) {
        if (H5Dwrite_sleek(dset, H5T_NATIVE_FLOAT, start, count, transfer, own, NULL, info) != SLEEK_OK)
            stop("H5Dwrite_sleek", sleek_last_error());
#ifdef WITH_FORTRAN
    } else if (w->manner == FORTRAN) {
        void checkpoint_fortran(hid_t dset, const float *own, int nx, int ny, int first, int planes, hid_t transfer, int *error);
        int error;
        checkpoint_fortran(dset, own, s.nx, s.ny, s.first, s.planes, transfer, &error);
        if (error != 0) stop("checkpoint_fortran", sleek_last_error());
#endif
    } else {
        hid_t memory = H5Screate_simple(3, count, NULL);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        CHECK(H5Dwrite(dset, H5T_NATIVE_FLOAT, memory, space, transfer, own));
        CHECK(H5Sclose(memory));
    }
    write_step(dset, step);
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Pclose(transfer));
    CHECK(H5Pclose(access));
    CHECK(H5Sclose(space));
    CHECK(H5Fclose(file));
}

/* Into a file of this rank alone. */
static void write_own(const way *w, const char *path, const float *own, slab s, int step, double bound, sleek_h5d_info *info)
{
    const hsize_t dims[3] = {(hsize_t)s.planes, (hsize_t)s.ny, (hsize_t)s.nx};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(3, dims, NULL);
    CHECK(file);
    hid_t creation = creation_of(w, dims, bound);
    hid_t dset = H5Dcreate2(file, NAME, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    if (H5Dwrite_sleek(dset, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, own, NULL, info) != SLEEK_OK)
        stop("H5Dwrite_sleek", sleek_last_error());
    write_step(dset, step);
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Sclose(space));
    CHECK(H5Fclose(file));
}

/* The dataset over the files of all ranks; they are named relative to it. */
static void write_index(const char *path, slab s, int step, const int *planes, int ranks)
{
    const hsize_t all[3] = {(hsize_t)s.nz, (hsize_t)s.ny, (hsize_t)s.nx};
    const float missing = NAN;
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(3, all, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(file);
    CHECK(H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &missing));
    hsize_t start[3] = {0, 0, 0};
    for (int r = 0; r < ranks; start[0] += planes[r], r++) {
        if (planes[r] == 0) continue;
        const hsize_t part[3] = {(hsize_t)planes[r], all[1], all[2]};
        char name[300];
        own_path(name, sizeof name, base, r);
        hid_t source = H5Screate_simple(3, part, NULL);
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL));
        CHECK(H5Pset_virtual(creation, space, name, NAME, source));
        CHECK(H5Sclose(source));
    }
    hid_t dset = H5Dcreate2(file, NAME, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(dset);
    write_step(dset, step);
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(creation));
    CHECK(H5Sclose(space));
    CHECK(H5Fclose(file));
}

/* A line of /proc/self/status in bytes; 0 where there is none. */
static double memory_of(const char *key)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) kib = atof(line + strlen(key));
    if (f != NULL) fclose(f);
    return 1024 * kib;
}

/* Makes the highest use of memory that of now, less what the heap keeps of what was freed. */
static void forget_peak(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f == NULL) return;
    fputs("5", f);
    fclose(f);
}

/* Waits until the file is on the disk, and tells its bytes. */
static double settled(const char *path)
{
    const int fd = open(path, O_RDWR);
    if (fd < 0 || fsync(fd) != 0) stop("fsync", path);
    const double bytes = (double)lseek(fd, 0, SEEK_END);
    close(fd);
    return bytes;
}

written checkpoint_write(const way *w, const char *path, const float *u, slab s, int step, double bound)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const size_t values = s.planes * plane_of(s);
    const int by_sleek = w->request != NULL && w->manner != EACH && w->manner != TOGETHER;
    const int copied = field_on_gpu() && !by_sleek;
    const float *own = u + plane_of(s);
    float *host = copied ? field_host(values) : NULL; /* a code that writes from the host keeps such memory */
    int *planes = malloc(ranks * sizeof *planes);
    char mine[300];
    own_path(mine, sizeof mine, path, rank);
    sleek_h5d_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    written done;
    memset(&done, 0, sizeof done);
    field_wait();
    forget_peak();
    const double before = memory_of("VmRSS:");

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (copied) field_copy(host, own, values);
    double bytes = 0;
    if (w->manner == OWN_FILE) {
        if (s.planes > 0) {
            write_own(w, mine, copied ? host : own, s, step, bound, &info);
            bytes = settled(mine);
        }
        MPI_Gather(&s.planes, 1, MPI_INT, planes, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0) write_index(path, s, step, planes, ranks);
    } else {
        write_shared(w, path, copied ? host : own, s, step, bound, &info);
    }
    if (rank == 0) bytes += settled(path);
    MPI_Barrier(MPI_COMM_WORLD);
    done.seconds = MPI_Wtime() - start;

    const double extra = memory_of("VmHWM:") - before + (copied ? 4.0 * values : 0);
    MPI_Allreduce(&extra, &done.extra_bytes, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&bytes, &done.stored_bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (by_sleek) {
        static const char *const route[] = {"nothing", "H5Dwrite", "threads", "GPU"};
        snprintf(done.route, sizeof done.route, "%s: %s", route[info.route], info.reason);
    }
    free(planes);
    if (copied) field_host_free(host);
    return done;
}

double checkpoint_read(const way *w, const char *path, float *u, slab s, int *step)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const hsize_t start[3] = {w->manner == OWN_FILE ? 0 : (hsize_t)s.first, 0, 0};
    const hsize_t count[3] = {(hsize_t)s.planes, (hsize_t)s.ny, (hsize_t)s.nx};
    char mine[300];
    own_path(mine, sizeof mine, path, rank);
    *step = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    /* Each rank for itself, without MPI: then chunks go straight to the memory of the GPU. */
    if (s.planes > 0) {
        hid_t file = H5Fopen(w->manner == OWN_FILE ? mine : path, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, NAME, H5P_DEFAULT);
        CHECK(dset);
        if (H5Dread_sleek(dset, H5T_NATIVE_FLOAT, start, count, H5P_DEFAULT, u + plane_of(s), NULL, NULL) != SLEEK_OK)
            stop("H5Dread_sleek", sleek_last_error());
        hid_t attribute = H5Aopen(dset, "step", H5P_DEFAULT);
        CHECK(H5Aread(attribute, H5T_NATIVE_INT, step));
        CHECK(H5Aclose(attribute));
        CHECK(H5Dclose(dset));
        CHECK(H5Fclose(file));
    }
    MPI_Allreduce(MPI_IN_PLACE, step, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); /* ranks without planes have read nothing */
    return MPI_Wtime() - begun;
}

void checkpoint_remove(const way *w, const char *path)
{
    int rank;
    char mine[300];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    own_path(mine, sizeof mine, path, rank);
    if (w->manner == OWN_FILE) remove(mine);
    if (rank == 0) remove(path);
    MPI_Barrier(MPI_COMM_WORLD);
}
