"""h5repack, h5dump, h5diff, nccopy and ncdump, on generated files and on those of `SLEEK_DATA`."""

import os
from pathlib import Path

import h5py
import numpy as np

from scenarios import ABS, SLEEK, field, main, opts, run, scenario

BOUND = 1e-3
FILTER = "UD=47474,0," + ",".join(map(str, (5, *opts(ABS, BOUND))))
FLOATS = "f4", "f8", "big", "contiguous"


def make_sample(path="sample.h5"):
    """Floats of two sizes and orders, integers and compounds."""
    a = field((120, 150))
    a[3, 4] = np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("f4", data=a, chunks=(50, 60))
        f.create_dataset("f8", data=field((120, 150), "f8", 1), chunks=(50, 60), shuffle=True, compression="gzip")
        f.create_dataset("big", data=field((120, 150), ">f4", 2), chunks=(50, 60), fletcher32=True)
        f.create_dataset("i4", data=np.arange(20000, dtype="i4").reshape(100, 200), chunks=(50, 60))
        f.create_dataset("compound", data=np.array([(i, i / 7) for i in range(5000)], [("i", "i4"), ("x", "f8")]), chunks=(700,))
        f.create_dataset("text", data=[f"line {i}" for i in range(10)])
        f.create_dataset("contiguous", data=a[:50, :50])
    return path


def filtered(file):
    """How many filters of ours h5dump names in the file."""
    return run("h5dump", "-pH", file).count(f"FILTER_ID {SLEEK}")


def data_files():
    folder = os.environ.get("SLEEK_DATA")
    found = [str(path) for path in Path(folder).glob("*.nc")] if folder else []
    assert found or not folder, "SLEEK_DATA has no file of netCDF"
    return found


@scenario
def h5repack_keeps_an_absolute_bound():
    make_sample()
    run("h5repack", "-f", FILTER, "sample.h5", "packed.h5")
    # The fields of floats lose something; what can have no bound is stored losslessly.
    assert filtered("packed.h5") == 6 and os.path.getsize("packed.h5") * 3 < os.path.getsize("sample.h5") * 2
    for name in FLOATS:
        run("h5diff", "-d", "0.001", "sample.h5", "packed.h5", f"/{name}")
        run("h5diff", "sample.h5", "packed.h5", f"/{name}", code=1)
    for name in "i4", "compound", "text":
        run("h5diff", "sample.h5", "packed.h5", f"/{name}")


@scenario
def h5repack_to_other_chunks_and_back():
    make_sample()
    run("h5repack", "-f", f"/f4,/f8,/big:{FILTER}", "sample.h5", "first.h5")
    for chunk in "7x11", "64x64", "120x150":
        run("h5repack", "-l", f"/f4,/f8,/big:CHUNK={chunk}", "first.h5", "other.h5")
        assert filtered("other.h5") == 3
        # Restored values lie on the quantizer's grid: coding them again changes nothing.
        run("h5diff", "first.h5", "other.h5")
    run("h5repack", "-f", "NONE", "other.h5", "plain.h5")
    assert filtered("plain.h5") == 0
    run("h5diff", "first.h5", "plain.h5")
    # Lossless on everything, by no words at all, or by one, with the zeros behind it left out.
    for words in "0", "1,0", "1,1":
        run("h5repack", "-f", f"UD=47474,0,{words}", "sample.h5", "lossless.h5")
        assert filtered("lossless.h5") == 6
        run("h5diff", "sample.h5", "lossless.h5")


@scenario
def h5dump_reads_values():
    make_sample()
    run("h5repack", "-f", FILTER, "sample.h5", "packed.h5")
    for file, out in ("sample.h5", "a.bin"), ("packed.h5", "b.bin"):
        run("h5dump", "-d", "/big", "-b", "LE", "-o", out, file)
    a, b = (np.fromfile(out, "<f4").astype("f8") for out in ("a.bin", "b.bin"))
    assert a.size == 120 * 150 and 0 < np.abs(a - b).max() <= BOUND


@scenario
def nccopy_and_netcdf4():
    import netcdf

    netcdf.make_sample()
    # Without a d it hands half of one over.
    for number in "0.001", "1e-3", "0":
        said = run("nccopy", "-4", "-F", f"t,{SLEEK},1,1,{number}", "sample.nc", "refused.nc", code=1)
        assert "for nccopy write 0.001d, not 0.001" in said, said
    for file, variable in [("sample.nc", "t"), *((file, "air_temperature") for file in data_files())]:
        # nccopy makes two words, low first, of a number that ends in d.
        run("nccopy", "-4", "-F", f"{variable},{SLEEK},1,1,0.001d", file, "packed.nc")
        header = run("ncdump", "-hs", "packed.nc")
        # The long form: its layout 3 with mode 1, f32, the bound. nccopy does not hand the fill value on to HDF5.
        low, high = opts(ABS, BOUND)[2:4]
        assert f'_Filter = "{SLEEK},{3 | 1 << 8},' in header and f",{low},{high}," in header, header

        def differ(delta):
            # h5diff cannot compare some of netCDF's attributes and then ends with 1: what it says counts.
            return "differences found" in run("h5diff", "-c", "-d", delta, file, "packed.nc", f"/{variable}", code=None)

        assert not differ("0.001") and differ("0.000001"), file
        netcdf.read_file(file, "packed.nc", 0.001)


@scenario
def nccopy_with_a_fill_value():
    """nccopy writes without HDF5's fill value: the variable's is named in the words, and every missing value stays one."""
    import netcdf

    netcdf.make_marked()
    for words in "1,1,0.25d,512,-9999d", "1,2,0.01d,512,-9999d":
        run("nccopy", "-4", "-F", f"t,{SLEEK},{words}", "marked.nc", "packed.nc")
        netcdf.read_file("marked.nc", "packed.nc", 0.25)
        netcdf.same_results("marked.nc", "packed.nc", 0.25)


@scenario
def a_malformed_variable_is_told_and_loses_nothing():
    """A refusal comes before the first chunk, so h5repack stores without the filter what it would otherwise lose."""
    make_sample()
    for variable, value in ("SLEEK_NUM_THREADS", "all"), ("SLEEK_SIMD", "sse9"):
        said = run("h5repack", "-f", FILTER, "sample.h5", "plain.h5", env={**os.environ, variable: value})
        assert f"{variable} is '{value}'" in said and filtered("plain.h5") == 0, said
        run("h5diff", "sample.h5", "plain.h5")


if __name__ == "__main__":
    main()
