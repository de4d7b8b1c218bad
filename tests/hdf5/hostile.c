/* Datasets that somebody made to do harm, or without knowing that they do.
 *     hostile FILE behind ID OPTIONAL [WORD...]   a filter behind SLEEK: says whether the dataset is refused, kept or lost
 *     hostile FILE length TYPE CHANGE             a chunk whose stream restores that many bytes more or fewer than the chunk has
 *     hostile FILE elements TYPE CODE BIG         a chunk whose stream has elements of that code and order, and the chunk's length
 *     hostile FILE there TYPE                     elements of any type there and back
 *     hostile FILE log                            a dataset of abs=0.5; says which bound it has */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sleek.h>
#include "sleek_hdf5.h"

#define DIE(...) do { fprintf(stderr, "line %d: ", __LINE__); fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(1); } while (0)
#define CHECK(call) do { if ((call) < 0) DIE("%s", #call); } while (0)

enum { COUNT = 8192, CHUNK = 4096 };
static float field[COUNT], back[COUNT];

static hid_t make(hid_t file, hid_t type, hid_t dcpl)
{
    const hsize_t dims[1] = {COUNT};
    hid_t space = H5Screate_simple(1, dims, NULL), dset;
    H5E_BEGIN_TRY { dset = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT); } H5E_END_TRY
    CHECK(H5Sclose(space));
    return dset;
}

static hid_t chunked(void)
{
    const hsize_t chunk[1] = {CHUNK};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(dcpl, 1, chunk));
    return dcpl;
}

static int behind(const char *path, int id, int optional, int n, char **words)
{
    unsigned cd[32];
    for (int i = 0; i < n; i++) cd[i] = (unsigned)strtoul(words[i], NULL, 0);
    hid_t dcpl = chunked();
    CHECK(H5Pset_sleek_abs(dcpl, 1e-3));
    CHECK(H5Pset_filter(dcpl, id, optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY, (size_t)n, cd));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset = make(file, H5T_IEEE_F32LE, dcpl);
    if (dset < 0) return puts("refused"), 0;
    int status;
    H5E_BEGIN_TRY {
        status = H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field);
        if (H5Dclose(dset) < 0 || H5Fclose(file) < 0) status = -1;
    } H5E_END_TRY
    if (status < 0) return puts("not written"), 0;
    CHECK(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    CHECK(dset = H5Dopen2(file, "d", H5P_DEFAULT));
    H5E_BEGIN_TRY { status = H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back); } H5E_END_TRY
    for (int i = 0; status >= 0 && i < COUNT; i++)
        if (!(fabs((double)field[i] - back[i]) <= 1e-3)) status = -1;
    return puts(status < 0 ? "lost" : "kept"), 0;
}

static hid_t type_of(const char *name)
{
    const hsize_t three[1] = {3};
    if (strcmp(name, "u8") == 0) return H5T_STD_U8LE;
    if (strcmp(name, "i32") == 0) return H5T_STD_I32BE;
    if (strcmp(name, "f32") == 0) return H5T_IEEE_F32LE;
    if (strcmp(name, "f64") == 0) return H5T_IEEE_F64LE;
    if (strcmp(name, "array") == 0) return H5Tarray_create2(H5T_IEEE_F32LE, 1, three);
    if (strcmp(name, "opaque") == 0) return H5Tcreate(H5T_OPAQUE, 11);
    if (strcmp(name, "reference") == 0) return H5T_STD_REF_OBJ;
    if (strcmp(name, "region") == 0) return H5T_STD_REF_DSETREG;
    hid_t string = H5Tcopy(H5T_C_S1);
    CHECK(H5Tset_size(string, 7));
    if (strcmp(name, "compound") != 0) return string;
    hid_t compound = H5Tcreate(H5T_COMPOUND, 19);
    CHECK(H5Tinsert(compound, "s", 0, string));
    CHECK(H5Tinsert(compound, "x", 11, H5T_IEEE_F64BE));
    return compound;
}

