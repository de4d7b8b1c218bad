// Out of memory at each allocation of a call, up to the first 1000. In calls of a process that has made such a call before
// one of them fails alone, or all from it on; in these and in the first call of a process there is a byte too little for
// it, while what is free may be had. The call does its work all the same or says that memory is short, keeps nothing, and
// the next one is as if nothing had been.
#define _DEFAULT_SOURCE
#include "check.h"

#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>

enum { MOST = 1000 };

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// Which allocation fails, counted from 0; all behind it too? How many there were; blocks and bytes in use; the most bytes
// that may be, and for each allocation what it took.
static int failing = -1, all_behind, made;
static long live, bytes_in_use, most_bytes = -1;
static long *taken;

static int refused(size_t size) {
    int n = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    long all = __atomic_load_n(&bytes_in_use, __ATOMIC_RELAXED) + (long)size;
    if (taken != NULL && n < MOST) taken[n] = all;
    int short_of_bytes = most_bytes >= 0 && all > most_bytes;
    if (!short_of_bytes && (failing < 0 || !(n == failing || (all_behind && n > failing)))) return 0;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *block, long sign) {
    if (block != NULL) {
        __atomic_fetch_add(&live, sign, __ATOMIC_RELAXED);
        __atomic_fetch_add(&bytes_in_use, sign * (long)malloc_usable_size(block), __ATOMIC_RELAXED);
    }
    return block;
}

void *malloc(size_t n) { return refused(n) ? NULL : counted(__libc_malloc(n), 1); }
void *calloc(size_t n, size_t size) { return refused(n * size) ? NULL : counted(__libc_calloc(n, size), 1); }
void *memalign(size_t align, size_t n) { return refused(n) ? NULL : counted(__libc_memalign(align, n), 1); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
void free(void *block) { __libc_free(counted(block, -1)); }

void *realloc(void *block, size_t n) {
    if (refused(n)) return NULL;
    counted(block, -1);
    return counted(__libc_realloc(block, n), 1);
}

int posix_memalign(void **block, size_t align, size_t n) {
    void *there = memalign(align, n);
    if (there == NULL) return ENOMEM;
    *block = there;
    return 0;
}

// As HDF5 declares it.
typedef struct {
    int version, id;
    unsigned encoder_present, decoder_present;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned, size_t, const unsigned *, size_t, size_t *, void **);
} filter_class;
extern const void *H5PLget_plugin_info(void);

static float field[COUNT], restored[COUNT];
static unsigned char copy[4 * COUNT + 100000];
// Shared with children: a stream by one of them is read by the others.
static struct shared {
    size_t bytes;
    long taken[MOST];
    unsigned char stream[sizeof copy];
} *shared;
static int32_t codec, lossless;
// Those of codec zfp; how many elements are searched for a bound.
static uint64_t dims[] = {10, 10, 10, COUNT / 1000};
enum { SEARCHED = 1000 };

static sleek_params request(void) {
    sleek_params p = defaults(SLEEK_F32);
    p.codec = codec, p.threads = 1, p.mode = lossless ? SLEEK_LOSSLESS : SLEEK_ABS, p.bound = lossless ? 0 : 1e-3;
    p.has_fill_value = 1, p.fill_value = -1;
    if (codec == SLEEK_CODEC_ZFP) p.dims = dims, p.rank = 4;
    return p;
}

static int compress(void) {
    sleek_params p = request();
    size_t bytes = 1;
    int code = sleek_compress(&p, field, COUNT, copy, sizeof copy, &bytes, NULL);
    if (code != SLEEK_OK) CHECK(bytes == 0);
    else CHECK(shared->bytes == 0 || (bytes == shared->bytes && memcmp(copy, shared->stream, bytes) == 0));
    if (code == SLEEK_OK && shared->bytes == 0) memcpy(shared->stream, copy, bytes), shared->bytes = bytes;
    return code;
}

static int decompress(void) {
    size_t bytes = 1;
    int code = sleek_decompress(shared->stream, shared->bytes, restored, sizeof restored, &bytes, NULL);
    CHECK(bytes == (code == SLEEK_OK ? sizeof restored : 0));
    for (int i = 0; code == SLEEK_OK && i < COUNT; i++) CHECK(restored[i] - field[i] <= 1e-3f && field[i] - restored[i] <= 1e-3f);
    return code;
}

