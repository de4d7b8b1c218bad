// First uses and forks with an allocator that forks lock, as jemalloc and tcmalloc do: it asks for that at its first use, which
// comes after the library is loaded unless the library sees to it. A fork would then hold the allocator and wait for the library,
// while the library's first use waits for the allocator.
#define ROUNDS 90
#include "first_use.c"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t known = PTHREAD_ONCE_INIT;
static void unlock(void) { pthread_mutex_unlock(&heap); }
static void lock(void) { pthread_mutex_lock(&heap); }
static void introduce(void) { pthread_atfork(lock, unlock, unlock); }

static void *done_with(void *memory) {
    unlock();
    return memory;
}

static void enter(void) {
    pthread_once(&known, introduce);
    lock();
}

void *malloc(size_t n) { return enter(), done_with(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return enter(), done_with(__libc_calloc(n, size)); }
void *realloc(void *old, size_t n) { return enter(), done_with(__libc_realloc(old, n)); }
void *memalign(size_t to, size_t n) { return enter(), done_with(__libc_memalign(to, n)); }
void *aligned_alloc(size_t to, size_t n) { return memalign(to, n); }
void free(void *memory) { enter(), __libc_free(memory), unlock(); }

int posix_memalign(void **memory, size_t to, size_t n) {
    *memory = memalign(to, n);
    return *memory ? 0 : 12; // ENOMEM
}
