/* Checkpoints of the field, written in different ways and read back. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <mpi.h>
#include "field.h"

/* How a checkpoint gets into its file, or files. */
typedef enum {
    TOGETHER,  /* H5Dwrite of all ranks at once into one file (collective) */
    EACH,      /* H5Dwrite of each rank for itself into one file (independent): without a filter only */
    DIRECT,    /* sleek_h5d_write into one file, from the memory that the field is in */
    OWN_FILE,  /* sleek_h5d_write (which is H5Dwrite without our filter) into a file for each rank, and a virtual dataset over them */
    FORTRAN    /* as DIRECT, from Fortran: checkpoint.f90 */
} manner;

typedef struct {
    const char *name;
    manner manner;
    const char *request; /* of the SLEEK filter, but for its bound; NULL without the filter */
    int gzip;            /* its level, or 0 */
    int one_by_one;      /* HDF5 holds one chunk of a rank at a time, not all of them */
} way;

extern const way WAYS[];
extern const int WAYS_COUNT;

/* What a write did on this rank. */
typedef struct {
    double seconds;      /* of the slowest rank, until the data is on the disk */
    double stored_bytes; /* in the file, or files of all ranks */
    double extra_bytes;  /* the most memory of the host that a rank took meanwhile, beside the field */
    char route[224];     /* which way sleek_h5d_write went, and why */
} written;

/* Writes the planes that this rank owns; `u` is the slab, halo and all. Every rank calls it, those without planes too. */
written checkpoint_write(const way *w, const char *path, const float *u, slab s, int step, double bound);

/* Reads them back, and the step; seconds of the slowest rank. */
double checkpoint_read(const way *w, const char *path, float *u, slab s, int *step);

void checkpoint_remove(const way *w, const char *path);

#endif
