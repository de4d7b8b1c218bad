! The SLEEK filter for programs that write HDF5 from Fortran. Compile this file with the program: it needs no other module,
! and HDF5's C library at link time, which every HDF5 program has. Only sleek_h5_register needs libsleek itself.
!
!     call h5pset_chunk_f(dcpl, rank, chunk, err)
!     call h5pset_sleek_abs_f(dcpl, 1d-3, err)
!     call h5dcreate_f(file, "u", H5T_NATIVE_REAL, space, dset, err, dcpl)
module sleek_hdf5
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t, c_double
    implicit none
    private

    ! The filter's id.
    integer(c_int), parameter, public :: SLEEK_ID = 47474

    ! Modes, as in docs/guide/bounds.md.
    integer(c_int), parameter, public :: SLEEK_H5_LOSSLESS = 0, SLEEK_H5_ABS = 1, SLEEK_H5_NOA = 2, SLEEK_H5_REL = 3

    public :: sleek_cd_values, sleek_h5_register
    public :: h5pset_sleek_f, h5pset_sleek_abs_f, h5pset_sleek_noa_f, h5pset_sleek_rel_f, h5pset_sleek_lossless_f

    interface
        ! Registers the filter with the program's HDF5: 0, or an error code. Needed before writing to a dataset that exists
        ! already, where HDF5 loads no plugins.
        function sleek_h5_register() bind(c, name="sleek_h5_register") result(status)
            import :: c_int
            integer(c_int) :: status
        end function sleek_h5_register

        function c_h5pset_filter(dcpl, id, flags, n, cd) bind(c, name="H5Pset_filter") result(status)
            import :: c_int, c_int64_t, c_size_t
            integer(c_int64_t), value :: dcpl
            integer(c_int), value :: id, flags
            integer(c_size_t), value :: n
            integer(c_int), intent(in) :: cd(*)
            integer(c_int) :: status
        end function c_h5pset_filter
    end interface

contains

    ! The cd_values for h5pset_filter_f. A range of 0 (or none) means each chunk's own, and matters to SLEEK_H5_NOA only.
    pure function sleek_cd_values(mode, bound, range) result(cd)
        integer(c_int), intent(in) :: mode
        real(c_double), intent(in) :: bound
        real(c_double), intent(in), optional :: range
        integer(c_int), allocatable :: cd(:)
        real(c_double) :: r
        r = 0
        if (present(range)) r = range
        cd = [1_c_int, mode, words(bound), 0_c_int]
        if (r /= 0) then
            cd(5) = 256
            cd = [cd, words(r)]
        end if
    end function sleek_cd_values

    ! A request in words: "abs=1e-3", "noa=1e-4,range=50,fill=-9999", "rel=1e-2,profile=fast", "lossless" (docs/guide/bounds.md).
    ! The filter reads it when the dataset is created, so it is h5dcreate_f that refuses a text that means nothing.
    subroutine h5pset_sleek_f(dcpl, request, hdferr)
        integer(c_int64_t), intent(in) :: dcpl
        character(*), intent(in) :: request
        integer, intent(out) :: hdferr
        integer(c_int) :: cd(1 + (len_trim(request) + 3)/4)
        integer(c_int64_t) :: word
        integer :: i, k
        cd(1) = 2
        do i = 2, size(cd)
            word = 0
            do k = 4*i - 7, min(4*i - 4, len_trim(request))
                word = word + ishft(int(iachar(request(k:k)), c_int64_t), 8*modulo(k - 1, 4))
            end do
            cd(i) = signed(word)
        end do
        hdferr = set(dcpl, cd)
    end subroutine h5pset_sleek_f

    ! |value - restored| <= bound
    subroutine h5pset_sleek_abs_f(dcpl, bound, hdferr)
        integer(c_int64_t), intent(in) :: dcpl
        real(c_double), intent(in) :: bound
        integer, intent(out) :: hdferr
        hdferr = set(dcpl, sleek_cd_values(SLEEK_H5_ABS, bound))
    end subroutine h5pset_sleek_abs_f

    ! |value - restored| <= bound * range; without a range that of each chunk, zeros and missing values not counted, and one to
    ! two bits more for each value, so that chunks can be written again
    subroutine h5pset_sleek_noa_f(dcpl, bound, hdferr, range)
        integer(c_int64_t), intent(in) :: dcpl
        real(c_double), intent(in) :: bound
        integer, intent(out) :: hdferr
        real(c_double), intent(in), optional :: range
        hdferr = set(dcpl, sleek_cd_values(SLEEK_H5_NOA, bound, range))
    end subroutine h5pset_sleek_noa_f

    ! |value - restored| <= bound * |value|
    subroutine h5pset_sleek_rel_f(dcpl, bound, hdferr)
        integer(c_int64_t), intent(in) :: dcpl
        real(c_double), intent(in) :: bound
        integer, intent(out) :: hdferr
        hdferr = set(dcpl, sleek_cd_values(SLEEK_H5_REL, bound))
    end subroutine h5pset_sleek_rel_f

    ! Every bit comes back; for elements of any type
    subroutine h5pset_sleek_lossless_f(dcpl, hdferr)
        integer(c_int64_t), intent(in) :: dcpl
        integer, intent(out) :: hdferr
        hdferr = set(dcpl, sleek_cd_values(SLEEK_H5_LOSSLESS, 0d0))
    end subroutine h5pset_sleek_lossless_f

    ! Adds the filter as mandatory: what cannot be compressed as asked is refused when the dataset is created.
    integer function set(dcpl, cd)
        integer(c_int64_t), intent(in) :: dcpl
        integer(c_int), intent(in) :: cd(:)
        integer(c_int), parameter :: MANDATORY = 0
        set = c_h5pset_filter(dcpl, SLEEK_ID, MANDATORY, size(cd, kind=c_size_t), cd)
    end function set

    ! The bits of a number, low word first
    pure function words(x) result(w)
        real(c_double), intent(in) :: x
        integer(c_int) :: w(2)
        integer(c_int64_t) :: bits, half
        bits = transfer(x, bits)
        half = ibits(bits, 0, 32)
        w(1) = signed(half)
        half = ibits(bits, 32, 32)
        w(2) = signed(half)
    end function words

    ! The 32-bit integer with the bits of 0 <= x < 2**32
    pure integer(c_int) function signed(x)
        integer(c_int64_t), intent(in) :: x
        if (x > huge(signed)) then
            signed = int(x - 2_c_int64_t**32, c_int)
        else
            signed = int(x, c_int)
        end if
    end function signed

end module sleek_hdf5
