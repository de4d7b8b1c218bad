"""That report.py finds what is stale, marks what is older than its code, and says where a peer is better. Needs Python alone."""

import json
import pathlib
import tempfile
import unittest

import gpu
import results
import tables

ABOUT = {"machine": "m", "date": "2026-01-01", "commit": "HEAD", "command": "c", "versions": "v"}


def compared(ours, theirs, error=1.0):
    """Two codecs on one field at 1e-2 and 1e-3, with these ratios and speeds."""
    with tempfile.TemporaryDirectory() as folder:
        results.FOLDER = pathlib.Path(folder)
        of = {"class": "real", "field": "x", "type": "f32"}
        ratios, speeds = [], []
        for bound, part in ((1e-2, 2), (1e-3, 1)):
            for codec, ratio, e in (("small", ours, 0.9), ("Peer", theirs, error)):
                psnr = 60 / part if codec == "small" else 63 / part
                ratios.append({**of, "codec": codec, "bound": bound, "ratio": ratio * part, "error": e, "psnr": psnr})
                speeds.append({**of, "codec": codec, "bound": bound, "memcpy": 9, "compress": ratio / 100, "decompress": ratio / 50})
        for name, rows in (("ratios", ratios), ("speeds", speeds)):
            results.Results(name, tables.KEY).add(rows, ABOUT)
        return tables.Compared()


