/* sleek_h5d_write and sleek_h5d_read against H5Dwrite and H5Dread: the same chunks in the file, byte for byte, and the same values back.
 *     direct FOLDER host CASES      arrays in host memory
 *     direct FOLDER gpu CASES       arrays in GPU memory, by the driver libcuda.so.1
 *     direct FOLDER mpi [WAY]       files shared by MPI ranks in a way of mpi_access.h, mpio if none is named; under mpirun
 *     direct FOLDER mpi-gpu [WAY]   the same from GPU memory */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sleek.h>
#include "sleek_hdf5.h"
#ifdef H5_HAVE_PARALLEL
#include "mpi_access.h"
#endif

#define DIE(...) do { fprintf(stderr, "line %d: ", __LINE__); fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(1); } while (0)
#define CHECK(call) do { if ((call) < 0) DIE("%s", #call); } while (0)
#define OK(call) do { if ((call) != SLEEK_OK) DIE("%s: %s", #call, sleek_last_error()); } while (0)

static unsigned long long seed = 1;
static unsigned below(unsigned n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((seed >> 33) % n);
}

/* Memory of the GPU, or of the host where there is none to be used. */
static int gpu;
static int (*cu_alloc)(unsigned long long *, size_t), (*cu_free)(unsigned long long);
static int (*cu_copy)(unsigned long long, unsigned long long, size_t, void *), (*cu_wait)(void *);

static void *driver_function(void *driver, const char *name)
{
    void *f = dlsym(driver, name);
    if (f == NULL) DIE("%s is not in libcuda.so.1", name);
    return f;
}

