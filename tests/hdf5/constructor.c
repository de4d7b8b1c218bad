/* A library that calls SLEEK while it is being loaded. */
#include <unistd.h>
#include <sleek.h>

static void __attribute__((constructor)) at_load(void)
{
    usleep(200000);
    (void)sleek_strerror(SLEEK_OK);
}
