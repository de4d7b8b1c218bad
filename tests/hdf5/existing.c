/* Writes to a dataset that an earlier process made: HDF5 loads no plugin there, so the program registers the filter.
 *     existing FILE create|write [register] */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "sleek_hdf5.h"

#define CHECK(call) do { if ((call) < 0) { fprintf(stderr, "line %d: %s\n", __LINE__, #call); return 1; } } while (0)

int main(int argc, char **argv)
{
    static float field[10000], back[10000];
    const hsize_t dims[1] = {10000}, chunk[1] = {3000};
    if (argc < 3) return 2;
    if (argc > 3) CHECK(sleek_h5_register());
    for (int i = 0; i < 10000; i++) field[i] = (float)sin(0.01 * i);

    if (strcmp(argv[2], "create") == 0) {
        hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dcpl = H5Pcreate(H5P_DATASET_CREATE);
        CHECK(H5Pset_chunk(dcpl, 1, chunk));
        CHECK(H5Pset_sleek_rel(dcpl, 1e-3));
        hid_t space = H5Screate_simple(1, dims, NULL);
        hid_t dset = H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        CHECK(dset);
        CHECK(H5Dclose(dset));
        CHECK(H5Fclose(file));
        return 0;
    }
    hid_t file = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(file);
    hid_t dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
    CHECK(H5Dclose(dset));
    dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    for (int i = 0; i < 10000; i++)
        if (!(fabs((double)field[i] - back[i]) <= 1e-3 * fabs((double)field[i]))) return 3;
    puts("kept");
    return 0;
}
