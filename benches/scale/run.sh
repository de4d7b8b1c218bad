#!/usr/bin/env bash
# Builds the mini-application of examples/mpi/scale and runs it in all ways, on 1 and more ranks and GPUs, with the same grid for all
# (strong) and for each rank (weak), on a RAM disk and on a disk; then writes the tables (table.py). `make scale` does this.
# Arguments: which runs, of gpus and cpus; both if none are named.
#     SCALE_RAM, SCALE_DISK   folders for the checkpoints (/dev/shm/sleek-scale, build/scale-disk)
#     SCALE_RANKS             the most ranks (the cores of this machine, 16 at most)
#     SCALE_PROGRAMS          a folder with heat3d and heat3d_gpu made elsewhere (carry.sh), and then nothing is built
#     SCALE_LINES             where the lines go; then no tables are written
#     HDF5_PARALLEL           the prefix of an HDF5 built for MPI, where it is not that of h5pcc
set -euo pipefail
cd "$(dirname "$0")/../.."
ram=${SCALE_RAM:-/dev/shm/sleek-scale} disk=${SCALE_DISK:-build/scale-disk}
programs=${SCALE_PROGRAMS:-build/scale-programs}
lines=${SCALE_LINES:-build/scale-lines}
most=${SCALE_RANKS:-$(nproc)}
[ "$most" -le 16 ] || most=16
mkdir -p "$ram" "$disk" "$programs" "$lines"
rm -f "$lines"/*
trap 'rm -rf "$ram" "$disk"' EXIT

build() {
	local library=${CARGO_TARGET_DIR:-target}/release/libsleek.so source=examples/mpi/scale compile=(h5pcc -shlib)
	mkdir -p "$programs/lib" "$programs/plugin"
	cp "$library" "$programs/lib/libsleek.so.0"
	cp "$library" "$programs/plugin/libsleek.so"
	local flags=(-std=gnu11 -O3 -Iinclude) link=("$programs/lib/libsleek.so.0" "-Wl,-rpath,$(realpath "$programs/lib")" -lm)
	if [ -n "${HDF5_PARALLEL:-}" ]; then
		compile=(mpicc "-I$HDF5_PARALLEL/include")
		link+=("-L$HDF5_PARALLEL/lib" "-Wl,-rpath,$HDF5_PARALLEL/lib" -lhdf5)
	fi
	local object
	for object in heat checkpoint cpu; do "${compile[@]}" "${flags[@]}" -c "$source/$object.c" -o "$programs/$object.o"; done
	local shared=("$programs/heat.o" "$programs/checkpoint.o")
	"${compile[@]}" "${shared[@]}" "$programs/cpu.o" -o "$programs/heat3d" "${link[@]}"
	if command -v nvcc >/dev/null; then
		nvcc -O3 -std=c++17 --extended-lambda -c "$source/gpu.cu" -o "$programs/gpu.o"
		local cuda
		cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
		"${compile[@]}" "${shared[@]}" "$programs/gpu.o" -o "$programs/heat3d_gpu" "${link[@]}" \
			"-L$cuda/lib64" "-L$cuda/targets/x86_64-linux/lib" -lcudart_static -lstdc++ -lpthread -ldl -lrt
		nvcc -O2 -std=c++17 -Iinclude -c benches/scale/halo.cu -o "$programs/halo.o"
		c++ "$programs/halo.o" -o "$programs/halo" "${link[@]}" "-L$cuda/lib64" "-L$cuda/targets/x86_64-linux/lib" -lcudart_static -lpthread -ldl -lrt
	fi
}

# run NAME PROGRAM RANKS FOLDER OPTION...: a run whose lines carry the name; one that fails leaves a line that says so.
run() {
	local name=$1 program=$2 ranks=$3 folder=$4
	echo "== $name: $ranks ranks"
	timeout "${SCALE_TIMEOUT:-300}" mpirun --oversubscribe --bind-to none -n "$ranks" "$programs/$program" "folder=$folder" \
		"name=$name" "json=$lines/lines.jsonl" "${@:5}" || echo "$name $program $ranks" >>"$lines/failed"
	rm -f "$folder"/*
}

cpus() {
	local n
	for ((n = 1; n <= most; n *= 2)); do
		run strong heat3d "$n" "$ram" grid=256x256x512 ways=none,none-together,gzip,fast,adaptive,small,direct,none-files,files
		run weak heat3d "$n" "$ram" "grid=256x256x$((64 * n))" ways=none,none-files,adaptive,small,files
	done
	run disk heat3d "$most" "$disk" grid=256x256x512 ways=none,none-files,adaptive,small,files
}

gpus() {
	local n count=$1 one_file=direct,direct-small,multi,multi-small files=none-files,files,files-small
	echo "== halo"
	"$programs/halo" >"$lines/halo.jsonl" || echo halo >>"$lines/failed"
	for ((n = 1; n <= count; n *= 2)); do
		run weak heat3d_gpu "$n" "$ram" "grid=512x512x$((640 * n))" steps=25 every=5 ways=none,none-together,adaptive,$one_file,$files
		run strong heat3d_gpu "$n" "$ram" grid=512x512x2560 steps=25 every=5 ways=none,none-files,multi,files
	done
	run disk heat3d_gpu 1 "$disk" grid=512x512x512 steps=25 every=5 ways=none,$one_file,$files
	run disk heat3d_gpu "$count" "$disk" "grid=512x512x$((512 * count))" steps=25 every=5 ways=none,$one_file,$files
	run large heat3d_gpu "$count" "$ram" "grid=512x512x$((1280 * count))" ways=none,none-files,multi,files
	run all heat3d_gpu "$count" "$ram" "grid=512x512x$((256 * count))" steps=20 ways=none,gzip,fast,adaptive,small,direct,multi,none-files,files
	run shared heat3d_gpu "$((2 * count))" "$ram" grid=512x512x2560 ways=none,none-files,multi,files
}

[ -n "${SCALE_PROGRAMS:-}" ] || build
export HDF5_PLUGIN_PATH=${HDF5_PLUGIN_PATH:-$(realpath "$programs/plugin")} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PMIX_MCA_pcompress_base_silence_warning=1
python3 benches/scale/table.py machine >"$lines/machine.json"
count=$({ nvidia-smi -L 2>/dev/null || true; } | grep -c ^GPU || true)
[ $# -gt 0 ] || set -- gpus cpus
for part; do
	if [ "$part" = cpus ]; then cpus
	elif [ "$count" -gt 0 ] && [ -x "$programs/heat3d_gpu" ]; then gpus "$count"
	else echo "no GPU, or no nvcc: the GPU's runs are left out"; fi
done
[ -n "${SCALE_LINES:-}" ] || python3 benches/scale/table.py tables "$lines"