/* A stream of so many bytes of 0x5a, as elements of this code and order. */
static size_t stream_of(size_t bytes, int code, int big_endian, size_t size, void *to, size_t room)
{
    sleek_params params;
    size_t n = 0;
    unsigned char *raw = malloc(bytes);
    memset(raw, 0x5a, bytes);
    if (sleek_params_init(&params) || sleek_params_parse(&params, "lossless")) DIE("parameters");
    params.dtype = code;
    params.big_endian = big_endian;
    if (sleek_compress(&params, raw, bytes / size, to, room, &n, NULL)) DIE("%s", sleek_last_error());
    free(raw);
    return n;
}

static int chunks(const char *path, const char *name, long change, int code, int big_endian, size_t of)
{
    hid_t dcpl = chunked(), type = type_of(name);
    CHECK(H5Pset_sleek_lossless(dcpl));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset = make(file, type, dcpl);
    CHECK(dset);
    size_t size = H5Tget_size(type), room = 4 * size * CHUNK + 100000, n;
    void *stream = malloc(room);
    n = stream_of((size_t)((long)(size * CHUNK) + change), code, big_endian, of, stream, room);
    for (hsize_t at = 0; at < COUNT; at += CHUNK) CHECK(H5Dwrite_chunk(dset, H5P_DEFAULT, 0, &at, n, stream));
    CHECK(H5Dclose(dset));
    CHECK(dset = H5Dopen2(file, "d", H5P_DEFAULT));
    unsigned char *data = calloc(COUNT, size);
    int read, direct;
    sleek_h5d_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    H5E_BEGIN_TRY {
        read = H5Dread(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        direct = H5Dread_sleek(dset, type, NULL, NULL, H5P_DEFAULT, data, NULL, &info);
    } H5E_END_TRY
    size_t foreign = 0;
    if (read >= 0) for (size_t i = 0; i < size * COUNT; i++) foreign += data[i] != 0x5a;
    printf("H5Dread %s, sleek_h5d_read %s, %zu foreign bytes\n", read < 0 ? "refuses" : "takes",
           direct != 0 ? "refuses" : "takes", foreign);
    return 0;
}

static int there(const char *path, const char *name)
{
    hid_t dcpl = chunked(), type = type_of(name);
    CHECK(H5Pset_sleek_lossless(dcpl));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset = make(file, type, dcpl);
    CHECK(dset);
    size_t size = H5Tget_size(type);
    int references = strncmp(name, "re", 2) == 0;
    unsigned char *data = calloc(COUNT, size), *read = calloc(COUNT, size);
    for (size_t i = 0; !references && i < size * COUNT; i++) data[i] = (unsigned char)(i % 251);
    CHECK(H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    CHECK(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    CHECK(dset = H5Dopen2(file, "d", H5P_DEFAULT));
    CHECK(H5Dread(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read));
    /* The padding of a compound is nobody's. */
    int same = strcmp(name, "compound") == 0 || memcmp(data, read, size * COUNT) == 0;
    return puts(same ? "kept" : "changed"), 0;
}

static int logged(const char *path)
{
    hid_t dcpl = chunked();
    CHECK(H5Pset_sleek_abs(dcpl, 0.5));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dset = make(file, H5T_IEEE_F32LE, dcpl);
    if (dset < 0) return puts("refused"), 0;
    CHECK(dcpl = H5Dget_create_plist(dset));
    unsigned flags, config, cd[32];
    size_t n = 32;
    CHECK(H5Pget_filter_by_id2(dcpl, SLEEK_ID, &flags, &n, cd, 0, NULL, &config));
    printf("mode %u, bound %s\n", cd[0] >> 8 & 15, cd[3] == 0x3fe00000u ? "0.5" : "another");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || sleek_h5_register() < 0) return 9;
    for (int i = 0; i < COUNT; i++) field[i] = (float)(280 + 10 * sin(1e-2 * i));
    if (strcmp(argv[2], "behind") == 0) return behind(argv[1], atoi(argv[3]), atoi(argv[4]), argc - 5, argv + 5);
    if (strcmp(argv[2], "length") == 0) return chunks(argv[1], argv[3], atol(argv[4]), SLEEK_U8, 0, 1);
    if (strcmp(argv[2], "elements") == 0 && argc == 6) {
        static const size_t sizes[13] = {0, 4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8};
        return chunks(argv[1], argv[3], 0, atoi(argv[4]), atoi(argv[5]), sizes[atoi(argv[4])]);
    }
    return strcmp(argv[2], "there") == 0 ? there(argv[1], argv[3]) : logged(argv[1]);
}