static void open_gpu(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context;
    if (driver == NULL) DIE("%s", dlerror());
    *(void **)&cu_alloc = driver_function(driver, "cuMemAlloc_v2");
    *(void **)&cu_free = driver_function(driver, "cuMemFree_v2");
    *(void **)&cu_copy = driver_function(driver, "cuMemcpyAsync");
    *(void **)&cu_wait = driver_function(driver, "cuStreamSynchronize");
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
    *(void **)&init = driver_function(driver, "cuInit");
    *(void **)&retain = driver_function(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&set = driver_function(driver, "cuCtxSetCurrent");
    if (init(0) || retain(&context, 0) || set(context)) DIE("no GPU");
    gpu = 1;
}

/* A copy of host memory where the data is to be. */
static void *place(const void *host, size_t bytes)
{
    if (!gpu) {
        void *m = malloc(bytes + 1);
        if (m == NULL) DIE("no memory");
        memcpy(m, host, bytes);
        return m;
    }
    unsigned long long m;
    if (cu_alloc(&m, bytes + 1) || cu_copy(m, (unsigned long long)(uintptr_t)host, bytes, NULL) || cu_wait(NULL)) DIE("no GPU memory");
    return (void *)(uintptr_t)m;
}

static void fetch(void *host, void *m, size_t bytes)
{
    if (!gpu) memcpy(host, m, bytes);
    else if (cu_copy((unsigned long long)(uintptr_t)host, (unsigned long long)(uintptr_t)m, bytes, NULL) || cu_wait(NULL)) DIE("copying");
}

static void release(void *m)
{
    if (!gpu) free(m);
    else if (cu_free((unsigned long long)(uintptr_t)m)) DIE("freeing");
}

static sleek_h5d_info info;
static void fresh(void) { memset(&info, 0x5a, sizeof info); info.struct_size = sizeof info; }

/* What the fast route is here. */
static int fast(void) { return gpu ? SLEEK_H5D_GPU : SLEEK_H5D_THREADS; }

static void expect(int route, const char *reason)
{
    if (info.route != route || strstr(info.reason, reason) == NULL)
        DIE("route %d (%s); %d (%s) was expected", info.route, info.reason, route, reason);
}

static int put(hid_t d, hid_t type, const hsize_t *start, const hsize_t *count, const void *data, size_t bytes)
{
    void *m = place(data, bytes);
    fresh();
    int status = H5Dwrite_sleek(d, type, start, count, H5P_DEFAULT, m, NULL, &info);
    release(m);
    return status;
}

static int get(hid_t d, hid_t type, const hsize_t *start, const hsize_t *count, void *data, size_t bytes)
{
    void *m = place(data, bytes);
    fresh();
    int status = H5Dread_sleek(d, type, start, count, H5P_DEFAULT, m, NULL, &info);
    fetch(data, m, bytes);
    release(m);
    return status;
}

enum { MAX_RANK = 8 };
typedef struct {
    int rank, partly, fill;
    int by_host; /* the GPU's kernels measure no chunks */
    hsize_t dims[MAX_RANK], chunk[MAX_RANK], start[MAX_RANK], count[MAX_RANK];
    hid_t file_type, mem_type, space, dcpl;
    size_t size, bytes, all;
} Case;

static hid_t pick(size_t size, int floats, int big)
{
    if (floats) return size == 4 ? (big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE) : (big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE);
    switch (size) {
    case 1: return H5T_STD_U8LE;
    case 2: return big ? H5T_STD_I16BE : H5T_STD_I16LE;
    case 4: return big ? H5T_STD_I32BE : H5T_STD_I32LE;
    default: return big ? H5T_STD_U64BE : H5T_STD_U64LE;
    }
}

static void make_optional(hid_t dcpl)
{
    unsigned flags, words[80], config;
    size_t n = 80;
    CHECK(H5Pget_filter_by_id2(dcpl, SLEEK_ID, &flags, &n, words, 0, NULL, &config));
    CHECK(H5Pmodify_filter(dcpl, SLEEK_ID, H5Z_FLAG_OPTIONAL, n, words));
}

static Case make_case(unsigned i)
{
    static const unsigned longest[MAX_RANK + 1] = {0, 40000, 150, 40, 14, 9, 6, 5, 4};
    Case c;
    hsize_t most[MAX_RANK];
    memset(&c, 0, sizeof c);
    c.rank = 1 + (int)(i % MAX_RANK);
    c.partly = below(3) == 0;
    c.bytes = c.all = 1;
    for (int d = 0; d < c.rank; d++) {
        const unsigned n = longest[c.rank];
        const int growing = below(3) == 0;
        c.dims[d] = 1 + below(n);
        c.chunk[d] = 1 + below(below(3) ? (unsigned)c.dims[d] : 2 * n);
        if (!growing && c.chunk[d] > c.dims[d]) c.chunk[d] = c.dims[d];
        /* Chunks of a few elements make thousands of chunks. */
        if (c.chunk[d] * 20 < c.dims[d]) c.chunk[d] = c.dims[d] / 20 + 1;
        if (c.rank > 3 && c.chunk[d] * 3 < c.dims[d]) c.chunk[d] = c.dims[d] / 2;
        most[d] = growing ? H5S_UNLIMITED : c.dims[d];
        const unsigned chunks = (unsigned)((c.dims[d] + c.chunk[d] - 1) / c.chunk[d]);
        const unsigned first = c.partly ? below(chunks) : 0, n_chunks = c.partly ? 1 + below(chunks - first) : chunks;
        c.start[d] = first * c.chunk[d];
        c.count[d] = n_chunks * c.chunk[d];
        if (c.start[d] + c.count[d] > c.dims[d]) c.count[d] = c.dims[d] - c.start[d];
        c.bytes *= c.count[d];
        c.all *= c.dims[d];
    }
    const int floats = below(4) != 0, big = below(3) == 0;
    c.size = floats ? 4u << below(2) : 1u << below(4);
    c.bytes *= c.size;
    c.all *= c.size;
    c.file_type = pick(c.size, floats, big);
    c.mem_type = pick(c.size, floats, below(2) ? big : 0);
    c.space = H5Screate_simple(c.rank, c.dims, most);
    c.dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(c.dcpl, c.rank, c.chunk));
    const unsigned mode = floats ? below(5) : 0;
    // The filter looks for undeclared fill values where it may; direct calls take what is declared.
    static const char *const bounds[5] = {"lossless", "abs=1e-3", "noa=1e-4", "noa=1e-4,range=20", "rel=1e-3"};
    char request[80];
    snprintf(request, sizeof request, "%s,no-fill%s", bounds[mode], i / MAX_RANK % 3 == 1 ? ",profile=small" : "");
    CHECK(H5Pset_sleek(c.dcpl, request));
    if (i / MAX_RANK % 2 == 1) make_optional(c.dcpl);
    c.fill = (int)below(4);
    const double fill = 99.5;
    if (c.fill == 1 || c.fill == 2) CHECK(H5Pset_fill_value(c.dcpl, H5T_NATIVE_DOUBLE, &fill));
    if (c.fill == 2) CHECK(H5Pset_fill_time(c.dcpl, H5D_FILL_TIME_NEVER));
    if (c.fill == 3) CHECK(H5Pset_fill_value(c.dcpl, H5T_NATIVE_DOUBLE, NULL));
    c.by_host = mode == 2;
    return c;
}

