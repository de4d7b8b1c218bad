/* The ways by which ranks share a file. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include "hdf5.h"

/* MPI for `way`: subfiling has threads that call it too. */
static inline void start_mpi(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) fprintf(stderr, "this MPI has no calls from many threads\n");
}

/* File access properties: `mpio`, as most programs have them; `metadata`, with collective reading and writing of what is no data;
 * `subfiling`, with a file for each node and threads that write them; `aligned`, with blocks at multiples of a megabyte, as
 * Lustre's users have them. -1 if this HDF5 has no such thing. */
static inline hid_t file_access(const char *way)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (strcmp(way, "subfiling") == 0) {
#ifdef H5_HAVE_SUBFILING_VFD
        if (H5Pset_mpi_params(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0 && H5Pset_fapl_subfiling(fapl, NULL) >= 0) return fapl;
#endif
        H5Pclose(fapl);
        return -1;
    }
    herr_t done = H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
    if (strcmp(way, "metadata") == 0) done |= H5Pset_all_coll_metadata_ops(fapl, 1) | H5Pset_coll_metadata_write(fapl, 1);
    else if (strcmp(way, "aligned") == 0) done |= H5Pset_alignment(fapl, 1 << 10, 1 << 20);
    else if (strcmp(way, "mpio") != 0) done = -1;
    return done < 0 ? -1 : fapl;
}
