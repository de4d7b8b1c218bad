"""A decoder of SLEEK streams in Python and numpy alone: for readers that have neither HDF5's C library nor libsleek.

It reads every stream of format version 1, of the codecs sleek, zfp and interp, verifies its checksums, and refuses what is damaged. It is
written from the specification (docs/reference/format.md, docs/reference/codecs) and shares no code with the library, which is much faster and
compresses too: `pip install sleek-compress`.

>>> import numpy as np, sleek, sleek_decode
>>> field = np.sin(np.linspace(0, 60, 100_000, dtype="f4")).reshape(100, 1000)
>>> stream = sleek.compress(field, abs=1e-3)
>>> np.array_equal(sleek_decode.decode(stream).reshape(-1), sleek.decompress(stream).reshape(-1))
True
>>> sleek_decode.decode(stream[:-1])
Traceback (most recent call last):
...
sleek_decode.DamagedError: the SLEEK stream is damaged: ...
"""

from ._api import Info, decode, decode_box, decode_bytes, decode_file, decode_range, inspect
from ._errors import DamagedError, DecodeError, UnsupportedError

FILTER_ID = 47474
"""The filter's id in HDF5."""

__version__ = "0.4.0"

__all__ = [
    "FILTER_ID",
    "DamagedError",
    "DecodeError",
    "Info",
    "UnsupportedError",
    "__version__",
    "decode",
    "decode_box",
    "decode_bytes",
    "decode_file",
    "decode_range",
    "inspect",
]
