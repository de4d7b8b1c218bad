#!/usr/bin/env bash
# The recipes of packages name the version and targets that are there, and Spack's does what it says, on a stand-in for Spack. What
# builds the packages for real: make dist, tests/clean-room.sh, docs/guide/install.md.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
fail() { echo "packages: FAILED: $*" >&2 && exit 1; }

head -n 1 packaging/debian/changelog | grep -qF "sleek (${version/-/\~})" || fail "packaging/debian/changelog is not about $version"
grep -qxF "  version: \"$version\"" packaging/conda/recipe.yaml || fail "packaging/conda/recipe.yaml is not about $version"
grep -qF "version(\"$version\"" packaging/spack/spack_repo/sleek/packages/sleek/package.py || fail "Spack's recipe is not about $version"

# Another version reaches every place that names one (CONTRIBUTING.md). The changelogs keep what was, and figures the version
# that they were measured with.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z -- . ':!tests/vectors' ':!tests/data' ':!fuzz/corpus' | tar --null -T - -cf - | tar -xf - -C "$copy"
bash "$copy/packaging/version.sh" 77.8.9 > /dev/null
left=$(cd "$copy" && grep -rnwIF "$version" . --include='*.*' --exclude=CHANGELOG.md --exclude=version.sh \
    --exclude='*.lock' --exclude-dir=debian --exclude-dir=results --exclude=performance.md || true)
[ -z "$left" ] || fail "packaging/version.sh leaves the old version in: $left"
for lock in Cargo.lock fuzz/Cargo.lock integrations/zarrs/Cargo.lock integrations/h5wasm/Cargo.lock; do
    grep -qxF 'version = "77.8.9"' "$copy/$lock" || fail "packaging/version.sh leaves the old version in $lock"
    diff <(sed 's/77\.8\.9/X/' "$copy/$lock") <(sed "/^name = \"sleek-\(compress\|cli\|zarrs\|h5wasm\)\"/{n;s/$version/X/}" "$lock") > /dev/null ||
        fail "packaging/version.sh changes more of $lock than our own packages"
done
head -n 1 "$copy/packaging/debian/changelog" | grep -qF 'sleek (77.8.9)' || fail "packaging/version.sh leaves Debian's changelog"

# So does the address of the repository (the same page), and what reads these files takes them.
address=https://example.org/sleek/sleek
bash "$copy/packaging/address.sh" $address
python3 - "$copy" $address << 'END'
import pathlib, sys
try:
    import tomllib
except ImportError:
    sys.exit(0)
root, address = pathlib.Path(sys.argv[1]), sys.argv[2]
read = lambda path: tomllib.loads((root / path).read_text())
assert read("Cargo.toml")["workspace"]["package"]["repository"] == address
for path in "Cargo.toml", "cli/Cargo.toml":
    assert read(path)["package"]["repository"] == {"workspace": True}, path
for path in "python/pyproject.toml", "python/decoder/pyproject.toml":
    project = read(path)["project"]
    assert project["urls"] == {"Repository": address}, path
    assert project["authors"] and project["keywords"] and project["license-files"] == ["LICENSE-*"], path
    assert all((root / path).with_name(name).is_file() for name in ("LICENSE-MIT", "LICENSE-APACHE")), path
END
[ "$(cd "$copy" && grep -rlF $address packaging/conda packaging/spack packaging/debian/control | wc -l)" = 3 ] ||
    fail "packaging/address.sh leaves out a package"
# The crate has what its kernels are built from.
cargo package --list --offline --allow-dirty -p sleek-compress > "$copy/list"
for file in kernels/build.py $(git ls-files kernels | grep -E '\.(cu|cuh|toml)$'); do
    grep -qxF "$file" "$copy/list" || fail "the crate lacks $file"
done
grep -q '^ *- run: \.ci/run$' .github/workflows/ci.yml && grep -qx '  pull_request:' .github/workflows/ci.yml || fail "nothing runs .ci/run on pull requests"

# From a release on (CONTRIBUTING.md) golden streams are never made anew.
if [ -f tests/vectors/frozen.sha256 ]; then
    (cd tests/vectors && sha256sum --check --quiet frozen.sha256) || fail "golden streams of a release have other bytes"
fi

# Spack 1.0 wants the folder below spack_repo to be called as the namespace is.
grep -qx '  namespace: sleek' packaging/spack/spack_repo/sleek/repo.yaml || fail "the namespace of Spack's repository"
python3 - << 'END'
import os, runpy, sys, types
said, called = [], []
class Base: pass
spack, makefile = types.ModuleType("spack.package"), types.ModuleType("makefile")
for directive in ("license", "version", "depends_on", "variant"):
    setattr(spack, directive, lambda *a, _d=directive, **k: said.append((_d, a, k)))
spack.make = lambda *a: called.append(a)
spack.join_path = lambda *a: "/".join(a)
spack.which = lambda path: lambda *a, **k: "UD=47474,0,5,1,1,3539053052,1062232653,0" if a == ("h5args", "--abs", "1e-3") else ""
makefile.MakefilePackage = Base
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": spack,
                    **{n: types.ModuleType(n) for n in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")},
                    "spack_repo.builtin.build_systems.makefile": makefile})
recipe = runpy.run_path("packaging/spack/spack_repo/sleek/packages/sleek/package.py")["Sleek"]()
class Prefix(str):
    lib, bin = "/p/lib", types.SimpleNamespace(sleek="/p/bin/sleek")
recipe.prefix = Prefix("/p")
assert recipe.git == "file://" + os.getcwd() and recipe.build_time_test_callbacks == [], recipe.git
recipe.build(None, recipe.prefix)
recipe.install(None, recipe.prefix)
recipe.test_command()
recipe.setup_run_environment(types.SimpleNamespace(prepend_path=lambda *a: called.append(a)))
assert called == [("build",), ("-o", "build", "install", "PREFIX=/p"), ("HDF5_PLUGIN_PATH", "/p/lib/hdf5/plugin")], called
assert {d for d, _, _ in said} == {"license", "version", "depends_on", "variant"}
END
grep -qF "sleek/$version.lua" docs/guide/install.md || fail "docs/guide/install.md names a module of another version"
for target in build install dist; do
    grep -q "^$target:" Makefile || fail "the recipes call make $target, which is not there"
done
echo "packages: passed"
