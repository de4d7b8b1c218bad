#!/usr/bin/env bash
# Instructions that a value takes at two commits, as the emulator of x86-64 counts them: what a machine that is not quiet cannot tell.
# BEFORE and AFTER are folders with include/sleek.h and libsleek.so, the latter as `cargo rustc -p sleek-compress --release --lib
# --crate-type cdylib --no-default-features` makes it. REQUESTS and LEVELS: others than those below. Needs SLEEK_DATA. Minutes.
#     benches/instructions/two.sh BEFORE AFTER
set -euo pipefail
before=$(realpath "$1") after=$(realpath "$2")
cd "$(dirname "$0")/../.."
bash examples/demo/need.sh cc:gcc qemu-x86_64:qemu-user
work=${CARGO_TARGET_DIR:-target}/instructions
mkdir -p "$work"
cc -O2 -shared -fPIC benches/instructions/plugin.c -o "$work/plugin.so"
for side in before after; do
    mkdir -p "$work/$side"
    cp "${!side}/libsleek.so" "$work/$side/libsleek.so.0"
    cc -O2 -I"${!side}/include" -DNO_DIMS benches/instructions/program.c -o "$work/$side/program" -L"$work/$side" -l:libsleek.so.0
done

counted() { # SIDE LEVEL PROGRAM'S ARGUMENTS
    local side=$1 level=$2
    shift 2
    LD_LIBRARY_PATH=$work/$side SLEEK_SIMD=$level qemu-x86_64 -cpu max -plugin "$work/plugin.so" "$work/$side/program" "$@" 2>&1 | tail -n 1
}
per_value() { # SIDE LEVEL REQUEST TYPE BYTES FILE: compress and decompress, in hundredths
    local once three again
    once=$(counted "$@" 1 1) three=$(counted "$@" 3 1) again=$(counted "$@" 1 3)
    echo $(((three - once) * 50 * 4 * $4 / $5)) $(((again - once) * 50 * 4 * $4 / $5))
}
hundredths() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }
echo "| field | request | level | compress: before | after | decompress: before | after |"
echo "|---|---|---|---|---|---|---|"
while read -r field type bytes; do
    for request in ${REQUESTS:-noa=1e-3 noa=1e-3,profile=fast lossless lossless,profile=fast}; do
        for level in ${LEVELS:-avx2 scalar}; do
            of=("$level" "$request" "$type" "$bytes" "$SLEEK_DATA/$field")
            read -r c d <<< "$(per_value before "${of[@]}")"
            read -r c2 d2 <<< "$(per_value after "${of[@]}")"
            echo "| ${field%%_*} | $request | $level | $(hundredths "$c") | $(hundredths "$c2") | $(hundredths "$d") | $(hundredths "$d2") |"
        done
    done
done << 'FIELDS'
gals_mr19_x_1235904.f32 1 1048576
navy_uwnd_132x73x144.f32 1 1513728
cam_ts_hourly6_40x8761.f32 1 1048576
pyro_quad_state_4x256x256.f64 2 2097152
FIELDS
