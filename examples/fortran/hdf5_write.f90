! Writes a field to HDF5 with an absolute error bound, reads it back and checks the bound.
!
!     h5fc include/sleek_hdf5.f90 examples/fortran/hdf5_write.f90 -o hdf5_write
!     HDF5_PLUGIN_PATH=<directory of libsleek.so> ./hdf5_write
program hdf5_write
    use hdf5
    use sleek_hdf5
    implicit none
    integer, parameter :: nx = 700, ny = 500
    double precision, parameter :: bound = 1d-3
    integer(hsize_t), parameter :: dims(2) = [nx, ny], chunk(2) = [200, 100]
    character(*), parameter :: path = "hdf5_write_f.h5"
    real, allocatable :: field(:, :), back(:, :)
    double precision :: worst
    integer(hid_t) :: file, space, dcpl, dset
    integer(hsize_t) :: stored
    integer :: err, x, y

    allocate (field(nx, ny), back(nx, ny))
    do y = 1, ny
        do x = 1, nx
            field(x, y) = 280 + 10*sin(0.02*x)*cos(0.03*y)
        end do
    end do

    call h5open_f(err)
    call h5fcreate_f(path, H5F_ACC_TRUNC_F, file, err)
    call check("h5fcreate_f")
    call h5screate_simple_f(2, dims, space, err)
    call h5pcreate_f(H5P_DATASET_CREATE_F, dcpl, err)
    call h5pset_chunk_f(dcpl, 2, chunk, err)
    call h5pset_sleek_abs_f(dcpl, bound, err)
    call check("h5pset_sleek_abs_f")
    call h5dcreate_f(file, "t", H5T_IEEE_F32LE, space, dset, err, dcpl)
    call check("h5dcreate_f (is HDF5_PLUGIN_PATH set?)")
    call h5dwrite_f(dset, H5T_NATIVE_REAL, field, dims, err)
    call check("h5dwrite_f")
    call h5dclose_f(dset, err)
    call check("h5dclose_f")
    call h5pclose_f(dcpl, err)
    call h5sclose_f(space, err)
    call h5fclose_f(file, err)
    call check("h5fclose_f")

    call h5fopen_f(path, H5F_ACC_RDONLY_F, file, err)
    call h5dopen_f(file, "t", dset, err)
    call check("h5dopen_f")
    call h5dread_f(dset, H5T_NATIVE_REAL, back, dims, err)
    call check("h5dread_f")
    call h5dget_storage_size_f(dset, stored, err)
    call h5dclose_f(dset, err)
    call h5fclose_f(file, err)
    call h5close_f(err)

    worst = maxval(abs(dble(field) - dble(back)))
    print '(a,f0.2,a,es9.2,a,es9.2)', "ratio ", 4d0*size(field)/dble(stored), ", largest error ", worst, ", bound ", bound
    if (.not. worst <= bound) error stop "bound broken"

contains

    subroutine check(what)
        character(*), intent(in) :: what
        if (err < 0) then
            print *, what, " failed"
            error stop 1
        end if
    end subroutine check

end program hdf5_write
