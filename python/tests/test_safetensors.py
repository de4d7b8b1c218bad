"""Compressed files of tensors: what is saved is loaded, and what is damaged is refused."""

import concurrent.futures
import json
import os
import pathlib
import struct

import numpy as np
import pytest
import sleek
from sleek import safetensors

PAGE = pathlib.Path(__file__).parents[2] / "docs/guide/archives.md"
GOLDEN = PAGE.parents[2] / "tests/vectors/tensors/model.slk"
TYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8"]


def tensors():
    random = np.random.default_rng(1)
    made = {f"t{k}": (30 * random.normal(size=(20 + k, 30))).astype(kind) for k, kind in enumerate(TYPES)}
    made |= {"scalar": np.float32(2.5), "empty": np.zeros((0, 3)), "line": np.arange(1000), "turned": np.ones((9, 8)).T}
    try:
        import ml_dtypes
    except ImportError:
        return made
    return made | {n: random.normal(size=(40, 50)).astype(getattr(ml_dtypes, n)) for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}


@pytest.mark.parametrize("profile", ["small", "adaptive"])
def test_what_is_saved_is_loaded(tmp_path, profile):
    made, path = tensors(), tmp_path / "model.slk"
    safetensors.save(made, path, metadata={"format": "np"}, profile=profile)
    loaded = safetensors.load(path)
    assert set(loaded) == set(made) and list(tmp_path.iterdir()) == [path]
    for name, tensor in made.items():
        one = safetensors.load(path, name if name == "scalar" else [name])[name]
        for found in (one, loaded[name]):
            assert found.dtype == tensor.dtype and found.shape == np.shape(tensor), name
            assert found.tobytes() == np.asarray(tensor).tobytes(), name
    with pytest.raises(KeyError, match="no tensors \\['other'\\]"):
        safetensors.load(path, ["other"])


def test_bounds_are_for_floats(tmp_path):
    made, path = tensors(), tmp_path / "model.slk"
    safetensors.save(made, path, noa=1e-2)
    for name, found in safetensors.load(path).items():
        tensor = np.asarray(made[name])
        if tensor.dtype.name in ("float64", "float32", "float16", "bfloat16") and tensor.size > 1:
            tensor, found = tensor.astype("f8"), found.astype("f8")
            assert np.abs(tensor - found).max() <= 1e-2 * np.ptp(tensor), name
        else:
            assert tensor.tobytes() == found.tobytes(), name
    assert path.stat().st_size < sum(np.asarray(t).nbytes for t in made.values()) / 2
    with pytest.raises(TypeError, match="exactly one"):
        safetensors.save(made, path, noa=1e-2, abs=1)
    with pytest.raises(TypeError, match="'x' is of type"):
        safetensors.save({"x": np.array(["text"])}, path)


def test_a_tensor_may_have_several_streams(tmp_path):
    """As version 0.3 made them of large ones."""
    made, path = np.arange(3000, dtype="i4"), tmp_path / "model.slk"
    header = json.dumps({"t": {"dtype": "I32", "shape": [3000], "data_offsets": [0, 12000]}}).encode()
    first = bytearray(sleek.compress(made[:1000], lossless=True))
    # `more` is under the checksum of the header, which is verified: the stream without it stands for the test of that.
    whole = np.frombuffer(struct.pack("<Q", len(header)) + header, "u1")
    begin = safetensors.MAGIC + sleek.compress(whole, lossless=True)
    path.write_bytes(begin + bytes(first))
    with pytest.raises(sleek.SleekError, match="has 4000 bytes, its header says 12000"):
        safetensors.load(path)
    first[11] |= 4
    path.write_bytes(begin + bytes(first) + sleek.compress(made[1000:], lossless=True))
    with pytest.raises(sleek.SleekError, match="checksum"):
        safetensors.load(path)


