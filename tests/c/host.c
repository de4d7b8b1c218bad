// A host that has set everything otherwise: floating-point control, locale, signals; one that forks while threads compress.
#include "check.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { COUNT = 1 << 18, MODES = 6, FORKERS = 3, FORKS = 15, POOLS = 40 };
static float field[COUNT], expected[MODES][COUNT];
static unsigned char *streams[MODES];
static size_t stream_bytes[MODES];

static sleek_params params(int mode, int threads) {
    sleek_params p = defaults(SLEEK_F32);
    p.mode = mode, p.bound = 1e-3, p.threads = threads;
    // A missing value that is no f32, in the struct and in words.
    if (mode == 4) p.mode = SLEEK_NOA, p.has_fill_value = 1, p.fill_value = -9999.9;
    if (mode == 5) CHECK(sleek_params_parse(&p, "abs=0.3,fill=-9999.9") == SLEEK_OK);
    return p;
}

// Every mode, both ways, gives the bytes that it gave at first.
static void work(int threads) {
    size_t bound = 0, bytes = 0;
    unsigned char *stream = NULL;
    float *back = malloc(sizeof field);
    for (int mode = 0; mode < MODES; mode++) {
        sleek_params p = params(mode, threads);
        if (stream == NULL) stream = malloc(bound = sleek_compress_bound(&p, COUNT));
        CHECK(sleek_compress(&p, field, COUNT, stream, bound, &bytes, NULL) == SLEEK_OK);
        CHECK(bytes == stream_bytes[mode] && memcmp(stream, streams[mode], bytes) == 0);
        CHECK(sleek_decompress(stream, bytes, back, sizeof field, NULL, NULL) == SLEEK_OK);
        CHECK(memcmp(back, expected[mode], sizeof field) == 0);
    }
    free(stream), free(back);
}

static void floating_point(void) {
#ifdef __SSE__
    // Four rounding modes; subnormal results flushed, subnormal operands taken as zero; exceptions that trap.
    const unsigned int rounding[] = {0x0000, 0x2000, 0x4000, 0x6000}, rest[] = {0x1F80, 0x9F80, 0x1FC0, 0x9FC0, 0x0000};
    const unsigned int before = _mm_getcsr();
    for (size_t i = 0; i < sizeof rounding / sizeof *rounding; i++) {
        for (size_t k = 0; k < sizeof rest / sizeof *rest; k++) {
            _mm_setcsr(rounding[i] | rest[k]);
            work(1), work(2);
            const unsigned int after = _mm_getcsr();
            _mm_setcsr(before);
            CHECK((after & ~0x3Fu) == (rounding[i] | rest[k]));
            // A child's pool is made by a thread with these settings, which its threads inherit.
            IN_CHILD(_mm_setcsr(rounding[i] | rest[k]); work(2));
        }
    }
#endif
}

static void locales(void) {
    const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C.UTF-8", "C"};
    int set = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) == NULL) continue;
        set++;
        work(1);
        sleek_params p = params(1, 1);
        p.bound = -1.5;
        unsigned char out[4096];
        size_t bytes;
        CHECK_FAILS(SLEEK_E_INVALID_BOUND, "bound -1.5;", sleek_compress(&p, field, 9, out, sizeof out, &bytes, NULL));
    }
    CHECK(set > 0);
}

static pthread_t host;
static volatile sig_atomic_t signals, strayed;

static void on_signal(int number) {
    (void)number;
    signals++;
    if (!pthread_equal(pthread_self(), host)) strayed++;
}

// A timer's signals are handled on the host's one thread, never on one of the pool.
static void signal_handlers(void) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    host = pthread_self();
    CHECK(sigaction(SIGALRM, &action, &old) == 0);
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 1000 && signals < 200; i++) work(2);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(sigaction(SIGALRM, &old, NULL) == 0);
    CHECK(signals >= 200 && strayed == 0);
}

