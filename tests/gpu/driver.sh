#!/usr/bin/env bash
# Builds the stand-in for CUDA's driver, libcuda.so.1 and libcuda.so, which brings it along, if it is not there or a
# source of it is newer, and copies both into the folder that is the argument. Every test that needs one takes it from
# here. Each source of kernels/modules.toml is compiled by itself, all at once. CXX and SLEEK_TEST_CFLAGS as for C tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=${CARGO_TARGET_DIR:-target}/stand-in
options="${CXX:-c++} -std=c++17 -O2 -w -ffp-contract=off -fPIC -pthread -DSLEEK_CPU ${SLEEK_TEST_CFLAGS:-}"
mkdir -p "$place" "$1"

is_fresh() {
    [ -f "$place/libcuda.so.1" ] && [ -f "$place/libcuda.so" ] && [ "$(cat "$place/options")" = "$options" ] && [ -z "$(find kernels tests/gpu tests/codecs \
        \( -name '*.cu*' -o -name '*.h' -o -name '*.cpp' -o -name '*.toml' -o -name driver.sh \) -newer "$place/libcuda.so.1")" ]
}

build() {
    local objects=() jobs=() source
    for source in tests/gpu/driver.cpp $(sed -n 's|^source *= *"\(.*\)"|kernels/\1|p' kernels/modules.toml | sort -u); do
        objects+=("$place/$(basename "$(dirname "$source")")-$(basename "$source").o")
        $options -x c++ -c "$source" -o "${objects[-1]}" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job"; done
    $options -shared -Wl,-soname,libcuda.so.1 "${objects[@]}" -o "$place/libcuda.so.1.new"
    mv "$place/libcuda.so.1.new" "$place/libcuda.so.1"
    $options -shared -Wl,-soname,libcuda.so -Wl,--no-as-needed "$place/libcuda.so.1" -Wl,-rpath,'$ORIGIN' -o "$place/libcuda.so"
    echo "$options" > "$place/options"
}

# Programs that want it at the same time wait for the one that builds it.
exec 9> "$place/lock"
flock 9
is_fresh || build
# By either name it is found before the driver of a machine that has one.
cp --remove-destination "$place/libcuda.so.1" "$place/libcuda.so" "$1"