// Damage is told, as far as there is memory for the text.
static int damaged(void) {
    memcpy(copy, shared->stream, shared->bytes);
    copy[shared->bytes - 1] ^= 1;
    int code = sleek_decompress(copy, shared->bytes, restored, sizeof restored, NULL, NULL);
    CHECK(code != SLEEK_OK);
    return code == SLEEK_E_CORRUPT ? SLEEK_OK : code;
}

static int range(void) {
    return sleek_decompress_range(shared->stream, shared->bytes, 5, COUNT / 4, restored, sizeof restored, NULL);
}

static int inspect(void) {
    sleek_info info = {.struct_size = sizeof info};
    return sleek_inspect(shared->stream, shared->bytes, &info);
}

static int find(int target, double value) {
    uint64_t few[] = {5, 5, 8, SEARCHED / 200};
    sleek_params p = request();
    if (p.rank) p.dims = few;
    return sleek_find_bound(&p, field, SEARCHED, target, value);
}

static int find_ssim(void) { return find(SLEEK_TARGET_SSIM, 0.999); }

// What no bound meets is told, as far as there is memory for the text.
static int find_none(void) {
    int code = find(SLEEK_TARGET_RATIO, 1e9);
    CHECK(code != SLEEK_OK);
    return code == SLEEK_E_INVALID_ARGUMENT ? SLEEK_OK : code;
}

static int is_search(int (*call)(void)) { return call == find_ssim || call == find_none; }

static int parse(void) {
    sleek_params p = request();
    return sleek_params_parse(&p, "abs=0.25,profile=fast,fill=-9999");
}

// The range of what lies between marks and zeros.
static int of_chunk(void) {
    sleek_params p = request();
    p.codec = SLEEK_CODEC_DEFAULT, p.mode = SLEEK_NOA;
    return sleek_params_of_chunk(&p, field, COUNT);
}

// Refusals keep their codes; their texts are as long as there is memory for.
static int refusals(void) {
    enum { REQUESTS = 6 };
    static uint64_t others[] = {7, 7};
    sleek_params all[REQUESTS];
    size_t bytes;
    for (int i = 0; i < REQUESTS; i++) all[i] = defaults(SLEEK_F32), all[i].mode = SLEEK_ABS, all[i].bound = 1;
    all[0].codec = SLEEK_CODEC_ZFP, all[0].mode = SLEEK_NOA;
    all[1].codec = SLEEK_CODEC_ZFP, all[1].dtype = SLEEK_I8, all[1].mode = SLEEK_LOSSLESS;
    all[2].codec = 99, all[3].codec = SLEEK_CODEC_INTERP, all[3].profile = SLEEK_FAST;
    all[4].dims = others, all[4].rank = 2, all[5].missing_count = 1, all[5].missing[0] = 1ull << 40;
    for (int i = 0; i < REQUESTS; i++) {
        int code = sleek_compress(&all[i], field, COUNT, copy, sizeof copy, &bytes, NULL);
        if (code == SLEEK_E_OUT_OF_MEMORY) return code;
        CHECK(code == (i == 1 ? SLEEK_E_UNSUPPORTED_TYPE : SLEEK_E_INVALID_ARGUMENT) && *sleek_strerror(code));
    }
    int other = sleek_decompress_as(SLEEK_F64, 1, shared->stream, shared->bytes, restored, sizeof restored, NULL);
    if (other == SLEEK_E_OUT_OF_MEMORY) return other;
    CHECK(other == SLEEK_E_INVALID_ARGUMENT);
    static const char *const words[] = {"abs=x", "abs=1,limits=5", "abs=1,fill=0x", "abs=1,codec=no\n", "abs=1,what"};
    for (int i = 0; i < 5; i++) {
        int code = sleek_params_parse(&all[0], words[i]);
        if (code == SLEEK_E_OUT_OF_MEMORY) return code;
        CHECK(code == SLEEK_E_INVALID_ARGUMENT);
    }
    return SLEEK_OK;
}

// A failure of the filter has a text alone.
static int filter(unsigned flags, const void *chunk, size_t bytes) {
    const filter_class *class = H5PLget_plugin_info();
    size_t size = bytes;
    void *block = __libc_malloc(bytes);
    memcpy(counted(block, 1), chunk, bytes);
    // abs=1e-3,fill=-1 for chunks of so many f32, as HDF5 keeps it (docs/reference/api.md).
    const unsigned words[] = {0x1000103, 0x20201, 0xd2f1a9fc, 0x3f50624d, 0xbf800000, COUNT};
    size_t got = class->filter(flags, sizeof words / sizeof *words, words, bytes, &size, &block);
    int code = got > 0 ? SLEEK_OK : strstr(sleek_last_error(), "out of memory") != NULL ? SLEEK_E_OUT_OF_MEMORY : SLEEK_E_INTERNAL;
    if (got == 0) CHECK(size == bytes && memcmp(block, chunk, bytes) == 0);
    free(block);
    return code;
}

