! Waves in a cube, with checkpoints that are compressed with an error bound.
!
!     h5fc include/sleek_hdf5.f90 examples/fortran/wave.f90 -o wave
!     export HDF5_PLUGIN_PATH=<directory of libsleek.so>
!     ./wave              400 steps, with a checkpoint after half of them
!     ./wave restart      the second half once more, from the checkpoint
!
! The first run says what the bounds did to the checkpoint; the second one, what that became by the end.
program wave
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
    use, intrinsic :: iso_fortran_env, only: real64
    use hdf5
    use sleek_hdf5
    implicit none

    integer, parameter :: n = 48, last = 400             ! points in each direction; steps
    real(real64), parameter :: dt = 0.4_real64           ! dx = 1 and the speed of sound is 1: below 1/sqrt(3) the scheme is stable
    real(real64), parameter :: bound_p = 1e-4_real64     ! of a pressure in a checkpoint
    real(real64), parameter :: bound_v = 1e-6_real64     ! of its rate of change, which has the rest of the run to add up
    character(*), parameter :: checkpoint = "wave_checkpoint.h5", end_of_run = "wave_end.h5"

    real(real64), allocatable :: p(:, :, :), v(:, :, :), p_saved(:, :, :), v_saved(:, :, :)
    real(real64) :: ratio, allowed
    character(16) :: argument
    logical :: restart, all_kept = .true.
    integer :: steps, error

    interface
        function c_rename(from, to) bind(c, name="rename") result(status)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: from(*), to(*)
            integer(c_int) :: status
        end function c_rename
    end interface

    allocate (p(n, n, n), v(n, n, n), p_saved(n, n, n), v_saved(n, n, n))
    call get_command_argument(1, argument)
    restart = argument == "restart"
    call h5open_f(error)
    call check("h5open_f")

    if (restart) then
        call load(checkpoint, p, v, steps, ratio)
        print '(a,i0,a)', "restart after ", steps, " steps"
    else
        call begin()
        steps = 0
    end if
    do while (steps < last)
        call step()
        steps = steps + 1
        if (.not. restart .and. steps == last/2) then
            call save(checkpoint, bound_p, bound_v)
            call load(checkpoint, p_saved, v_saved, steps, ratio)
            print '(a,f0.1)', "checkpoint, ratio ", ratio
            call judge("checkpoint, pressure", maxval(abs(p - p_saved)), bound_p)
            call judge("checkpoint, rate", maxval(abs(v - v_saved)), bound_v)
        end if
    end do

    if (restart) then
        ! The equation is linear, so an error moves as waves do: an error of the pressure keeps its energy, and
        ! one of the rate adds to the pressure for as long as the run goes on.
        allowed = bound_p + bound_v*dt*(last - last/2)
        call load(end_of_run, p_saved, v_saved, steps, ratio)
        call judge("end after the restart, root mean square", sqrt(sum((p - p_saved)**2)/size(p)), allowed)
    else
        call save(end_of_run)
    end if
    call h5close_f(error)
    if (.not. all_kept) error stop 1

