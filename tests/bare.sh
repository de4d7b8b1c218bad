#!/usr/bin/env bash
# The wheel and, where it is, the tarball in roots that have a C library and nothing else: bare.sh [ROOT…]. ROOT is a release of Debian,
# which is fetched (without arguments those of 2021 and 2023), or a folder with a system's files, such as `docker export` gives. Asks
# first that nothing newer than glibc 2.28 (Rocky 8) is wanted. Needs to be root, and build/wheel of `make dist`.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "bare: needs root, for chroot" >&2 && exit 1; }
[ $# -gt 0 ] || set -- bullseye bookworm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "bare: FAILED: $*" >&2 && exit 1; }

mkdir -p "$work"/files/{wheel,tarball}
python3 -m zipfile -e build/wheel/sleek_compress-*.whl "$work/files/wheel"
mv "$work"/files/wheel/*.data/scripts "$work/files/wheel/bin"
chmod 755 "$work/files/wheel/bin/sleek"
tarball=$(ls build/dist/sleek-*-linux-"$(uname -m)".tar.gz 2> /dev/null || true)
[ -z "$tarball" ] || tar -xf "$tarball" -C "$work/files/tarball" --strip-components 1
cp tests/data/navy_uwnd_12x73x144.f32 "$work/files"
bash packaging/glibc.sh 2.28 $(find "$work/files" -type f -name 'libsleek.so*' -o -type f -path '*/bin/sleek')
if bash packaging/glibc.sh 2.2 "$work/files/wheel/bin/sleek" 2> /dev/null; then fail "packaging/glibc.sh finds nothing"; fi

# In the root, with the plugin loaded first: the loader then looks up all that it asks for, and says what it lacks.
run() {
    python3 -c 'import os, sys
root, library, program, *arguments = sys.argv[1:]
os.chroot(root)
os.chdir("/")
os.execve(program, [program, *arguments], {"LD_BIND_NOW": "1", "LD_PRELOAD": library})' "$root" "/$library" "/files/$part/bin/sleek" "$@"
}

version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
tried=
for system; do
    root=$work/root
    if [ -d "$system" ]; then
        cp -a "$system" "$root"
    else
        bash examples/demo/need.sh mmdebstrap:mmdebstrap
        mmdebstrap --quiet --variant=extract --include=libc6,libgcc-s1 "$system" "$root" > "$work/log" 2>&1 ||
            { echo "bare: $system: passed over, since it cannot be had: $(tail -n 1 "$work/log")" && rm -rf "$root" && continue; }
    fi
    tried=yes
    cp -r "$work/files" "$root/files"
    for part in wheel tarball; do
        library=$(cd "$root" && find "files/$part" -name libsleek.so -path '*/plugin/*')
        [ -n "$library" ] || continue
        said=$(run --version 2>&1)
        [ "$said" = "sleek $version" ] || fail "$system, $part: $said"
        field=/files/navy_uwnd_12x73x144.f32
        for bound in "--abs 0.01 --profile fast" "--abs 0.01 --profile adaptive" "--abs 0.01 --profile small" --lossless; do
            run compress -q --force --dtype f32 $bound $field /files/out
            run verify -q $field /files/out > /dev/null || fail "$system, $part: $bound"
        done
        run decompress -q --force /files/out /files/back
        cmp "$root$field" "$root/files/back" || fail "$system, $part: decompress"
        echo "bare: $system: the $part's command and plugin load and work"
    done
    rm -r "$root"
done
[ -n "$tried" ] || fail "no system could be had"
echo "bare: passed"