static int filter_writes(void) { return filter(0, field, sizeof field); }
static int filter_reads(void) { return filter(0x100, shared->stream, shared->bytes); }

enum { ALONE, ALL_BEHIND, TOO_FEW_BYTES, TOO_FEW_AT_FIRST, WAYS };
static const char *const WAY[] = {"alone", "and all behind", "for want of bytes", "for want of bytes, in the first call"};

// The call without a failure, for the bytes that its allocations take.
static int measured(int (*call)(void), int way) {
    if (way != TOO_FEW_AT_FIRST && (call() != SLEEK_OK || call() != SLEEK_OK)) return 10;
    memset(shared->taken, 0, sizeof shared->taken);
    taken = shared->taken, made = 0;
    return call() == SLEEK_OK ? 0 : 11;
}

// The call with allocation n failing: 0 for an outcome as promised, 1 if there are not as many, else what is wrong.
static int starved(int (*call)(void), int n, int way) {
    if (way >= TOO_FEW_BYTES && shared->taken[n] == 0) return 1;
    if (way != TOO_FEW_AT_FIRST && (call() != SLEEK_OK || call() != SLEEK_OK)) return 12;
    long before = live;
    made = 0;
    if (way >= TOO_FEW_BYTES) most_bytes = shared->taken[n] - 1;
    else failing = n, all_behind = way == ALL_BEHIND;
    int code = call();
    int done = made <= n;
    failing = -1, most_bytes = -1;
    if (code != SLEEK_OK && code != SLEEK_E_OUT_OF_MEMORY) return 20 + code;
    if (call() != SLEEK_OK) return 13;
    // Of searches, whose tries are of many sizes, a thread keeps up to eight buffers, sooner or later.
    if (way != TOO_FEW_AT_FIRST && live > before + (is_search(call) ? 8 : 0)) return 14;
    return done && way < TOO_FEW_BYTES ? 1 : 0;
}

static int in_child(int (*work)(int (*)(void), int, int), int (*call)(void), int n, int way) {
    pid_t child = fork();
    if (child == 0) alarm(900), _exit(work(call, n, way));
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int measure(int (*call)(void), int n, int way) {
    (void)n;
    return measured(call, way);
}

int main(int argc, char **argv) {
    codec = argc > 1 ? atoi(argv[1]) : 0;
    lossless = argc > 2;
    static const struct { const char *name; int (*call)(void); } CALLS[] = {
        {"compress", compress}, {"decompress", decompress}, {"damaged", damaged}, {"range", range}, {"inspect", inspect}, {"parse", parse},
        {"range of a chunk", of_chunk}, {"refusals", refusals},
        {"find, SSIM", find_ssim}, {"find, none", find_none},
        {"filter, writing", filter_writes}, {"filter, reading", filter_reads},
    };
    for (int i = 0; i < COUNT; i++) field[i] = i % 77 == 0 ? -1 : (float)(i % 1000) * 0.25f;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    CHECK(in_child(measure, compress, 0, TOO_FEW_AT_FIRST) == 0 && shared->bytes > 0);
    int wrong = 0, tried = 0;
    for (size_t k = 0; k < sizeof CALLS / sizeof *CALLS; k++) {
        for (int way = 0; way < WAYS; way++) {
            CHECK(in_child(measure, CALLS[k].call, 0, way) == 0);
            // Tries of a search make the same dozen allocations each.
            const int step = is_search(CALLS[k].call) ? 7 : 1;
            for (int n = 0, code = 0; n < MOST && code != 1; n += step, tried++) {
                code = in_child(starved, CALLS[k].call, n, way);
                if (code == 0 || code == 1) continue;
                wrong++;
                fprintf(stderr, "%s: allocation %d fails %s: %d\n", CALLS[k].name, n, WAY[way], code);
            }
        }
    }
    if (wrong > 0) return 1;
    printf("%s\n", tried > 100 ? "each allocation may fail" : "hardly any allocations");
    return 0;
}
