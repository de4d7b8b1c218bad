/* Heat in a bar on many ranks, on GPUs where there are some, and what its checkpoints cost: the table's lines.
 *
 *     mpirun -n 4 ./heat3d grid=256x256x256 steps=30 every=10 bound=0.05 ways=none,gzip,direct folder=/tmp json=lines.json
 *
 * Each way is a run of its own: `steps` steps with a checkpoint after every `every` of them but the last; then the same from the
 * last checkpoint on. Says how far the restored field was from the one that was written, and the two ends from each other. */
#include <float.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checkpoint.h"

static int rank, ranks;
static int steps = 30, every = 10;
static double bound = 0.05; /* kelvin */
static const char *folder = ".", *json, *name = "", *ways = "none,gzip,fast,adaptive,small,direct,files";
static const char *device;
static float *send, *receive; /* a plane in memory of the host, for MPI */

static void usage(const char *what)
{
    if (rank == 0) fprintf(stderr, "%s: not an option of heat3d; see the top of heat.c\n", what);
    MPI_Finalize();
    exit(2);
}

static void options(int argc, char **argv, slab *s)
{
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        const size_t length = value == NULL ? 0 : (size_t)(value++ - argv[i]);
#define IS(option) (length == strlen(option) && strncmp(argv[i], option, length) == 0)
        if (IS("grid") && sscanf(value, "%dx%dx%d", &s->nx, &s->ny, &s->nz) == 3) continue;
        if (IS("steps")) steps = atoi(value);
        else if (IS("every")) every = atoi(value);
        else if (IS("bound")) bound = atof(value);
        else if (IS("ways")) ways = value;
        else if (IS("folder")) folder = value;
        else if (IS("json")) json = value;
        else if (IS("name")) name = value;
        else usage(argv[i]);
    }
    if (every < 1 || steps <= every) usage("every");
}

/* Whole chunks of 32 planes for each rank, as even as they go; ranks that are too many own nothing. */
static void decompose(slab *s)
{
    const int chunk = 32, chunks = (s->nz + chunk - 1) / chunk;
    const int begin = (int)((long)chunks * rank / ranks) * chunk, end = (int)((long)chunks * (rank + 1) / ranks) * chunk;
    s->first = begin < s->nz ? begin : s->nz;
    s->planes = (end < s->nz ? end : s->nz) - s->first;
}

