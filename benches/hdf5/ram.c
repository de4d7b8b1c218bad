/* HDF5 write and read through a filter against no filter, on a RAM disk.
 *
 *   ram DIRECTORY ROUNDS wall|cpu < datasets
 *
 * A line of standard input is a dataset: NAME FILE TYPE SHAPE CHUNK BOUND FILTER VALUE...
 *   FILE   raw elements, which are repeated until SHAPE is full       TYPE   f32 or f64
 *   SHAPE  and CHUNK, as 64x73x144                                    BOUND  absolute, 0 for lossless: checked once
 *   FILTER and its cd_values; 0 is no filter, 256 one that takes no time: it keeps 1/VALUE of each chunk's bytes, and restores nothing
 *
 * Each round writes all datasets into one file and reads them back, once without a filter and once with it, taking turns at
 * who is first. A dataset's time is that of making, writing and closing it, or of opening, reading and closing it. For
 * each round but the first, which warms up, a line: NAME, seconds to write and to read without a filter, and with it, stored bytes.
 */
#define _GNU_SOURCE
#include <hdf5.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DATASETS = 64, MAX_RANK = 8, MAX_VALUES = 64, INSTANT = 256 };

typedef struct {
    char name[128];
    hid_t type;
    int rank;
    hsize_t shape[MAX_RANK], chunk[MAX_RANK];
    double bound;
    unsigned filter, values[MAX_VALUES];
    size_t count, bytes, size;
    void *data;
    double write, read;
    hsize_t stored;
} Dataset;

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static clockid_t the_clock = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(the_clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int dimensions(const char *text, hsize_t *to)
{
    int rank = 0;
    for (char *end; rank < MAX_RANK; text = end + 1) {
        to[rank++] = strtoull(text, &end, 10);
        if (*end != 'x')
            break;
    }
    return rank;
}

/* The filter that takes no time: nothing that codes can be faster at the same ratio. values: the ratio, and the bytes of a chunk. */
static size_t instant(unsigned flags, size_t count, const unsigned values[], size_t bytes, size_t *room, void **chunk)
{
    (void)count;
    if (!(flags & H5Z_FLAG_REVERSE))
        return bytes / values[0];
    H5free_memory(*chunk);
    *chunk = H5allocate_memory(values[1], 0);
    *room = values[1];
    return *chunk ? values[1] : 0;
}

static void register_instant(void)
{
    const H5Z_class2_t class = {H5Z_CLASS_T_VERS, INSTANT, 1, 1, "takes no time", NULL, NULL, instant};
    if (H5Zregister(&class) < 0)
        fail("filter %d cannot be registered", INSTANT);
    /* As SLEEK has it: a chunk's memory stays in the heap instead of being mapped anew each time. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

/* The dataset's bytes: the file again and again. */
static void *tiled(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(bytes);
    if (!file || !data)
        fail("%s: %s", path, file ? "no memory" : "cannot be opened");
    size_t have = fread(data, 1, bytes, file);
    fclose(file);
    if (have == 0)
        fail("%s is empty", path);
    for (size_t copy; have < bytes; have += copy) {
        copy = have < bytes - have ? have : bytes - have;
        memcpy(data + have, data, copy);
    }
    return data;
}

static int read_dataset(char *line, Dataset *d)
{
    char path[4096], type[8], shape[256], chunk[256];
    int used = 0;
    memset(d, 0, sizeof *d);
    if (sscanf(line, "%127s %4095s %7s %255s %255s %lf %u%n", d->name, path, type, shape, chunk, &d->bound, &d->filter,
               &used) != 7)
        return 0;
    for (char *at = line + used, *end; d->count < MAX_VALUES; at = end) {
        unsigned value = (unsigned)strtoul(at, &end, 10);
        if (end == at)
            break;
        d->values[d->count++] = value;
    }
    d->type = strcmp(type, "f64") ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    d->size = H5Tget_size(d->type);
    d->rank = dimensions(shape, d->shape);
    if (dimensions(chunk, d->chunk) != d->rank)
        fail("%s: chunk %s has another rank than %s", d->name, chunk, shape);
    d->bytes = d->size;
    for (int i = 0; i < d->rank; i++)
        d->bytes *= d->shape[i];
    if (d->filter == INSTANT) {
        if (d->values[0] == 0)
            fail("%s: filter %d needs a ratio from 1 on", d->name, INSTANT);
        d->values[1] = (unsigned)d->size;
        for (int i = 0; i < d->rank; i++)
            d->values[1] *= (unsigned)d->chunk[i];
        d->count = 2;
    }
    d->data = tiled(path, d->bytes);
    return 1;
}

static void write_one(hid_t file, Dataset *d, int filtered)
{
    double start = now();
    hid_t space = H5Screate_simple(d->rank, d->shape, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(dcpl, d->rank, d->chunk);
    if (filtered && H5Pset_filter(dcpl, (H5Z_filter_t)d->filter, H5Z_FLAG_MANDATORY, d->count, d->values) < 0)
        fail("%s: filter %u is not available", d->name, d->filter);
    hid_t set = H5Dcreate2(file, d->name, d->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (set < 0 || H5Dwrite(set, d->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, d->data) < 0)
        fail("%s: filter %u cannot write it", d->name, d->filter);
    d->stored = H5Dget_storage_size(set);
    if (H5Dclose(set) < 0)
        fail("%s: filter %u cannot finish it", d->name, d->filter);
    H5Pclose(dcpl);
    H5Sclose(space);
    d->write = now() - start;
}

static void read_one(hid_t file, Dataset *d, void *back)
{
    double start = now();
    hid_t set = H5Dopen2(file, d->name, H5P_DEFAULT);
    if (set < 0 || H5Dread(set, d->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) < 0)
        fail("%s: filter %u cannot read it", d->name, d->filter);
    d->stored = H5Dget_storage_size(set);
    H5Dclose(set);
    d->read = now() - start;
}

/* Largest error over all values; infinity where a NaN or an infinity is not restored. */
static double error(const Dataset *d, const void *back)
{
    double worst = 0;
    for (size_t i = 0; i < d->bytes / d->size; i++) {
        double v = d->size == 8 ? ((double *)d->data)[i] : ((float *)d->data)[i];
        double r = d->size == 8 ? ((double *)back)[i] : ((float *)back)[i];
        if (isfinite(v) && isfinite(r))
            worst = fmax(worst, fabs(v - r));
        else if (isnan(v) ? !isnan(r) : v != r)
            return INFINITY;
    }
    return worst;
}

static void check(const Dataset *d, const void *back, int filtered)
{
    if (filtered && d->filter == INSTANT)
        return;
    if (!filtered || d->bound == 0) {
        if (memcmp(d->data, back, d->bytes))
            fail("%s: filter %u did not restore it", d->name, filtered ? d->filter : 0);
    } else if (error(d, back) > d->bound)
        fprintf(stderr, "%s: filter %u breaks its bound: %g / %g\n", d->name, d->filter, error(d, back), d->bound);
}

/* Writes and reads all datasets once. */
static void pass(const char *path, Dataset *sets, int count, int filtered, void *back, int checked)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        fail("%s cannot be made", path);
    for (int i = 0; i < count; i++)
        write_one(file, &sets[i], filtered);
    H5Fclose(file);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (int i = 0; i < count; i++) {
        read_one(file, &sets[i], back);
        if (checked)
            check(&sets[i], back, filtered);
    }
    H5Fclose(file);
    unlink(path);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        fail("usage: ram DIRECTORY ROUNDS wall|cpu < datasets");
    if (!strcmp(argv[3], "cpu"))
        the_clock = CLOCK_PROCESS_CPUTIME_ID;
    static Dataset sets[2][MAX_DATASETS];
    static char line[8192];
    int count = 0;
    size_t largest = 0;
    while (count < MAX_DATASETS && fgets(line, sizeof line, stdin) && read_dataset(line, &sets[0][count])) {
        if (sets[0][count].bytes > largest)
            largest = sets[0][count].bytes;
        count++;
    }
    memcpy(sets[1], sets[0], sizeof sets[0]);
    if (sets[0][0].filter == INSTANT)
        register_instant();
    void *back = malloc(largest);
    if (count == 0 || !back)
        fail(count ? "no memory" : "no dataset was given");
    memset(back, 1, largest);
    char path[4096];
    snprintf(path, sizeof path, "%s/sleek-ram-%d.h5", argv[1], getpid());
    for (int round = 0; round <= atoi(argv[2]); round++) {
        for (int turn = 0; turn < 2; turn++) {
            int filtered = (round + turn) % 2;
            pass(path, sets[filtered], count, filtered, back, round == 0);
        }
        for (int i = 0; round > 0 && i < count; i++) {
            const Dataset *plain = &sets[0][i], *own = &sets[1][i];
            printf("%s %.6f %.6f %.6f %.6f %llu\n", own->name, plain->write, plain->read, own->write, own->read,
                   (unsigned long long)own->stored);
        }
        fflush(stdout);
    }
    return 0;
}
