// Writes a netCDF file with an absolute error bound. netCDF needs chunks, and takes the filter's words.
//
//   cc netcdf_write.c $(nc-config --cflags --libs) -o netcdf_write
//   HDF5_PLUGIN_PATH=<folder of the plugin> ./netcdf_write
#include <netcdf.h>
#include <netcdf_filter.h>
#include <stdio.h>

int main(void)
{
    static float t[500][700];
    const unsigned abs_1e_3[5] = {1u, 1u, 3539053052u, 1062232653u, 0u}; /* as sleek h5args --abs 1e-3 prints it */
    const size_t chunk[2] = {100, 700};
    int nc, dims[2], var, e;
    for (int i = 0; i < 350000; i++)
        t[i / 700][i % 700] = 280 + 0.01f * (i % 700);
    if ((e = nc_create("written.nc", NC_NETCDF4, &nc)) || (e = nc_def_dim(nc, "y", 500, &dims[0])) ||
        (e = nc_def_dim(nc, "x", 700, &dims[1])) || (e = nc_def_var(nc, "t", NC_FLOAT, 2, dims, &var)) ||
        (e = nc_def_var_chunking(nc, var, NC_CHUNKED, chunk)) || (e = nc_def_var_filter(nc, var, 47474, 5, abs_1e_3)) ||
        (e = nc_put_var_float(nc, var, &t[0][0])) || (e = nc_close(nc)))
        puts(nc_strerror(e));
    return e != 0;
}
