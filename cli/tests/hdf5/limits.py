"""Files that claim far more than they hold, and disks and memory that are too small."""

import resource
import zlib

import fields
from batch import folder
from command import SLEEK, attempt, files, filters_of, h5py, has, main, np, run, scenario, told

from scenarios import ABS, opts

SPARSE = 5, 2**30 + 7, 2**37


@scenario
def chunks_that_were_never_written_cost_nothing():
    """Files that claim far more than they hold: the command lists the chunks that there are, by any HDF5: some walk over chunks, older
    ones are asked for each. A gigabyte of memory is enough."""
    libraries = [fields.libhdf5("venv-h5py-1.14"), fields.libhdf5("venv-h5py-2"), None]
    few = fields.limited(1 << 30)
    for libver in None, "v110":
        with h5py.File("old.h5", "w", libver=libver) as f:
            for key, how in ("plain", {}), ("zipped", {"compression": "gzip", "shuffle": True}):
                dataset = f.create_dataset(key, (2**38,), "f4", chunks=(1024,), maxshape=(None,), **how)
                for at in SPARSE if libver is None else SPARSE[:2]:
                    dataset[at : at + 3000] = np.sin(np.arange(3000) / 99)
            plane = f.create_dataset("plane", (2**18, 2**18), "f4", chunks=(64, 64), maxshape=(None, None))
            plane[70000:70200, 100:400] = np.sin(np.arange(300) / 30)
            f.create_dataset("nothing", (2**40,), "f8", chunks=(64,), maxshape=(None,))
            f.create_dataset("no_room", (2**40,), "f8")
        for library in libraries:
            by = f"--library {library}" if library else ""
            has(told(f"inspect --json {by} old.h5", **few), '"chunks_stored": 0', '"/zipped"')
            told(f"analyze {by} old.h5:/zipped", **few)
            told(f"repack {by} --dry-run --lossless old.h5 none.h5", **few)
            told(f"repack {by} -q --force --even-if-larger --lossless --verify old.h5 new.h5", **few)
            with h5py.File("old.h5") as a, h5py.File("new.h5") as b:
                for key in "plain", "zipped", "plane":
                    starts = [{d.id.get_chunk_info(k).chunk_offset for k in range(d.id.get_num_chunks())} for d in (a[key], b[key])]
                    assert starts[0] == starts[1] and len(starts[0]) > 3 and filters_of(b[key])[0] == 47474, f"{key}: {starts}"
                    for start in starts[0]:
                        box = tuple(slice(at, at + n) for at, n in zip(start, a[key].chunks))
                        assert (a[key][box] == b[key][box]).all(), key
            told(f"repack {by} -q --force --abs 1e-3 old.h5 new.h5", **few)


@scenario
def texts_are_compared_block_by_block():
    """Of 2^40 texts what is in the file alone."""
    few = fields.limited(1 << 30)
    for name, last in ("old.h5", "x"), ("same.h5", "x"), ("other.h5", "y"):
        with h5py.File(name, "w") as f:
            for key, kind in ("any", h5py.string_dtype()), ("fixed", "S40"):
                f.create_dataset(key, (2**30, 2**10), kind, chunks=(2**9, 2**9), compression="gzip")[3, 4] = last
    told("verify old.h5 same.h5", **few)
    told("repack -q --abs 1 --verify old.h5 new.h5", **few)
    has(told("verify old.h5 other.h5", code=1, **few), "/any    BROKEN", "/fixed  BROKEN")


@scenario
def memory_that_is_not_there_is_an_error():
    """A chunk of 1 GiB in a few bytes."""
    for name in "huge.h5", "again.h5":
        with h5py.File(name, "w") as f:
            dataset = f.create_dataset("huge", (2**27,), "f8", chunks=(2**27,), compression="gzip")
            dataset.id.write_direct_chunk((0,), zlib.compress(bytes(2**30)))
    for request, code in (
        ("repack --even-if-larger --lossless huge.h5 new.h5", 2), ("repack --abs 1 huge.h5 new.h5", 2), ("analyze huge.h5", 2), ("verify huge.h5 again.h5", 2),
    ):  # fmt: skip
        has(told(request, code=code, **fields.limited(1 << 30)), "out of memory")
    has(told("inspect huge.h5", **fields.limited(1 << 30)), "1.07 GB")


@scenario
def a_full_disk_leaves_everything_as_it_was():
    """A limit on file sizes is met as a full disk is: HDF5 fails to write anywhere, or crashes."""
    fields.make("old.h5")
    folder(2)
    before = files()
    for limit in 0, 2000, 8000, 20_000, 50_000, 100_000, 200_000:
        full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}
        for new_ in "new.h5", "old.h5":
            message = attempt(f"repack -q --force --lossless old.h5 {new_}", **full)
            assert message.returncode == 2 and message.stderr.startswith("sleek: error: ") and new_ in message.stderr, (limit, message)
            assert ("File too large" in message.stderr or "HDF5 crashed" in message.stderr) and message.stderr.count("\n") == 1, (limit, message)
        if limit < 8000:
            assert attempt("repack -r --lossless --to out in", **full).returncode == 2
        assert files() == before, limit


@scenario
def looks_pass_over_chunks_that_were_never_written():
    """Of 2^24 chunks, nearly all of which were never written, those in the file alone are looked at."""
    with h5py.File("wide.h5", "w") as f:
        ours = {"compression": 47474, "compression_opts": opts(ABS, 1e-3), "fillvalue": -1}
        for name, how in ("e", ours), ("g", {"compression": "gzip"}):
            d = f.create_dataset(name, (2**36,), "f4", chunks=(4096,), **how)
            d[5:500], d[3 * 65536] = np.arange(495), 7
    for name, fill in ("e", -1), ("g", 0):
        thin = f"decompress -q --stride 65536 wide.h5:{name}"
        for request in f"show --text wide.h5:{name}", f"{thin} {name}", f"decompress -qf --box 196600:10 wide.h5:{name} box":
            told(request, **fields.limited(1 << 30))
        x, box = np.fromfile(name, "f4"), np.fromfile("box", "f4")
        assert x.size == 2**20 and np.flatnonzero(x != fill).tolist() == [3] and abs(x[3] - 7) <= 1e-3, (name, x[:5])
        assert np.abs(box - np.where(np.arange(10) == 8, 7, fill)).max() <= 1e-3, box
        run("bash", "-c", f"{SLEEK} {thin} - | cat > piped")
        assert (np.fromfile("piped", "f4") == x).all()


if __name__ == "__main__":
    main()
