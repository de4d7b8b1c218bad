! HDF5 datasets written from and read into host or GPU memory, with chunks compressed and restored by the GPU or by all threads:
! sleek_h5d_write and sleek_h5d_read of sleek.h for Fortran. Compile this file with the program, link with -lsleek and HDF5.
!
!     call h5dwrite_sleek_f(dset, h5kind_to_type(kind(u), H5_REAL_KIND), c_loc(u), err)
!     call h5dread_sleek_f(dset, h5kind_to_type(kind(u), H5_REAL_KIND), c_loc(u), err, start, count)
!
! Dimensions are in Fortran's order, as in HDF5's own Fortran interface; start counts from 0. The array is contiguous, and may be
! in GPU memory: c_devloc(u) with CUDA Fortran, omp_get_mapped_ptr or use_device_addr with OpenMP.
module sleek_h5d
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: h5dwrite_sleek_f, h5dread_sleek_f, sleek_h5d_info, sleek_h5d_reason

    ! Routes.
    integer(c_int32_t), parameter, public :: SLEEK_H5D_NOTHING = 0, SLEEK_H5D_ORDINARY = 1, SLEEK_H5D_THREADS = 2, &
        SLEEK_H5D_GPU = 3

    ! What a transfer did; struct_size is set by the calls below.
    type, bind(c) :: sleek_h5d_info
        integer(c_size_t) :: struct_size = 256
        integer(c_int32_t) :: route = 0, staged = 0
        integer(c_int64_t) :: chunks = 0, raw_bytes = 0, stored_bytes = 0
        integer(c_int64_t) :: reserved(3) = 0
        character(kind=c_char) :: reason(192) = c_null_char
    end type sleek_h5d_info

    interface
        function c_write(dset, mem_type, start, count, dxpl, buf, stream, info) bind(c, name="sleek_h5d_write") result(status)
            import :: c_int32_t, c_int64_t, c_ptr
            integer(c_int64_t), value :: dset, mem_type, dxpl
            type(c_ptr), value :: start, count, buf, stream, info
            integer(c_int32_t) :: status
        end function c_write

        function c_read(dset, mem_type, start, count, dxpl, buf, stream, info) bind(c, name="sleek_h5d_read") result(status)
            import :: c_int32_t, c_int64_t, c_ptr
            integer(c_int64_t), value :: dset, mem_type, dxpl
            type(c_ptr), value :: start, count, buf, stream, info
            integer(c_int32_t) :: status
        end function c_read
    end interface

contains

    ! hdferr is 0, or a status of sleek.h. Without start and count it is the whole dataset, without dxpl_id the default.
    subroutine h5dwrite_sleek_f(dset_id, mem_type_id, buf, hdferr, start, count, dxpl_id, stream, info)
        integer(c_int64_t), intent(in) :: dset_id, mem_type_id
        type(c_ptr), intent(in) :: buf
        integer, intent(out) :: hdferr
        integer(c_int64_t), intent(in), optional :: start(:), count(:), dxpl_id
        type(c_ptr), intent(in), optional :: stream
        type(sleek_h5d_info), intent(inout), optional, target :: info
        integer(c_int64_t), target :: first(32), shape_of(32)
        hdferr = c_write(dset_id, mem_type_id, box(start, first), box(count, shape_of), list(dxpl_id), buf, &
                         handle(stream), place(info))
    end subroutine h5dwrite_sleek_f

    subroutine h5dread_sleek_f(dset_id, mem_type_id, buf, hdferr, start, count, dxpl_id, stream, info)
        integer(c_int64_t), intent(in) :: dset_id, mem_type_id
        type(c_ptr), intent(in) :: buf
        integer, intent(out) :: hdferr
        integer(c_int64_t), intent(in), optional :: start(:), count(:), dxpl_id
        type(c_ptr), intent(in), optional :: stream
        type(sleek_h5d_info), intent(inout), optional, target :: info
        integer(c_int64_t), target :: first(32), shape_of(32)
        hdferr = c_read(dset_id, mem_type_id, box(start, first), box(count, shape_of), list(dxpl_id), buf, &
                        handle(stream), place(info))
    end subroutine h5dread_sleek_f

    ! Why the route was taken.
    function sleek_h5d_reason(info) result(text)
        type(sleek_h5d_info), intent(in) :: info
        character(:), allocatable :: text
        integer :: i
        text = ""
        do i = 1, size(info%reason)
            if (info%reason(i) == c_null_char) exit
            text = text // info%reason(i)
        end do
    end function sleek_h5d_reason

    ! Dimensions in C's order, kept in `turned`; null for those that were not given.
    function box(dims, turned) result(at)
        integer(c_int64_t), intent(in), optional :: dims(:)
        integer(c_int64_t), intent(inout), target :: turned(32)
        type(c_ptr) :: at
        at = c_null_ptr
        if (.not. present(dims)) return
        turned(1:size(dims)) = dims(size(dims):1:-1)
        at = c_loc(turned)
    end function box

    function list(dxpl_id) result(id)
        integer(c_int64_t), intent(in), optional :: dxpl_id
        integer(c_int64_t) :: id
        id = 0
        if (present(dxpl_id)) id = dxpl_id
    end function list

    function handle(stream) result(at)
        type(c_ptr), intent(in), optional :: stream
        type(c_ptr) :: at
        at = c_null_ptr
        if (present(stream)) at = stream
    end function handle

    function place(info) result(at)
        type(sleek_h5d_info), intent(inout), optional, target :: info
        type(c_ptr) :: at
        at = c_null_ptr
        if (.not. present(info)) return
        info%struct_size = c_sizeof(info)
        at = c_loc(info)
    end function place

end module sleek_h5d
