#!/usr/bin/env bash
# make install as packagers and users call it: the commands of docs/guide/install.md as they are printed, then what they do not show.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
step() { echo "install: $*"; }
fail() {
    echo "install: FAILED: $*" >&2
    [ ! -s "$log" ] || tail -n 40 "$log" >&2
    exit 1
}
quiet() { "$@" > "$log" 2>&1 || fail "$*"; }
blocks() { # language: the page's blocks of it, but for those on clusters
    awk -v begin="\`\`\`$1" '$0 == "## Clusters" { exit } $0 == "```" { on = 0 } on { print } $0 == begin { on = 1 }' docs/guide/install.md
}
files() { (cd "$1" && find . ! -type d | sort); }

# Rust's tools stay where they are when HOME moves; whatever else the user has set up is not to be found.
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$work/home
unset PREFIX LIBDIR DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH HDF5_PLUGIN_PATH HDF5_PLUGIN_DIR MAKEFLAGS MAKELEVEL
mkdir "$HOME"
prefix=$HOME/sleek

step "docs/guide/install.md, as printed"
blocks sh > "$work/printed.sh"
[ "$(wc -l < "$work/printed.sh")" -ge 12 ] || fail "docs/guide/install.md has lost its commands"
quiet bash -euo pipefail "$work/printed.sh"
tests=$(sed -n 's/^100% tests passed, 0 tests failed out of //p' "$log")
[ "$tests" = 9 ] || fail "9 examples were to be built and run by CMake, not '$tests'"
grep -q "Sleek goes to $prefix" "$log" || [ -f "${SLEEK_PREBUILT:-target/release}/libsleek.so" ] || fail "make install does not say what it takes"
[ ! -e "$prefix/lib/libsleek.a" ] || fail "a static library that nobody asked for"
[ "$(grep -c 'kept\|ratio\|largest error' "$log")" -ge 5 ] || fail "an example said nothing"

step "README.md, as printed"
mkdir "$work/readme"
grep -E '^(export |h5repack |sleek )' README.md > "$work/readme.sh"
[ "$(wc -l < "$work/readme.sh")" = 7 ] || fail "README.md shows other commands: $(cat "$work/readme.sh")"
cp tests/data/navy_uwnd_12x73x144.f32 "$work/readme/field.f32"
quiet "$prefix/bin/sleek" compress -q --dtype f32 --dims 12x73x144 --lossless "$work/readme/field.f32" "$work/field"
quiet "$prefix/bin/sleek" decompress "$work/field" "$work/readme/field.npy"
HDF5_PLUGIN_PATH=$prefix/lib/hdf5/plugin quiet h5repack -f NONE "$HOME/sleek-examples/hdf5_write.h5" "$work/readme/old.h5"
(cd "$work/readme" && PATH=$prefix/bin:$PATH quiet bash -euo pipefail "$work/readme.sh")
h5dump -pH "$work/readme/new.h5" | grep -q 'FILTER_ID 47474' || fail "h5repack stored the dataset without the filter"
awk '$0 == "```" { on = 0 } on { print } $0 == "```c" { on = 1 }' README.md > "$work/block"
{
    grep '^#' "$work/block"
    echo 'int main(void) { hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE); hsize_t chunk[2] = {9, 9};'
    grep -v '^#' "$work/block"
    echo 'return H5Pget_nfilters(dcpl) != 1; }'
} > "$work/readme/program.c"
quiet h5cc -Wall -Werror "$work/readme/program.c" -I"$prefix/include" -o "$work/readme/program"
quiet "$work/readme/program"

