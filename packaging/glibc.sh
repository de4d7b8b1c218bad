#!/usr/bin/env bash
# Fails where a program or library asks for a newer glibc, or for another library than glibc's and GCC's: glibc.sh VERSION FILE…
set -euo pipefail
oldest=$1
shift
for file; do
    asked=$(readelf -VW "$file" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
    [ -n "$asked" ] && [ "$(printf '%s\n' "$asked" "$oldest" | sort -V | tail -n 1)" = "$oldest" ] ||
        { echo "glibc: $file asks for glibc '$asked', not for $oldest or older" >&2 && exit 1; }
    others=$(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE '(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux-[^.]*)\.so\.[0-9]' || true)
    [ -z "$others" ] || { echo "glibc: $file needs $others" >&2 && exit 1; }
done
