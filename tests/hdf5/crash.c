/* A writer that dies, or finds the disk full: what can be read afterwards is right, and the process that writes is not harmed.
 *     crash kill|full FILE */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sleek_hdf5.h"

enum { COUNT = 1 << 20, CHUNK = COUNT / 32 };
static const double bound = 1e-3;
static float field[COUNT], back[COUNT];

/* Writes the field as dataset `name`; negative on failure. */
static int write_field(hid_t file, const char *name)
{
    const hsize_t dims[1] = {COUNT}, chunk[1] = {CHUNK};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, dims, NULL);
    if (H5Pset_chunk(dcpl, 1, chunk) < 0 || H5Pset_sleek_abs(dcpl, bound) < 0) return -2;
    hid_t dset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int status = dset < 0 ? -1 : H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field);
    if (dset >= 0 && H5Dclose(dset) < 0) status = -1;
    H5Sclose(space);
    H5Pclose(dcpl);
    return status;
}

/* 1 if dataset `name` reads and is right, 0 if HDF5 refuses it; a wrong value ends the test. */
static int read_field(const char *path, const char *name)
{
    int status = -1;
    H5E_BEGIN_TRY {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        if (file >= 0) {
            hid_t dset = H5Dopen2(file, name, H5P_DEFAULT);
            if (dset >= 0) {
                status = H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back);
                H5Dclose(dset);
            }
            H5Fclose(file);
        }
    } H5E_END_TRY
    if (status < 0) return 0;
    for (int i = 0; i < COUNT; i++) {
        /* A chunk that never reached the file reads as the fill value, which is HDF5's rule for every filter. */
        int lost = back[i / CHUNK * CHUNK] == 0 && back[i] == 0;
        if (!lost && !(fabs((double)field[i] - back[i]) <= bound)) {
            fprintf(stderr, "%s[%d] is %g, was %g\n", name, i, back[i], field[i]);
            exit(1);
        }
    }
    return 1;
}

/* Writes and flushes one dataset, tells the parent, and writes others until it is killed. */
static void write_for_ever(const char *path, int tell)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0 || write_field(file, "flushed") < 0 || H5Fflush(file, H5F_SCOPE_LOCAL) < 0) _exit(2);
    if (write(tell, "x", 1) != 1) _exit(3);
    for (int i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "later%d", i);
        if (write_field(file, name) < 0) _exit(4);
    }
}

static int killed(const char *path)
{
    int kept = 0, rounds = 12;
    for (int i = 0; i < rounds; i++) {
        int tell[2];
        char byte;
        if (pipe(tell) < 0) return 2;
        pid_t child = fork();
        if (child == 0) write_for_ever(path, tell[1]);
        if (child < 0 || read(tell[0], &byte, 1) != 1) return 3;
        usleep((useconds_t)(i * 3000));
        int status = 0;
        if (kill(child, SIGKILL) < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 4;
        close(tell[0]), close(tell[1]);
        kept += read_field(path, "flushed");
        read_field(path, "later0");
    }
    printf("killed %d times: what was flushed was kept %d times, and nothing read wrong\n", rounds, kept);
    return 0;
}

/* Some call must say that the file could not be written, and the process must live to hear it. */
static int write_until_full(const char *path)
{
    int failed = 0;
    H5E_BEGIN_TRY {
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        failed |= file < 0;
        failed |= file >= 0 && write_field(file, "full") < 0;
        failed |= file >= 0 && H5Fflush(file, H5F_SCOPE_LOCAL) < 0;
    } H5E_END_TRY
    return failed ? 0 : 1;
}

static int full(const char *path)
{
    int rounds = 0;
    for (rlim_t room = 1000; room <= 500000; room *= 3, rounds++) {
        pid_t child = fork();
        if (child == 0) {
            struct rlimit limit = {room, room};
            signal(SIGXFSZ, SIG_IGN);
            if (setrlimit(RLIMIT_FSIZE, &limit) < 0) _exit(2);
            _exit(write_until_full(path));
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 3;
        if (WEXITSTATUS(status) != 0) {
            fprintf(stderr, "with %lu bytes of room: code %d\n", (unsigned long)room, WEXITSTATUS(status));
            return 4;
        }
        read_field(path, "full");
    }
    printf("full %d times: each writer was told, and nothing read wrong\n", rounds);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 9;
    for (int i = 0; i < COUNT; i++) field[i] = (float)(280 + 10 * sin(1e-2 * i) + (i * 2654435761u >> 8) * 1e-7);
    return strcmp(argv[1], "kill") == 0 ? killed(argv[2]) : full(argv[2]);
}