/* Values in the memory type; some cases with special ones. */
static unsigned char *make_data(const Case *c)
{
    const size_t n = c->bytes / c->size;
    double *v = malloc((n + 1) * sizeof *v);
    if (v == NULL) DIE("no memory");
    const double step = 0.001 * (1 + below(100)), noise = below(3) * 0.01;
    for (size_t i = 0; i < n; i++) v[i] = 100 + 20 * sin(step * (double)i) + noise * below(100);
    if (H5Tget_class(c->mem_type) == H5T_FLOAT && below(4) == 0)
        for (size_t i = below(50); i < n; i += 1 + below(500)) v[i] = below(2) ? NAN : -INFINITY;
    CHECK(H5Tconvert(H5T_NATIVE_DOUBLE, c->mem_type, n, v, NULL, H5P_DEFAULT));
    return (unsigned char *)v;
}

static int plain_chunks;

static void *chunk_of(hid_t d, const hsize_t *at, hsize_t *bytes, uint32_t *mask)
{
    *mask = 0;
    /* It fails for a chunk that was never written. */
    H5E_BEGIN_TRY {
        if (H5Dget_chunk_storage_size(d, at, bytes) < 0) *bytes = 0;
    } H5E_END_TRY
    void *m = malloc(*bytes + 1);
    if (m == NULL) DIE("no memory");
    if (*bytes > 0) {
        CHECK(H5Dread_chunk(d, H5P_DEFAULT, at, mask, m));
    }
    return m;
}

/* Every chunk of both datasets has the same bytes, or is plain in both, and those of the selection are there. */
static void same_chunks(const Case *c, hid_t a, hid_t b)
{
    hsize_t at[MAX_RANK] = {0};
    for (;;) {
        hsize_t na, nb;
        uint32_t ma, mb;
        void *ca = chunk_of(a, at, &na, &ma), *cb = chunk_of(b, at, &nb, &mb);
        if (ma != mb) DIE("filter masks %u, %u", ma, mb);
        plain_chunks += ma == 1;
        if (na != nb || memcmp(ca, cb, na) != 0) DIE("chunk %llu,...: %llu bytes, %llu of the filter", (unsigned long long)at[0], (unsigned long long)nb, (unsigned long long)na);
        free(ca);
        free(cb);
        int d = c->rank - 1;
        while (d >= 0 && (at[d] += c->chunk[d]) >= c->dims[d]) at[d--] = 0;
        if (d < 0) return;
    }
}

