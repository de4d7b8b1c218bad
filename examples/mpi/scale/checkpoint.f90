! The write of a checkpoint as a code in Fortran does it: finished chunks from the memory that the field is in, host or GPU.
subroutine checkpoint_fortran(dset, own, nx, ny, first, planes, transfer, error) bind(c)
    use, intrinsic :: iso_c_binding
    use hdf5
    use sleek_h5d
    implicit none
    integer(c_int64_t), value :: dset, transfer
    type(c_ptr), value :: own
    integer(c_int), value :: nx, ny, first, planes
    integer(c_int), intent(out) :: error
    integer(hsize_t) :: start(3), count(3)
    integer :: status

    start = [0, 0, first]
    count = [nx, ny, planes]
    call h5open_f(status)
    call h5dwrite_sleek_f(dset, H5T_NATIVE_REAL, own, status, start, count, dxpl_id=transfer)
    error = status
end subroutine checkpoint_fortran
