! Compresses an array in memory with an absolute error bound, restores it and checks the bound.
!
!     gfortran sleek.f90 compress.f90 -lsleek -o compress
program compress
    use, intrinsic :: iso_c_binding
    use sleek
    implicit none
    integer, parameter :: nx = 512, ny = 512
    real(c_float), allocatable :: field(:, :), back(:, :), line(:)
    integer(c_int8_t), allocatable :: stream(:)
    type(sleek_params) :: params
    integer(c_size_t) :: bytes, back_bytes, raw_bytes
    double precision :: worst
    integer :: x, y

    allocate (field(nx, ny), back(nx, ny), line(nx))
    do y = 1, ny
        do x = 1, nx
            field(x, y) = 280 + 10*sin(0.02*x)*cos(0.03*y)
        end do
    end do
    raw_bytes = 4_c_size_t*size(field)

    call check(sleek_params_init(params))
    params%dtype = SLEEK_F32
    params%mode = SLEEK_ABS
    params%bound = 1d-3
    allocate (stream(sleek_compress_bound(params, size(field, kind=c_size_t))))
    call check(sleek_compress(params, field, size(field, kind=c_size_t), stream, size(stream, kind=c_size_t), bytes, c_null_ptr))

    call check(sleek_decompress(stream, bytes, back, raw_bytes, back_bytes, c_null_ptr))
    worst = maxval(abs(dble(field) - dble(back)))
    print '(i0,a,i0,a,es9.2,a,es9.2)', raw_bytes, " -> ", bytes, " bytes, largest error ", worst, " of ", params%bound
    if (.not. worst <= params%bound) error stop "bound broken"

    ! The line y = 100 alone, without decoding the rest.
    call check(sleek_decompress_range(stream, bytes, 99_c_int64_t*nx, int(nx, c_size_t), line, 4_c_size_t*nx, c_null_ptr))
    if (any(line /= back(:, 100))) error stop "another line"

    ! A bound on integers is refused, and the library says why.
    params%dtype = SLEEK_I32
    if (sleek_compress(params, field, 1_c_size_t, stream, bytes, back_bytes, c_null_ptr) == SLEEK_OK) error stop "not refused"
    print '(a)', sleek_error_message()

contains

    subroutine check(status)
        integer(c_int32_t), intent(in) :: status
        if (status /= SLEEK_OK) then
            print '(a)', sleek_error_message()
            error stop 1
        end if
    end subroutine check

end program compress
