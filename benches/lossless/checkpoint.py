"""A checkpoint of a transformer trained here, by torch.save, zstd and the functions of docs/guide/checkpoint.md, as
they are printed there: sizes, seconds, and whether every bit came back.

    python3 benches/lossless/checkpoint.py [WIDTH LAYERS STEPS [LEVEL...]]        # zstd's; needs torch, ml_dtypes, sleek and zstandard
"""

import io
import pathlib
import sys
import tempfile
import time

import torch
import zstandard

PAGE = pathlib.Path(__file__).parents[2] / "docs/guide/checkpoint.md"
WORDS, LENGTH, BATCH = 4096, 128, 16


def train(width: int, layers: int, steps: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Learns to continue sequences in which each word tells the next one, up to noise; most words are rare."""
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    block = torch.nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(
        torch.nn.Embedding(WORDS, width), torch.nn.TransformerEncoder(block, layers), torch.nn.Linear(width, WORDS)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    following = torch.randperm(WORDS, device=device)
    for _ in range(steps):
        word = (torch.rand(BATCH, device=device) ** 8 * WORDS).long()
        words = [word]
        for _ in range(LENGTH):
            noise = (torch.rand(BATCH, device=device) ** 8 * WORDS).long()
            word = torch.where(torch.rand(BATCH, device=device) < 0.2, noise, following[word])
            words.append(word)
        sequence = torch.stack(words, 1)
        loss = torch.nn.functional.cross_entropy(model(sequence[:, :-1]).flatten(0, 1), sequence[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, optimizer


def is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether these are the same bits."""
    bits = [t.flatten().view(torch.uint8) for t in (a, b)]
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*bits)


def compare(name: str, tensors: dict[str, torch.Tensor], levels: list[int], page: dict) -> None:
    """Prints a row of each way to store the tensors."""
    tensors = {key: t.detach().cpu().contiguous() for key, t in tensors.items()}
    raw = sum(t.numel() * t.element_size() for t in tensors.values())
    plain = io.BytesIO()
    start = time.perf_counter()
    torch.save(tensors, plain)
    rows = [("torch.save", len(plain.getvalue()), time.perf_counter() - start, None)]
    for level in levels:
        start = time.perf_counter()
        packed = zstandard.ZstdCompressor(level).compress(plain.getvalue())
        middle = time.perf_counter()
        zstandard.ZstdDecompressor().decompress(packed)
        rows.append((f"torch.save, zstd -{level}", len(packed), middle - start, time.perf_counter() - middle))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.slk"
        for profile in ("small", "adaptive", "fast"):
            start = time.perf_counter()
            page["save"](tensors, path, profile=profile)
            middle = time.perf_counter()
            restored = page["load"](path)
            rows.append((profile, path.stat().st_size, middle - start, time.perf_counter() - middle))
            assert restored.keys() == tensors.keys()
            assert all(is_same(restored[key], t) for key, t in tensors.items()), (name, profile)
    for how, size, save, load in rows:
        loading = "" if load is None else f"{load:.2f}"
        print(f"| {name}, {raw / 1e6:.0f} MB | {how} | {raw / size:.3f} | {save:.2f} | {loading} |", flush=True)


def main() -> None:
    width, layers, steps, *levels = (int(a) for a in sys.argv[1:] or (512, 6, 300, 3, 19))
    page: dict = {}
    exec(PAGE.read_text().split("```python\n")[1].split("```")[0], page)
    model, optimizer = train(width, layers, steps)
    weights = model.state_dict()
    state = optimizer.state_dict()["state"]
    print("| tensors | way | ratio | seconds to save | to load |\n|---|---|---|---|---|")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        compare(f"weights, {str(dtype)[6:]}", {name: t.to(dtype) for name, t in weights.items()}, levels, page)
    for part in ("exp_avg", "exp_avg_sq"):
        compare(f"Adam's {part}", {str(k): s[part] for k, s in state.items()}, levels, page)


if __name__ == "__main__":
    main()
