"""A field as a simulation writes it: the Gray-Scott reaction in a box, seconds of numpy, the same numbers every time.

    solver.py FILE

Two substances u and v diffuse and react, u + 2v -> 3v, on a periodic grid of 96^3 points; FILE gets v as f32. Fronts
are some ten points wide, as those of a resolved simulation are.
"""

import sys

import numpy as np

SIDE, STEPS, SEEDS = 96, 1000, 12
DIFFUSION_U, DIFFUSION_V = 0.16, 0.08
RATE, FEED, KILL = 0.4, 0.010, 0.022  # of the reaction, of new u, and of v that leaves beyond that
ROW = SIDE + 2  # one point more at each end
PLANE = ROW * ROW


def initial():
    """u is 1 and v is 0, but for a few cubes."""
    u, v = np.ones((ROW, ROW, ROW), np.float32), np.zeros((ROW, ROW, ROW), np.float32)
    edge = SIDE // 12
    for corner in np.random.RandomState(1).randint(1, ROW - edge, (SEEDS, 3)):
        cube = tuple(slice(k, k + edge) for k in corner)
        u[cube], v[cube] = 0.25, 0.33
    return u, v


def wrap(field):
    """The points beyond each end become those at the other end."""
    for axis in range(3):
        planes = np.moveaxis(field, axis, 0)
        planes[0], planes[-1] = planes[-2], planes[1]


def neighbours(field, out):
    """The sum of the six neighbours of all points but those of the first and the last plane."""
    flat, count = field.reshape(-1), len(out)
    np.add(flat[:count], flat[2 * PLANE :], out=out)
    for step in (-ROW, ROW, -1, 1):
        out += flat[PLANE + step :][:count]


def solve():
    """v after all steps of length 1, with arrays that each step uses again."""
    f = np.float32
    u, v = initial()
    inner_u, inner_v = (field.reshape(-1)[PLANE:-PLANE] for field in (u, v))
    around_u, around_v, reaction = (np.empty_like(inner_u) for _ in range(3))
    for _ in range(STEPS):
        for field, around in ((u, around_u), (v, around_v)):
            wrap(field)
            neighbours(field, around)
        np.multiply(inner_v, inner_v, out=reaction)
        reaction *= inner_u
        reaction *= f(RATE)
        around_u *= f(DIFFUSION_U)
        around_v *= f(DIFFUSION_V)
        around_u += f(FEED)
        inner_u *= f(1 - 6 * DIFFUSION_U - FEED)
        inner_v *= f(1 - 6 * DIFFUSION_V - FEED - KILL)
        inner_u += around_u
        inner_u -= reaction
        inner_v += around_v
        inner_v += reaction
    return v[1:-1, 1:-1, 1:-1]


if __name__ == "__main__":
    solve().astype("<f4").tofile(sys.argv[1])
