#!/usr/bin/env bash
# Puts the address of the public repository into every place that wants it: address.sh https://HOST/OWNER/NAME. Once, before the first
# release (CONTRIBUTING.md).
set -euo pipefail
cd "$(dirname "$0")/.."
address=${1:?the address of the repository}
[[ $address =~ ^https://[^[:space:]\"\&|]+[^/]$ ]] || { echo "'$address' is no address, such as https://host/owner/name" >&2 && exit 1; }

sed -i "/^\[workspace.package\]/a repository = \"$address\"" Cargo.toml
sed -i 's/^license.workspace = true$/&\nrepository.workspace = true/' Cargo.toml cli/Cargo.toml
for file in python/pyproject.toml python/decoder/pyproject.toml; do
    sed -i "s|^\[tool.hatch.version\]|[project.urls]\nRepository = \"$address\"\n\n&|" "$file"
done
sed -i "s|^  license: .*|&\n  repository: $address|" packaging/conda/recipe.yaml
sed -i "s|^    git = .*|    git = \"$address\"|" packaging/spack/spack_repo/sleek/packages/sleek/package.py
sed -i "s|^Rules-Requires-Root: .*|&\nHomepage: $address|" packaging/debian/control
