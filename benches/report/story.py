"""The story of a field: what the command says of one field at three bounds with three profiles, and its pictures."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import results

BOUNDS = ("1e-2", "1e-3", "1e-4")
PROFILES = ("small", "adaptive", "fast")
DRAWN = "small"
WIDTH, COLOURS = 1180, 256  # of a picture in the repository: as wide as a page, an eighth of the bytes that the command writes
SLEEK = pathlib.Path(sys.executable).with_name("sleek")


def sleek(*words, folder):
    return subprocess.run([SLEEK, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def small_picture(source, target):
    from PIL import Image

    with Image.open(source) as picture:
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        picture.convert("RGB").resize(size, Image.Resampling.LANCZOS).quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


def rows(path, pictures):
    """A row for each bound and profile of the field in the file; pictures go into the folder."""
    shape = path.stem.rsplit("_", 1)[-1]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        field = place / path.name.replace(f"_{shape}", "")
        field.write_bytes(path.read_bytes())
        for bound in BOUNDS:
            for profile in PROFILES:
                made = f"{profile}-{bound}.sleek"
                sleek("compress", "-q", "--dims", shape, "--noa", bound, "--profile", profile, field.name, made, folder=folder)
                said = json.loads(sleek("verify", "--quality", "--json", field.name, made, folder=folder))
                text = sleek("diff", field.name, made, folder=folder)
                waves = re.search(r"more power than the field below ([\d.]+) values", text)
                if profile == DRAWN:
                    sleek("diff", "-q", "-f", "--plot", "story.png", field.name, made, folder=folder)
                    small_picture(place / "story.png", pictures / f"story-{bound}.png")
                yield {
                    "bound": float(bound),
                    "profile": profile,
                    "bytes": said["compressed_bytes"],
                    "ratio": said["ratio"],
                    "error": said["error_over_bound"],
                    "psnr": said["psnr"],
                    "ssim": said["quality"]["ssim"],
                    "waves": float(waves[1]) if waves else None,
                }


def measure():
    source = results.ROOT / "build/report/heldout"
    import heldout

    heldout.make(source)
    path = next(source.glob("vorticity_*.f64"))
    kept = results.Results("story", ("bound", "profile"))
    kept.add(rows(path, results.ROOT / "docs/guide"), results.this_run("make report"))