def committed(file, *contents):
    """The commits of a new repository in which a file had these contents one after the other, the last one first."""
    file.parent.mkdir(parents=True)
    for content in contents:
        file.write_bytes(content)
        results.git("init", "-q")
        results.git("add", "-A")
        results.git("-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "-m", "a")
    return results.git("log", "--format=%H").split()


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = results.FOLDER

    def tearDown(self):
        results.FOLDER = self.folder

    def test_a_better_peer_is_named(self):
        said = compared(10, 20).better()
        self.assertIn("Peer has larger mean ratios than `small`", said)
        self.assertIn("| Peer | real, f32 | 40 : 20 | 20 : 10 |", said)
        self.assertIn("`small` has the smallest stream that keeps the bound in 0, Peer in 2", said)
        self.assertIn("| `small` | Peer | 2 on 1 | 2 on 1 |", said)

    def test_a_worse_peer_is_not(self):
        said = compared(20, 10).better()
        self.assertIn("No peer has a larger mean ratio", said)
        self.assertIn("in 2", said)
        self.assertIn("No peer is faster than `adaptive` and `small`", said)

    def test_a_broken_bound_wins_nothing(self):
        of = compared(10, 20, error=1.00001)
        self.assertIn("40 : 20 *", of.better())
        self.assertIn("keeps the bound in 2", of.better())
        self.assertIn("**broken** on 1, up to 1.00001 ×", of.by_bound())

    def test_quality_is_compared_at_the_same_bits(self):
        self.assertEqual(tables.interpolated([(1, 10), (3, 30)], 2), 20)
        self.assertIn("Peer has a higher mean PSNR by 3.0 dB", compared(10, 10).nearer_peers())

    def test_a_changed_figure_makes_a_page_stale(self):
        block = "<!-- report: x -->\n\n| 1 |\n\n<!-- end of report -->\n"
        self.assertEqual(tables.made(block, {"x": lambda: "| 1 |"}), block)
        self.assertNotEqual(tables.made(block, {"x": lambda: "| 2 |"}), block)

    def test_rows_that_are_measured_again_take_the_place_of_old_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = results.Results("r", ("codec",), pathlib.Path(folder))
            kept.add([{"codec": "a", "ratio": 1.0}, {"codec": "b", "ratio": 2.0}], ABOUT)
            kept.add([{"codec": "a", "ratio": 3.0}], {**ABOUT, "date": "2026-01-02"})
            read = json.loads((pathlib.Path(folder) / "r.json").read_text())
            self.assertEqual([(r["codec"], r["ratio"]) for r in read["rows"]], [("a", 3.0), ("b", 2.0)])
            self.assertEqual(len(read["runs"]), 2)
            kept.add([{"codec": "b", "ratio": 4.0}], {**ABOUT, "date": "2026-01-02"})
            self.assertEqual(len(json.loads((pathlib.Path(folder) / "r.json").read_text())["runs"]), 1)

    def test_code_makes_a_figure_old_and_a_comment_does_not(self):
        before = results.ROOT
        with tempfile.TemporaryDirectory() as folder:
            results.ROOT = pathlib.Path(folder)
            file = results.ROOT / "src/codec/sleek/mod.rs"
            try:
                commits = committed(file, b"let x = 1;\n", b"// A comment.\n\nlet x = 1;\n", b"// A comment.\n\nlet x = 2;\n")
                changed = results.changed.__wrapped__
                self.assertEqual([changed("adaptive", c) for c in commits], [False, True, True])
                file.write_text("// A comment.\n\nlet x = 1;\n")
                self.assertEqual([changed("adaptive", c) for c in commits], [True, False, False])
                self.assertIsNone(changed("adaptive", "0" * 40))
            finally:
                results.ROOT = before

    def test_other_names_are_no_other_code(self):
        self.assertTrue(results.are_renamed([], [], bool))
        self.assertTrue(results.are_renamed(["let x = y + 1;", "f(x)"], ["let z = y + 1;", "f(z)"], bool))
        self.assertTrue(results.are_renamed(["f(x, y)"], ["f(", "x,", "y)"], bool))
        self.assertFalse(results.are_renamed(["a.min(b)"], ["a.max(b)"], lambda name: name != "max"))
        for before, after in ((["x = y"], ["x = 2"]), (["f(x, y)"], ["f(z, z)"]), (["f(x)", "g(x)"], ["f(y)", "g(x)"]), (["x + 1"], ["x - 1"]),
                              (["x"], []), (["f(1)"], ["f(2)"])):
            self.assertFalse(results.are_renamed(before, after, bool), (before, after))

    def test_an_old_commit_has_the_mark(self):
        first = results.git("log", "--format=%H", "--reverse", "--", "src/codec/sleek")
        if not first or results.changed("adaptive", first.split()[0]) is None:
            self.skipTest("no history")
        self.assertEqual(results.mark("adaptive", first.split()[0]), results.MARK)
        last = results.git("log", "-1", "--format=%H", "--", *results.PATHS["adaptive"]).strip()
        if results.git("diff", "--quiet", "HEAD", "--", *results.PATHS["adaptive"]) is not None:
            self.assertEqual(results.mark("adaptive", last), "")
        self.assertEqual(results.mark("a peer", first.split()[0]), "")

    def test_tables_of_a_gpu_are_read(self):
        row = "| {} | {} | {} | {} | {} | 90 % | 0.50 | {} | 80 % |"
        fields = [("a_9.f32", 2, 1, 1.5), ("b_9.f32", 8, 4, 1.5), ("c_9.f64", 3, 2, 1), ("a_9.f32 as f16", 9, 9, 9)]
        bounds = ("1e-1", "1e-3", "1e-6", "lossless")
        lines = [row.format(name, bound, profile, r, c, d) for name, r, c, d in fields for bound in bounds for profile in gpu.PROFILES]
        tables_of = gpu.of_bench(gpu.rows("\n".join(lines)))
        self.assertEqual(tables_of["how fast"][0], ["f32", "1e-1", 4, 2, 1.5, 4, 2, 1.5])
        self.assertNotIn("other types", tables_of)
        self.assertEqual(gpu.of_others(gpu.rows("| **mean of 6 in 3-D** | f32 rate 8 | 6 | 0.1 | 0.2 | | |")), {})
        small = "| a_9.f32 | 1e-3 | 30.25 | 0.040 | 9 | 0.250 | 9 |\n| b_9.f32 | 1e-3 | 30 | 0.04 | 9 | 0.25 | 9 |"
        some = "\n".join(line for line in lines if line.startswith("| a_9.f32 |"))
        found = gpu.of_simulated(gpu.rows(f"{some}\n{small}"))
        self.assertEqual(found, {"simulated": [["a, f32", "1e-3", [2, 1, 1.5], [2, 1, 1.5], [30.2, 0.04, 0.25]]]})


if __name__ == "__main__":
    unittest.main()
