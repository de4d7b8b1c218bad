"""Fields of N^3 points as simulations write them, by small solvers on a GPU with cupy; on a CPU with numpy, for a small N.

    simulate.py FOLDER [N]        # N is 256; the steps are those of 256, so that other sizes are other fields

Each file is named as those of `tests/data` are: shape and type at its end. On an H100 it takes about a minute.
"""

import math
import pathlib
import sys

try:
    import cupy as xp
except ImportError:
    import numpy as xp

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benches"))
import heldout  # noqa: E402

F32 = xp.float32


class Waves:
    """Fourier space of a cube of n^3 points with sides of 2 pi: wave numbers, transforms, and a filter against aliases."""

    def __init__(self, n):
        k, half = xp.fft.fftfreq(n, 1 / n).astype(F32), xp.fft.rfftfreq(n, 1 / n).astype(F32)
        self.n, self.k = n, (k[:, None, None], k[None, :, None], half[None, None, :])
        self.square = sum(k**2 for k in self.k)
        self.inverse = 1 / xp.where(self.square == 0, F32(1), self.square)
        self.kept = xp.prod(xp.stack(xp.broadcast_arrays(*(abs(k) < n / 3 for k in self.k))), axis=0).astype(F32)

    def forth(self, field):
        return xp.fft.rfftn(field).astype(xp.complex64)

    def back(self, waves):
        return xp.fft.irfftn(waves, s=(self.n,) * 3, axes=(0, 1, 2)).astype(F32)

    def slope(self, waves, axis):
        return self.back(1j * self.k[axis] * waves)


def turbulence(n, steps=800, dt=F32(0.01), viscosity=F32(1 / 800)):
    """A velocity and a tracer of a decaying Taylor-Green vortex: pseudo-spectral, Runge-Kutta of fourth order."""
    w = Waves(n)
    x, y, z = xp.meshgrid(*[xp.arange(n, dtype=F32) * F32(2 * math.pi / n)] * 3, indexing="ij")
    first = (xp.sin(x) * xp.cos(y) * xp.cos(z), -xp.cos(x) * xp.sin(y) * xp.cos(z), 0 * x, xp.cos(x) + xp.sin(2 * z))
    state = xp.stack([w.forth(field) for field in first])

    def change(s):
        u = [w.back(wave) for wave in s[:3]]
        curl = [w.slope(s[b], a) - w.slope(s[a], b) for a, b in ((1, 2), (2, 0), (0, 1))]
        forces = [w.forth(u[a] * curl[b] - u[b] * curl[a]) * w.kept for a, b in ((1, 2), (2, 0), (0, 1))]
        pressure = sum(k * force for k, force in zip(w.k, forces)) * w.inverse
        moved = w.forth(sum(u[a] * w.slope(s[3], a) for a in range(3))) * w.kept
        return xp.stack([force - k * pressure for k, force in zip(w.k, forces)] + [-moved]) - viscosity * w.square * s

    for _ in range(steps):
        a = change(state)
        b = change(state + dt / 2 * a)
        c = change(state + dt / 2 * b)
        d = change(state + dt * c)
        state = state + dt / 6 * (a + 2 * b + 2 * c + d)
    return w.back(state[0]), w.back(state[3])


def pressure(n, steps=520, h=10.0):
    """Pressure of an acoustic wave in layers of rock: eighth order in space, second in time."""
    random = xp.random.RandomState(1)
    z, y, x = xp.meshgrid(*[xp.arange(n, dtype=F32)] * 3, indexing="ij")
    speed = 1500 + 350 * xp.floor(z / 40 + 2 * xp.sin(y / 60) + xp.cos(x / 45))
    speed = (speed + 20 * random.standard_normal((n,) * 3)).astype(F32)
    dt = 0.4 * h / float(speed.max())
    far = (speed * F32(dt / h)) ** 2
    weights = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)
    before, now = xp.zeros((2,) + (n,) * 3, F32)
    for step in range(steps):
        bent = 3 * F32(weights[0]) * now
        for m in range(1, 5):
            bent += F32(weights[m]) * sum(xp.roll(now, s, axis) for axis in range(3) for s in (m, -m))
        after = 2 * now - before + far * bent
        a = (math.pi * 18 * (step * dt - 0.08)) ** 2
        after[n // 8, n // 2, n // 2] += F32((1 - 2 * a) * math.exp(-a))
        before, now = now, after
    return now


def density(n):
    """Matter of a cosmology after Zel'dovich: particles moved from a lattice, put into cells by their clouds."""
    w, random = Waves(n), xp.random.RandomState(1)
    k = xp.sqrt(w.square)
    power = xp.where(k == 0, 0, 1 / xp.where(k == 0, 1, k) / (1 + (k / 20) ** 2)).astype(F32)
    waves = w.forth(random.standard_normal((n,) * 3).astype(F32)) * power
    moves = [w.slope(-waves * w.inverse, axis) for axis in range(3)]
    moves = [F32(4.5 / float(xp.std(moves[0]))) * move for move in moves]
    places = [xp.arange(n, dtype=F32).reshape([-1 if a == axis else 1 for a in range(3)]) for axis in range(3)]
    places = [((place + move) % n).ravel() for place, move in zip(places, moves)]
    cells = [xp.floor(place).astype(xp.int32) for place in places]
    parts = [place - cell for place, cell in zip(places, cells)]
    matter = xp.full(n**3, 1e-3)
    for corner in range(8):
        shift = [corner >> axis & 1 for axis in range(3)]
        a, b, c = ((cell + s) % n for cell, s in zip(cells, shift))
        weights = xp.prod(xp.stack([part if s else 1 - part for part, s in zip(parts, shift)]), axis=0)
        matter += xp.bincount((a * n + b) * n + c, weights, n**3)
    return matter.reshape((n,) * 3).astype(F32)


def main():
    folder, n = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 256
    folder.mkdir(parents=True, exist_ok=True)

    def save(name, field, kind="f32"):
        field = field.get() if hasattr(field, "get") else field
        assert abs(field).max() > 0 and (field == field).all(), name
        field.astype(f"<{kind[0]}{int(kind[1:]) // 8}").tofile(folder / f"{name}_{n}x{n}x{n}.{kind}")
        print(name, field.min(), field.max(), flush=True)

    velocity, tracer = turbulence(n)
    save("velocity", velocity)
    save("velocity", velocity, "f64")
    save("tracer", tracer)
    save("pressure", pressure(n))
    save("density", density(n))
    save("amplitude", heldout.amplitude((n,) * 3, 1200, xp=xp))  # nothing of Sleek was tuned on it


if __name__ == "__main__":
    main()
