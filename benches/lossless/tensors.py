"""Makes a set of tensors to compress, the same on every run: weights of a small network trained here, its activations,
gradients and optimizer states, the weights pruned and quantized, and normal numbers as a control.

    python3 benches/lossless/tensors.py FOLDER        # needs numpy

Each tensor is a file NAME_DIMS.f32, and rounded to 16 bits NAME_DIMS.bf16 and NAME_DIMS.f16.
"""

import pathlib
import sys

import numpy as np

WIDTHS = [64, 512, 512, 64]
STEPS, BATCH = 300, 256


def bf16(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each float, as 16 bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def train() -> dict[str, np.ndarray]:
    """Tensors of a network with three layers that learns a smooth function with Adam."""
    random = np.random.default_rng(1)
    target = random.normal(size=(WIDTHS[0], WIDTHS[-1]))
    weights = [random.normal(size=(a, b)) * (2 / a) ** 0.5 for a, b in zip(WIDTHS, WIDTHS[1:])]
    means = [np.zeros_like(w) for w in weights]
    squares = [np.zeros_like(w) for w in weights]
    for step in range(1, STEPS + 1):
        inputs = [random.normal(size=(BATCH, WIDTHS[0]))]
        for w in weights:
            inputs.append(np.maximum(inputs[-1] @ w, 0) if w is not weights[-1] else inputs[-1] @ w)
        error = (inputs[-1] - np.tanh(inputs[0] @ target)) / BATCH
        gradients = []
        for k in reversed(range(len(weights))):
            gradients.insert(0, inputs[k].T @ error)
            error = error @ weights[k].T * (inputs[k] > 0) if k else error
        for w, m, v, g in zip(weights, means, squares, gradients):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= 1e-3 * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    middle = weights[1]
    pruned = np.where(np.abs(middle) < np.quantile(np.abs(middle), 0.75), 0, middle)
    scale = np.abs(middle).max() / 127
    return {
        "weights": middle,
        "activations": inputs[2],
        "gradients": gradients[1],
        "adam_mean": means[1],
        "adam_square": squares[1],
        "pruned": pruned,
        "quantized": np.round(middle / scale) * scale,
        "normal": random.normal(size=(512, 512)),
    }


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in train().items():
        stem = f"{name}_{'x'.join(map(str, tensor.shape))}"
        (folder / f"{stem}.f32").write_bytes(tensor.astype("<f4").tobytes())
        (folder / f"{stem}.bf16").write_bytes(bf16(tensor).astype("<u2").tobytes())
        (folder / f"{stem}.f16").write_bytes(tensor.astype("<f2").tobytes())


if __name__ == "__main__":
    main()
