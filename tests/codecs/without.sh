#!/usr/bin/env bash
# A codec is its folder and two lines. Takes one of tests/codecs out of a copy of the tree as it is committed, its folder, its line in
# the registry and its rows in kernels/modules.toml, and lets the compiler look at all that is left.
#
#     bash tests/codecs/without.sh toy
set -euo pipefail
codec=${1:?the folder of a codec in tests/codecs}
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
# The build script knows its folder: what it made here would be taken for this tree's.
export CARGO_TARGET_DIR=$copy/target
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
cd "$copy"
rm -r "tests/codecs/$codec"
python3 - "$codec" << 'END'
import pathlib, sys
codec = sys.argv[1]
registry, table = pathlib.Path("src/codec/mod.rs"), pathlib.Path("kernels/modules.toml")
lines = registry.read_text().splitlines(keepends=True)
others = [line for line in lines if f'in "../../tests/codecs/{codec}/mod.rs"' not in line]
head, *rows = table.read_text().split("[[module]]")
left = [row for row in rows if f'source = "../tests/codecs/{codec}/' not in row]
if len(lines) - len(others) != 1:
    sys.exit(f"codec {codec} has {len(lines) - len(others)} lines in the registry")
registry.write_text("".join(others))
table.write_text("[[module]]".join([head, *left]))
print(f"without codec {codec}: a line of the registry less, {len(rows) - len(left)} of {len(rows)} modules")
END
cargo check --all-features --all-targets
cargo check --no-default-features
if grep -rnw "$codec" src tests/*.rs tests/*/*.rs tests/*/*.cpp kernels/*.* $(find kernels -mindepth 2 -name "*.cu*") build.rs benches fuzz; then
    echo "without: these lines know codec $codec" >&2
    exit 1
fi
echo "without: nothing else knew codec $codec"
