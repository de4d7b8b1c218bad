/* Everything at once in one process: threads that write and read through HDF5, threads that call libsleek past it, children that
 * are forked meanwhile. Where HDF5 is not thread-safe the program does what its rules ask for, and locks around it.
 *     stress LIBSLEEK FOLDER */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sleek.h"
#include "sleek_hdf5.h"

enum { COUNT = 1 << 18, CHUNK = COUNT / 8, WRITERS = 6, CALLERS = 2, ROUNDS = 12, FORKS = 10 };
static const double bound = 1e-3;
static const char *folder;
static float field[COUNT];
static hbool_t threadsafe;
static pthread_mutex_t hdf5 = PTHREAD_MUTEX_INITIALIZER;

static __typeof__(&sleek_params_init) params_init;
static __typeof__(&sleek_compress_bound) compress_bound;
static __typeof__(&sleek_compress) compress;
static __typeof__(&sleek_decompress) decompress;

#define CHECK(condition) do { if (!(condition)) { fprintf(stderr, "line %d: %s\n", __LINE__, #condition); _exit(1); } } while (0)
/* One call of HDF5. */
#define H5(call) __extension__ ({                          \
    if (!threadsafe) pthread_mutex_lock(&hdf5);            \
    __typeof__(call) result_ = (call);                     \
    if (!threadsafe) pthread_mutex_unlock(&hdf5);          \
    CHECK(result_ >= 0);                                   \
    result_;                                               \
})

static int kept(const float *back)
{
    for (int i = 0; i < COUNT; i++)
        if (!(field[i] - back[i] <= bound && back[i] - field[i] <= bound)) return 0;
    return 1;
}

static void *writer(void *number)
{
    const hsize_t dims[1] = {COUNT}, chunk[1] = {CHUNK};
    char path[4096];
    float *back = malloc(sizeof field);
    snprintf(path, sizeof path, "%s/%d.h5", folder, (int)(intptr_t)number);
    for (int round = 0; round < ROUNDS; round++) {
        hid_t file = H5(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), space = H5(H5Screate_simple(1, dims, NULL));
        hid_t dcpl = H5(H5Pcreate(H5P_DATASET_CREATE));
        H5(H5Pset_chunk(dcpl, 1, chunk));
        H5(H5Pset_sleek_abs(dcpl, bound));
        hid_t dset = H5(H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
        H5(H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
        H5(H5Dclose(dset)); H5(H5Fclose(file)); H5(H5Pclose(dcpl)); H5(H5Sclose(space));

        file = H5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT)), dset = H5(H5Dopen2(file, "t", H5P_DEFAULT));
        H5(H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
        H5(H5Dclose(dset)); H5(H5Fclose(file));
        CHECK(kept(back));
    }
    free(back);
    return NULL;
}

static void past_hdf5(int threads)
{
    sleek_params p;
    size_t bytes = 0;
    CHECK(params_init(&p) == 0);
    p.dtype = SLEEK_F32, p.mode = SLEEK_ABS, p.bound = bound, p.threads = threads;
    size_t room = compress_bound(&p, COUNT);
    unsigned char *stream = malloc(room);
    float *back = malloc(sizeof field);
    CHECK(compress(&p, field, COUNT, stream, room, &bytes, NULL) == 0);
    CHECK(decompress(stream, bytes, back, sizeof field, NULL, NULL) == 0);
    CHECK(kept(back));
    free(stream), free(back);
}

static volatile int done;

static void *caller(void *calls)
{
    int n = 0;
    for (; !done; n++) past_hdf5(1 + n % 4);
    *(int *)calls = n;
    return NULL;
}

/* A child may not use HDF5, whose lock another thread of the parent may have held; libsleek it may. */
static void forks(void)
{
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(900);
            past_hdf5(1 + i % 3);
            _exit(0);
        }
        int status = 1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[WRITERS + CALLERS];
    int calls[CALLERS] = {0};
    CHECK(argc == 3);
    folder = argv[2];
    /* The same file that HDF5 loads as its plugin, hence the same pool. */
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)&params_init = dlsym(library, "sleek_params_init"), *(void **)&compress_bound = dlsym(library, "sleek_compress_bound");
    *(void **)&compress = dlsym(library, "sleek_compress"), *(void **)&decompress = dlsym(library, "sleek_decompress");
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 1009) * 0.1003f;
    CHECK(H5open() >= 0 && H5is_library_threadsafe(&threadsafe) >= 0);
    /* These two are set up by their first use, which must not be in two threads without a lock. */
    CHECK(H5P_DATASET_CREATE >= 0 && H5T_NATIVE_FLOAT >= 0 && H5T_IEEE_F32LE >= 0);

    for (int i = 0; i < WRITERS; i++) CHECK(pthread_create(&threads[i], NULL, writer, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < CALLERS; i++) CHECK(pthread_create(&threads[WRITERS + i], NULL, caller, &calls[i]) == 0);
    forks();
    for (int i = 0; i < WRITERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    done = 1;
    for (int i = 0; i < CALLERS; i++) CHECK(pthread_join(threads[WRITERS + i], NULL) == 0);
    CHECK(dlclose(library) == 0 && H5close() >= 0);
    printf("%s: %d files written and read, %d calls past HDF5, %d children: kept\n",
           threadsafe ? "thread-safe HDF5" : "HDF5 locked by the program", WRITERS * ROUNDS, calls[0] + calls[1], FORKS);
    return 0;
}
