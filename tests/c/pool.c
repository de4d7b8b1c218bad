// The HDF5 to come, as far as the filter sees it: a mock with the functions that the filter asks a library for. It gives and
// takes blocks of exactly the size that is told and wants a chunk back to the byte (2.2), and calls the filter from a pool of
// threads at once, on chunks of several datasets (2.3, where it is built for that): the first call of the process too, and
// with damaged streams among them. As TO_COME it has the pool's function by which 2.3 is known: nobody may touch its error
// stack then, as calls from within a filter take no lock there. Without, it is 2.2, and one thread reads the reason there.
#define _DEFAULT_SOURCE
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { THREADS = 8, ROUNDS = 40, MOST_WORDS = 77, REVERSE = 0x100 };

// As HDF5 declares it.
typedef struct {
    int version, id;
    unsigned encoder_present, decoder_present;
    const char *name;
    void *can_apply;
    int (*set_local)(int64_t, int64_t, int64_t);
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} filter_class;
extern const void *H5PLget_plugin_info(void);

// A dataset of floats with its request, and a chunk of it.
typedef struct {
    const char *request;
    uint64_t dims[2];
    unsigned words[MOST_WORDS];
    size_t n_words, stream_bytes;
    double bound; // 0: every bit; below: none is promised
    float *chunk, *restored;
    unsigned char *stream;
} dataset;

static dataset datasets[] = {
    {.request = "abs=1e-3", .dims = {64, 64}, .bound = 1e-3},
    {.request = "abs=1e-3,profile=small", .dims = {130, 140}, .bound = 1e-3},
    {.request = "noa=1e-4,range=8,profile=fast", .dims = {50, 60}, .bound = 8e-4},
    {.request = "lossless", .dims = {7, 9}},
    {.request = "lossless,profile=small", .dims = {64, 64}},
    {.request = "abs=1e-3,codec=zfp", .dims = {33, 35}, .bound = 1e-3},
    {.request = "rate=12,codec=zfp", .dims = {64, 32}, .bound = -1},
    {.request = "abs=1e-3,fill=0", .dims = {900, 700}, .bound = 1e-3}, // long enough for threads of the library's own
};
enum { DATASETS = sizeof datasets / sizeof *datasets };

// The mock. Ids are numbers of datasets, from 1.
static int pushed, in_pool;
static char reason[512];
int64_t H5Eregister_class(const char *name, const char *library, const char *version) { return name && library && version ? 901 : -1; }
int H5Eunregister_class(int64_t cls) { return cls == 901 ? 0 : -1; }
int H5Eclose_msg(int64_t message) { return message == 902 || message == 903 ? 0 : -1; }
int64_t H5Ecreate_msg(int64_t cls, int kind, const char *text) { return cls == 901 && text ? 902 + kind : -1; }

static dataset *of(int64_t id) {
    CHECK(id >= 1 && id <= DATASETS);
    return &datasets[id - 1];
}

int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release) {
    *major = 2, *release = 0;
#ifdef TO_COME
    *minor = 3;
#else
    *minor = 2;
#endif
    return 0;
}

// An IEEE float of 32 bits, little-endian.
int H5Tencode(int64_t type, void *buffer, size_t *bytes) {
    static const unsigned char f32[] = {3, 0, 0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0};
    of(type);
    if (buffer != NULL) memcpy(buffer, f32, sizeof f32);
    *bytes = sizeof f32;
    return 0;
}

int H5Pget_nfilters(int64_t list) { return of(list) != NULL; }

int H5Pget_filter2(int64_t list, unsigned i, unsigned *flags, size_t *n, unsigned *words, size_t name_bytes, char *name, unsigned *config) {
    dataset *d = of(list);
    CHECK(i == 0 && name_bytes == 0 && name == NULL && *n >= d->n_words);
    *flags = *config = 0, *n = d->n_words;
    memcpy(words, d->words, d->n_words * sizeof *words);
    return 47474;
}

int H5Pmodify_filter(int64_t list, int filter, unsigned flags, size_t n, const unsigned *words) {
    dataset *d = of(list);
    CHECK(filter == 47474 && flags == 0 && n <= MOST_WORDS);
    memcpy(d->words, words, n * sizeof *words);
    d->n_words = n;
    return 0;
}