// The host's thread in a child without a pool: its signals come while the pool is made.
static void *first_pool(void *unused) {
    (void)unused;
    sigset_t timer;
    sigemptyset(&timer), sigaddset(&timer, SIGALRM);
    host = pthread_self();
    const struct itimerval often = {{0, 20}, {0, 20}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &timer, NULL) == 0);
    sleek_params p = params(0, 64);
    size_t bound = sleek_compress_bound(&p, COUNT), bytes = 0;
    unsigned char *stream = malloc(bound);
    CHECK(sleek_compress(&p, field, COUNT, stream, bound, &bytes, NULL) == SLEEK_OK);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &timer) == 0 && !sigismember(&timer, SIGALRM));
    free(stream);
    return NULL;
}

// The main thread, which the kernel would choose first, blocks them.
static void first_pool_beside_main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigset_t timer;
    sigemptyset(&timer), sigaddset(&timer, SIGALRM);
    pthread_t thread;
    CHECK(sigprocmask(SIG_BLOCK, &timer, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, first_pool, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(strayed == 0);
}

static unsigned char *volatile guarded;
static size_t page;
static volatile sig_atomic_t opened;

// Opens the page that could not be read.
static void on_fault(int number, siginfo_t *what, void *unused) {
    (void)number, (void)unused;
    const size_t at = (size_t)((unsigned char *)what->si_addr - guarded);
    if (at >= sizeof field || mprotect(guarded + at / page * page, page, PROT_READ) != 0) _exit(3);
    opened++;
}

// A host that brings in pages when SIGSEGV tells it to, on whatever thread.
static void lazy_pages(void) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault, action.sa_flags = SA_SIGINFO;
    page = (size_t)sysconf(_SC_PAGESIZE);
    const int zeros = open("/dev/zero", O_RDWR);
    guarded = mmap(NULL, sizeof field, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    CHECK(guarded != MAP_FAILED && close(zeros) == 0);
    memcpy(guarded, field, sizeof field);
    sleek_params p = params(0, 4);
    size_t bound = sleek_compress_bound(&p, COUNT), bytes = 0;
    unsigned char *stream = malloc(bound);
    CHECK(sigaction(SIGSEGV, &action, &old) == 0);
    for (int i = 0; i < 20; i++) {
        opened = 0;
        CHECK(mprotect(guarded, sizeof field, PROT_NONE) == 0);
        CHECK(sleek_compress(&p, guarded, COUNT, stream, bound, &bytes, NULL) == SLEEK_OK && opened > 0);
        CHECK(bytes == stream_bytes[0] && memcmp(stream, streams[0], bytes) == 0);
    }
    CHECK(sigaction(SIGSEGV, &old, NULL) == 0 && munmap(guarded, sizeof field) == 0);
    free(stream);
}

static volatile int done;

static void *busy(void *unused) {
    (void)unused;
    while (!done) work(2);
    return NULL;
}

static void forks(void) {
    pthread_t threads[FORKERS];
    for (int i = 0; i < FORKERS; i++) CHECK(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        IN_CHILD(work(1 + i % 3));
    }
    done = 1;
    for (int i = 0; i < FORKERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    // Values around the bound and subnormal ones, so that rounding and flushing would show.
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 4099) * (i % 7 == 0 ? 1e-41f : 0.1003f);
    for (int i = 0; i < COUNT; i += 101) field[i] = -9999.9f;
    for (int mode = 0; mode < MODES; mode++) {
        sleek_params p = params(mode, 1);
        size_t bound = sleek_compress_bound(&p, COUNT);
        streams[mode] = malloc(bound);
        CHECK(sleek_compress(&p, field, COUNT, streams[mode], bound, &stream_bytes[mode], NULL) == SLEEK_OK);
        CHECK(sleek_decompress(streams[mode], stream_bytes[mode], expected[mode], sizeof field, NULL, NULL) == SLEEK_OK);
    }
    floating_point();
    locales();
    signal_handlers();
    for (int i = 0; i < POOLS; i++) IN_CHILD(alarm(0); first_pool_beside_main());
    lazy_pages();
    forks();
    for (int mode = 0; mode < MODES; mode++) free(streams[mode]);
    puts("any host is fine");
    return 0;
}
