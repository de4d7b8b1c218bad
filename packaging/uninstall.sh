#!/usr/bin/env bash
# Removes the files that install.sh listed under $PREFIX (behind $DESTDIR), and the folders that are empty then.
set -euo pipefail

list=$DESTDIR$PREFIX/share/sleek/installed.txt
[ -f "$list" ] || { echo "sleek is not installed in $DESTDIR$PREFIX: there is no $list" >&2 && exit 1; }

mapfile -t installed < "$list"
for file in "${installed[@]}"; do
    rm -f "$DESTDIR$file"
done
for file in "${installed[@]}"; do
    (cd "$DESTDIR/" && rmdir -p --ignore-fail-on-non-empty ".$(dirname "$file")" 2> /dev/null) || true
done
echo "removed ${#installed[@]} files from $DESTDIR$PREFIX"