def test_damage_is_refused(tmp_path):
    path, bad = tmp_path / "model.slk", tmp_path / "bad.slk"
    safetensors.save({"a": np.arange(5000.0), "b": np.ones(3000, "i2")}, path)
    good = path.read_bytes()
    bad.write_bytes(good + b"x")
    for names in None, "a":
        with pytest.raises(sleek.SleekError, match="something follows"):
            safetensors.load(bad, names)
    for length in range(1, len(good), len(good) // 30):
        bad.write_bytes(good[:length])
        with pytest.raises(sleek.SleekError):
            safetensors.load(bad)
    another = len(safetensors.MAGIC) + safetensors.FLAGS_AT, safetensors.MORE  # as if the header had two streams
    for at, bit in [another, *((at, 16) for at in range(0, len(good), len(good) // 60))]:
        bad.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
        with pytest.raises(sleek.SleekError):
            safetensors.load(bad)


MASKED = np.ma.masked_equal(np.arange(5.0), 3)


@pytest.mark.parametrize("bad", [{"a": MASKED}, {"a": [MASKED]}, {"__metadata__": np.arange(5.0)}])
def test_what_would_be_dropped_is_refused(tmp_path, bad):
    with pytest.raises(TypeError, match="no masks, and no tensor of the name"):
        safetensors.save(bad, tmp_path / "model.slk")


@pytest.mark.parametrize("metadata", [{"epoch": 3}, {3: "epoch"}])
def test_metadata_is_texts(tmp_path, metadata):
    with pytest.raises(TypeError, match="names and values must be texts"):
        safetensors.save({"a": np.arange(5.0)}, tmp_path / "model.slk", metadata=metadata)


def test_nothing_but_the_file_changes(tmp_path):
    """Neighbours stay, and so do links and rights; several may write a file at once, and after a failure it is what it was."""
    path, link, neighbour = tmp_path / "model.slk", tmp_path / "link", tmp_path / f"model.slk.{os.getpid()}"
    neighbour.write_bytes(b"mine")
    link.symlink_to(path)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: safetensors.save({"a": np.full(5000, k)}, path), range(40)))
    path.chmod(0o640)
    safetensors.save({"a": np.arange(5)}, link)
    with pytest.raises(sleek.SleekError):
        safetensors.save({"a": np.arange(5.0)}, path, abs=-1)
    assert safetensors.load(path)["a"].tolist() == [0, 1, 2, 3, 4]
    assert sorted(tmp_path.iterdir()) == sorted([path, link, neighbour]) and neighbour.read_bytes() == b"mine"
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640


def test_files_come_back_byte_for_byte(tmp_path, monkeypatch):
    """By the code of docs/guide/archives.md, as it is printed."""
    monkeypatch.chdir(tmp_path)
    safetensors.unpack(GOLDEN, "model.safetensors")
    made = pathlib.Path("model.safetensors").read_bytes()
    assert struct.unpack_from("<Q", made)[0] + 8 + sum(len(t.tobytes()) for t in raw(made).values()) == len(made)
    exec(PAGE.read_text().split("`convert.py`:\n\n```python\n")[1].split("```")[0], {})
    assert pathlib.Path("again.safetensors").read_bytes() == made
    loaded = safetensors.load("model.slk", ["steps", "codes"])
    assert loaded["steps"] == 77 and loaded["codes"].shape == (40, 25)
    safetensors.pack("model.safetensors", "rounded.slk", noa=1e-2)
    safetensors.unpack("rounded.slk", "rounded.safetensors")
    rounded = raw(pathlib.Path("rounded.safetensors").read_bytes())
    for name, before in raw(made).items():
        assert name in ("bias", "weight") or rounded[name].tobytes() == before.tobytes(), name
    for bad in (made[:-1], made + b"x", b"", b"12345678{}", struct.pack("<Q", 9) + b"[1, 2, 3]"):
        pathlib.Path("bad").write_bytes(bad)
        with pytest.raises(sleek.SleekError):
            safetensors.pack("bad", "bad.slk")
    packed = pathlib.Path("model.slk").read_bytes()
    for bad in (packed + b"x", packed[:-1]):
        pathlib.Path("bad").write_bytes(bad)
        with pytest.raises(sleek.SleekError):
            safetensors.unpack("bad", "bad.safetensors")
    assert not list(tmp_path.glob("bad.*"))


def raw(file):
    """The bytes of the tensors of a safetensors file."""
    [length] = struct.unpack_from("<Q", file)
    entries = json.loads(file[8 : 8 + length])
    entries.pop("__metadata__", None)
    data = np.frombuffer(file, "u1")[8 + length :]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in entries.items()}


def test_checkpoints_by_the_page(tmp_path):
    """The functions of docs/guide/archives.md, as they are printed."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    page = {}
    exec(PAGE.read_text().split("`checkpoint.py`:\n\n```python\n")[1].split("```")[0], page)
    model = torch.nn.Sequential(torch.nn.Linear(70, 90), torch.nn.BatchNorm1d(90))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        made = model.to(dtype).state_dict()
        page["save"](made, tmp_path / "model.slk")
        loaded = page["load"](tmp_path / "model.slk")
        model.load_state_dict(loaded)
        for name, tensor in made.items():
            assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
            assert torch.equal(*(t.flatten().view(torch.uint8) for t in (loaded[name], tensor))), name
