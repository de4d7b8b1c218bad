! All ranks write one file together, with a bound: docs/guide/mpi.md has the commands.
program write_together
    use mpi
    use hdf5
    use sleek_hdf5
    implicit none
    integer, parameter :: nx = 500, ny = 100     ! of each rank
    real :: t(nx, ny)
    integer(hid_t) :: access, transfer, creation, file, space, memory, dset
    integer(hsize_t) :: all(2), mine(2), start(2)
    integer :: rank, ranks, x, y, error
    call mpi_init(error)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
    call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
    t = reshape([((280 + 0.02*(rank*ny + y)*mod(x, 50), x=0, nx - 1), y=0, ny - 1)], [nx, ny])

    call h5open_f(error)
    call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
    call h5pset_fapl_mpio_f(access, MPI_COMM_WORLD, MPI_INFO_NULL, error)
    call h5pcreate_f(H5P_DATASET_XFER_F, transfer, error)
    call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, error)
    call h5pcreate_f(H5P_DATASET_CREATE_F, creation, error)
    call h5pset_chunk_f(creation, 2, [500_hsize_t, 50_hsize_t], error)
    call h5pset_sleek_abs_f(creation, 1d-3, error)

    all = [nx, ny*ranks]
    mine = [nx, ny]
    start = [0, ny*rank]
    call h5fcreate_f("t_f.h5", H5F_ACC_TRUNC_F, file, error, access_prp=access)
    call h5screate_simple_f(2, all, space, error)
    call h5screate_simple_f(2, mine, memory, error)
    call h5dcreate_f(file, "t", H5T_NATIVE_REAL, space, dset, error, creation)
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, mine, error)
    call h5dwrite_f(dset, H5T_NATIVE_REAL, t, mine, error, memory, space, transfer)
    if (error < 0) call mpi_abort(MPI_COMM_WORLD, 1, error)
    call h5dclose_f(dset, error)
    call h5fclose_f(file, error)
    if (error < 0) call mpi_abort(MPI_COMM_WORLD, 1, error)
    call mpi_finalize(error)
end program write_together