static void one_case(hid_t file, unsigned i)
{
    char name[2][32];
    Case c = make_case(i);
    unsigned char *data = make_data(&c);
    hid_t part = H5Screate_simple(c.rank, c.count, NULL), d[2];
    CHECK(H5Sselect_hyperslab(c.space, H5S_SELECT_SET, c.start, NULL, c.count, NULL));
    for (int k = 0; k < 2; k++) {
        snprintf(name[k], sizeof name[k], "%c%u", "ab"[k], i);
        d[k] = H5Dcreate2(file, name[k], c.file_type, c.space, H5P_DEFAULT, c.dcpl, H5P_DEFAULT);
        CHECK(d[k]);
    }
    /* HDF5 changes what it converts. */
    unsigned char *copy = malloc(c.bytes + 1);
    if (copy == NULL) DIE("no memory");
    memcpy(copy, data, c.bytes);
    CHECK(H5Dwrite(d[0], c.mem_type, part, c.space, H5P_DEFAULT, copy));
    OK(put(d[1], c.mem_type, c.partly ? c.start : NULL, c.partly ? c.count : NULL, data, c.bytes));
    expect(c.by_host ? SLEEK_H5D_THREADS : fast(), "chunks");
    if (info.raw_bytes != c.bytes || info.staged != (gpu && c.by_host) || info.stored_bytes == 0)
        DIE("raw %llu", (unsigned long long)info.raw_bytes);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    same_chunks(&c, d[0], d[1]);

    /* All of it back, unwritten chunks too, by HDF5 and by us, from both datasets. */
    unsigned char *expected = malloc(c.all + 1), *back = malloc(c.all + 1);
    if (expected == NULL || back == NULL) DIE("no memory");
    memset(expected, 0x77, c.all);
    CHECK(H5Dread(d[1], c.mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected));
    for (int k = 0; k < 2; k++) {
        memset(back, 0x77, c.all);
        OK(get(d[k], c.mem_type, NULL, NULL, back, c.all));
        expect(fast(), "chunks");
        if (memcmp(back, expected, c.all) != 0) DIE("case %u: other values than H5Dread", i);
    }
    memset(back, 0x77, c.bytes);
    OK(get(d[0], c.mem_type, c.start, c.count, back, c.bytes));
    CHECK(H5Dread(d[0], c.mem_type, part, c.space, H5P_DEFAULT, copy));
    if (memcmp(back, copy, c.bytes) != 0) DIE("case %u: other values of a part", i);
    for (int k = 0; k < 2; k++) CHECK(H5Dclose(d[k]));
    CHECK(H5Sclose(part));
    CHECK(H5Sclose(c.space));
    CHECK(H5Pclose(c.dcpl));
    free(data);
    free(copy);
    free(expected);
    free(back);
}

enum { NY = 100, NX = 60, CY = 30, CX = 20 };
static float field[NY][NX], back[NY][NX], other[NY][NX];

static hid_t dataset(hid_t file, const char *name, hid_t type, void (*setup)(hid_t dcpl))
{
    const hsize_t dims[2] = {NY, NX}, chunk[2] = {CY, CX};
    hid_t space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (setup != NULL) {
        CHECK(H5Pset_chunk(dcpl, 2, chunk));
        setup(dcpl);
    }
    hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d);
    CHECK(H5Sclose(space));
    CHECK(H5Pclose(dcpl));
    return d;
}

static void by_abs(hid_t dcpl) { CHECK(H5Pset_sleek(dcpl, "abs=1e-3,no-fill")); }
static void lossless(hid_t dcpl) { CHECK(H5Pset_sleek_lossless(dcpl)); }
static void before_deflate(hid_t dcpl) { by_abs(dcpl); CHECK(H5Pset_deflate(dcpl, 1)); }
static void deflate_only(hid_t dcpl) { CHECK(H5Pset_deflate(dcpl, 1)); }
static void edges_plain(hid_t dcpl) { by_abs(dcpl); CHECK(H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS)); }

static void kept(const float *a, const float *b, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - b[i]) <= 1e-3)) DIE("%s: value %zu is %g, was %g", what, i, b[i], a[i]);
}

/* Data that must go through HDF5 arrives all the same, and the reason is told. */
static void ordinary(hid_t file, const char *name, hid_t type, hid_t mem_type, void (*setup)(hid_t), const char *reason)
{
    hid_t d = dataset(file, name, type, setup);
    const size_t bytes = NY * NX * H5Tget_size(mem_type);
    void *m = malloc(bytes);
    if (m == NULL) DIE("no memory");
    double wide[NY * NX];
    for (int i = 0; i < NY * NX; i++) wide[i] = ((const float *)field)[i];
    memcpy(m, H5Tget_size(mem_type) == 8 ? (void *)wide : (void *)field, bytes);
    OK(put(d, mem_type, NULL, NULL, m, bytes));
    expect(SLEEK_H5D_ORDINARY, reason);
    if (info.staged != gpu || info.raw_bytes != bytes) DIE("staged %d", info.staged);
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    kept((float *)field, (float *)back, NY * NX, name);
    memset(m, 0, bytes);
    OK(get(d, mem_type, NULL, NULL, m, bytes));
    expect(SLEEK_H5D_ORDINARY, reason);
    if (H5Tget_size(mem_type) == 8)
        for (int i = 0; i < NY * NX; i++) ((float *)other)[i] = (float)((double *)m)[i];
    else memcpy(other, m, bytes);
    kept((float *)back, (float *)other, NY * NX, name);
    free(m);
    CHECK(H5Dclose(d));
}