step "nothing but the prefix: its own CMake project, moved, static"
quiet env CARGO=false make -o build install PREFIX="$prefix" STATIC=yes
mkdir "$work/project"
blocks cmake > "$work/project/CMakeLists.txt"
cp examples/c/compress.c "$work/project"
mv "$prefix" "$work/moved"
sed 's/sleek::sleek/sleek::static/' "$work/project/CMakeLists.txt" > "$work/static.txt"
for kind in shared static; do
    [ $kind = shared ] || cp "$work/static.txt" "$work/project/CMakeLists.txt"
    quiet cmake -S "$work/project" -B "$work/$kind" -DCMAKE_PREFIX_PATH="$work/moved"
    quiet cmake --build "$work/$kind"
    quiet "$work/$kind/program"
    needs=$(readelf -d "$work/$kind/program" | grep -c 'NEEDED.*\[libsleek.so.0\]' || true)
    [ "$needs" = "$([ $kind = shared ] && echo 1 || echo 0)" ] || fail "$kind program: $needs times libsleek.so.0"
done
(export PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
quiet cc examples/c/compress.c $(pkg-config --cflags --libs sleek) -lm -o "$work/moved_program"
LD_LIBRARY_PATH=$work/moved/lib quiet "$work/moved_program")
if grep -rIl "$prefix" "$work/moved" --exclude=installed.txt; then fail "a file of a moved prefix names the old one"; fi
sed 's/find_package(sleek/& 7.0/' "$work/static.txt" > "$work/project/CMakeLists.txt"
if cmake -S "$work/project" -B "$work/newer" -DCMAKE_PREFIX_PATH="$work/moved" > "$log" 2>&1; then fail "version 7.0 was found"; fi
grep -q "$version" "$log" || fail "the refusal does not name $version"
mv "$work/moved" "$prefix"

# A build without optimization has larger frames and more code, which nothing is promised of.
if [ -z "${SLEEK_PREBUILT:-}" ] || [ "${1:-}" = release ]; then
    step "small stacks"
    quiet cc -O1 -Wall -Wextra -Werror -I"$prefix/include" tests/c/stack.c -L"$prefix/lib" -lsleek -lpthread -lm -o "$work/stack"
    LD_LIBRARY_PATH=$prefix/lib quiet "$work/stack"
    for level in scalar avx2; do LD_LIBRARY_PATH=$prefix/lib SLEEK_SIMD=$level quiet "$work/stack"; done
    step "size"
    bash packaging/size.sh "$prefix/lib/libsleek.so"
    [ "$(du -sm --exclude=libsleek.a "$prefix" | cut -f 1)" -le 40 ] || fail "the prefix takes $(du -sm "$prefix")"
fi

step "names and symbols"
[ "$(readlink -f "$prefix/lib/libsleek.so")" = "$prefix/lib/libsleek.so.$version" ] || fail "links of libsleek.so"
readelf -d "$prefix/lib/libsleek.so" | grep -q 'SONAME.*\[libsleek.so.0\]' || fail "soname"
nm "$prefix/lib/libsleek.a" > "$work/symbols" 2> /dev/null
grep -q ' T sleek_compress$' "$work/symbols" || fail "libsleek.a lacks sleek_compress"
if grep ' T H5PL' "$work/symbols"; then fail "libsleek.a would be a second plugin"; fi
grep -qa 'libcuda.so' "$prefix/lib/libsleek.a" || fail "libsleek.a does not know GPUs"
[ "$(ls "$prefix/lib/hdf5/plugin")" = libsleek.so ] || fail "the plugin's folder"
[ "$prefix/lib/hdf5/plugin/libsleek.so" -ef "$prefix/lib/libsleek.so" ] || fail "the library is there twice"
if readelf -S "$prefix/lib/libsleek.so" "$prefix/bin/sleek" | grep -F .debug_info; then fail "tables for debuggers are installed"; fi
# What Debian 12 has; 2.35 is asked for by hypot alone.
newest=$(readelf -V "$prefix/lib/libsleek.so" "$prefix/bin/sleek" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
[ "$(printf '%s\n' "$newest" GLIBC_2.34 | sort -V | tail -n 1)" = GLIBC_2.34 ] || fail "$newest is asked for"
for text in LICENSE-MIT LICENSE-APACHE THIRD-PARTY.txt; do
    [ -s "$prefix/share/doc/sleek/$text" ] || fail "no $text"
done
# Every crate that is built in stands there with its licence.
cargo tree -p sleek-cli -e normal --prefix none --locked --offline -f '{p}' | sed 's/ (.*//; s/ v/ /' | grep -v '^sleek' | sort -u > "$work/crates"
[ "$(wc -l < "$work/crates")" -gt 50 ] || fail "cargo tree names $(wc -l < "$work/crates") crates"
while read -r crate; do
    grep -q "^$crate: " "$prefix/share/doc/sleek/THIRD-PARTY.txt" || fail "THIRD-PARTY.txt lacks $crate"
done < "$work/crates"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --exact-version="$version" sleek || fail "pkg-config's version"
[ "$("$prefix/bin/sleek" --version)" = "sleek $version" ] || fail "the command"
man=$prefix/share/man/man1/sleek.1
"$prefix/bin/sleek" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z0-9]*\) .*/\1/p' | grep -vx help > "$work/commands"
[ "$(wc -l < "$work/commands")" -ge 6 ] || fail "sleek --help names $(wc -l < "$work/commands") commands"
while read -r command; do
    grep -qx ".SH sleek $command" "$man" || fail "the manual page lacks sleek $command"
