/* The SLEEK filter for programs that write HDF5 from C or C++. The functions H5Pset_sleek_... need HDF5 only; at run time HDF5
 * finds the filter by HDF5_PLUGIN_PATH. A program linked to libsleek may call sleek_h5_register() instead.
 *
 * The filter is added as mandatory: a dataset that cannot be compressed as asked is refused by H5Dcreate. */
#ifndef SLEEK_HDF5_H
#define SLEEK_HDF5_H

#include <hdf5.h>
#include <stdint.h>
#include <string.h>

#if !H5_VERSION_GE(1, 10, 0)
#error "the SLEEK filter needs HDF5 1.10 or newer"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The filter's id. */
#ifndef SLEEK_ID
#define SLEEK_ID 47474
#endif

/* The filter's H5Z_class2_t, in libsleek. */
const void *sleek_h5_class(void);

/* Registers the filter with the HDF5 that this program is compiled for; negative on failure. Needs libsleek at link time. Call it
 * once before writing to a dataset that exists already: HDF5 loads plugins on creating and on reading, not there. */
#define sleek_h5_register() H5Zregister(sleek_h5_class())

/* Modes of sleek_h5_set, as in docs/guide/bounds.md. */
enum { SLEEK_H5_LOSSLESS = 0, SLEEK_H5_ABS = 1, SLEEK_H5_NOA = 2, SLEEK_H5_REL = 3 };

/* The most characters of a request in words. */
enum { SLEEK_H5_TEXT = 256 };

/* Adds the filter to a dataset creation property list. `range` (0: each chunk's own) matters to NOA only; `fast` is 0 or 1. */
static inline herr_t sleek_h5_set(hid_t dcpl, unsigned mode, double bound, double range, unsigned fast)
{
    uint64_t b, r;
    unsigned cd[7];
    memcpy(&b, &bound, sizeof b);
    memcpy(&r, &range, sizeof r);
    cd[0] = 1;
    cd[1] = mode;
    cd[2] = (unsigned)(b & 0xffffffffu);
    cd[3] = (unsigned)(b >> 32);
    cd[4] = fast | (range != 0 ? 1u << 8 : 0);
    cd[5] = (unsigned)(r & 0xffffffffu);
    cd[6] = (unsigned)(r >> 32);
    return H5Pset_filter(dcpl, SLEEK_ID, H5Z_FLAG_MANDATORY, range != 0 ? 7 : 5, cd);
}

/* |value - restored| <= bound */
static inline herr_t H5Pset_sleek_abs(hid_t dcpl, double bound) { return sleek_h5_set(dcpl, SLEEK_H5_ABS, bound, 0, 0); }

/* |value - restored| <= bound * range; a range of 0 takes largest - smallest value of each chunk, zeros and missing values not
 * counted, and one to two bits more for each value, so that chunks can be written again: give the range if it is known. */
static inline herr_t H5Pset_sleek_noa(hid_t dcpl, double bound, double range)
{
    return sleek_h5_set(dcpl, SLEEK_H5_NOA, bound, range, 0);
}

/* |value - restored| <= bound * |value| */
static inline herr_t H5Pset_sleek_rel(hid_t dcpl, double bound) { return sleek_h5_set(dcpl, SLEEK_H5_REL, bound, 0, 0); }

/* Every bit comes back; for elements of any type. */
static inline herr_t H5Pset_sleek_lossless(hid_t dcpl) { return sleek_h5_set(dcpl, SLEEK_H5_LOSSLESS, 0, 0, 0); }

/* A request in words: "abs=1e-3,fill=-9999", "noa=1e-4,range=50", "rel=1e-2,profile=fast", "lossless" (docs/guide/bounds.md). The filter
 * reads it when the dataset is created, so it is H5Dcreate that refuses a text that means nothing. */
static inline herr_t H5Pset_sleek(hid_t dcpl, const char *request)
{
    unsigned cd[1 + SLEEK_H5_TEXT / 4] = {2};
    size_t length = strlen(request), i;
    if (length > SLEEK_H5_TEXT) {
        H5Epush2(H5E_DEFAULT, __FILE__, "H5Pset_sleek", __LINE__, H5E_ERR_CLS, H5E_ARGS, H5E_BADVALUE,
                 "a request of %lu characters; %d are the most", (unsigned long)length, SLEEK_H5_TEXT);
        return -1;
    }
    for (i = 0; i < length; i++)
        cd[1 + i / 4] |= (unsigned)(unsigned char)request[i] << (8 * (i % 4));
    return H5Pset_filter(dcpl, SLEEK_ID, H5Z_FLAG_MANDATORY, 1 + (length + 3) / 4, cd);
}

#ifdef SLEEK_H
/* H5Dwrite() and H5Dread() for arrays in host or GPU memory: the GPU or all threads compress and restore the chunks. They are
 * sleek_h5d_write() and sleek_h5d_read() of sleek.h in HDF5's types; include sleek.h before this file. They need libsleek. */
static inline int32_t H5Dwrite_sleek(hid_t dset, hid_t mem_type, const hsize_t *start, const hsize_t *count, hid_t dxpl,
                                     const void *buf, void *stream, sleek_h5d_info *info)
{
    return sleek_h5d_write(dset, mem_type, (const uint64_t *)start, (const uint64_t *)count, dxpl, buf, stream, info);
}

static inline int32_t H5Dread_sleek(hid_t dset, hid_t mem_type, const hsize_t *start, const hsize_t *count, hid_t dxpl,
                                    void *buf, void *stream, sleek_h5d_info *info)
{
    return sleek_h5d_read(dset, mem_type, (const uint64_t *)start, (const uint64_t *)count, dxpl, buf, stream, info);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