int H5Pget_chunk(int64_t list, int most, uint64_t *dims) {
    if (most >= 2) memcpy(dims, of(list)->dims, sizeof of(list)->dims);
    return 2;
}

int H5Pfill_value_defined(int64_t list, int *defined) { return of(list), *defined = 1, 0; } // HDF5's own
int H5Pget_fill_value(int64_t list, int64_t type, void *value) { return of(list), of(type), memset(value, 0, 4), 0; }

// Ids are made here, which nobody may do from several threads at once.
int64_t H5Ecreate_stack(void) {
    CHECK(!__atomic_load_n(&in_pool, __ATOMIC_ACQUIRE));
    return 77;
}

int H5Epush2(int64_t stack, const char *file, const char *function, unsigned line, int64_t cls, int64_t major, int64_t minor, const char *format, ...) {
    CHECK(stack == 77 && cls == 901 && major == 902 && minor == 903 && strcmp(format, "%s") == 0 && file && function && line == 0);
    CHECK(!__atomic_load_n(&in_pool, __ATOMIC_ACQUIRE));
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    snprintf(reason, sizeof reason, "%s", __builtin_va_arg(arguments, const char *));
    __builtin_va_end(arguments);
    pushed++;
    return 0;
}

int H5Eset_current_stack(int64_t stack) { return stack == 77 ? 0 : -1; }

#ifdef TO_COME
int H5TSglobal_pool_create(unsigned threads) { return (int)threads; }
#endif

// A call of the filter as HDF5 makes it, in a block of exactly `bytes`; `told` is the size that HDF5 says it has.
static size_t filter(const dataset *d, unsigned flags, const void *bytes_in, size_t bytes, size_t told, void **block) {
    const filter_class *class = H5PLget_plugin_info();
    size_t size = told;
    CHECK((*block = malloc(told)) != NULL);
    memcpy(*block, bytes_in, bytes);
    void *before = *block;
    const size_t got = class->filter(flags, d->n_words, d->words, bytes, &size, block);
    if (got == 0) CHECK(*block == before && size == told && memcmp(before, bytes_in, bytes) == 0);
    else CHECK(got <= size && malloc_usable_size(*block) >= size);
    return got;
}

static size_t chunk_bytes(const dataset *d) { return d->dims[0] * d->dims[1] * sizeof(float); }

static void writes(const dataset *d) {
    void *block;
    const size_t got = filter(d, 0, d->chunk, chunk_bytes(d), chunk_bytes(d), &block);
    CHECK(got == d->stream_bytes && memcmp(block, d->stream, got) == 0);
    free(block);
}

// HDF5 2.3 tells the chunk's size where the stream is shorter, older ones the stream's.
static void reads(const dataset *d, int more_room) {
    void *block;
    const size_t room = more_room && chunk_bytes(d) > d->stream_bytes ? chunk_bytes(d) : d->stream_bytes;
    CHECK(filter(d, REVERSE, d->stream, d->stream_bytes, room, &block) == chunk_bytes(d));
    CHECK(memcmp(block, d->restored, chunk_bytes(d)) == 0);
    free(block);
}

// A stream that was changed, and one that is right but of another dataset's chunks: both are refused, neither is kept.
static void reads_damaged(const dataset *d, const dataset *other) {
    void *block;
    unsigned char *changed = malloc(d->stream_bytes);
    CHECK(changed != NULL);
    memcpy(changed, d->stream, d->stream_bytes);
    changed[d->stream_bytes - 1 - d->stream_bytes / 3] ^= 0x10;
    CHECK(filter(d, REVERSE, changed, d->stream_bytes, d->stream_bytes, &block) == 0);
    CHECK(strncmp(sleek_last_error(), "corrupt stream: ", 16) == 0);
    free(block), free(changed);
    if (chunk_bytes(other) == chunk_bytes(d)) return;
    CHECK(filter(d, REVERSE, other->stream, other->stream_bytes, other->stream_bytes, &block) == 0);
    CHECK(strstr(sleek_last_error(), "a chunk of the dataset has") != NULL);
    free(block);
}

