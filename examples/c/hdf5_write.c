/* Writes a field to HDF5 with an absolute error bound, reads it back and checks the bound.
 *
 *     h5cc -Iinclude examples/c/hdf5_write.c -o hdf5_write -lm
 *     HDF5_PLUGIN_PATH=<directory of libsleek.so> ./hdf5_write out.h5
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "sleek_hdf5.h"

enum { NY = 500, NX = 700 };
static const double BOUND = 1e-3;
static float field[NY][NX], back[NY][NX];

static void check(hid_t status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "hdf5_write.h5";
    const hsize_t dims[2] = {NY, NX}, chunk[2] = {100, 200};
    double worst = 0;

    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            field[y][x] = (float)(280 + 10 * sin(0.02 * x) * cos(0.03 * y));

    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    check(file, "H5Fcreate");
    check(H5Pset_chunk(dcpl, 2, chunk), "H5Pset_chunk");
    check(H5Pset_sleek_abs(dcpl, BOUND), "H5Pset_sleek_abs");
    hid_t dset = H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    check(dset, "H5Dcreate2 (is HDF5_PLUGIN_PATH set?)");
    check(H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field), "H5Dwrite");
    check(H5Dclose(dset), "H5Dclose");
    check(H5Pclose(dcpl), "H5Pclose");
    check(H5Sclose(space), "H5Sclose");
    check(H5Fclose(file), "H5Fclose");

    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    dset = H5Dopen2(file, "t", H5P_DEFAULT);
    check(dset, "H5Dopen2");
    check(H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back), "H5Dread");
    double ratio = (double)sizeof field / (double)H5Dget_storage_size(dset);
    check(H5Dclose(dset), "H5Dclose");
    check(H5Fclose(file), "H5Fclose");

    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            worst = fmax(worst, fabs((double)field[y][x] - back[y][x]));
    printf("ratio %.2f, largest error %.3g, bound %.3g: %s\n", ratio, worst, BOUND, worst <= BOUND ? "kept" : "BROKEN");
    return worst <= BOUND ? 0 : 1;
}