/* Sends the plane at `from` to one neighbour, and receives the other's into `to`. */
static void shift(const float *from, int there, float *to, int here, slab s)
{
    const int n = (int)plane_of(s);
    if (there != MPI_PROC_NULL) field_copy(send, from, n);
    MPI_Sendrecv(send, n, MPI_FLOAT, there, 0, receive, n, MPI_FLOAT, here, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (here != MPI_PROC_NULL) field_copy(to, receive, n);
}

/* The nearest rank in a direction that owns planes. */
static int neighbour(int direction, const int *planes)
{
    int r = rank + direction;
    while (r >= 0 && r < ranks && planes[r] == 0) r += direction;
    return r < 0 || r >= ranks || planes[rank] == 0 ? MPI_PROC_NULL : r;
}

static void exchange(float *u, slab s, const int *planes)
{
    const int below = neighbour(-1, planes), above = neighbour(1, planes);
    const size_t plane = plane_of(s);
    shift(u + plane, below, u + (s.planes + 1) * plane, above, s);
    shift(u + s.planes * plane, above, u, below, s);
}

static double largest(double own)
{
    double all;
    if (own != own) own = INFINITY;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* What a line of the table says. */
typedef struct {
    int saves;
    double compute, first, write, read, stored, extra, error, later;
    char route[224];
} line;

static void print(const way *w, slab s, const line *l, double allowed)
{
    const double bytes = 4.0 * s.nx * s.ny * s.nz;
    printf("%-13s %5d %9.3f %9.3f %9.3f %9.1f %8.2f %8.2f %8.2f %7.1f %9.2e %9.2e %s\n", w->name, ranks, l->compute, l->write, l->read,
           l->stored / 1e6, bytes * l->saves / l->write / 1e9, bytes / l->read / 1e9, bytes / l->stored, l->extra / 1e6, l->error, l->later,
           l->error <= (w->request ? bound : 0) && l->later <= allowed ? "kept" : "BROKEN");
    fflush(stdout);
    FILE *f = json == NULL ? NULL : fopen(json, "a");
    if (f == NULL) return;
    fprintf(f, "{\"name\": \"%s\", \"way\": \"%s\", \"ranks\": %d, \"device\": \"%s\", \"folder\": \"%s\", \"grid\": [%d, %d, %d], \"steps\": %d, \"saves\": %d, "
               "\"bound\": %g, \"compute_s\": %.4f, \"first_s\": %.4f, \"write_s\": %.4f, \"read_s\": %.4f, \"bytes\": %.0f, \"stored\": %.0f, "
               "\"extra_bytes\": %.0f, \"error\": %.4g, \"error_at_end\": %.4g, \"route\": \"%s\"}\n",
            name, w->name, ranks, device, folder, s.nx, s.ny, s.nz, steps, l->saves, bound, l->compute, l->first, l->write, l->read, bytes, l->stored,
            l->extra, l->error, l->later, l->route);
    fclose(f);
}

/* One way: the run, and the restart. 0 if all that was promised was kept. */
static int run(const way *w, slab s, const int *planes)
{
    const size_t plane = plane_of(s), own = s.planes * plane, values = own + 2 * plane;
    float *u = field_new(values), *next = field_new(values), *saved = field_new(values);
    char path[256] = "";
    int at = 0, broken;
    line l = {0};
    field_begin(u, s);
    field_copy(next, u, values); /* its halo at the ends of the bar */
    for (int step = 0, restarted = 0;;) {
        const double start = (field_wait(), MPI_Barrier(MPI_COMM_WORLD), MPI_Wtime());
        do {
            exchange(u, s, planes);
            field_step(u, next, s);
            float *last = u;
            u = next;
            next = last;
        } while (++step % every != 0 && step < steps);
        field_wait();
        if (!restarted) l.compute += largest(MPI_Wtime() - start);
        if (restarted && step == steps) break;
        if (step < steps) {
            if (restarted) continue;
            if (path[0] != 0) checkpoint_remove(w, path);
            snprintf(path, sizeof path, "%s/checkpoint_%s_%06d.h5", folder, w->name, step);
            const written done = checkpoint_write(w, path, u, s, step, bound);
            if (l.saves == 0) l.first = done.seconds;
            l.write += done.seconds;
            l.stored = done.stored_bytes;
            l.extra = fmax(l.extra, done.extra_bytes);
            memcpy(l.route, done.route, sizeof l.route);
            l.saves++;
            field_copy(saved, u, values);
            at = step;
        } else { /* the end: once more from the last checkpoint */
            float *end = u;
            u = field_new(values);
            field_copy(u, saved, values);
            l.read = checkpoint_read(w, path, u, s, &step);
            l.error = largest(field_difference(u + plane, saved + plane, own));
            if (step != at) {
                l.error = INFINITY;
                step = at;
            }
            checkpoint_remove(w, path);
            field_free(saved);
            saved = end;
            restarted = 1;
        }
    }
    l.later = largest(field_difference(u + plane, saved + plane, own));
    /* A step takes means, so errors do not grow but by the rounding of each. */
    const double allowed = (w->request ? bound : 0) * (1 + 8 * FLT_EPSILON) + (w->request ? steps * 128 * FLT_EPSILON : 0);
    broken = !(l.error <= (w->request ? bound : 0) && l.later <= allowed);
    if (rank == 0) print(w, s, &l, allowed);
    field_free(u);
    field_free(next);
    field_free(saved);
    return broken;
}

static int wanted(const char *name)
{
    for (const char *w = ways; w != NULL; w = strchr(w, ',')) {
        w += *w == ',';
        if (strncmp(w, name, strlen(name)) == 0 && strchr(",", w[strlen(name)]) != NULL) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    slab s = {128, 128, 128, 0, 0};
    MPI_Comm node;
    int local, broken = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    options(argc, argv, &s);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    device = field_open(local);
    decompose(&s);
    send = field_host(plane_of(s));
    receive = field_host(plane_of(s));
    int *planes = malloc(ranks * sizeof *planes);
    MPI_Allgather(&s.planes, 1, MPI_INT, planes, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("# %dx%dx%d, %.2f GB, %d steps with a checkpoint after every %d, bound %g K, %s, %s\n", s.nx, s.ny, s.nz,
               4e-9 * s.nx * s.ny * s.nz, steps, every, bound, device, folder);
        printf("%-13s %5s %9s %9s %9s %9s %8s %8s %8s %7s %9s %9s\n", "way", "ranks", "compute/s", "write/s", "read/s", "MB", "GB/s", "read",
               "ratio", "more MB", "error", "at end");
    }
    for (int i = 0; i < WAYS_COUNT; i++)
        if (wanted(WAYS[i].name)) broken |= run(&WAYS[i], s, planes);
    free(planes);
    field_host_free(send);
    field_host_free(receive);
    MPI_Finalize();
    return broken;
}
