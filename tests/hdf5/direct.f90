! A box and a whole dataset through sleek_h5d from Fortran: dimensions arrive in the right order, and the values within the bound.
program direct
    use hdf5
    use sleek_hdf5
    use sleek_h5d
    use, intrinsic :: iso_c_binding
    implicit none

    integer(hsize_t), parameter :: dims(3) = [40, 30, 20], chunk(3) = [16, 10, 20], part(3) = [24, 20, 20], from(3) = [16, 10, 0]
    real, target :: u(40, 30, 20), back(40, 30, 20), box(24, 20, 20), ordinary(40, 30, 20)
    integer(hid_t) :: file, space, dcpl, dset
    type(sleek_h5d_info) :: info
    integer :: err, i, j, k

    do k = 1, 20
        do j = 1, 30
            do i = 1, 40
                u(i, j, k) = 280 + 10 * sin(0.1 * i + 0.02 * j) + 0.3 * k
            end do
        end do
    end do
    call h5open_f(err)
    call h5fcreate_f("direct_f.h5", H5F_ACC_TRUNC_F, file, err)
    call h5screate_simple_f(3, dims, space, err)
    call h5pcreate_f(H5P_DATASET_CREATE_F, dcpl, err)
    call h5pset_chunk_f(dcpl, 3, chunk, err)
    call h5pset_sleek_abs_f(dcpl, 1d-3, err)
    call h5dcreate_f(file, "u", H5T_IEEE_F32LE, space, dset, err, dcpl)
    if (err /= 0) stop 1
    call h5dwrite_sleek_f(dset, H5T_NATIVE_REAL, c_loc(u), err, info=info)
    if (err /= 0 .or. info%route /= SLEEK_H5D_THREADS .or. info%chunks /= 9) stop 2
    if (sleek_h5d_reason(info) /= "chunks of data in host memory") stop 3
    call h5dread_f(dset, H5T_NATIVE_REAL, ordinary, dims, err)
    if (err /= 0 .or. maxval(abs(ordinary - u)) > 1e-3) stop 4
    call h5dread_sleek_f(dset, H5T_NATIVE_REAL, c_loc(back), err)
    if (err /= 0 .or. any(back /= ordinary)) stop 5
    box = u(17:40, 11:30, :) + 1
    call h5dwrite_sleek_f(dset, H5T_NATIVE_REAL, c_loc(box), err, from, part, info=info)
    if (err /= 0 .or. info%chunks /= 4) stop 6
    call h5dread_f(dset, H5T_NATIVE_REAL, ordinary, dims, err)
    if (maxval(abs(ordinary(17:40, 11:30, :) - box)) > 1e-3) stop 7
    if (any(ordinary(1:16, :, :) /= back(1:16, :, :))) stop 8
    call h5dread_sleek_f(dset, H5T_NATIVE_REAL, c_loc(box), err, from, part)
    if (err /= 0 .or. any(box /= ordinary(17:40, 11:30, :))) stop 9
    call h5dclose_f(dset, err)
    call h5fclose_f(file, err)
    print *, "passed"
end program direct
