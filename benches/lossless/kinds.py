"""Makes arrays of other kinds than fields and tensors, the same on every run: decimals, time stamps, integers, and
numbers that repeat.

    python3 benches/lossless/kinds.py FOLDER        # needs numpy

Each is a file KIND/NAME_DIMS.TYPE, which benches/lossless/compare.py reads.
"""

import pathlib
import sys

import numpy as np

COUNT = 200_000
TYPES = {"f4": "f32", "f8": "f64", "i4": "i32", "i8": "i64", "u2": "u16"}


def decimals(random: np.random.Generator) -> dict[str, np.ndarray]:
    steps, noise = random.normal(size=COUNT), random.normal(size=COUNT)
    return {
        "walk_2_digits": np.round(100 + 0.3 * np.cumsum(steps), 2),
        "walk_3_digits": np.round(20 + 0.01 * np.cumsum(steps), 3).astype("f4"),
        "noise_1_digit": np.round(10 + 30 * noise, 1),
        "prices": np.round(50 * np.exp(noise), 2),
        "positions": np.round(51.5 + 1e-4 * np.cumsum(noise), 6),
    }


def stamps(random: np.random.Generator) -> dict[str, np.ndarray]:
    seconds = 1.7e9 + np.cumsum(random.exponential(size=COUNT))
    places = np.arange(COUNT)
    regular = 1_700_000_000_000 + 1000 * places + random.integers(-3, 4, COUNT)
    numbers = np.cumsum(random.integers(1, 9, COUNT)).astype("i4")
    start = 1_700_000_000_000_000_000
    gaps = np.cumsum(np.where(random.random(COUNT) < 1e-3, 60, 1))
    return {
        "seconds": seconds,
        "milliseconds": np.round(seconds, 3),
        "microseconds": (1e6 * seconds).astype("i8"),
        "regular": regular.astype("i8"),
        "numbers": numbers,
        "even": start + 1_000_000_000 * places,
        "gaps": start + 1_000_000_000 * gaps,
        "late": start + 1_000_000_000 * places + (1e6 * random.standard_gamma(2, COUNT)).astype("i8"),
        "audio": start + 1_000_000_000 * places // 44_100,
        "axis": np.linspace(-10, 30, COUNT),
        "rows": np.cumsum(random.poisson(27, COUNT)),
        "ids": np.sort(random.integers(0, 1 << 40, COUNT)),
    }


def integers(random: np.random.Generator) -> dict[str, np.ndarray]:
    surface = np.cumsum(np.cumsum(random.normal(size=(512, 512)), 0), 1)
    surface = 4000 * (surface - surface.min()) / np.ptp(surface)
    return {
        "counts": random.poisson(20, COUNT).astype("i4"),
        "image": surface.astype("u2") + random.integers(0, 8, surface.shape).astype("u2"),
    }


def repeats(random: np.random.Generator) -> dict[str, np.ndarray]:
    values, sparse = random.normal(size=COUNT), random.random(COUNT) < 0.1
    return {
        "few_values": values[:50][random.integers(0, 50, COUNT)],
        "runs": np.repeat(values[: COUNT // 40], 40).astype("f4"),
        "period": np.tile(values[:1777], COUNT // 1777 + 1)[:COUNT],
        "sparse": np.where(sparse, values, 0),
        "sparse_single": np.where(sparse, values, 0).astype("f4"),
        "labels": np.where(random.random((40, 70, 70)) < 0.3, 3, 0).astype("f4"),
    }


def main() -> None:
    for make in (decimals, stamps, integers, repeats):
        folder = pathlib.Path(sys.argv[1]) / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in make(np.random.default_rng(5)).items():
            stem = f"{name}_{'x'.join(map(str, array.shape))}"
            array.tofile(folder / f"{stem}.{TYPES[array.dtype.str[1:]]}")


if __name__ == "__main__":
    main()
