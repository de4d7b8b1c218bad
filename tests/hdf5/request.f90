! Makes a dataset with a request in words: request FILE TEXT
program request
    use hdf5
    use sleek_hdf5
    implicit none
    integer(hsize_t), parameter :: dims(1) = [1000]
    character(400) :: path, text
    integer(hid_t) :: file, space, dcpl, dset
    integer :: err

    call get_command_argument(1, path)
    call get_command_argument(2, text)
    call h5open_f(err)
    call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, err)
    call h5screate_simple_f(1, dims, space, err)
    call h5pcreate_f(H5P_DATASET_CREATE_F, dcpl, err)
    call h5pset_chunk_f(dcpl, 1, dims, err)
    call h5pset_sleek_f(dcpl, text, err)
    if (err < 0) error stop 1
    call h5dcreate_f(file, "t", H5T_IEEE_F32LE, space, dset, err, dcpl)
    if (err < 0) error stop 1
    call h5dclose_f(dset, err)
    call h5pclose_f(dcpl, err)
    call h5sclose_f(space, err)
    call h5fclose_f(file, err)
end program request
