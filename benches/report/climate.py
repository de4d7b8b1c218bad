"""What ClimateBenchPress measures (github.com/ClimateBenchPress/compressor), on the fields here that are nearest to its own.

Its codecs are numcodecs', ours comes by integrations/climatebenchpress/sleek.py. The bounds are those that its
create_error_bounds.py takes where no ensemble gives them: 1e-4, 1e-3 and 1e-2 of the range, absolute."""

import importlib.util
import math
import pathlib
import sys
import types

import h5py
import numcodecs
import numpy as np
from numcodecs_wasm_sperr import Sperr
from numcodecs_wasm_sz3 import Sz3
from numcodecs_wasm_zfp import Zfp

import results

LEVELS = {"low": 1e-4, "mid": 1e-3, "high": 1e-2}
ENTRY = results.ROOT / "integrations/climatebenchpress/sleek.py"
# Near-surface temperature as of CMIP6, wind as of ERA5, sea temperature with land as of CMIP6, air temperature of a region.
RAW = {"ccsm_trefht": (110, 64, 128), "navy_uwnd": (132, 73, 144), "levitus_temp": (20, 180, 360)}
NETCDF = {"E1_north_america": "air_temperature"}
WIDTH, SIGMA = 11, 1.5


def fields(folder):
    folder = pathlib.Path(folder)
    for name, shape in RAW.items():
        path = folder / f"{name}_{'x'.join(map(str, shape))}.f32"
        if path.exists():
            values = np.fromfile(path, "<f4").reshape(shape)
            yield name, np.where(values == np.float32(-1e10), np.float32("nan"), values)
    for name, variable in NETCDF.items():
        if (path := folder / f"{name}.nc").exists():
            with h5py.File(path) as file:
                yield name, file[variable][...].astype("f4")


def entry():
    """The classes of the entry, in the package that it is written for: of that only the base class is there, and empty."""
    package, base = types.ModuleType("compressors"), types.ModuleType("compressors.abc")
    package.__path__, base.Compressor = [], object
    sys.modules |= {"compressors": package, "compressors.abc": base}
    spec = importlib.util.spec_from_file_location("compressors.sleek", ENTRY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"small": module.SleekSmall, "adaptive": module.Sleek}


class BitRound:
    """Bits of the largest value that keep the bound, then zlib."""

    def __init__(self, bound, largest):
        kept = min(23, max(0, -math.floor(math.log2(bound / largest)) - 1))
        self.round, self.zlib = numcodecs.BitRound(kept), numcodecs.Zlib(6)

    def encode(self, values):
        return self.zlib.encode(self.round.encode(values))

    def decode(self, stream, out):
        out[...] = np.frombuffer(self.zlib.decode(stream), "u1").view(out.dtype).reshape(out.shape)
        return out


def codecs(values, bound):
    ours = {name: made.abs_bound_codec(values.dtype, bound) for name, made in entry().items()}
    largest = float(np.nanmax(np.abs(values)))
    return {
        **ours,
        "SZ3": Sz3(eb_mode="abs", eb_abs=bound),
        "ZFP": Zfp(mode="fixed-accuracy", tolerance=bound),
        "SPERR": Sperr(mode="pwe", pwe=bound),
        "bit rounding + zlib": BitRound(bound, largest),
    }


def spread(planes, axis):
    """Sums with a Gaussian's weights along an axis, nothing beyond the ends."""
    weights = np.exp(-(((np.arange(WIDTH) - WIDTH // 2) / SIGMA) ** 2) / 2)
    padded = np.pad(planes, [(WIDTH // 2,) * 2 if a == axis else (0, 0) for a in range(planes.ndim)])
    return sum(w * np.take(padded, np.arange(planes.shape[axis]) + i, axis) for i, w in enumerate(weights / weights.sum()))


def mean_around(planes):
    """Weighted means around each value, of what is a number; not a number where none is."""
    there = ~np.isnan(planes)
    weight = spread(spread(there.astype("f8"), 1), 2)
    total = spread(spread(np.where(there, planes, 0), 1), 2)
    return np.where(there, total / np.maximum(weight, 1e-30), np.nan)


def dssim(a, b, least=1e-8):
    """Structural similarity of floating-point data (Baker, Pinard, Hammerling): planes of 256 steps, the mean over planes."""
    low = np.minimum(np.nanmin(a, (1, 2)), np.nanmin(b, (1, 2)))[:, None, None]
    high = np.maximum(np.nanmax(a, (1, 2)), np.nanmax(b, (1, 2)))[:, None, None]
    a, b = (np.round((x - low) / np.where(high > low, high - low, 1) * 255) / 255 for x in (a, b))
    ma, mb = mean_around(a), mean_around(b)
    va, vb, both = mean_around(a * a) - ma * ma, mean_around(b * b) - mb * mb, mean_around(a * b) - ma * mb
    similar = (2 * ma * mb + least) / (ma**2 + mb**2 + least) * (2 * both + least) / (va + vb + least)
    rim = WIDTH // 2
    return float(np.mean(np.nanmean(similar[:, rim:-rim, rim:-rim], (1, 2))))


def spectrum(planes):
    """Power by radius of the wave number, a row for each plane."""
    rows, columns = planes.shape[1:]
    y, x = (np.fft.fftfreq(n, 1 / n) for n in (rows, columns))
    radius = np.rint(np.hypot(y[:, None], x[None, :])).astype(int).ravel()
    power = (np.abs(np.fft.fft2(planes)) ** 2 / (rows * columns)).reshape(len(planes), -1)
    count = max(rows, columns) // 2
    return np.stack([np.bincount(radius, p, count)[:count] for p in power]) / np.bincount(radius, minlength=count)[:count]


def spectral_error(a, b):
    """The mean squared difference of spectra, of planes without NaN; None where there are none."""
    whole = ~np.isnan(a).any((1, 2))
    return float(np.mean((spectrum(a[whole]) - spectrum(b[whole])) ** 2)) if whole.any() else None


def figures(values, name, bound):
    codec = codecs(values, bound)[name]
    stream = codec.encode(values)
    back = np.asarray(codec.decode(stream, out=np.empty_like(values))).reshape(values.shape)
    a, b = values.astype("f8"), back.astype("f8")
    same = np.array_equal(np.isnan(a), np.isnan(b))
    off = np.abs(a - b)
    largest = float(np.nanmax(off))
    reach = float(np.nanmax(a) - np.nanmin(a))
    return {
        "ratio": values.nbytes / memoryview(stream).nbytes,
        "largest": largest,
        "mae": float(np.nanmean(off)),
        "psnr": 20 * math.log10(reach / math.sqrt(float(np.nanmean(off**2)))),
        "dssim": dssim(a, b) if same else 0.0,
        "spectral": spectral_error(a, b) if same else None,
        "kept": bool(same and largest <= bound),
    }
