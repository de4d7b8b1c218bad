#!/usr/bin/env bash
# Ranks that share a file by subfiling, collective metadata and aligned blocks, with an HDF5 that has all of these: 2.2, from the
# sources that the crate hdf5-metno-src carries, built for MPI in build/hdf5-parallel. Three minutes for HDF5 on two cores;
# it is kept. tests/hdf5/setup.sh installs the rest.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.10.4
at=${SLEEK_VENVS:-build}/hdf5-parallel
mkdir -p "$at"
at=$(realpath "$at")

if [ ! -e "$at/lib/libhdf5.so" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/fetch/src"
	printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\nhdf5-metno-src = "=%s"\n' \
		$version >"$work/fetch/Cargo.toml"
	touch "$work/fetch/src/lib.rs"
	source=$(cd "$work/fetch" && cargo metadata --format-version 1 | python3 -c 'import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(*(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "hdf5-metno-src"))')/ext/hdf5
	# It wants a newer cmake than Debian 12 has.
	cmake=cmake
	if ! printf '%s\n' 3.26 "$(cmake --version | sed -n 's/^cmake version //p')" | sort -CV; then
		python3 -m venv "$work/venv"
		"$work/venv/bin/pip" --quiet --disable-pip-version-check install cmake
		cmake=$work/venv/bin/cmake
	fi
	"$cmake" -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-O1 -DCMAKE_C_COMPILER=mpicc \
		-DHDF5_ENABLE_PARALLEL=ON -DHDF5_ENABLE_SUBFILING_VFD=ON -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF \
		-DBUILD_TESTING=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_UTILS=OFF -DHDF5_BUILD_HL_LIB=OFF \
		-DHDF5_ENABLE_ZLIB_SUPPORT=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_NO_PACKAGES=ON \
		-DCMAKE_INSTALL_PREFIX="$at" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
	"$cmake" --build "$work/build" --parallel "$(nproc)" --target install >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
fi

# The tests compile with h5pcc. HDF5's own has no -shlib and finds no library at run time.
mkdir -p "$at/tests"
cat >"$at/tests/h5pcc" <<-END
	#!/usr/bin/env bash
	for word; do shift; [ "\$word" = -shlib ] || set -- "\$@" "\$word"; done
	exec mpicc "-I$at/include" "\$@" "-L$at/lib" "-Wl,-rpath,$at/lib" -lhdf5 -lm
END
chmod +x "$at/tests/h5pcc"
PATH=$at/tests:$PATH SLEEK_SUBFILING=required ${CARGO:-cargo} test --all-features --test hdf5 -- other_ways_to_share_a_file
