// A host that opens and closes the library again and again, while threads of the library's pool exist and one of its own is in a
// call; and children that do so too. Run with the path of libsleek.so.
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 19, ROUNDS = 40, CHILDREN = 4 };
static float field[COUNT];
static const char *path;

struct library {
    void *handle;
    int32_t (*init)(sleek_params *);
    size_t (*bound)(const sleek_params *, size_t);
    int32_t (*compress)(const sleek_params *, const void *, size_t, void *, size_t, size_t *, void *);
    int32_t (*decompress)(const void *, size_t, void *, size_t, size_t *, void *);
};

#define HERE(condition) \
    do { if (!(condition)) { fprintf(stderr, "line %d: %s\n", __LINE__, #condition); _exit(1); } } while (0)

static void find(struct library *l, const char *name, void *function) {
    void *symbol = dlsym(l->handle, name);
    HERE(symbol != NULL);
    memcpy(function, &symbol, sizeof symbol);
}

static void work(int threads) {
    struct library l;
    HERE((l.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) != NULL);
    find(&l, "sleek_params_init", &l.init), find(&l, "sleek_compress_bound", &l.bound);
    find(&l, "sleek_compress", &l.compress), find(&l, "sleek_decompress", &l.decompress);
    sleek_params p;
    HERE(l.init(&p) == SLEEK_OK);
    p.dtype = SLEEK_F32, p.threads = threads;
    size_t room = l.bound(&p, COUNT), bytes = 0;
    unsigned char *stream = malloc(room);
    float *back = malloc(sizeof field);
    HERE(l.compress(&p, field, COUNT, stream, room, &bytes, NULL) == SLEEK_OK);
    HERE(l.decompress(stream, bytes, back, sizeof field, NULL, NULL) == SLEEK_OK);
    HERE(memcmp(field, back, sizeof field) == 0);
    free(stream), free(back);
    HERE(dlclose(l.handle) == 0);
}

static volatile int done;

static void *busy(void *unused) {
    (void)unused;
    while (!done) work(3);
    return NULL;
}

int main(int argc, char **argv) {
    HERE(argc == 2);
    path = argv[1];
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 4099) * 0.1003f;
    for (int i = 0; i < ROUNDS; i++) work(1 + i % 4);
    pthread_t thread;
    HERE(pthread_create(&thread, NULL, busy, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        work(1 + i % 4);
        if (i % (ROUNDS / CHILDREN) != 0) continue;
        pid_t child = fork();
        if (child == 0) {
            alarm(900);
            work(2), work(2);
            _exit(0);
        }
        int status = 1;
        HERE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    done = 1;
    HERE(pthread_join(thread, NULL) == 0);
    puts("closed and opened again");
    return 0;
}
