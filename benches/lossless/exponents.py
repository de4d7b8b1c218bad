"""What codec sleek's lossless chunks take with the exponent map, and what with the countdown beside it. A model of modes
and widths for each subchunk, without headers of chunks.

    python3 benches/lossless/exponents.py FILE...        # *.f32, *.f64, *.f16, *.bf16; needs numpy
    python3 benches/lossless/exponents.py --make FOLDER  # weights, a KV cache and Adam's moments, made up
"""

import pathlib
import sys

import numpy as np
from tensors import bf16

EXPONENT_BITS = {"f64": 11, "f32": 8, "bf16": 8, "f16": 5}
SUBCHUNKS, SUBCHUNK_BYTES, TILE, MAX_EXCEPTIONS, SAMPLE = 32, 512, 8, 32, 4


def widths(codes: np.ndarray) -> np.ndarray:
    """Bits of each code."""
    codes, bits = codes.copy(), np.zeros(codes.shape, int)
    for k in (32, 16, 8, 4, 2, 1):
        if k < 8 * codes.itemsize:
            high = codes >> codes.dtype.type(k)
            bits += k * (high != 0)
            codes = np.where(high != 0, high, codes)
    return bits + (codes != 0)


def packed(codes: np.ndarray) -> np.ndarray:
    """Bytes of each row of codes with exceptions, its width chosen as the encoder does."""
    count = codes.shape[1]
    w, a_bit = widths(codes), count // 8
    full, sampled = w.max(1), np.sort(w[:, SAMPLE - 1 :: SAMPLE], 1)
    few = sampled.shape[1] - 1 - MAX_EXCEPTIONS // SAMPLE
    best, least = full.copy(), a_bit * full
    for more in range(4):
        width = sampled[:, few] + more
        wide = SAMPLE * (sampled > width[:, None]).sum(1)
        size = a_bit * width + 1 + count // 64 + np.minimum(wide // 2, a_bit)
        size += (wide * np.maximum(full - width, 0) + 7) // 8
        best, least = np.where(size < least, width, best), np.minimum(size, least)
    wide = w > best[:, None]
    masks, wide = wide.reshape(len(w), -1, 8).any(2).sum(1), wide.sum(1)
    size = a_bit * best + 1 + count // 64 + masks + (wide * (full - best) + 7) // 8
    return np.where((wide > 0) & (wide <= MAX_EXCEPTIONS) & (size < a_bit * full), size, a_bit * full)


def ratios(path: pathlib.Path) -> tuple[float, float, float]:
    """With the map, with the countdown too, and that of exponents at their entropy with all other bits plain."""
    exponent_bits = EXPONENT_BITS[path.suffix[1:]]
    size = {"f64": 8, "f32": 4}.get(path.suffix[1:], 2)
    word, bits = np.dtype(f"u{size}").type, 8 * size
    count = SUBCHUNK_BYTES // size
    x = np.fromfile(path, word)
    x = x[: len(x) // (SUBCHUNKS * count) * SUBCHUNKS * count].reshape(-1, count)
    signed = x.view(f"i{size}")
    zigzag = lambda d: (d << word(1)) ^ (d.view(signed.dtype) >> (bits - 1)).view(word)
    least, most = signed.min(1).view(word), signed.max(1).view(word)
    rotated = x << word(1) | x >> word(bits - 1)
    differences = np.diff(x, axis=1, prepend=x[:, :1])
    doubled, low = rotated << word(1), word(1 << (bits - exponent_bits + 1))
    middle = (((x << word(1)) - (low >> word(1))) >> word(bits - 1)) == 0
    mapped = np.where(middle, low - word(1) - doubled, doubled)
    plain = count // 8 * widths(most - least)
    tiles = lambda codes: np.minimum(packed(codes), plain).reshape(-1, TILE).sum(1)
    below = word(bits - exponent_bits - 2)
    top = (((rotated.max(1) >> below) + word(1)) << below) + word(1)
    counted = np.where(rotated < 2, rotated, top[:, None] - rotated)
    today = np.minimum.reduce([tiles(c) for c in
                               (x - least[:, None], zigzag(x - x[:, :1]), zigzag(differences), mapped)])
    both = np.minimum(today, tiles(counted))
    raw = SUBCHUNKS * SUBCHUNK_BYTES
    chunks = lambda tiles: raw / np.minimum(tiles.reshape(-1, SUBCHUNKS // TILE).sum(1) + 64, raw).mean()
    p = np.unique(x >> word(bits - 1 - exponent_bits), return_counts=True)[1] / x.size
    return chunks(today), chunks(both), bits / (bits - 1 - exponent_bits - (p * np.log2(p)).sum())


def make(folder: pathlib.Path) -> None:
    """Tensors of a million elements, of each type of up to 32 bits."""
    random = np.random.default_rng(3)
    count, tokens, channels = 1 << 20, 2048, 512
    layers = [random.normal(size=count // 8) * scale * np.exp(0.15 * random.normal(size=count // 8192).repeat(1024))
              for scale in (0.02, 0.015, 0.03, 0.01, 0.02, 0.025, 0.018, 0.012)]
    heavy = 0.02 * random.standard_t(5, size=count)
    mean, scale = (random.normal(size=channels) * np.exp(random.normal(size=channels)),
                   np.exp(0.5 * random.normal(size=channels)))
    walk = np.cumsum(random.normal(size=(tokens, channels)) * 0.1, 0)
    keys = mean + scale * walk * 0.3 + scale * random.normal(size=(tokens, channels)) * 0.5
    values = random.normal(size=(tokens, channels)) * 0.3 * scale
    gradients = random.normal(size=(tokens, channels)) * 1e-3 * np.exp(random.normal(size=(tokens, 1)))
    means, squares = gradients * 0.3, gradients**2 * 0.1 * np.exp(random.normal(size=gradients.shape))
    unseen = random.random(tokens) >= 0.4
    means[unseen] = squares[unseen] = 0
    squares[random.random(tokens) < 0.1] *= 1e-34
    tensors = {"llm_weights": np.concatenate(layers), "llm_t": heavy, "kv_keys": keys, "kv_values": values,
               "adam_m_emb": means, "adam_v_emb": squares}
    folder.mkdir(exist_ok=True)
    for name, tensor in tensors.items():
        single = tensor.astype("f4")
        single.tofile(folder / f"{name}.f32")
        single.astype("f2").tofile(folder / f"{name}.f16")
        bf16(single).tofile(folder / f"{name}.bf16")


def main() -> None:
    if sys.argv[1] == "--make":
        return make(pathlib.Path(sys.argv[2]))
    print("| file | the exponent map | and the countdown | exponents at their entropy |\n|---|---|---|---|")
    for path in map(pathlib.Path, sys.argv[1:]):
        print(f"| {path.name} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios(path)) + " |")


if __name__ == "__main__":
    main()
