#!/usr/bin/env bash
# Gives the sources another version, such as 0.2.0: version.sh VERSION. What CHANGELOG.md and README.md say of it besides is written by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:?the new version}
old=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
[[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]] || { echo "'$new' is no version; such as 0.2.0" >&2 && exit 1; }
[ "$new" != "$old" ] || { echo "the sources are of version $old already" >&2 && exit 1; }

# Every place has the whole version, and no other number that looks like it.
files=(Cargo.toml cli/Cargo.toml integrations/zarrs/Cargo.toml integrations/h5wasm/Cargo.toml integrations/h5wasm/package.json include/sleek.h packaging/conda/recipe.yaml
    packaging/spack/spack_repo/sleek/packages/sleek/package.py python/decoder/src/sleek_decode/__init__.py
    docs/guide/install.md README.md)
for file in "${files[@]}"; do
    grep -qF "$old" "$file" || { echo "$file does not name $old" >&2 && exit 1; }
done
# In the manifests the first version is the package's; those of others stay.
for file in "${files[@]}"; do
    case $file in
        # What the command asks for of the library.
        cli/Cargo.toml) sed -i "s/^\(sleek = .*version = \)\"${old//./\\.}\"/\1\"$new\"/" "$file" ;;
        *Cargo.toml) sed -i "0,/^version = \"${old//./\\.}\"/s//version = \"$new\"/" "$file" ;;
        *) sed -i "s/\b\(v\?\)${old//./\\.}\b/\1$new/g" "$file" ;;
    esac
done
for lock in Cargo.lock fuzz/Cargo.lock integrations/zarrs/Cargo.lock integrations/h5wasm/Cargo.lock; do
    sed -i "/^name = \"sleek-\(compress\|cli\|zarrs\|h5wasm\)\"/{n;s/^version = \"${old//./\\.}\"/version = \"$new\"/}" "$lock"
done
{
    printf 'sleek (%s) unstable; urgency=medium\n\n  * New version; CHANGELOG.md has what is new.\n\n' "${new/-/\~}"
    printf ' -- %s  %s\n\n' "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$(LC_ALL=C date -R)"
    cat packaging/debian/changelog
} > packaging/debian/changelog.new
mv packaging/debian/changelog.new packaging/debian/changelog
echo "version $old -> $new; left: the heading in CHANGELOG.md, Status in README.md (CONTRIBUTING.md)"
