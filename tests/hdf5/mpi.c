/* Ranks write a real field through the filter in every way that HDF5 allows, and read it back with as many ranks or others.
 *     mpi write FILE FIELD COLUMNS [WAY]     FIELD is a raw file of f32 or f64, as its extension tells
 *     mpi read FILE FIELD COLUMNS [WAY]      WAY is one of mpi_access.h, mpio if none is named
 *     mpi subfiling                          whether this HDF5 has it */
#include <dirent.h>
#include "mpi_access.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sleek_hdf5.h"

#define CHECK(call) ((call) < 0 ? failed(__LINE__, #call) : (void)0)

static void failed(int line, const char *what)
{
    fprintf(stderr, "line %d: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every rank holds the whole field, and selects the same elements in memory as in the file. */
typedef struct {
    hsize_t dims[2];
    size_t size; /* of an element */
    hid_t type;
    void *values;
} field;

/* What a rank writes in one call: rows and columns from `start`, every `stride`th. */
typedef struct {
    hsize_t start[2], stride[2], count[2];
} part;

static const double BOUND = 1e-3; /* relative to each value */

/* Rows `from` to `to` of a field that may be shorter. */
static part band(hsize_t from, hsize_t to, const hsize_t *dims)
{
    to = to < dims[0] ? to : dims[0];
    part p = {{from, 0}, {1, 1}, {from < to ? to - from : 0, dims[1]}};
    return p;
}

static void choose(hid_t space, part p)
{
    if (p.count[0] == 0 || p.count[1] == 0)
        CHECK(H5Sselect_none(space));
    else
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, p.start, p.stride, p.count, NULL));
}

static field load(const char *path, hsize_t columns)
{
    field f;
    const int is_double = strcmp(path + strlen(path) - 4, ".f64") == 0;
    f.size = is_double ? 8 : 4;
    f.type = is_double ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) failed(__LINE__, path);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    f.dims[0] = bytes / f.size / columns;
    f.dims[1] = columns;
    f.values = malloc(bytes);
    if (f.values == NULL || fread(f.values, 1, bytes, file) != bytes || f.dims[0] < 64) failed(__LINE__, path);
    fclose(file);
    return f;
}

static double value(const field *f, const void *values, size_t i)
{
    return f->size == 8 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* Whether the elements of `p` in `back` are those of the field, within the bound. */
static int kept(const field *f, const void *back, part p, int lossless)
{
    for (hsize_t y = 0; y < p.count[0]; y++)
        for (hsize_t x = 0; x < p.count[1]; x++) {
            const size_t i = (p.start[0] + y * p.stride[0]) * f->dims[1] + p.start[1] + x * p.stride[1];
            const int same = memcmp((const char *)f->values + i * f->size, (const char *)back + i * f->size, f->size) == 0;
            const double v = value(f, f->values, i), error = fabs(v - value(f, back, i));
            if (!same && (lossless || !(error <= BOUND * fabs(v)))) return 0;
        }
    return 1;
}

/* How ranks share the work. */
typedef struct {
    const char *name;
    int lossless, calls, grows;
} layout;

enum { BANDS, SHARED, COLUMNS, INTERLEAVED, IDLE, TWICE, GROWN, LAYOUTS };
static const layout layouts[LAYOUTS] = {
    [BANDS] = {"bands", 0, 1, 0},             /* each chunk belongs to one rank */
    [SHARED] = {"shared", 0, 1, 0},           /* a rank ends within a chunk */
    [COLUMNS] = {"columns", 0, 1, 0},         /* all ranks have their part of every chunk */
    [INTERLEAVED] = {"interleaved", 1, 1, 0}, /* row by row, also in chunks at the rim */
    [IDLE] = {"idle", 0, 1, 0},               /* every other rank has nothing */
    [TWICE] = {"twice", 0, 2, 0},             /* the second call meets the chunks of the first */
    [GROWN] = {"grown", 1, 2, 1},             /* the second call after H5Dset_extent */
};

static void chunk_of(int l, hsize_t ranks, const hsize_t *dims, hsize_t *chunk)
{
    const hsize_t rows = dims[0], columns = dims[1];
    chunk[0] = l == BANDS ? (rows + 3 * ranks - 1) / (3 * ranks) : l == COLUMNS ? rows / 5 + 1 : rows / ranks * 2 / 3 + 1;
    chunk[1] = l == INTERLEAVED || l == GROWN ? columns / 2 + 1 : columns;
}

static part part_of(int l, int call, hsize_t rank, hsize_t ranks, const hsize_t *dims)
{
    const hsize_t rows = dims[0], columns = dims[1], half = rows / 2;
    hsize_t chunk[2];
    chunk_of(l, ranks, dims, chunk);
    switch (l) {
    case BANDS: return band(rank * 3 * chunk[0], (rank + 1) * 3 * chunk[0], dims);
    case COLUMNS: {
        const hsize_t from = columns * rank / ranks, to = columns * (rank + 1) / ranks;
        part p = {{0, from}, {1, 1}, {rows, to - from}};
        return p;
    }
    case INTERLEAVED: {
        part p = {{rank, 0}, {ranks, 1}, {(rows - rank + ranks - 1) / ranks, columns}};
        return p;
    }
    case IDLE: {
        const hsize_t workers = ranks / 2;
        return rank % 2 == 0 ? band(0, 0, dims) : band(rows * (rank / 2) / workers, rows * (rank / 2 + 1) / workers, dims);
    }
    case TWICE: {
        const hsize_t from = rows * rank / ranks, to = rows * (rank + 1) / ranks, middle = (from + to) / 2;
        return call == 0 ? band(from, middle, dims) : band(middle, to, dims);
    }
    case GROWN: {
        const hsize_t begin = call == 0 ? 0 : half, length = call == 0 ? half : rows - half;
        return band(begin + length * rank / ranks, begin + length * (rank + 1) / ranks, dims);
    }
    default: return band(rows * rank / ranks, rows * (rank + 1) / ranks, dims);
    }
}

/* Threads of this process. */
static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) failed(__LINE__, "/proc/self/task");
    while (readdir(tasks) != NULL) count++;
    closedir(tasks);
    return count - 2;
}

