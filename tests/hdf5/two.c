/* Two HDF5 libraries in one process: each writes with the one filter that both loaded, and each reads what the other wrote. This
 * program is linked to none, so that it can call either. Both are hidden from the global symbol scope, as in Python; or the
 * first is in it, where its functions are found in place of the second's by whoever looks for them there.
 *     two hidden|shown FIRST SECOND FILE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100000, ROUNDS = 20, FILTER = 47474, MANDATORY = 0, TRUNC = 2, RDONLY = 0 };
typedef int64_t hid;
typedef unsigned long long hsize;
static float field[COUNT];

#define CHECK(condition) do { if (!(condition)) { fprintf(stderr, "line %d: %s\n", __LINE__, #condition); exit(1); } } while (0)

/* What is used of an HDF5, under the names that all of them since 1.10 have. */
struct hdf5 {
    const char *path;
    void *library;
    int (*open)(void), (*close)(void);
    hid (*file_create)(const char *, unsigned, hid, hid), (*file_open)(const char *, unsigned, hid), (*list)(hid);
    hid (*space)(int, const hsize *, const hsize *), (*create)(hid, const char *, hid, hid, hid, hid, hid);
    hid (*dataset)(hid, const char *, hid);
    int (*chunk)(hid, int, const hsize *), (*filter)(hid, int, unsigned, size_t, const unsigned *);
    int (*write)(hid, hid, hid, hid, hid, const void *), (*read)(hid, hid, hid, hid, hid, void *);
    int (*dataset_close)(hid), (*file_close)(hid), (*space_close)(hid), (*list_close)(hid);
    hid dcpl_class, big_endian, native;
    unsigned version[3];
};

static void *find(struct hdf5 *h, const char *name)
{
    void *symbol = dlsym(h->library, name);
    if (symbol == NULL) fprintf(stderr, "%s has no %s\n", h->path, name), exit(1);
    return symbol;
}

static void load(struct hdf5 *h, const char *path, int scope)
{
    int (*version)(unsigned *, unsigned *, unsigned *);
    h->path = path;
    h->library = dlopen(path, RTLD_NOW | scope);
    if (h->library == NULL) fprintf(stderr, "%s\n", dlerror()), exit(1);
#define FIND(member, name) *(void **)&h->member = find(h, name)
    FIND(open, "H5open"), FIND(close, "H5close"), FIND(file_create, "H5Fcreate"), FIND(file_open, "H5Fopen");
    FIND(list, "H5Pcreate"), FIND(space, "H5Screate_simple"), FIND(create, "H5Dcreate2"), FIND(dataset, "H5Dopen2");
    FIND(chunk, "H5Pset_chunk"), FIND(filter, "H5Pset_filter"), FIND(write, "H5Dwrite"), FIND(read, "H5Dread");
    FIND(dataset_close, "H5Dclose"), FIND(file_close, "H5Fclose"), FIND(space_close, "H5Sclose"), FIND(list_close, "H5Pclose");
    *(void **)&version = find(h, "H5get_libversion");
    CHECK(h->open() >= 0 && version(&h->version[0], &h->version[1], &h->version[2]) >= 0);
    h->dcpl_class = *(hid *)find(h, "H5P_CLS_DATASET_CREATE_ID_g");
    h->big_endian = *(hid *)find(h, "H5T_IEEE_F32BE_g"), h->native = *(hid *)find(h, "H5T_NATIVE_FLOAT_g");
}

static void write_with(struct hdf5 *h, const char *path)
{
    const hsize dims[1] = {COUNT}, chunk[1] = {30000};
    const double bound = 1e-3;
    unsigned words[5] = {1, 1};
    uint64_t bits;
    memcpy(&bits, &bound, 8);
    words[2] = (unsigned)bits, words[3] = (unsigned)(bits >> 32);
    hid file = h->file_create(path, TRUNC, 0, 0), dcpl = h->list(h->dcpl_class), space = h->space(1, dims, NULL);
    CHECK(file >= 0 && h->chunk(dcpl, 1, chunk) >= 0 && h->filter(dcpl, FILTER, MANDATORY, 5, words) >= 0);
    hid dset = h->create(file, "t", h->big_endian, space, 0, dcpl, 0);
    CHECK(dset >= 0 && h->write(dset, h->native, 0, 0, 0, field) >= 0);
    CHECK(h->dataset_close(dset) >= 0 && h->file_close(file) >= 0 && h->space_close(space) >= 0 && h->list_close(dcpl) >= 0);
}

static void read_with(struct hdf5 *h, const char *path)
{
    float *back = calloc(COUNT, sizeof *back);
    hid file = h->file_open(path, RDONLY, 0), dset = h->dataset(file, "t", 0);
    CHECK(dset >= 0 && h->read(dset, h->native, 0, 0, 0, back) >= 0);
    CHECK(h->dataset_close(dset) >= 0 && h->file_close(file) >= 0);
    for (int i = 0; i < COUNT; i++) CHECK(field[i] - back[i] <= 1e-3 && back[i] - field[i] <= 1e-3);
    free(back);
}

static struct hdf5 both[2];
static char paths[2][4096];

/* Writes and reads with one of them, again and again, while the other thread does so with the other. */
static void *alone(void *which)
{
    int i = (int)(intptr_t)which;
    for (int round = 0; round < ROUNDS; round++) write_with(&both[i], paths[i]), read_with(&both[i], paths[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    int shown = strcmp(argv[1], "shown") == 0;
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 1009) * 0.1003f;
    for (int i = 0; i < 2; i++) {
        load(&both[i], argv[2 + i], !shown ? RTLD_LOCAL : i == 0 ? RTLD_GLOBAL : RTLD_LOCAL | RTLD_DEEPBIND);
        snprintf(paths[i], sizeof paths[i], "%s%d", argv[4], i);
    }
    CHECK(both[0].library != both[1].library && both[0].create != both[1].create);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++) write_with(&both[i], paths[i]), read_with(&both[1 - i], paths[i]);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, alone, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    /* One of them goes, which unloads its plugins; the other stays usable. */
    CHECK(both[0].close() >= 0);
    write_with(&both[1], paths[1]), read_with(&both[1], paths[1]);
    CHECK(both[0].open() >= 0);
    both[0].dcpl_class = *(hid *)find(&both[0], "H5P_CLS_DATASET_CREATE_ID_g");
    both[0].big_endian = *(hid *)find(&both[0], "H5T_IEEE_F32BE_g"), both[0].native = *(hid *)find(&both[0], "H5T_NATIVE_FLOAT_g");
    write_with(&both[0], paths[0]), read_with(&both[1], paths[0]);
    printf("HDF5 %u.%u.%u and %u.%u.%u: kept\n", both[0].version[0], both[0].version[1], both[0].version[2], both[1].version[0],
           both[1].version[1], both[1].version[2]);
    return 0;
}
