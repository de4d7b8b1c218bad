/* Makes a dataset with a request in words; where that fails it closes HDF5 and tries once more: request FILE TEXT */
#include <sleek_hdf5.h>

static int make(const char *path, const char *text)
{
    const hsize_t dims[1] = {1000};
    /* Using these variables puts them into the program, where it is linked to a shared HDF5. */
    if (H5E_ERR_CLS <= 0 || H5E_PLINE <= 0 || H5E_CANTFILTER <= 0)
        return 2;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Pset_chunk(dcpl, 1, dims) < 0 || H5Pset_sleek(dcpl, text) < 0)
        return 1;
    hid_t dset = H5Dcreate2(file, "t", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    return dset < 0 || H5Dclose(dset) < 0 || H5Pclose(dcpl) < 0 || H5Sclose(space) < 0 || H5Fclose(file) < 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int failed = make(argv[1], argv[2]);
    return failed && (H5close() < 0 || make(argv[1], argv[2]));
}
