#!/usr/bin/env bash
# Removes the files that install.sh listed under $PREFIX (behind $DESTDIR), and the folders that are SLEEK's alone. What it put elsewhere
# stays, and is named: another prefix may have put it there again since.
set -euo pipefail

prefix=$DESTDIR$PREFIX
list=$prefix/share/sleek/installed.txt
[ -f "$list" ] || { echo "sleek is not installed in $prefix: there is no $list" >&2 && exit 1; }

mapfile -t installed < <(grep -v '^/' "$list")
mapfile -t elsewhere < <(grep '^/' "$list")
installed+=(share/sleek/installed.txt)
for file in "${installed[@]}"; do
    rm -f "$prefix/$file"
done
for file in "${installed[@]}"; do
    case $file in
    */sleek/*) rmdir --ignore-fail-on-non-empty "$prefix/$(dirname "$file")" "$prefix/${file%%/sleek/*}/sleek" 2> /dev/null || true ;;
    esac
done
echo "removed ${#installed[@]} files from $prefix"
for file in "${elsewhere[@]}"; do
    echo "outside of it, and left: $DESTDIR$file"
done