done < "$work/commands"
completed=$(bash -c '. "$1" && COMP_WORDS=(sleek rep) COMP_CWORD=1 && _sleek sleek rep sleek && echo "${COMPREPLY[*]}"' - \
    "$prefix/share/bash-completion/completions/sleek")
[ "$completed" = repack ] || fail "bash completes 'sleek rep' to '$completed'"
for completion in zsh/site-functions/_sleek fish/vendor_completions.d/sleek.fish; do
    grep -q repack "$prefix/share/$completion" || fail "$completion"
done
files "$prefix" | sed 's/^\.//' | sort > "$work/there"
sed 's|^|/|' "$prefix/share/sleek/installed.txt" | sort > "$work/listed"
diff <(grep -vx /share/sleek/installed.txt "$work/there") "$work/listed" || fail "installed.txt is not what is there"

step "DESTDIR, LIBDIR and HDF5_PLUGIN_DIR"
stage=$work/stage
plugins=/opt/hdf5/lib/plugin
CARGO=false quiet make -o build install STATIC=yes PREFIX=/usr LIBDIR=/usr/lib64 HDF5_PLUGIN_DIR=$plugins DESTDIR="$stage"
[ -f "$stage/usr/lib64/libsleek.a" ] && [ -f "$stage$plugins/libsleek.so" ] || fail "$(files "$stage")"
if grep -rIl "$stage" "$stage"; then fail "DESTDIR is written into a file"; fi
PKG_CONFIG_PATH=$stage/usr/lib64/pkgconfig pkg-config --variable=libdir sleek | grep -q '/usr/lib64' || fail "libdir of sleek.pc"
grep -q "\"$plugins\"" "$stage/usr/lib64/cmake/sleek/sleekConfig.cmake" || fail "plugin folder of sleekConfig.cmake"
quiet cmake -S examples -B "$work/staged" -Dsleek_DIR="$stage/usr/lib64/cmake/sleek"
quiet cmake --build "$work/staged" --target compress_c
quiet "$work/staged/compress_c"

step "HDF5_PLUGIN_DIR=auto"
found=$work/found
h5_install() { CARGO=false make -o build install PREFIX="$work/auto" DESTDIR="$found" HDF5_PLUGIN_DIR="$1" > "$log" 2>&1; }
plugins() { files "$found" | sed -n 's|^\.\(/.*\)/libsleek.so$|\1|p' | grep /hdf5/ || true; }
for flavour in serial openmpi; do
    rm -rf "$found" && h5_install auto:$flavour || fail "auto:$flavour"
    [ "$(plugins)" = "/usr/lib/$(uname -m)-linux-gnu/hdf5/$flavour/plugins" ] || fail "auto:$flavour chose $(plugins)"
