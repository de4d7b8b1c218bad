/* A rank's part of the temperature in a bar, and what is done to it: by cpu.c, or by gpu.cu where there is a GPU.
 *
 * The bar is cut into slabs of whole planes. A slab has a plane more on either side, a copy of the neighbour's (the halo), so the
 * planes that a rank owns lie one behind the other, and a checkpoint takes them where they are. */
#ifndef FIELD_H
#define FIELD_H

#include <math.h>
#include <stddef.h>

#ifdef __CUDACC__
#define POINT static __host__ __device__ inline
#else
#define POINT static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int nx, ny, nz;    /* points of the bar, x fastest */
    int first, planes; /* this rank owns the planes first ... first + planes - 1 */
} slab;

/* Where the memory is and the work is done: "CPU", or a GPU's name. `local` is the number of this rank on its node. */
const char *field_open(int local);
int field_on_gpu(void);

float *field_new(size_t values);
void field_free(float *u);
float *field_host(size_t values); /* memory of the host that copies are fast to */
void field_host_free(float *host);
void field_copy(float *to, const float *from, size_t values); /* between any two */

void field_begin(float *u, slab s); /* halo and all */
void field_step(const float *u, float *next, slab s);
void field_wait(void);
double field_difference(const float *a, const float *b, size_t values); /* the largest; NaN if there is one */

#ifdef __cplusplus
}
#endif

POINT size_t plane_of(slab s) { return (size_t)s.nx * s.ny; }

/* Waves of many lengths, from 96 points to 8, the short ones weaker: kelvin about a mean. */
POINT float temperature(int x, int y, int z)
{
    float sum = 0, length = 96;
    for (int i = 0; i < 8; i++, length *= 0.7f) {
        const float k = 6.2831853f / length;
        sum += 0.3f * length * sinf(k * (x + 0.31f * y) + i) * sinf(k * (y + 0.17f * z) + 2 * i) * sinf(k * (z + 0.23f * x) + 3 * i);
    }
    return sum;
}

/* A step of the heat equation at a point of `u`, plane k of the slab; the surface of the bar keeps its temperature. */
POINT float stepped(const float *u, slab s, int i, int j, int k)
{
    const size_t row = s.nx, plane = plane_of(s), at = k * plane + j * row + i;
    const int z = s.first + k - 1;
    if (i == 0 || i == s.nx - 1 || j == 0 || j == s.ny - 1 || z == 0 || z == s.nz - 1) return u[at];
    return u[at] + 0.1f * (u[at - 1] + u[at + 1] + u[at - row] + u[at + row] + u[at - plane] + u[at + plane] - 6 * u[at]);
}

#endif
