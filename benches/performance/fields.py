"""The inputs: real fields from a directory of NAME_4x5x6.f32 and .f64 files, and one synthetic turbulent field."""

import pathlib
import re

import numpy as np

# Values that stand for "no data"; they do not count for the value range that a bound is relative to.
FILL_VALUES = {"levitus_temp": -1e10}


class Field:
    """A named array of at most three dimensions: leading ones are merged, since some peers refuse or die on more."""

    def __init__(self, name, data, path=None):
        self.name, self.path = name, path
        self.data = np.ascontiguousarray(data.reshape((-1, *data.shape[-2:])) if data.ndim > 3 else data)
        self.has_fill = name in FILL_VALUES
        counted = self.data[np.isfinite(self.data)]
        if self.has_fill:
            counted = counted[counted != self.data.dtype.type(FILL_VALUES[name])]
        self.range = float(counted.max()) - float(counted.min())

    @property
    def dtype(self):
        return f"f{8 * self.data.itemsize}"

    def tiled(self, size):
        """The field repeated along its first axis to at least `size` bytes: for speed, never for a ratio."""
        copies = -(-size // self.data.nbytes)
        return np.tile(self.data, (copies,) + (1,) * (self.data.ndim - 1))


def real(directory):
    """Every field of the directory, in the order of the names."""
    for path in sorted(pathlib.Path(directory).iterdir()):
        match = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)", path.name)
        if match:
            shape = [int(n) for n in match[2].split("x")]
            yield Field(match[1], np.fromfile(path, {"f32": "<f4", "f64": "<f8"}[match[3]]).reshape(shape), path)


def turbulence(side):
    """A Gaussian random field with the energy spectrum k^(-5/3), as f32; the same for every run."""
    rng = np.random.default_rng(20260101)
    white = rng.standard_normal((side, side, side), dtype=np.float32)
    modes = np.fft.rfftn(white)
    k = [np.fft.fftfreq(side, 1 / side)] * 2 + [np.fft.rfftfreq(side, 1 / side)]
    k2 = sum(np.square(axis) for axis in np.meshgrid(*k, indexing="ij", sparse=True))
    k2[0, 0, 0] = np.inf
    # The energy in a shell of radius k is k² |mode|², so |mode| falls as k^(-11/6).
    field = np.fft.irfftn(modes * k2 ** (-11 / 12), s=white.shape, axes=(0, 1, 2))
    return Field("turbulence", (field / field.std()).astype(np.float32))


def chunk_shape(shape, itemsize, size):
    """Whole planes that together take at most `size` bytes."""
    shape = list(shape)
    for axis in range(len(shape)):
        rest = int(np.prod(shape[axis + 1 :], dtype=np.int64)) * itemsize
        shape[axis] = min(shape[axis], max(1, size // rest))
        if rest < size:
            break
    return tuple(shape)
