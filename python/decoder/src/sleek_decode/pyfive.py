"""The filter for pyfive, which reads HDF5 files in Python alone, and for what reads through it, such as h5netcdf and cf-python.

>>> import pyfive, sleek_decode.pyfive
>>> sleek_decode.pyfive.register()
>>> wind = pyfive.File("small.nc")["uwnd"][:]  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from . import FILTER_ID
from ._api import decode_bytes


def register() -> None:
    """Teaches pyfive the filter. It has no way to do so of its own: the function that undoes its filters is wrapped."""
    import pyfive
    import pyfive.btree

    reader = getattr(pyfive.btree, "BTreeV1RawDataChunks", None)
    original = getattr(reader, "_filter_chunk", None)
    if original is None:
        raise ImportError(f"pyfive {getattr(pyfive, '__version__', '')} undoes filters elsewhere than 1.3 does: it cannot be taught ours")
    if getattr(original, "knows_sleek", False):
        return

    def undo(cls: Any, buffer: Any, mask: int, pipeline: Any, itemsize: int) -> Any:
        """The filters from the last one to the first, each by whoever knows it."""
        for k in range(len(pipeline) - 1, -1, -1):
            if mask >> k & 1:
                continue
            if pipeline[k]["filter_id"] == FILTER_ID:
                buffer = decode_bytes(buffer)
            else:
                buffer = original(buffer, 0, [pipeline[k]], itemsize)
        return buffer

    undo.knows_sleek = True  # type: ignore[attr-defined]
    reader._filter_chunk = classmethod(undo)  # type: ignore[union-attr]