/* Values that HDF5 is to change on their way. */
static void transformed(hid_t file)
{
    hid_t dxpl = H5Pcreate(H5P_DATASET_XFER), d = dataset(file, "transformed", H5T_IEEE_F32LE, by_abs);
    void *m = place(field, sizeof field);
    fresh();
    OK(H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, dxpl, m, NULL, &info));
    expect(fast(), "chunks");
    CHECK(H5Pset_data_transform(dxpl, "2*x"));
    OK(H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, dxpl, m, NULL, &info));
    expect(SLEEK_H5D_ORDINARY, "transform the data");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    for (int i = 0; i < NY * NX; i++) ((float *)other)[i] = 2 * ((float *)field)[i];
    kept((float *)other, (float *)back, NY * NX, "transformed");
    OK(H5Dread_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, dxpl, m, NULL, &info));
    expect(SLEEK_H5D_ORDINARY, "transform the data");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, dxpl, back));
    fetch(other, m, sizeof other);
    if (memcmp(back, other, sizeof back) != 0) DIE("transformed back");
    release(m);
    CHECK(H5Dclose(d));
    CHECK(H5Pclose(dxpl));
}

/* Words that do not tell the element type, as a program that hides its HDF5 leaves them: they are enough to read, and to write
 * losslessly. */
static void short_words(hid_t file)
{
    H5Z_class2_t class = *(const H5Z_class2_t *)sleek_h5_class();
    class.set_local = NULL;
    CHECK(H5Zregister(&class));
    hid_t d = dataset(file, "short words", H5T_IEEE_F32LE, by_abs);
    CHECK(H5Zregister(sleek_h5_class()));
    sleek_params p;
    static unsigned char stream[sizeof field];
    size_t bytes;
    const hsize_t at[2] = {CY, CX};
    OK(sleek_params_init(&p));
    p.dtype = SLEEK_F32;
    OK(sleek_compress(&p, field, CY * CX, stream, sizeof stream, &bytes, NULL));
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, bytes, stream));
    OK(get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back));
    expect(SLEEK_H5D_THREADS, "chunks");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, other));
    if (memcmp(back, other, sizeof back) != 0 || back[CY][CX] != field[0][0]) DIE("short words");
    OK(put(d, H5T_NATIVE_FLOAT, NULL, NULL, field, sizeof field));
    expect(SLEEK_H5D_THREADS, "chunks");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, other));
    if (memcmp(field, other, sizeof field) != 0) DIE("short words are not lossless");
    CHECK(H5Dclose(d));
}