/* One rank cannot write for itself, and elements of another type cannot be written; that they were tried does no harm. */
static void try_what_is_refused(hid_t dset, const field *f, hid_t memory, hid_t space, hid_t collective, hsize_t rank)
{
    const hid_t other_type = f->size == 8 ? H5T_NATIVE_LLONG : H5T_NATIVE_INT;
    H5E_BEGIN_TRY {
        if (rank == 1 && H5Dwrite(dset, f->type, memory, space, H5P_DEFAULT, f->values) >= 0)
            failed(__LINE__, "an independent write through a filter");
        if (H5Dwrite(dset, other_type, memory, space, collective, f->values) >= 0)
            failed(__LINE__, "a conversion on the way through a filter");
    } H5E_END_TRY
}

static void write_one(hid_t file, int l, const field *f, hsize_t rank, hsize_t ranks)
{
    const layout *how = &layouts[l];
    const hsize_t first[2] = {how->grows ? f->dims[0] / 2 : f->dims[0], f->dims[1]}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
    hsize_t chunk[2];
    chunk_of(l, ranks, f->dims, chunk);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), collective = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE));
    CHECK(H5Pset_chunk(dcpl, 2, chunk));
    CHECK(how->lossless ? H5Pset_sleek_lossless(dcpl) : H5Pset_sleek_rel(dcpl, BOUND));
    hid_t space = H5Screate_simple(2, first, how->grows ? most : NULL), memory = H5Screate_simple(2, f->dims, NULL);
    hid_t dset = H5Dcreate2(file, how->name, f->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset);
    for (int call = 0; call < how->calls; call++) {
        const part mine = part_of(l, call, rank, ranks, f->dims);
        if (call > 0 && how->grows) {
            CHECK(H5Dset_extent(dset, f->dims));
            CHECK(H5Sclose(space));
            space = H5Dget_space(dset);
        }
        choose(space, mine);
        choose(memory, mine);
        if (l == BANDS) try_what_is_refused(dset, f, memory, space, collective, rank);
        CHECK(H5Dwrite(dset, f->type, memory, space, collective, f->values));
    }
    CHECK(H5Dclose(dset));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
    CHECK(H5Pclose(dcpl));
    CHECK(H5Pclose(collective));
}

/* The whole by every rank at once, then another rank's part by each for itself. */
static void read_one(hid_t file, int l, const field *f, hsize_t rank, hsize_t ranks)
{
    const part all = band(0, f->dims[0], f->dims);
    const size_t bytes = f->dims[0] * f->dims[1] * f->size;
    void *back = malloc(bytes);
    hid_t collective = H5Pcreate(H5P_DATASET_XFER), dset = H5Dopen2(file, layouts[l].name, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE));
    memset(back, 0xa5, bytes);
    CHECK(H5Dread(dset, f->type, H5S_ALL, H5S_ALL, collective, back));
    if (!kept(f, back, all, layouts[l].lossless)) failed(__LINE__, layouts[l].name);
    if (!layouts[l].lossless && H5Dget_storage_size(dset) >= bytes) failed(__LINE__, "compressed at all");

    hid_t space = H5Dget_space(dset);
    for (hsize_t turn = 0; turn <= rank; turn++) { /* so that ranks differ in how often they read */
        const part other = part_of(SHARED, 0, (rank + turn + 1) % ranks, ranks, f->dims);
        choose(space, other);
        memset(back, 0xa5, bytes);
        CHECK(H5Dread(dset, f->type, space, space, H5P_DEFAULT, back));
        if (!kept(f, back, other, layouts[l].lossless)) failed(__LINE__, layouts[l].name);
    }
    CHECK(H5Sclose(space));
    CHECK(H5Dclose(dset));
    CHECK(H5Pclose(collective));
    free(back);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    if (argc == 2) {
#ifdef H5_HAVE_SUBFILING_VFD
        puts("subfiling");
#endif
        return 0;
    }
    start_mpi(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if ((argc != 5 && argc != 6) || ranks < 2) failed(__LINE__, "mpi write|read FILE FIELD COLUMNS [WAY], by two ranks or more");
    const int writing = strcmp(argv[1], "write") == 0;
    field f = load(argv[3], (hsize_t)atoi(argv[4]));

    hid_t fapl = file_access(argc == 6 ? argv[5] : "mpio");
    CHECK(fapl);
    hid_t file = writing ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, fapl) : H5Fopen(argv[2], H5F_ACC_RDONLY, fapl);
    CHECK(file);
    const int before = threads();
    for (int l = 0; l < LAYOUTS; l++)
        if (writing)
            write_one(file, l, &f, (hsize_t)rank, (hsize_t)ranks);
        else
            read_one(file, l, &f, (hsize_t)rank, (hsize_t)ranks);
    CHECK(H5Fclose(file));
    CHECK(H5Pclose(fapl));
    free(f.values);
    printf("rank %d of %d: %s, %d threads more\n", rank, ranks, writing ? "written" : "kept", threads() - before);
    MPI_Finalize();
    return 0;
}
