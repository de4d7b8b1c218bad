/* H5Dwrite_chunk by several ranks.
 *     mpi_chunks apart INDEX FIELD COLUMNS      each rank in a file of its own; INDEX is a virtual dataset over them
 *     mpi_chunks together FILE FIELD COLUMNS    all in one file, which HDF5 does not support: says how many chunks are lost */
#include "mpi_field.h"
#include "sleek.h"

static hsize_t rank, ranks;

static part part_of(const field *f, hsize_t r) { return band(f->dims[0] * r / ranks, f->dims[0] * (r + 1) / ranks, f->dims); }

static hid_t create(hid_t file, const field *f, hsize_t rows, hsize_t chunk_rows)
{
    const hsize_t dims[2] = {rows, f->dims[1]}, chunk[2] = {chunk_rows, f->dims[1]};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL);
    CHECK(H5Pset_chunk(dcpl, 2, chunk));
    CHECK(H5Pset_sleek_rel(dcpl, BOUND));
    hid_t dset = H5Dcreate2(file, "t", f->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Sclose(space));
    CHECK(H5Pclose(dcpl));
    return dset;
}

/* A chunk of `height` rows that begins with row `to` of the dataset: `rows` rows of the field from row `from`, then zeros. */
static void put_chunk(hid_t dset, const field *f, hsize_t from, hsize_t rows, hsize_t to, hsize_t height)
{
    const size_t count = height * f->dims[1];
    const hsize_t offset[2] = {to, 0};
    sleek_params params;
    sleek_params_init(&params);
    params.dtype = f->size == 8 ? SLEEK_F64 : SLEEK_F32;
    params.mode = SLEEK_REL;
    params.bound = BOUND;
    size_t capacity = sleek_compress_bound(&params, count), bytes;
    void *stream = malloc(capacity), *chunk = calloc(count, f->size);
    memcpy(chunk, (const char *)f->values + from * f->dims[1] * f->size, rows * f->dims[1] * f->size);
    if (sleek_compress(&params, chunk, count, stream, capacity, &bytes, NULL) != SLEEK_OK) failed(__LINE__, sleek_last_error());
    CHECK(H5Dwrite_chunk(dset, H5P_DEFAULT, 0, offset, bytes, stream));
    free(stream);
    free(chunk);
}

/* The file of rank `r`, relative to the index. */
static void name_of(char *name, size_t size, const char *index, hsize_t r)
{
    const char *last = strrchr(index, '/');
    snprintf(name, size, "%s.%d", last == NULL ? index : last + 1, (int)r);
}

static void write_own_file(const char *index, const field *f)
{
    char path[512];
    snprintf(path, sizeof path, "%s.%d", index, (int)rank);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file);
    const part own = part_of(f, rank);
    const hsize_t height = f->dims[0] / ranks / 3 + 5; /* so that the last chunk ends beyond the rank's rows */
    hid_t dset = create(file, f, own.count[0], height);
    for (hsize_t row = 0; row < own.count[0]; row += height) {
        const hsize_t left = own.count[0] - row;
        put_chunk(dset, f, own.start[0] + row, left < height ? left : height, row, height);
    }
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
}

static void write_index(const char *path, const field *f)
{
    const double missing = NAN;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, f->dims, NULL);
    CHECK(file);
    CHECK(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &missing));
    for (hsize_t r = 0; r < ranks; r++) {
        char name[512];
        const part p = part_of(f, r);
        hid_t source = H5Screate_simple(2, p.count, NULL);
        name_of(name, sizeof name, path, r);
        choose(space, p);
        CHECK(H5Pset_virtual(dcpl, space, name, "t", source));
        CHECK(H5Sclose(source));
    }
    hid_t dset = H5Dcreate2(file, "t", f->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dclose(dset));
    CHECK(H5Sclose(space));
    CHECK(H5Pclose(dcpl));
    CHECK(H5Fclose(file));
}

/* All of the index by each rank; through MPI-IO HDF5 refuses that. */
static void read_index(const char *path, const field *f, hid_t mpio)
{
    void *back = malloc(f->dims[0] * f->dims[1] * f->size);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dread(dset, f->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    if (!kept(f, back, band(0, f->dims[0], f->dims), 0)) failed(__LINE__, "the virtual dataset is the field");
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));

    file = H5Fopen(path, H5F_ACC_RDONLY, mpio);
    dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(dset);
    H5E_BEGIN_TRY {
        if (H5Dread(dset, f->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0) failed(__LINE__, "a virtual dataset through MPI-IO");
    } H5E_END_TRY
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    free(back);
}

/* Every rank writes one chunk, and each call says that it succeeds. The chunks are alike: where sizes differ, ranks place what
 * follows differently, and HDF5 1.10 does not even return from H5Fclose. */
static void write_together(const char *path, field *f, hid_t mpio)
{
    const hsize_t height = f->dims[0] / ranks;
    const size_t bytes = height * f->dims[1] * f->size;
    f->dims[0] = ranks * height;
    for (hsize_t r = 1; r < ranks; r++) memcpy((char *)f->values + r * bytes, f->values, bytes);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, mpio);
    CHECK(file);
    hid_t dset = create(file, f, f->dims[0], height);
    put_chunk(dset, f, rank * height, height, rank * height, height);
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
}

static int lost_chunks(const char *path, const field *f)
{
    const hsize_t height = f->dims[0] / ranks;
    int lost = 0;
    void *back = malloc(f->dims[0] * f->dims[1] * f->size);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "t", H5P_DEFAULT), space = H5Dget_space(dset);
    CHECK(dset);
    for (hsize_t row = 0; row < f->dims[0]; row += height) {
        const part chunk = band(row, row + height, f->dims);
        herr_t status;
        choose(space, chunk);
        H5E_BEGIN_TRY { status = H5Dread(dset, f->type, space, space, H5P_DEFAULT, back); } H5E_END_TRY
        lost += status < 0 || !kept(f, back, chunk, 0);
    }
    CHECK(H5Sclose(space));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    free(back);
    return lost;
}

int main(int argc, char **argv)
{
    int r, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    rank = (hsize_t)r;
    ranks = (hsize_t)n;
    if (argc != 5 || ranks < 2) failed(__LINE__, "mpi_chunks apart|together FILE FIELD COLUMNS, by two ranks or more");
    field f = load(argv[3], (hsize_t)atoi(argv[4]));
    hid_t mpio = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_fapl_mpio(mpio, MPI_COMM_WORLD, MPI_INFO_NULL));
    if (strcmp(argv[1], "apart") == 0) {
        write_own_file(argv[2], &f);
        if (rank == 0) write_index(argv[2], &f);
        MPI_Barrier(MPI_COMM_WORLD);
        read_index(argv[2], &f, mpio);
        printf("rank %d of %d: kept\n", r, n);
    } else {
        write_together(argv[2], &f, mpio);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) printf("%d of %d chunks lost\n", lost_chunks(argv[2], &f), n);
    }
    CHECK(H5Pclose(mpio));
    free(f.values);
    MPI_Finalize();
    return 0;
}