static void routes(hid_t file)
{
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) field[y][x] = (float)(280 + 10 * sin(0.1 * x + 0.03 * y));
    ordinary(file, "contiguous", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL, "not chunked");
    ordinary(file, "converted", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, by_abs, "another type");
    ordinary(file, "deflate after", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, before_deflate, "only filter");
    ordinary(file, "deflate", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, deflate_only, "only filter");
    ordinary(file, "plain edges", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, edges_plain, "without filters");
    transformed(file);
    short_words(file);

    hid_t d = dataset(file, "boxes", H5T_IEEE_F32BE, by_abs);
    const hsize_t start[2] = {30, 20}, count[2] = {70, 40}, odd[2] = {31, 20}, little[2] = {5, 40}, none[2] = {0, 40};
    OK(put(d, H5T_NATIVE_FLOAT, NULL, NULL, field, sizeof field));
    expect(fast(), "chunks");
    /* A box across chunks, on top of what is there, and read back before anything is flushed. */
    OK(put(d, H5T_NATIVE_FLOAT, odd, little, other, sizeof(float) * 5 * 40));
    expect(SLEEK_H5D_ORDINARY, "cuts chunks: elements 31 to 35 of dimension 0, chunks of 30");
    OK(get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back));
    expect(fast(), "chunks");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, other));
    if (memcmp(back, other, sizeof back) != 0) DIE("chunks of HDF5's cache were passed over");
    OK(put(d, H5T_NATIVE_FLOAT, start, count, field, sizeof(float) * 70 * 40));
    expect(fast(), "chunks");
    CHECK(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    for (int y = 30; y < NY; y++) kept((float *)field + (y - 30) * 40, &back[y][20], 40, "a box written over");
    OK(put(d, H5T_NATIVE_FLOAT, start, none, field, 0));
    expect(SLEEK_H5D_NOTHING, "nothing");
    OK(get(d, H5T_NATIVE_FLOAT, start, none, back, 0));
    expect(SLEEK_H5D_NOTHING, "nothing");

    /* What cannot be is refused. */
    const hsize_t beyond[2] = {71, 40}, far[2] = {(hsize_t)-1, 0};
    if (put(d, H5T_NATIVE_FLOAT, start, beyond, field, sizeof field) != SLEEK_E_OUT_OF_RANGE) DIE("beyond the end");
    if (get(d, H5T_NATIVE_FLOAT, far, count, back, sizeof back) != SLEEK_E_OUT_OF_RANGE) DIE("far beyond the end");
    if (H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, NULL, NULL, NULL) != SLEEK_E_NULL_POINTER) DIE("NULL");
    const hsize_t *unaligned = (const hsize_t *)(const void *)((const char *)start + 1);
    if (get(d, H5T_NATIVE_FLOAT, unaligned, NULL, back, sizeof back) != SLEEK_E_INVALID_ARGUMENT) DIE("start");
    if (get(d, H5T_NATIVE_FLOAT, start, unaligned, back, sizeof back) != SLEEK_E_INVALID_ARGUMENT) DIE("count");
    info.struct_size = 3;
    if (H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, NULL, &info) != SLEEK_E_INVALID_ARGUMENT) DIE("struct_size");
    if (H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, field, NULL) != SLEEK_E_INVALID_ARGUMENT) DIE("a stream");
    H5E_BEGIN_TRY {
        if (H5Dwrite_sleek(file, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, NULL, NULL) != SLEEK_E_HDF5) DIE("no dataset");
        if (put(d, file, NULL, NULL, field, sizeof field) != SLEEK_E_HDF5) DIE("no type");
    } H5E_END_TRY
    CHECK(H5Dclose(d));

    /* A chunk without the filter, as other tools write it, one of a wrong size, and a damaged one. */
    d = dataset(file, "raw", H5T_IEEE_F32LE, lossless);
    OK(put(d, H5T_NATIVE_FLOAT, NULL, NULL, field, sizeof field));
    static float chunk[CY * CX];
    for (int i = 0; i < CY * CX; i++) chunk[i] = (float)i;
    const hsize_t at[2] = {90, 40};
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 1, at, sizeof chunk, chunk));
    OK(get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back));
    expect(fast(), "chunks");
    if (back[90][40] != 0 || back[91][59] != 39 || back[90][39] != field[90][39]) DIE("a chunk without the filter");
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 1, at, sizeof chunk - 4, chunk));
    if (get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back) != SLEEK_E_CORRUPT) DIE("a short chunk: %s", sleek_last_error());
    hsize_t bytes;
    const hsize_t first[2] = {0, 0};
    uint32_t mask;
    unsigned char *stream = chunk_of(d, first, &bytes, &mask);
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, bytes, stream));
    stream[bytes / 2] ^= 4;
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, first, bytes, stream));
    if (get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back) != SLEEK_E_CORRUPT) DIE("a damaged chunk: %s", sleek_last_error());
    free(stream);
    /* A whole stream, of less than a chunk: HDF5 would read on behind what the filter gives it. */
    sleek_params few;
    unsigned char small[4096];
    size_t small_bytes;
    OK(sleek_params_init(&few));
    few.dtype = SLEEK_F32;
    OK(sleek_compress(&few, field, 16, small, sizeof small, &small_bytes, NULL));
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, first, small_bytes, small));
    H5E_BEGIN_TRY {
        if (H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0) DIE("a stream of 16 elements");
    } H5E_END_TRY
    if (strstr(sleek_last_error(), "holds 64 bytes") == NULL) DIE("%s", sleek_last_error());
    if (get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof back) != SLEEK_E_CORRUPT) DIE("a small stream: %s", sleek_last_error());
    CHECK(H5Dclose(d));

    /* Elements that are no numbers, and a dataset without dimensions. */
    hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    CHECK(H5Tinsert(pair, "a", 0, H5T_NATIVE_FLOAT));
    CHECK(H5Tinsert(pair, "b", 4, H5T_NATIVE_INT));
    d = dataset(file, "pairs", pair, lossless);
    static float pairs[NY][NX][2];
    OK(put(d, pair, NULL, NULL, pairs, sizeof pairs));
    expect(SLEEK_H5D_ORDINARY, "not numbers");
    CHECK(H5Dclose(d));
    hid_t scalar = H5Screate(H5S_SCALAR);
    d = H5Dcreate2(file, "scalar", H5T_NATIVE_FLOAT, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    OK(put(d, H5T_NATIVE_FLOAT, NULL, NULL, &field[3][3], sizeof(float)));
    OK(get(d, H5T_NATIVE_FLOAT, NULL, NULL, back, sizeof(float)));
    expect(SLEEK_H5D_ORDINARY, "not chunked");
    if (back[0][0] != field[3][3]) DIE("a scalar");
    CHECK(H5Dclose(d));

    /* Elements of several numbers. */
    const hsize_t three = 3, dims[2] = {NY, NX / 3}, box[2] = {CY, 7};
    hid_t vector = H5Tarray_create2(H5T_IEEE_F32LE, 1, &three), space = H5Screate_simple(2, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(dcpl, 2, box));
    by_abs(dcpl);
    d = H5Dcreate2(file, "vectors", vector, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d);
    OK(put(d, vector, NULL, NULL, field, sizeof field));
    expect(SLEEK_H5D_THREADS, gpu ? "array" : "chunks");
    CHECK(H5Dread(d, vector, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    kept((float *)field, (float *)back, NY * NX, "vectors");
    OK(get(d, vector, NULL, NULL, other, sizeof other));
    if (memcmp(back, other, sizeof back) != 0 || info.staged != gpu) DIE("vectors back");
    CHECK(H5Dclose(d));
}

#ifdef H5_HAVE_PARALLEL
static void optional(hid_t dcpl) { lossless(dcpl); make_optional(dcpl); }

/* Rank 0 has two thirds, or all of it if it is alone, the others share the rest but for the last, which has nothing. */
static void shared_file(const char *path, const char *way)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 2) DIE("one rank, or three");
    hid_t fapl = file_access(way), dxpl = H5Pcreate(H5P_DATASET_XFER);
    CHECK(fapl);
    CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(file);
    hid_t d = dataset(file, "t", H5T_IEEE_F32LE, by_abs);
    hsize_t start[2] = {0, 0}, count[2] = {ranks == 1 ? NY : 60, NX};
    if (rank > 0) {
        start[0] = rank == ranks - 1 ? 0 : 60 + (hsize_t)(rank - 1) * 40 / (hsize_t)(ranks - 2);
        count[0] = rank == ranks - 1 ? 0 : 60 + (hsize_t)rank * 40 / (hsize_t)(ranks - 2) - start[0];
    }
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) field[y][x] = (float)(280 + 10 * sin(0.1 * x + 0.03 * y));
    const int by_gpu = gpu && count[0] > 0;
    void *mine = place(field[start[0]], count[0] * sizeof field[0]), *whole = place(back, sizeof back);
    fresh();
    OK(H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, start, count, dxpl, mine, NULL, &info));
    expect(by_gpu ? SLEEK_H5D_GPU : SLEEK_H5D_ORDINARY, by_gpu ? "H5Dwrite of all ranks" : "MPI ranks share the file");
    if (by_gpu != (info.chunks > 0) || by_gpu != (info.stored_bytes > 0) || (by_gpu && info.staged)) DIE("%llu chunks", (unsigned long long)info.chunks);
    fresh();
    OK(H5Dread_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, dxpl, whole, NULL, &info));
    expect(SLEEK_H5D_ORDINARY, "MPI ranks share the file");
    fetch(back, whole, sizeof back);
    kept((float *)field, (float *)back, NY * NX, "collective");
    release(mine);
    release(whole);
    /* The same chunks as by the filter, for all ranks' parts, and again over chunks that are there. */
    hid_t filtered = dataset(file, "f", H5T_IEEE_F32LE, by_abs);
    for (int again = 0; again < 2; again++) {
        mine = place(field[start[0]], count[0] * sizeof field[0]);
        OK(H5Dwrite_sleek(filtered, H5T_NATIVE_FLOAT, start, count, dxpl, field[start[0]], NULL, NULL));
        OK(H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, start, count, dxpl, mine, NULL, NULL));
        release(mine);
    }
    CHECK(H5Dclose(filtered));
    /* HDF5 forgets here which chunks it stored plain, so none is, though they do not get smaller. */
    hid_t plain = dataset(file, "n", H5T_IEEE_F32LE, optional);
    unsigned bits = 1;
    for (int i = 0; i < NY * NX; i++, bits = bits * 1664525u + 1013904223u) ((uint32_t *)other)[i] = bits;
    mine = place(other[start[0]], count[0] * sizeof other[0]);
    fresh();
    OK(H5Dwrite_sleek(plain, H5T_NATIVE_FLOAT, start, count, dxpl, mine, NULL, &info));
    expect(by_gpu ? SLEEK_H5D_GPU : SLEEK_H5D_ORDINARY, by_gpu ? "H5Dwrite of all ranks" : "MPI ranks share the file");
    release(mine);
    OK(H5Dread_sleek(plain, H5T_NATIVE_FLOAT, NULL, NULL, dxpl, back, NULL, NULL));
    if (memcmp(back, other, sizeof back) != 0) DIE("plain chunks");
    CHECK(H5Dclose(plain));
    if (ranks == 1) {
        /* Some HDF5s let a single rank write independently, and keep its chunks in their cache. */
        mine = place(field, sizeof field);
        H5E_BEGIN_TRY {
            const int status = H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, mine, NULL, NULL);
            if (status != SLEEK_OK && status != SLEEK_E_HDF5) DIE("independent: %s", sleek_last_error());
        } H5E_END_TRY
        release(mine);
    }
    /* Without collective transfer HDF5 refuses several ranks, and we say what is missing. */
    if (ranks > 1) H5E_BEGIN_TRY {
        if (H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, NULL, NULL) != SLEEK_E_HDF5) DIE("independent");
    } H5E_END_TRY
    if (ranks > 1 && strstr(sleek_last_error(), "H5FD_MPIO_COLLECTIVE") == NULL) DIE("%s", sleek_last_error());
    CHECK(H5Dclose(d));
    CHECK(H5Fclose(file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "subfiling") != 0) {
        Case all = {.rank = 2, .dims = {NY, NX}, .chunk = {CY, CX}};
        file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        hid_t a = H5Dopen2(file, "t", H5P_DEFAULT), b = H5Dopen2(file, "f", H5P_DEFAULT);
        same_chunks(&all, a, b);
        CHECK(H5Dclose(a));
        CHECK(H5Dclose(b));
        CHECK(H5Fclose(file));
    }
    /* A file of one's own goes chunk by chunk. */
    char own[4096];
    snprintf(own, sizeof own, "%s.%d", path, rank);
    file = H5Fcreate(own, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    d = dataset(file, "t", H5T_IEEE_F32LE, by_abs);
    OK(put(d, H5T_NATIVE_FLOAT, NULL, NULL, field, sizeof field));
    expect(fast(), "chunks");
    CHECK(H5Dclose(d));
    CHECK(H5Fclose(file));
    printf("rank %d passed\n", rank);
}
#endif

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 3) DIE("FOLDER host|gpu CASES, or FOLDER mpi");
    snprintf(path, sizeof path, "%s/direct.h5", argv[1]);
#ifdef H5_HAVE_PARALLEL
    if (strncmp(argv[2], "mpi", 3) == 0) {
        if (strcmp(argv[2], "mpi-gpu") == 0) open_gpu();
        start_mpi(&argc, &argv);
        shared_file(path, argc > 3 ? argv[3] : "mpio");
        MPI_Finalize();
        return 0;
    }
#endif
    if (strcmp(argv[2], "gpu") == 0) open_gpu();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file);
    const int cases = argc > 3 ? atoi(argv[3]) : 100;
    for (int i = 0; i < cases; i++) one_case(file, (unsigned)i);
    if (cases >= 64 && plain_chunks == 0) DIE("no chunk of an optional filter was stored plain");
    routes(file);
    CHECK(H5Fclose(file));
    printf("%d cases passed\n", cases);
    return 0;
}
