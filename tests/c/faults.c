/* Put in front of the C library by LD_PRELOAD:
 *     FAULTS_CALLS=FILE     appends the names of calls that make a file safe
 *     FAULTS_SHORT=1        reads and writes take few bytes at a time, and signals interrupt every third */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void note(const char *call)
{
    const char *path = getenv("FAULTS_CALLS");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0) return;
    syscall(SYS_write, file, call, strlen(call));
    syscall(SYS_write, file, "\n", 1);
    syscall(SYS_close, file);
}

/* Fewer bytes than asked for; 0 for an interruption. */
static size_t some(size_t n)
{
    static __thread unsigned turn;
    if (!getenv("FAULTS_SHORT")) return n;
    turn = turn * 1103515245u + 12345u;
    if ((turn >> 16) % 3 == 0) return 0;
    size_t most = 1 + (turn >> 8) % 60000;
    return n < most ? n : most;
}

ssize_t read(int file, void *to, size_t n)
{
    size_t k = n ? some(n) : 0;
    if (n && !k) return errno = EINTR, -1;
    return syscall(SYS_read, file, to, k);
}

ssize_t write(int file, const void *from, size_t n)
{
    size_t k = n ? some(n) : 0;
    if (n && !k) return errno = EINTR, -1;
    return syscall(SYS_write, file, from, k);
}

int fsync(int file)
{
    int folder = (int)syscall(SYS_openat, file, ".", O_RDONLY | O_DIRECTORY);
    if (folder >= 0) syscall(SYS_close, folder);
    note(folder >= 0 ? "fsync folder" : "fsync file");
    return (int)syscall(SYS_fsync, file);
}
