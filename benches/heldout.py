"""Six fields as simulations write them, on which nothing of Sleek was tuned; a minute of numpy, the same numbers every time.

    heldout.py FOLDER

Each file is named as those of `tests/data` are: shape and type at its end.
"""

import os
import sys

import numpy as np


def vorticity(n=384, steps=500, viscosity=5e-4, dt=0.0012):
    """Decaying turbulence in two dimensions, pseudo-spectral, second order in time."""
    k = np.fft.fftfreq(n, 1 / n)
    ky, kx = k[:, None], k[None, : n // 2 + 1]
    k2 = kx**2 + ky**2
    inverse, kept = 1 / np.where(k2 == 0, 1, k2), (abs(kx) < n / 3) & (abs(ky) < n / 3)
    rng = np.random.RandomState(2)
    w = np.fft.rfft2(rng.standard_normal((n, n))) * np.where((k2 > 9) & (k2 < 100), np.maximum(k2, 1) ** -0.5, 0)
    w *= 5 / np.std(np.fft.irfft2(w))

    def change(w):
        u, v = np.fft.irfft2(1j * ky * inverse * w), np.fft.irfft2(-1j * kx * inverse * w)
        moved = u * np.fft.irfft2(1j * kx * w) + v * np.fft.irfft2(1j * ky * w)
        return -np.fft.rfft2(moved) * kept - viscosity * k2 * w

    for _ in range(steps):
        w = w + dt * change(w + dt / 2 * change(w))
    return np.fft.irfft2(w)


def mixing_layer(n=320, steps=900):
    """Density of a compressible shear layer that rolls up: the Euler equations, slopes limited, Rusanov's fluxes."""
    gamma, at = 1.4, (np.arange(n) + 0.5) / n
    y, x = at[:, None], at[None, :]
    inside = abs(y - 0.5) < 0.25
    rho = np.where(inside, 2.0, 1.0) + 0 * x
    u = np.where(inside, 0.5, -0.5) + 0 * x
    v = 0.05 * np.sin(4 * np.pi * x) * (np.exp(-((y - 0.25) ** 2) / 0.005) + np.exp(-((y - 0.75) ** 2) / 0.005))
    p = 2.5 + 0 * rho
    state = np.stack([rho, rho * u, rho * v, p / (gamma - 1) + rho * (u**2 + v**2) / 2])

    def flux(s, along):
        rho, speed = s[0], s[along] / s[0]
        p = (gamma - 1) * (s[3] - (s[1] ** 2 + s[2] ** 2) / (2 * rho))
        f = s * speed
        f[along] += p
        f[3] += p * speed
        return f, abs(speed) + np.sqrt(gamma * p / rho)

    def change(s):
        total = np.zeros_like(s)
        for along, axis in ((1, 2), (2, 1)):
            ahead, back = np.roll(s, -1, axis) - s, s - np.roll(s, 1, axis)
            slope = np.where(ahead * back > 0, 2 * ahead * back / np.where(ahead + back == 0, 1, ahead + back), 0)
            left, right = s + slope / 2, np.roll(s - slope / 2, -1, axis)
            (fl, cl), (fr, cr) = flux(left, along), flux(right, along)
            f = (fl + fr - np.maximum(cl, cr) * (right - left)) / 2
            total -= (f - np.roll(f, 1, axis)) * n
        return total

    dt = 0.3 / n / 2.5
    for _ in range(steps):
        half = state + dt / 2 * change(state)
        state = state + dt * change(half)
    return state[0]


def amplitude(shape=(72, 96, 96), steps=500, dt=0.05, xp=np):
    """Real part of a complex Ginzburg-Landau equation in three dimensions: waves around defects; of numpy, or of cupy."""
    rng = xp.random.RandomState(3)
    a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64) * np.float32(0.1)
    for _ in range(steps):
        around = sum(xp.roll(a, s, axis) for axis in range(3) for s in (1, -1)) - 6 * a
        a = a + np.float32(dt) * (a + (1 + 0.5j) * around - (1 - 0.8j) * abs(a) ** 2 * a)
        a = a.astype(np.complex64)
    return a.real


def tracer(shape=(64, 128, 128), steps=36, dt=0.05):
    """What an ABC flow does to a smooth cloud: each point is followed back to where it came from."""
    z, y, x = np.meshgrid(*(np.arange(n) * (2 * np.pi / n) for n in shape), indexing="ij")
    for _ in range(steps):
        u = np.sin(z) + 0.8 * np.cos(y)
        v = 1.2 * np.sin(x) + np.cos(z)
        w = 0.8 * np.sin(y) + 1.2 * np.cos(x)
        x, y, z = x - dt * u, y - dt * v, z - dt * w
    return np.exp(np.cos(x) + np.sin(2 * y) * np.cos(z))


def density(n=112, slope=-2.2):
    """A log-normal density, as of matter in a box of the universe."""
    k = np.fft.fftfreq(n, 1 / n)
    k2 = k[:, None, None] ** 2 + k[None, :, None] ** 2 + k[None, None, : n // 2 + 1] ** 2
    spectrum = np.where(k2 == 0, 0, np.where(k2 == 0, 1, k2) ** (slope / 2)) * np.exp(-k2 / 900)
    field = np.fft.irfftn(np.fft.rfftn(np.random.RandomState(4).standard_normal((n, n, n))) * spectrum, s=(n, n, n))
    return np.exp(1.4 * field / field.std())


def seismogram(n=301, steps=1201):
    """What 301 receivers hear of a shot over layered rock: waves in two dimensions, second order."""
    y, x = np.mgrid[:n, :n]
    speed = 1500 + 400 * np.floor(y / 60 + np.sin(x / 40))
    c2 = (speed * (0.45 / speed.max())) ** 2
    before, now, heard = np.zeros((n, n)), np.zeros((n, n)), []
    for s in range(steps):
        around = sum(np.roll(now, d, axis) for axis in (0, 1) for d in (1, -1)) - 4 * now
        after = 2 * now - before + c2 * around
        t = (s - 60) / 18
        after[5, n // 2] += (1 - 2 * t * t) * np.exp(-t * t)
        before, now = now, after
        heard.append(now[8].copy())
    return np.stack(heard, axis=1)


FIELDS = [(vorticity, "f8"), (mixing_layer, "f8"), (amplitude, "f4"), (tracer, "f4"), (density, "f4"), (seismogram, "f4")]


def make(folder):
    """Writes those that are not there."""
    os.makedirs(folder, exist_ok=True)
    for solve, kind in FIELDS:
        if not any(name.startswith(solve.__name__) for name in os.listdir(folder)):
            a = np.ascontiguousarray(solve(), "<" + kind)
            assert np.isfinite(a).all()
            path = os.path.join(folder, f"{solve.__name__}_{'x'.join(map(str, a.shape))}.f{8 * a.itemsize}")
            a.tofile(path + ".part")
            os.replace(path + ".part", path)


if __name__ == "__main__":
    make(sys.argv[1])
