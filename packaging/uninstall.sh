#!/usr/bin/env bash
# Removes the files that install.sh listed under $PREFIX (behind $DESTDIR), and the folders that are SLEEK's alone.
set -euo pipefail

list=$DESTDIR$PREFIX/share/sleek/installed.txt
[ -f "$list" ] || { echo "sleek is not installed in $DESTDIR$PREFIX: there is no $list" >&2 && exit 1; }

mapfile -t installed < "$list"
for file in "${installed[@]}"; do
    rm -f "$DESTDIR$file"
done
for file in "${installed[@]}"; do
    case $file in
    */sleek/*) rmdir --ignore-fail-on-non-empty "$DESTDIR$(dirname "$file")" 2> /dev/null || true ;;
    esac
done
echo "removed ${#installed[@]} files from $DESTDIR$PREFIX"
