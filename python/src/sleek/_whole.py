"""Files that take their place when they are whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[str]:
    """The path of a file to write, in a folder of its own beside `path`, whose place it takes at the end unless an error comes.

    A link stays, and the rights of the file that was there. What is no file, a pipe or a device, is written itself.
    """
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):
        yield path
        return
    target = os.path.realpath(path)
    with tempfile.TemporaryDirectory(prefix=".sleek-", dir=os.path.dirname(target)) as folder:
        written = os.path.join(folder, os.path.basename(target))
        yield written
        if os.path.exists(target):
            shutil.copymode(target, written)
        os.replace(written, target)
