#!/usr/bin/env bash
# The folder that is the argument: the mini-application with its HDF5, MPI and libsleek, for a machine with GPUs that has none of these.
# There, `bash FOLDER/run.sh` writes lines into $OUT; here, `python3 benches/scale/table.py tables FOLDER-of-lines` makes the tables.
#     HDF5_PARALLEL   the prefix of an HDF5 built for Open MPI (tests/hdf5/subfiling.sh builds one in build/hdf5-parallel)
#     NVCC_FLAGS      the architectures, say "-gencode arch=compute_90,code=sm_90"
set -euo pipefail
cd "$(dirname "$0")/../.."
to=$1
hdf5=$(realpath "${HDF5_PARALLEL:-build/hdf5-parallel}")
library=${CARGO_TARGET_DIR:-target}/release/libsleek.so
nvcc=${NVCC:-nvcc}
cuda=$(dirname "$(dirname "$(realpath "$(command -v "$nvcc")")")")
source=examples/mpi/scale
rm -rf "$to"
mkdir -p "$to"/{lib,plugin,benches/scale,programs,objects}

for object in heat checkpoint cpu; do mpicc -std=gnu11 -O3 -march=x86-64-v3 -Iinclude "-I$hdf5/include" -c "$source/$object.c" -o "$to/objects/$object.o"; done
read -ra arch <<<"${NVCC_FLAGS:-}"
"$nvcc" -O3 -std=c++17 --extended-lambda "${arch[@]}" -c "$source/gpu.cu" -o "$to/objects/gpu.o"
strip -o "$to/lib/libsleek.so.0" "$library"
ln -s ../lib/libsleek.so.0 "$to/plugin/libsleek.so"
link=("$to/lib/libsleek.so.0" "-L$hdf5/lib" -lhdf5 -lm)
mpicc "$to"/objects/{heat,checkpoint,cpu}.o -o "$to/programs/heat3d" "${link[@]}"
mpicc "$to"/objects/{heat,checkpoint,gpu}.o -o "$to/programs/heat3d_gpu" "${link[@]}" \
	"-L$cuda/lib64" "-L$cuda/lib" -lcudart_static -lstdc++ -lpthread -ldl -lrt
"$nvcc" -O2 -std=c++17 -Iinclude "${arch[@]}" -c benches/scale/halo.cu -o "$to/objects/halo.o"
g++ "$to/objects/halo.o" -o "$to/programs/halo" "$to/lib/libsleek.so.0" "-L$cuda/lib64" "-L$cuda/lib" -lcudart_static -lpthread -ldl -lrt
rm -r "$to/objects"

# Open MPI as it is installed here, without the networks of clusters, and the libraries that all of it needs but libc's own.
mpi=$to/mpi at=$(dirname "$(realpath "$(command -v mpirun)")")
components=$(ompi_info --path pkglibdir --parsable | sed 's/.*://')
data=$(ompi_info --path pkgdatadir --parsable | sed 's/.*://')
mkdir -p "$mpi/bin" "$mpi${components#/usr}" "$mpi${data#/usr}"
cp -L "$at/orterun" "$mpi/bin/mpirun"
cp -L "$at/orted" "$mpi/bin/orted"
cp -L "$components"/*.so "$mpi${components#/usr}"
rm -f "$mpi${components#/usr}"/*{ofi,ucx,verbs,openib,usnic,psm,portals,knem,slurm,tm,lsf,loadleveler,alps,ugni,uct,hcoll,libnbd,memchecker}*
cp -Lr "$data/." "$mpi${data#/usr}"
needed() { LD_LIBRARY_PATH=$hdf5/lib:$to/lib ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u; }
systems='/(libc|libm|libdl|libpthread|librt|ld-linux.*|libstdc\+\+|libgcc_s)\.so'
for file in $(needed "$to"/programs/* "$mpi"/bin/* "$mpi${components#/usr}"/*.so | grep -vE "$systems"); do
	[ "$(basename "$file")" = libsleek.so.0 ] || cp -L "$file" "$to/lib/"
done

cp benches/scale/{run.sh,table.py} "$to/benches/scale/"
version=$(sed -n 's/^ *HDF5 Version: *//p' "$hdf5/lib/libhdf5.settings")
cat >"$to/run.sh" <<-END
	cd "\$(dirname "\$0")"
	here=\$PWD
	export OPAL_PREFIX=\$here/mpi PATH=\$here/mpi/bin:\$PATH LD_LIBRARY_PATH=\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
	export HDF5_PLUGIN_PATH=\$here/plugin SCALE_PROGRAMS=\$here/programs SCALE_COMMIT=$(git rev-parse --short HEAD) SCALE_HDF5="$version"
	export SCALE_LINES=\${SCALE_LINES:-\$here/lines}
	exec bash benches/scale/run.sh "\$@"
END
du -sh "$to"