// HDF5 asks the filter nothing of strings of any length, and there are no words: no stream of one is shorter than it.
static void writes_a_text(void) {
    void *block;
    const dataset text = {.request = ""};
    const size_t length = filter(&text, 0, "0123456789abcdef", 16, 16, &block);
    CHECK(length > 16 && length <= 256);
    unsigned char stream[256];
    memcpy(stream, block, length);
    free(block);
    CHECK(filter(&text, REVERSE, stream, length, length, &block) == 16 && memcmp(block, "0123456789abcdef", 16) == 0);
    free(block);
}

static pthread_barrier_t begin;

static void *cold(void *number) {
    pthread_barrier_wait(&begin);
    for (size_t i = 0; i < DATASETS; i++) reads(&datasets[(i + (size_t)(intptr_t)number) % DATASETS], 1);
    return NULL;
}

static void *work(void *number) {
    unsigned state = 1 + (unsigned)(intptr_t)number;
    pthread_barrier_wait(&begin);
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 1664525u + 1013904223u;
        const dataset *d = &datasets[(state >> 16) % DATASETS];
        if (round % 3 == 0) writes(d);
        reads(d, round % 2);
        // Of 2.2, whose error stack is one, these come one after the other (below).
#ifdef TO_COME
        if (round % 5 == 0) reads_damaged(d, &datasets[(state >> 8) % DATASETS]);
#endif
    }
    return NULL;
}

static void at_once(void *(*what)(void *)) {
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&begin, NULL, THREADS) == 0);
    __atomic_store_n(&in_pool, 1, __ATOMIC_RELEASE);
    for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, what, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    __atomic_store_n(&in_pool, 0, __ATOMIC_RELEASE);
    CHECK(pthread_barrier_destroy(&begin) == 0);
}

static void make(dataset *d) {
    const filter_class *class = H5PLget_plugin_info();
    const size_t text = strlen(d->request), count = d->dims[0] * d->dims[1];
    const int64_t id = d - datasets + 1;
    d->words[0] = 2, d->n_words = 1 + (text + 3) / 4;
    memcpy(d->words + 1, d->request, text);
    CHECK(class->set_local(id, id, id) == 0);
    CHECK((d->words[0] & 0xff) == 3 && d->n_words <= 16); // the long form
    for (size_t i = 0; i < count; i++) {
        const uint64_t x = i % d->dims[1], y = i / d->dims[1];
        d->chunk[i] = 280 + (float)(x * x % 97) * 0.01f + (float)y * 0.125f;
        if (i % 1000 == 999) d->chunk[i] = 0;
    }
    void *block;
    d->stream_bytes = filter(d, 0, d->chunk, chunk_bytes(d), chunk_bytes(d), &block);
    CHECK(d->stream_bytes > 0 && d->stream_bytes <= chunk_bytes(d) + 4096);
    memcpy(d->stream, block, d->stream_bytes);
    free(block);
    CHECK(filter(d, REVERSE, d->stream, d->stream_bytes, d->stream_bytes, &block) == chunk_bytes(d));
    memcpy(d->restored, block, chunk_bytes(d));
    free(block);
    for (size_t i = 0; i < count && d->bound >= 0; i++) {
        const double error = (double)d->restored[i] - (double)d->chunk[i];
        CHECK(error <= d->bound && -error <= d->bound);
    }
}

// What children make their parent sees.
static void *shared(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

int main(void) {
    dataset *made = shared(sizeof datasets);
    for (dataset *d = datasets; d < datasets + DATASETS; d++) {
        d->chunk = shared(chunk_bytes(d)), d->restored = shared(chunk_bytes(d)), d->stream = shared(chunk_bytes(d) + 4096);
    }
    // Another process makes the datasets, so that the pool's calls are the first ones of this.
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < DATASETS; i++) make(&datasets[i]);
        memcpy(made, datasets, sizeof datasets);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    memcpy(datasets, made, sizeof datasets);
    at_once(cold);
    at_once(work);
    writes_a_text();
    CHECK(pushed == 0);
    for (int i = 0; i < DATASETS; i++) reads_damaged(&datasets[i], &datasets[(i + 1) % DATASETS]);
#ifdef TO_COME
    CHECK(pushed == 0);
#else
    CHECK(pushed == 2 * DATASETS && strstr(reason, "a chunk of the dataset has") != NULL);
#endif
    puts("exact sizes and a pool of threads are fine");
    return 0;
}