contains

    ! A smooth bump, at rest, nearer to some walls than to others.
    subroutine begin()
        integer :: i, j, k
        do k = 1, n
            do j = 1, n
                do i = 1, n
                    p(i, j, k) = exp(-((i - 0.3_real64*n)**2 + (j - 0.5_real64*n)**2 + (k - 0.6_real64*n)**2)/40)
                end do
            end do
        end do
        v = 0
        call hold_walls()
    end subroutine begin

    subroutine hold_walls()
        p(1, :, :) = 0
        p(n, :, :) = 0
        p(:, 1, :) = 0
        p(:, n, :) = 0
        p(:, :, 1) = 0
        p(:, :, n) = 0
    end subroutine hold_walls

    subroutine step()
        integer :: i, j, k
        do k = 2, n - 1
            do j = 2, n - 1
                do i = 2, n - 1
                    v(i, j, k) = v(i, j, k) + dt*(p(i - 1, j, k) + p(i + 1, j, k) + p(i, j - 1, k) + p(i, j + 1, k) &
                                                  + p(i, j, k - 1) + p(i, j, k + 1) - 6*p(i, j, k))
                end do
            end do
        end do
        p = p + dt*v
        call hold_walls()
    end subroutine step

    ! Writes both fields: with bounds, or losslessly if there are none. Under its name the file appears when it is complete.
    subroutine save(path, abs_p, abs_v)
        character(*), intent(in) :: path
        real(real64), intent(in), optional :: abs_p, abs_v
        integer(hid_t) :: file, space, attribute
        call h5fcreate_f(path//".part", H5F_ACC_TRUNC_F, file, error)
        call check("h5fcreate_f")
        call write_field(file, "pressure", p, abs_p)
        call write_field(file, "rate", v, abs_v)

        call h5screate_f(H5S_SCALAR_F, space, error)
        call h5acreate_f(file, "steps", H5T_NATIVE_INTEGER, space, attribute, error)
        call check("h5acreate_f")
        call h5awrite_f(attribute, H5T_NATIVE_INTEGER, steps, [1_hsize_t], error)
        call check("h5awrite_f")
        call h5aclose_f(attribute, error)
        call h5sclose_f(space, error)
        call h5fclose_f(file, error)
        call check("h5fclose_f")
        error = c_rename(path//".part"//c_null_char, path//c_null_char)
        call check("rename")
    end subroutine save

    subroutine write_field(file, name, field, bound)
        integer(hid_t), intent(in) :: file
        character(*), intent(in) :: name
        real(real64), intent(in) :: field(n, n, n)
        real(real64), intent(in), optional :: bound
        integer(hsize_t), parameter :: dims(3) = n, chunk(3) = [n, n, 16]
        integer(hid_t) :: creation, space, dset
        call h5pcreate_f(H5P_DATASET_CREATE_F, creation, error)
        call h5pset_chunk_f(creation, 3, chunk, error)
        if (present(bound)) then
            call h5pset_sleek_abs_f(creation, bound, error)
        else
            call h5pset_sleek_lossless_f(creation, error)
        end if
        call check("h5pset_sleek")
        call h5screate_simple_f(3, dims, space, error)
        call h5dcreate_f(file, name, H5T_NATIVE_DOUBLE, space, dset, error, creation)
        call check("h5dcreate_f (is HDF5_PLUGIN_PATH set?)")
        call h5dwrite_f(dset, H5T_NATIVE_DOUBLE, field, dims, error)
        call check("h5dwrite_f")
        call h5dclose_f(dset, error)
        call check("h5dclose_f")
        call h5sclose_f(space, error)
        call h5pclose_f(creation, error)
    end subroutine write_field

    ! `saved_ratio`: how much smaller both fields together are in the file.
    subroutine load(path, pressure, rate, saved_steps, saved_ratio)
        character(*), intent(in) :: path
        real(real64), intent(out) :: pressure(n, n, n), rate(n, n, n), saved_ratio
        integer, intent(out) :: saved_steps
        integer(hid_t) :: file, attribute
        integer(hsize_t) :: stored
        call h5fopen_f(path, H5F_ACC_RDONLY_F, file, error)
        call check("h5fopen_f")
        stored = 0
        call read_field(file, "pressure", pressure, stored)
        call read_field(file, "rate", rate, stored)
        saved_ratio = 2*8*real(size(pressure), real64)/stored
        call h5aopen_f(file, "steps", attribute, error)
        call h5aread_f(attribute, H5T_NATIVE_INTEGER, saved_steps, [1_hsize_t], error)
        call check("h5aread_f")
        call h5aclose_f(attribute, error)
        call h5fclose_f(file, error)
    end subroutine load

    subroutine read_field(file, name, field, stored)
        integer(hid_t), intent(in) :: file
        character(*), intent(in) :: name
        real(real64), intent(out) :: field(n, n, n)
        integer(hsize_t), intent(inout) :: stored
        integer(hsize_t), parameter :: dims(3) = n
        integer(hid_t) :: dset
        integer(hsize_t) :: bytes
        call h5dopen_f(file, name, dset, error)
        call h5dread_f(dset, H5T_NATIVE_DOUBLE, field, dims, error)
        call check("h5dread_f")
        call h5dget_storage_size_f(dset, bytes, error)
        stored = stored + bytes
        call h5dclose_f(dset, error)
    end subroutine read_field

    subroutine judge(what, largest, bound)
        character(*), intent(in) :: what
        real(real64), intent(in) :: largest, bound
        logical :: kept
        kept = largest <= bound
        print '(2a,es9.2,a,es9.2,2a)', what, ": error ", largest, ", bound ", bound, ": ", &
            trim(merge("kept  ", "BROKEN", kept))
        all_kept = all_kept .and. kept
    end subroutine judge

    subroutine check(what)
        character(*), intent(in) :: what
        if (error < 0) then
            print '(2a)', what, " failed"
            error stop 1
        end if
    end subroutine check

end program wave
