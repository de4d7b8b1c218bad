/* What the programs under MPI share: a real field, and the part of it that a rank has. */
#include <math.h>
#include "mpi_access.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sleek_hdf5.h"

#define CHECK(call) ((call) < 0 ? failed(__LINE__, #call) : (void)0)

static void failed(int line, const char *what)
{
    fprintf(stderr, "line %d: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every rank holds the whole field, and selects the same elements in memory as in the file. */
typedef struct {
    hsize_t dims[2];
    size_t size; /* of an element */
    hid_t type;
    void *values;
} field;

/* What a rank writes in one call: rows and columns from `start`, every `stride`th. */
typedef struct {
    hsize_t start[2], stride[2], count[2];
} part;

static const double BOUND = 1e-3; /* relative to each value */

/* Rows `from` to `to` of a field that may be shorter. */
static part band(hsize_t from, hsize_t to, const hsize_t *dims)
{
    to = to < dims[0] ? to : dims[0];
    part p = {{from, 0}, {1, 1}, {from < to ? to - from : 0, dims[1]}};
    return p;
}

static void choose(hid_t space, part p)
{
    if (p.count[0] == 0 || p.count[1] == 0)
        CHECK(H5Sselect_none(space));
    else
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, p.start, p.stride, p.count, NULL));
}

static field load(const char *path, hsize_t columns)
{
    field f;
    const int is_double = strcmp(path + strlen(path) - 4, ".f64") == 0;
    f.size = is_double ? 8 : 4;
    f.type = is_double ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) failed(__LINE__, path);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    f.dims[0] = bytes / f.size / columns;
    f.dims[1] = columns;
    f.values = malloc(bytes);
    if (f.values == NULL || fread(f.values, 1, bytes, file) != bytes || f.dims[0] < 64) failed(__LINE__, path);
    fclose(file);
    return f;
}

static double value(const field *f, const void *values, size_t i)
{
    return f->size == 8 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* Whether the elements of `p` in `back` are those of the field, within the bound. */
static int kept(const field *f, const void *back, part p, int lossless)
{
    for (hsize_t y = 0; y < p.count[0]; y++)
        for (hsize_t x = 0; x < p.count[1]; x++) {
            const size_t i = (p.start[0] + y * p.stride[0]) * f->dims[1] + p.start[1] + x * p.stride[1];
            const int same = memcmp((const char *)f->values + i * f->size, (const char *)back + i * f->size, f->size) == 0;
            const double v = value(f, f->values, i), error = fabs(v - value(f, back, i));
            if (!same && (lossless || !(error <= BOUND * fabs(v)))) return 0;
        }
    return 1;
}
