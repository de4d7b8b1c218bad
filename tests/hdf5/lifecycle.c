/* HDF5 is closed, which unloads its plugins, and used again, while threads of the plugin's pool exist.
 *     lifecycle FILE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "sleek_hdf5.h"

enum { COUNT = 4 << 20 };
static float field[COUNT], back[COUNT];

#define CHECK(call) do { if ((call) < 0) { fprintf(stderr, "line %d: %s\n", __LINE__, #call); return 1; } } while (0)

static int once(const char *path)
{
    const hsize_t dims[1] = {COUNT}, chunk[1] = {COUNT / 2};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, dims, NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file);
    CHECK(H5Pset_chunk(dcpl, 1, chunk));
    CHECK(H5Pset_sleek_noa(dcpl, 1e-4, 20));
    hid_t dset = H5Dcreate2(file, "t", H5T_IEEE_F32BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(dset);
    CHECK(H5Dwrite(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    CHECK(H5close());

    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(file);
    dset = H5Dopen2(file, "t", H5P_DEFAULT);
    CHECK(H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    CHECK(H5Dclose(dset));
    CHECK(H5Fclose(file));
    CHECK(H5close());
    for (int i = 0; i < COUNT; i++)
        if (!(fabs((double)field[i] - back[i]) <= 2e-3)) return 2;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 3;
    for (int i = 0; i < COUNT; i++) field[i] = (float)(280 + 10 * sin(1e-4 * i));
    for (int i = 0; i < 3; i++) {
        int status = once(argv[1]);
        if (status != 0) return status;
        usleep(20000); /* the pool's threads go to sleep in code that must still be there */
    }
    puts("kept");
    return 0;
}
