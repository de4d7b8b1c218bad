/* Forks where a child could find what its parent left half done, and wait for it for ever.
 *     fork first               children forked while a thread of a fresh process makes its first call
 *     fork same_id             a child with its parent's process id, as pid namespaces allow: the parent's pool has no threads in it
 *     fork constructor LIB     a library whose constructor calls SLEEK is loaded while another thread looks for HDF5 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sleek.h>
#include "sleek_hdf5.h"

enum { COUNT = 1 << 20, CHUNK = 1 << 16, CHILDREN = 30, NOT_ALLOWED = 77, HDF5_BUSY = 78 };
static float field[COUNT];

#define CHECK(condition) do { if (!(condition)) { fprintf(stderr, "line %d: %s\n", __LINE__, #condition); _exit(1); } } while (0)

/* The exit status of a child that does `body`. One that waits for ever is ended from here, since process 1 of a namespace survives an
 * alarm, and its own children with it: they would keep the pipe that the test reads from open. */
static int in_child(void (*body)(void))
{
    int status = 1;
    pid_t ended = 0;
    const pid_t child = fork();
    if (child == 0) {
        CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        body();
        _exit(0);
    }
    for (int i = 0; i < 900000 && (ended = waitpid(child, &status, WNOHANG)) == 0; i++) usleep(1000);
    if (ended == 0) kill(child, SIGKILL);
    CHECK(ended == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Looks for HDF5 and then fails. */
static void call(void)
{
    float value = 0;
    H5E_BEGIN_TRY {
        CHECK(sleek_h5d_write(-1, -1, NULL, NULL, 0, &value, NULL, NULL) == SLEEK_E_HDF5);
        CHECK(H5Eclear2(H5E_DEFAULT) >= 0);
    } H5E_END_TRY
}

static void *caller(void *unused)
{
    (void)unused;
    call();
    return NULL;
}

static useconds_t delay;

static void busy(int signal)
{
    (void)signal;
    _exit(HDF5_BUSY);
}

/* A child that was forked while another thread was inside HDF5 finds HDF5's own lock held for ever. No caller of HDF5 can help that,
 * so such a child is counted, not tried. */
static void call_if_hdf5_is_free(void)
{
    const struct itimerval soon = {{0, 0}, {0, 500000}}, never = {{0, 0}, {0, 0}};
    CHECK(signal(SIGALRM, busy) != SIG_ERR && setitimer(ITIMER_REAL, &soon, NULL) == 0);
    CHECK(H5open() >= 0);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    call();
}

static void first_call(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, caller, NULL) == 0);
    usleep(delay);
    const int status = in_child(call_if_hdf5_is_free);
    CHECK(status == 0 || status == HDF5_BUSY);
    CHECK(pthread_join(thread, NULL) == 0);
    _exit(status);
}

static void transfer(void)
{
    const hsize_t dims[1] = {COUNT}, chunk[1] = {CHUNK};
    char path[64];
    /* Not by the process id: that is shared. */
    static int files;
    snprintf(path, sizeof path, "fork%d.h5", files++);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(dcpl, 1, chunk) >= 0 && H5Pset_sleek_lossless(dcpl) >= 0);
    hid_t d = H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    sleek_h5d_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK(H5Dwrite_sleek(d, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, field, NULL, &info) == SLEEK_OK);
    CHECK(info.route == SLEEK_H5D_THREADS);
    CHECK(H5Dclose(d) >= 0 && H5Fclose(file) >= 0 && H5Sclose(space) >= 0 && H5Pclose(dcpl) >= 0);
}

/* The same as process 1 of a pid namespace of its own; without privileges a namespace of users must come with it. */
static int as_first_process(void (*body)(void))
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return NOT_ALLOWED;
    return in_child(body);
}

static void parent(void)
{
    CHECK(getpid() == 1);
    transfer();
    CHECK(as_first_process(transfer) == 0);
}

static void *later(void *unused)
{
    (void)unused;
    usleep(20000);
    for (int i = 0; i < 20; i++) call();
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc > 1 && H5open() >= 0);
    if (strcmp(argv[1], "first") == 0) {
        int passed_over = 0, tried = 0;
        while (tried < CHILDREN) {
            /* Later each time that one found it locked: a busy machine takes its time. */
            delay = 100 + 400 * (useconds_t)(2 * tried) + 1000 * (useconds_t)passed_over;
            const int status = in_child(first_call);
            CHECK(status == 0 || status == HDF5_BUSY);
            passed_over += status == HDF5_BUSY, tried += status == 0;
            CHECK(passed_over < 20 * CHILDREN);
        }
        printf("%d children found HDF5 locked, %d did not\n", passed_over, CHILDREN);
    } else if (strcmp(argv[1], "same_id") == 0) {
        for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 1000) * 0.25f;
        const int status = as_first_process(parent);
        CHECK(status == 0 || status == NOT_ALLOWED);
        if (status != 0) puts("no namespaces here");
    } else {
        pthread_t thread;
        alarm(900);
        CHECK(argc > 2 && pthread_create(&thread, NULL, later, NULL) == 0);
        CHECK(dlopen(argv[2], RTLD_NOW) != NULL);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    puts("no one waits");
    return 0;
}
