"""The inputs: raw files of folders, a class of fields for each folder and element type."""

import pathlib
import re

import numpy as np

import heldout

# Values that stand for "no data": they do not count for the value range, and their fields not for means.
FILL_VALUES = {"levitus_temp": -1e10}


class Field:
    """A named array of at most three dimensions: leading ones are merged, since some peers refuse or die on more."""

    def __init__(self, where, name, data, path):
        self.where, self.name, self.path = where, name, path
        self.data = np.ascontiguousarray(data.reshape((-1, *data.shape[-2:])) if data.ndim > 3 else data)
        self.fill = FILL_VALUES.get(name)
        self.counted = np.isfinite(self.data)
        if self.fill is not None:
            self.counted &= self.data != self.data.dtype.type(self.fill)
        values = self.data[self.counted]
        self.range = float(values.max()) - float(values.min())

    @property
    def dtype(self):
        return f"f{8 * self.data.itemsize}"


def read(folder, where):
    """Every NAME_4x5x6.f32 and .f64 of a folder, in the order of the names."""
    for path in sorted(pathlib.Path(folder).iterdir()):
        match = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)", path.name)
        if match:
            shape = [int(n) for n in match[2].split("x")]
            yield Field(where, match[1], np.fromfile(path, {"f32": "<f4", "f64": "<f8"}[match[3]]).reshape(shape), path)


def everything(data, simulations, made):
    """Real fields, simulated ones if there is a folder of them, and those of heldout.py, which it makes if they are not there."""
    heldout.make(made)
    found = list(read(data, "real"))
    if simulations:
        found += read(simulations, "simulated")
    return found + list(read(made, "held out"))


def chunk_shape(shape, itemsize, size):
    """Whole planes that together take at most `size` bytes."""
    shape = list(shape)
    for axis in range(len(shape)):
        rest = int(np.prod(shape[axis + 1 :], dtype=np.int64)) * itemsize
        shape[axis] = min(shape[axis], max(1, size // rest))
        if rest < size:
            break
    return tuple(shape)
