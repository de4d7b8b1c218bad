! The C interface of libsleek for Fortran 2018; sleek.h explains every call. Compile this file with the program and link with
! -lsleek. For HDF5 files see sleek_hdf5.f90.
module sleek
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: sleek_params, sleek_params_init, sleek_params_parse, sleek_error_message
    public :: sleek_compress_bound, sleek_compress, sleek_decompress, sleek_decompress_range, sleek_decompress_box
    public :: sleek_decompress_coarse, sleek_inspect_dims

    ! Success; every other status is an error.
    integer(c_int32_t), parameter, public :: SLEEK_OK = 0

    ! Element types.
    integer(c_int32_t), parameter, public :: SLEEK_F32 = 1, SLEEK_F64 = 2, SLEEK_F16 = 3, SLEEK_BF16 = 4
    integer(c_int32_t), parameter, public :: SLEEK_I8 = 5, SLEEK_I16 = 6, SLEEK_I32 = 7, SLEEK_I64 = 8

    ! How values may change: not at all, by a bound, by a bound times the value range, by a bound times each value; or so that
    ! each value takes so many bits, or keeps so many of its block (codec zfp; bound is that number).
    integer(c_int32_t), parameter, public :: SLEEK_LOSSLESS = 0, SLEEK_ABS = 1, SLEEK_NOA = 2, SLEEK_REL = 3
    integer(c_int32_t), parameter, public :: SLEEK_RATE = 4, SLEEK_PRECISION = 5

    ! Codecs.
    integer(c_int32_t), parameter, public :: SLEEK_CODEC_DEFAULT = 0, SLEEK_CODEC_SLEEK = 1, SLEEK_CODEC_ZFP = 3
    integer(c_int32_t), parameter, public :: SLEEK_CODEC_INTERP = 5

    ! Profiles.
    integer(c_int32_t), parameter, public :: SLEEK_ADAPTIVE = 0, SLEEK_FAST = 1, SLEEK_SMALL = 2

    ! What sleek_compress is to do. Call sleek_params_init, then set fields.
    type, bind(c) :: sleek_params
        integer(c_size_t) :: struct_size
        integer(c_int32_t) :: dtype, mode, codec, profile
        real(c_double) :: bound, range, fill_value
        integer(c_int32_t) :: has_fill_value, big_endian, device, threads
        ! The lengths of dimensions, slowest first: for an array of Fortran its shape in reverse.
        type(c_ptr) :: dims
        integer(c_int32_t) :: rank, missing_count
        integer(c_int64_t) :: missing(4)
        integer(c_int32_t) :: find_fill, rewritten, reserved(2)
    end type sleek_params

    interface
        function sleek_params_init(params) bind(c) result(status)
            import
            type(sleek_params), intent(out) :: params
            integer(c_int32_t) :: status
        end function sleek_params_init

        ! `text` ends with c_null_char: sleek_params_parse(params, "abs=1e-3"//c_null_char)
        function sleek_params_parse(params, text) bind(c) result(status)
            import
            type(sleek_params), intent(inout) :: params
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int32_t) :: status
        end function sleek_params_parse

        function sleek_compress_bound(params, count) bind(c) result(bytes)
            import
            type(sleek_params), intent(in) :: params
            integer(c_size_t), value :: count
            integer(c_size_t) :: bytes
        end function sleek_compress_bound

        ! Arrays must be contiguous. `stream` is c_null_ptr.
        function sleek_compress(params, src, count, dst, dst_capacity, dst_bytes, stream) bind(c) result(status)
            import
            type(sleek_params), intent(in) :: params
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: count, dst_capacity
            type(*), intent(inout) :: dst(*)
            integer(c_size_t), intent(out) :: dst_bytes
            type(c_ptr), value :: stream
            integer(c_int32_t) :: status
        end function sleek_compress

        function sleek_decompress(src, src_bytes, dst, dst_capacity, dst_bytes, stream) bind(c) result(status)
            import
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: src_bytes, dst_capacity
            type(*), intent(inout) :: dst(*)
            integer(c_size_t), intent(out) :: dst_bytes
            type(c_ptr), value :: stream
            integer(c_int32_t) :: status
        end function sleek_decompress

        ! `first` counts from 0.
        function sleek_decompress_range(src, src_bytes, first, count, dst, dst_capacity, stream) bind(c) result(status)
            import
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: src_bytes, count, dst_capacity
            integer(c_int64_t), value :: first
            type(*), intent(inout) :: dst(*)
            type(c_ptr), value :: stream
            integer(c_int32_t) :: status
        end function sleek_decompress_range

        ! Dimensions are those of sleek.h, slowest first, and `start` counts from 0.
        function sleek_decompress_box(src, src_bytes, rank, start, count, dst, dst_capacity, stream) &
                bind(c) result(status)
            import
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: src_bytes, dst_capacity
            integer(c_int32_t), value :: rank
            integer(c_int64_t), intent(in) :: start(*), count(*)
            type(*), intent(inout) :: dst(*)
            type(c_ptr), value :: stream
            integer(c_int32_t) :: status
        end function sleek_decompress_box

        ! Every 2^level-th element of a box along the last three dimensions.
        function sleek_decompress_coarse(src, src_bytes, level, rank, start, count, dst, dst_capacity, dst_bytes, stream) &
                bind(c) result(status)
            import
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: src_bytes, dst_capacity
            integer(c_int32_t), value :: level, rank
            integer(c_int64_t), intent(in) :: start(*), count(*)
            type(*), intent(inout) :: dst(*)
            integer(c_size_t), intent(out) :: dst_bytes
            type(c_ptr), value :: stream
            integer(c_int32_t) :: status
        end function sleek_decompress_coarse

        ! 32 elements of `dims` are always enough.
        function sleek_inspect_dims(src, src_bytes, dims, dims_capacity, rank) bind(c) result(status)
            import
            type(*), intent(in) :: src(*)
            integer(c_size_t), value :: src_bytes, dims_capacity
            integer(c_int64_t), intent(out) :: dims(*)
            integer(c_int32_t), intent(out) :: rank
            integer(c_int32_t) :: status
        end function sleek_inspect_dims

        function c_last_error() bind(c, name="sleek_last_error") result(text)
            import
            type(c_ptr) :: text
        end function c_last_error

        function c_strlen(text) bind(c, name="strlen") result(length)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function c_strlen
    end interface

contains

    ! The text of this thread's last error.
    function sleek_error_message() result(message)
        character(:), allocatable :: message
        character(kind=c_char), pointer :: text(:)
        type(c_ptr) :: start
        integer :: i
        start = c_last_error()
        call c_f_pointer(start, text, [c_strlen(start)])
        allocate (character(size(text)) :: message)
        do i = 1, size(text)
            message(i:i) = text(i)
        end do
    end function sleek_error_message

end module sleek
