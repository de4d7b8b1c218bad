/* The field in the memory of the host, a core for each rank. */
#include <stdlib.h>
#include <string.h>
#include "field.h"

const char *field_open(int local)
{
    (void)local;
    return "CPU";
}

int field_on_gpu(void) { return 0; }
float *field_new(size_t values) { return malloc(values * sizeof(float)); }
void field_free(float *u) { free(u); }
float *field_host(size_t values) { return field_new(values); }
void field_host_free(float *host) { free(host); }
void field_copy(float *to, const float *from, size_t values) { memcpy(to, from, values * sizeof(float)); }
void field_wait(void) {}

void field_begin(float *u, slab s)
{
    for (int k = 0; k < s.planes + 2; k++)
        for (int j = 0; j < s.ny; j++)
            for (int i = 0; i < s.nx; i++) u[k * plane_of(s) + (size_t)j * s.nx + i] = temperature(i, j, s.first + k - 1);
}

void field_step(const float *u, float *next, slab s)
{
    for (int k = 1; k <= s.planes; k++)
        for (int j = 0; j < s.ny; j++)
            for (int i = 0; i < s.nx; i++) next[k * plane_of(s) + (size_t)j * s.nx + i] = stepped(u, s, i, j, k);
}

double field_difference(const float *a, const float *b, size_t values)
{
    double most = 0;
    for (size_t i = 0; i < values; i++) {
        const double d = fabs((double)a[i] - b[i]);
        if (!(d <= most)) most = d;
    }
    return most;
}
