/* Whole fields in GPU memory to an HDF5 file and back, three ways: copied to the host and written without a filter;
 * copied to the host and written with the filter on all cores; by sleek_h5d_write. Real fields from tests/data,
 * repeated to the size asked for. h5d_bench FOLDER GIB */
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>
#include <sleek_hdf5.h>
#include "must.h"

static const hsize_t SIDE = 1024, CHUNK = 128; /* two of three dimensions, and every dimension of a chunk */
enum Way { PLAIN, FILTER, THREADS, DIRECT };

struct Field {
    const char *name, *file;
    hid_t type;
    size_t size;
    hsize_t dims[3];
    size_t bytes;
    char *data, *back; /* in GPU memory */
};

static char* slab; /* pinned: CHUNK planes */
static std::string folder;

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void fill(Field& f, size_t gib) {
    f.dims[1] = f.dims[2] = SIDE;
    f.dims[0] = ((gib << 30) / f.size / (SIDE * SIDE) + CHUNK - 1) / CHUNK * CHUNK;
    f.bytes = f.dims[0] * SIDE * SIDE * f.size;
    FILE* in = fopen(f.file, "rb");
    if (!in) {
        fprintf(stderr, "%s is missing\n", f.file);
        exit(1);
    }
    std::vector<char> sample(64 << 20);
    const size_t n = fread(sample.data(), 1, sample.size(), in);
    fclose(in);
    CUDA(cudaMalloc(&f.data, f.bytes));
    CUDA(cudaMalloc(&f.back, f.bytes));
    CUDA(cudaMemcpy(f.data, sample.data(), n, cudaMemcpyHostToDevice));
    for (size_t have = n; have < f.bytes; have *= 2)
        CUDA(cudaMemcpy(f.data + have, f.data, std::min(have, f.bytes - have), cudaMemcpyDeviceToDevice));
}

static void slabs(const Field& f, hid_t dset, Way way, bool writing) {
    const hsize_t count[3] = {CHUNK, f.dims[1], f.dims[2]};
    const size_t bytes = count[0] * count[1] * count[2] * f.size;
    hid_t space = H5Dget_space(dset), memory = H5Screate_simple(3, count, NULL);
    for (hsize_t at = 0; at < f.dims[0]; at += CHUNK) {
        const hsize_t start[3] = {at, 0, 0};
        char* there = (writing ? f.data : f.back) + at * count[1] * count[2] * f.size;
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
        if (writing) CUDA(cudaMemcpy(slab, there, bytes, cudaMemcpyDeviceToHost));
        if (way == THREADS && writing)
            CHECK(H5Dwrite_sleek(dset, f.type, start, count, H5P_DEFAULT, slab, NULL, NULL) == SLEEK_OK);
        else if (way == THREADS)
            CHECK(H5Dread_sleek(dset, f.type, start, count, H5P_DEFAULT, slab, NULL, NULL) == SLEEK_OK);
        else if (writing)
            CHECK(H5Dwrite(dset, f.type, memory, space, H5P_DEFAULT, slab) >= 0);
        else
            CHECK(H5Dread(dset, f.type, memory, space, H5P_DEFAULT, slab) >= 0);
        if (!writing) CUDA(cudaMemcpy(there, slab, bytes, cudaMemcpyHostToDevice));
    }
    CHECK(H5Sclose(space) >= 0);
    CHECK(H5Sclose(memory) >= 0);
}

static std::string path(Way way) { return folder + "/" + std::to_string(way) + ".h5"; }

