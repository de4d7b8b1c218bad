"""A cluster of dask's writes a simulated field into one Zarr store, reads it again and compares every value.

    python store.py --workers 1,2,4 --gigabytes 1 folder          # processes of this machine
    python store.py --scheduler tcp://head:8786 --gigabytes 64 /shared/folder    # a cluster that runs

Each worker compresses the chunks that it holds. The store is one folder, which all workers see. A table tells GB/s of
the field: written until the last chunk is there; read, decoded and reduced to one number.
"""

import argparse
import json
import pathlib
import shutil
import sys
import time

import dask.array
import dask.distributed
import numpy
import xarray
from sleek.zarr import Sleek

CHUNK = (1, 64, 256, 256)  # 16 MiB of f32: one step, 64 levels


def waves(block_info):
    """One chunk of a field of waves that travel, with noise at a thousandth of them. f32."""
    place = block_info[None]["array-location"]
    t, z, y, x = numpy.ix_(*(numpy.arange(first, end, dtype="f4") for first, end in place))
    field = numpy.sin(x / 19 + t / 5) * numpy.cos(y / 23 - t / 7) * numpy.exp(-z / 40)
    noise = numpy.random.default_rng([first for first, _ in place]).standard_normal(field.shape, "f4")
    return (field + numpy.float32(1e-3) * noise).astype("f4")


def ways(bound):
    """What is compared: no codec, and the profiles of Sleek."""
    plain = {"compressors": None}
    yield "none", plain
    for profile in ("fast", "adaptive", "small"):
        yield profile, plain | {"serializer": Sleek(abs=bound, profile=profile)}


def run(client, folder, field, bound):
    """Writes and reads the field in each way; a row of figures for each."""
    size = field.nbytes / 1e9
    for way, encoding in ways(bound):
        store = folder / f"{way}.zarr"
        shutil.rmtree(store, ignore_errors=True)
        data = xarray.Dataset({"field": (("t", "z", "y", "x"), field)})
        begin = time.perf_counter()
        data.to_zarr(store, encoding={"field": encoding | {"chunks": CHUNK}}, zarr_format=3, consolidated=False)
        written = time.perf_counter()
        with xarray.open_zarr(store, consolidated=False) as opened:
            float(opened["field"].max())
            read = time.perf_counter()
            # In f64: the difference of two f32 is rounded, and a bound is not "about".
            wrong = abs(opened["field"].data.astype("f8") - field.astype("f8")).max()
            error = float(client.compute(wrong).result())
        if error > (0 if way == "none" else bound):
            sys.exit(f"{way}: the largest error is {error}, the bound {bound}")
        stored = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        yield {
            "workers": len(client.scheduler_info(n_workers=-1)["workers"]),
            "way": way,
            "ratio": round(field.nbytes / stored, 2),
            "write": round(size / (written - begin), 3),
            "read": round(size / (read - written), 3),
            "error": error,
        }
        shutil.rmtree(store)


def clusters(options):
    """A client of the scheduler that runs, or of a cluster of each number of processes."""
    if options.scheduler:
        with dask.distributed.Client(options.scheduler) as client:
            yield client
        return
    for workers in options.workers:
        cluster = dask.distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        )
        with cluster, dask.distributed.Client(cluster) as client:
            yield client


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path, help="where the stores go; every worker sees it")
    options.add_argument("--scheduler", help="address of a scheduler; without it processes of this machine")
    options.add_argument("--workers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4])
    options.add_argument("--gigabytes", type=float, default=1.0, help="size of the field")
    options.add_argument("--abs", type=float, default=1e-3, help="the bound")
    options.add_argument("--json", action="store_true", help="a line of JSON for each row")
    options = options.parse_args()

    options.folder.mkdir(parents=True, exist_ok=True)
    steps = max(1, round(options.gigabytes * 1e9 / (4 * numpy.prod(CHUNK))))
    shape = (steps, *CHUNK[1:])
    if not options.json:
        print(f"field: {shape}, f32, {4 * numpy.prod(shape) / 1e9:.2f} GB; bound {options.abs}")
        print("| workers | way | ratio | write GB/s | read GB/s | error |\n|---:|---|---:|---:|---:|---:|")
    for client in clusters(options):
        chunks = tuple((part,) * (whole // part) for whole, part in zip(shape, CHUNK))
        field = dask.array.map_blocks(waves, chunks=chunks, dtype="f4", meta=numpy.empty((0,) * 4, "f4")).persist()
        dask.distributed.wait(field)
        for row in run(client, options.folder, field, options.abs):
            print(json.dumps(row) if options.json else "| " + " | ".join(str(value) for value in row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