done
rm -rf "$found" && h5_install auto || fail auto
[ "$(plugins | wc -l)" -ge 2 ] || fail "auto chose $(plugins)"
# What lies outside of the prefix may be another one's by now.
before=$(plugins)
quiet make uninstall PREFIX="$work/auto" DESTDIR="$found"
[ "$(files "$found" | grep -c .)" = "$(wc -l <<< "$before")" ] && [ "$(plugins)" = "$before" ] || fail "left: $(files "$found")"
[ "$(grep -c "^outside of it, and left: $found/.*/libsleek.so$" "$log")" = "$(wc -l <<< "$before")" ] || fail "what is left is not named"
rm -r "$found"
if h5_install auto:nosuch; then fail "auto:nosuch found an HDF5"; fi
grep -q "no libhdf5 with 'nosuch'" "$log" || fail "the reason of auto:nosuch"

step "FORTRAN=gfortran"
quiet env CARGO=false make -o build install PREFIX="$work/fortran" FORTRAN=gfortran
modules=$work/fortran/lib/sleek/gfortran
quiet gfortran examples/fortran/compress.f90 -I"$modules" -L"$modules" -lsleek_fortran -L"$work/fortran/lib" -lsleek -o "$work/program_f"
LD_LIBRARY_PATH=$work/fortran/lib quiet "$work/program_f"
quiet make uninstall PREFIX="$work/fortran"
[ -z "$(files "$work/fortran")" ] || fail "left behind: $(files "$work/fortran")"

if [ -n "${SLEEK_LONG:-}" ] && cargo cinstall --version > /dev/null 2>&1; then
    step "cargo cinstall"
    capi=$work/capi
    quiet cargo cinstall -p sleek-compress --profile dev --library-type cdylib --prefix "$capi" --libdir lib
    diff -r "$prefix/include" "$capi/include" || fail "headers of cargo cinstall"
    [ "$(readlink -f "$capi/lib/libsleek.so.0")" = "$capi/lib/libsleek.so.$version" ] || fail "links of cargo cinstall"
    said() { { readelf -d "$1" | grep -o 'SONAME.*' && nm -D --defined-only "$1" | cut -d ' ' -f 3 | grep -E '^(sleek|H5)' | sort; } > "$2"; }
    said "$prefix/lib/libsleek.so" "$work/made" && said "$capi/lib/libsleek.so" "$work/cargo"
    diff "$work/made" "$work/cargo" || fail "soname or functions of cargo cinstall"
    export PKG_CONFIG_PATH=$capi/lib/pkgconfig
    pkg-config --exact-version="$version" sleek || fail "pkg-config's version by cargo cinstall"
    quiet cc examples/c/compress.c $(pkg-config --cflags --libs sleek) -lm -o "$work/program_capi"
    LD_LIBRARY_PATH=$capi/lib quiet "$work/program_capi"
    unset PKG_CONFIG_PATH
else
    step "cargo cinstall: passed over, since cargo-c is not there or SLEEK_LONG is not set"
fi

step "uninstall"
# A copy of a prefix takes away itself alone.
cp -a "$prefix" "$work/copy"
quiet make uninstall PREFIX="$work/copy"
[ -z "$(files "$work/copy")" ] || fail "left behind: $(files "$work/copy")"
[ -x "$prefix/bin/sleek" ] && [ -f "$prefix/lib/hdf5/plugin/libsleek.so" ] || fail "another prefix's files are gone"
mkdir -p "$prefix/lib/other"
touch "$prefix/lib/other/file"
quiet make uninstall PREFIX="$prefix"
quiet make uninstall PREFIX=/usr DESTDIR="$stage"
[ "$(files "$prefix")" = ./lib/other/file ] || fail "left behind: $(files "$prefix")"
[ "$(files "$stage")" = ".$plugins/libsleek.so" ] || fail "left behind: $(files "$stage")"
if make uninstall PREFIX="$prefix" > "$log" 2>&1; then fail "uninstalled twice"; fi
grep -q 'not installed' "$log" || fail "the reason of a second uninstall"
if make install PREFIX="$work/a b" > "$log" 2>&1; then fail "a prefix with a space was taken"; fi
step "passed"