/* Seconds from creating the dataset to closing the file. */
static double write_field(const Field& f, Way way, double bound, hsize_t* stored) {
    const hsize_t chunk[3] = {CHUNK, CHUNK, CHUNK};
    hid_t file = H5Fcreate(path(way).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    const double begun = now();
    hid_t space = H5Screate_simple(3, f.dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (way != PLAIN) {
        CHECK(H5Pset_chunk(dcpl, 3, chunk) >= 0);
        CHECK((bound > 0 ? H5Pset_sleek_noa(dcpl, bound, 0) : H5Pset_sleek_lossless(dcpl)) >= 0);
    }
    hid_t dset = H5Dcreate2(file, "field", f.type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset >= 0);
    if (way == DIRECT)
        CHECK(H5Dwrite_sleek(dset, f.type, NULL, NULL, H5P_DEFAULT, f.data, NULL, NULL) == SLEEK_OK);
    else
        slabs(f, dset, way, true);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    *stored = H5Dget_storage_size(dset);
    CHECK(H5Dclose(dset) >= 0);
    CHECK(H5Pclose(dcpl) >= 0);
    CHECK(H5Sclose(space) >= 0);
    CHECK(H5Fclose(file) >= 0);
    return now() - begun;
}

static double read_field(const Field& f, Way way) {
    hid_t file = H5Fopen(path(way).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file >= 0);
    const double begun = now();
    hid_t dset = H5Dopen2(file, "field", H5P_DEFAULT);
    CHECK(dset >= 0);
    if (way == DIRECT)
        CHECK(H5Dread_sleek(dset, f.type, NULL, NULL, H5P_DEFAULT, f.back, NULL, NULL) == SLEEK_OK);
    else
        slabs(f, dset, way, false);
    CHECK(H5Dclose(dset) >= 0);
    CHECK(H5Fclose(file) >= 0);
    return now() - begun;
}

/* Every chunk of the files of two ways has the same bytes. */
static bool same_chunks(const Field& f, Way a, Way b) {
    hid_t files[2] = {H5Fopen(path(a).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                      H5Fopen(path(b).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)};
    hid_t d[2] = {H5Dopen2(files[0], "field", H5P_DEFAULT), H5Dopen2(files[1], "field", H5P_DEFAULT)};
    std::vector<char> bytes[2];
    bool same = true;
    for (hsize_t z = 0; z < f.dims[0]; z += CHUNK)
        for (hsize_t y = 0; y < f.dims[1]; y += CHUNK)
            for (hsize_t x = 0; x < f.dims[2]; x += CHUNK)
                for (int k = 0; k < 2; k++) {
                    const hsize_t at[3] = {z, y, x};
                    hsize_t n;
                    uint32_t mask;
                    CHECK(H5Dget_chunk_storage_size(d[k], at, &n) >= 0);
                    bytes[k].resize(n);
                    CHECK(H5Dread_chunk(d[k], H5P_DEFAULT, at, &mask, bytes[k].data()) >= 0);
                    if (k == 1) same = same && bytes[0] == bytes[1];
                }
    for (int k = 0; k < 2; k++) {
        CHECK(H5Dclose(d[k]) >= 0);
        CHECK(H5Fclose(files[k]) >= 0);
    }
    return same;
}

/* Whether two arrays in GPU memory are equal. */
static bool equal(const char* a, const char* b, size_t bytes) {
    std::vector<char> x(256 << 20), y(256 << 20);
    for (size_t at = 0; at < bytes; at += x.size()) {
        const size_t n = std::min(x.size(), bytes - at);
        CUDA(cudaMemcpy(x.data(), a + at, n, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(y.data(), b + at, n, cudaMemcpyDeviceToHost));
        if (memcmp(x.data(), y.data(), n)) return false;
    }
    return true;
}

static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "h5d_bench FOLDER GIB\n");
        return 2;
    }
    folder = argv[1];
    Field fields[2] = {{"f32", "tests/data/" FIELD_F32, H5T_NATIVE_FLOAT, 4, {}, 0, NULL, NULL},
                       {"f64", "tests/data/" FIELD_F64, H5T_NATIVE_DOUBLE, 8, {}, 0, NULL, NULL}};
    CUDA(cudaMallocHost(&slab, CHUNK * SIDE * SIDE * 8));
    bool right = true;
    printf(
        "| field | bound | ratio | write: unfiltered | filter | threads | direct | direct / unfiltered "
        "| read: unfiltered | filter | threads | direct | direct / unfiltered |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (Field& f : fields) {
        fill(f, (size_t)atoi(argv[2]));
        hsize_t plain, stored;
        const double gb = f.bytes / 1e9;
        write_field(f, PLAIN, 0, &plain); /* the RAM disk gets its pages */
        for (double bound : {0.0, 1e-2, 1e-3, 1e-4}) {
            std::vector<double> w[4], r[4];
            for (int round = 0; round < 3; round++)
                for (Way way : {PLAIN, FILTER, THREADS, DIRECT}) {
                    if (round > 0 && (way == FILTER || way == THREADS)) continue; /* slow, and not those in question */
                    w[way].push_back(write_field(f, way, bound, way == PLAIN ? &plain : &stored));
                    r[way].push_back(read_field(f, way));
                    if (round == 0 && bound == 0) right = right && equal(f.data, f.back, f.bytes);
                }
            if (!same_chunks(f, FILTER, DIRECT) || !same_chunks(f, FILTER, THREADS)) {
                printf("other bytes than the filter's\n");
                right = false;
            }
            printf("| %s | %s%g | %.2f |", f.name, bound > 0 ? "noa " : "lossless ", bound, (double)f.bytes / stored);
            for (auto* t : {w, r}) {
                for (int way = PLAIN; way <= DIRECT; way++) printf(" %.2f |", gb / median(t[way]));
                printf(" %.1f |", median(t[PLAIN]) / median(t[DIRECT]));
            }
            printf("\n");
            fflush(stdout);
            for (Way way : {FILTER, THREADS, DIRECT}) remove(path(way).c_str());
        }
        remove(path(PLAIN).c_str());
        CUDA(cudaFree(f.data));
        CUDA(cudaFree(f.back));
    }
    puts(right ? "GB/s of data; medians of 3, of filter and threads one run. Chunks are the filter's, byte for byte."
               : "FAILED");
    return right ? 0 : 1;
}
