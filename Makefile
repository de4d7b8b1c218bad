# What a person types. `make help` lists it.

TARGET  := $(or $(CARGO_TARGET_DIR),target)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
HDF5_PLUGIN_DIR ?= $(LIBDIR)/hdf5/plugin
VERSION := $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
CARGO   ?= cargo
# What is installed and packed: the release, or what lies in the folder SLEEK_PREBUILT (libsleek.so, sleek, and a libsleek.a
# without the plugin's entry points), and then nothing is built.
RELEASE := $(or $(SLEEK_PREBUILT),$(TARGET)/release)
STATIC  := $(or $(SLEEK_PREBUILT),$(TARGET)/static/release)

.DEFAULT_GOAL := help
.PHONY: help build aarch64 demo test test-long test-all prebuilt fmt lint doc header-check
.PHONY: memcheck subfiling kills asan ubsan tsan miri fuzz-smoke fuzz fuzz-carry nightly
.PHONY: damage unsafe-count deny release-check sbom reproducible exhaustive bench bench-calls repack-speed report report-speeds scale \
	kernels gpu-check gpu-bench static portable wheel decoder h5wasm install uninstall clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16 | sed 's/^/  make /'

build: $(if $(SLEEK_PREBUILT),,kernels) ## the library, plugin and command, optimized
	$(if $(SLEEK_PREBUILT),,$(CARGO) build --release)

demo: ## real fields and a simulated one through h5repack with the filter and back through h5dump and h5py; a table of what that gave
	@bash examples/demo/demo.sh

test: export SLEEK_SHORT = 1
test: export SLEEK_PREBUILT = $(abspath $(TARGET))/prebuilt
test: ## every kind of test that needs no GPU, on fewer cases, with one build: Rust, C, Fortran, HDF5, Python, MPI, make install
	$(MAKE) -s -j2 tools prebuilt
	$(CARGO) test --all-features
	bash tests/install.sh
	bash tests/python.sh
	bash tests/quickstart.sh
	bash tests/docs.sh
	bash tests/packages.sh

# What tests need is fetched while they are compiled, and the release is built while they run; what cargo does at once is its own
# affair, not make's.
.PHONY: headers tools programs rust-tests release
# What compiling the tests needs of the system: nothing is compiled before it is there.
headers:
	@bash examples/demo/need.sh cc:gcc pkg-config:pkg-config h5cc:libhdf5-dev
tools: headers
	bash tests/hdf5/setup.sh
programs: headers kernels
	MAKEFLAGS= $(CARGO) test --all-features --no-run
rust-tests:
	MAKEFLAGS= $(CARGO) test --all-features
release:
	MAKEFLAGS= $(MAKE) -s build static

# The library that the Rust tests link and load, and the command, for the scripts after them; the static one has other features.
prebuilt: programs
	MAKEFLAGS= CARGO_PROFILE_DEV_OPT_LEVEL=0 $(CARGO) rustc -p sleek-compress --lib --crate-type staticlib --no-default-features \
		--target-dir $(TARGET)/static
	mkdir -p "$(SLEEK_PREBUILT)"
	cp -lf $(TARGET)/debug/deps/libsleek.so $(TARGET)/debug/sleek $(TARGET)/static/debug/libsleek.a "$(SLEEK_PREBUILT)"

test-long: ## what CI runs: the same on all cases, with the release installed and packed, and all recipes
	$(MAKE) -s -j2 tools programs
	$(MAKE) -s -j2 rust-tests release
	$(MAKE) -s scripts

# What is tested from outside, with the release.
.PHONY: scripts
scripts:
	bash tests/install.sh
	bash tests/python.sh
	bash tests/quickstart.sh
	bash tests/recipes.sh
	bash integrations/zarrs/test.sh
	bash tests/docs.sh
	bash tests/packages.sh

test-all: test-long ## test-long, then the packages, which are built and used in a fresh Debian root; needs root and a Debian mirror
	$(MAKE) deb tarball wheel
	$(MAKE) clean-room

# clang-format, if there is one; CUDA sources end their lines at 120 columns too.
CLANG_FORMAT ?= clang-format
CUDA_SOURCES := $(wildcard kernels/*/*.cu kernels/*/*.cuh kernels/*/*/*.cuh tests/codecs/*/*.cu tests/gpu/*.cu) \
	$(wildcard examples/cuda/*.cu examples/mpi/scale/*.cu benches/scale/*.cu) \
	tests/gpu/cpu_shim.h tests/gpu/driver.cpp

fmt: ## format the Rust and CUDA sources
	$(CARGO) fmt --all
	@for file in $(wildcard tests/codecs/*/*.rs); do rustfmt --edition 2024 $$file || exit 1; done
	@if command -v $(CLANG_FORMAT) >/dev/null; then $(CLANG_FORMAT) -i $(CUDA_SOURCES); \
	else echo "clang-format is not installed (pip install clang-format==23.1.5): the CUDA sources were left as they are"; fi

lint: headers ## what CI refuses: unformatted sources, warnings of clippy and rustdoc
	$(CARGO) fmt --all --check
	@for file in $(wildcard tests/codecs/*/*.rs); do rustfmt --edition 2024 --check $$file || exit 1; done
	@if command -v $(CLANG_FORMAT) >/dev/null; then $(CLANG_FORMAT) --dry-run --Werror $(CUDA_SOURCES); \
	else echo "clang-format is not installed (pip install clang-format==23.1.5): the CUDA sources were not looked at"; fi
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features

site: ## the documentation as a site, build/site; installs mdBook into build/tools if it is not there
	@bash packaging/site.sh build/site

doc: ## the Rust documentation
	$(CARGO) doc --no-deps --all-features

header-check: ## include/sleek.h is what the sources say
	$(CARGO) test --test header

memcheck: ## the C tests under valgrind
	@bash examples/demo/need.sh valgrind:valgrind cc:gcc
	$(CARGO) test --all-features --test capi -- --ignored

subfiling: ## ranks that share a file by subfiling and by collective metadata, with an HDF5 2.2 that it builds for MPI; minutes
	@bash tests/hdf5/setup.sh
	@bash tests/hdf5/subfiling.sh

KILLS ?= 500
kills: ## compress and decompress, with and without --force, repack and a batch of it: KILLS (500) times each killed at a random moment
	@bash tests/hdf5/setup.sh
	SLEEK_KILLS=$(KILLS) $(CARGO) test --all-features --test cli --test hdf5 -- --nocapture killed_at_any_moment

asan: ## the C and HDF5 tests with the library under AddressSanitizer; needs a nightly toolchain and clang
	@bash tests/hdf5/setup.sh
	@bash tests/asan.sh

ubsan: kernels ## the C tests, and the kernels as the stand-in driver runs them, under UndefinedBehaviorSanitizer
	@bash examples/demo/need.sh cc:gcc c++:g++
	SLEEK_TEST_CFLAGS="-fsanitize=undefined -fno-sanitize-recover=undefined" $(CARGO) test --all-features --test capi --test cuda

tsan: ## threads that compress and decompress under ThreadSanitizer; needs a nightly toolchain with rust-src, minutes
	RUSTFLAGS=-Zsanitizer=thread $(CARGO) +nightly test -p sleek-compress -Zbuild-std --no-default-features --features test-codecs \
		--target x86_64-unknown-linux-gnu --target-dir $(TARGET)/tsan --test threads

PART ?=
miri: ## codecs and format in Miri, which watches each access; needs a nightly toolchain with miri; PART=NAME runs some of it
	@bash tests/miri.sh $(PART)

MINUTES ?= 10
fuzz-smoke: ## every fuzz target for a few seconds, two at once; passed over with a word where nightly or cargo-fuzz is missing
	@SLEEK_FUZZ_AT_ONCE=2 bash fuzz/run.sh 10

fuzz: ## every fuzz target for MINUTES (10), going on from where the last run stopped
	@SLEEK_FUZZ=required bash fuzz/run.sh $$((60 * $(MINUTES)))

fuzz-carry: ## build/fuzz: all fuzz targets with their corpora and run.sh, for a machine with many cores and without Rust
	@bash fuzz/carry.sh build/fuzz

nightly: ## what a night is for: fuzzing (MINUTES for each target), damage, memcheck, sanitizers, Miri, Arm, h5wasm
	$(MAKE) fuzz damage memcheck asan ubsan tsan miri aarch64 h5wasm

damage: ## a million streams with random damage, none of which may be decoded
	SLEEK_DAMAGE=1000000 $(CARGO) test --test corruption random_damage -- --nocapture

aarch64: ## the library's tests as an AArch64 processor runs them, in the emulator, NEON level included
	@bash tests/aarch64.sh

unsafe-count: ## unsafe blocks, functions and impls of the library, by folder; clippy sees to a SAFETY note on each block
	@cd src && for at in *; do \
		count() { grep -rE "$$1" $$at | grep -cvE '^[^:]*:? *//'; }; \
		blocks=$$(count 'unsafe \{'); functions=$$(count 'unsafe (extern "C" )?fn +[a-z]'); impls=$$(count 'unsafe impl'); \
		[ $$((blocks + functions + impls)) = 0 ] || printf '%-12s %3d blocks %3d functions %3d impls\n' $$at $$blocks $$functions $$impls; \
	done

deny: ## licences, sources and known weaknesses of what the library is built from; needs cargo-deny, and github.com
	$(CARGO) deny --all-features check licenses bans sources
	$(CARGO) deny --all-features check advisories

release-check: ## what comes before a release, into docs/results/release.tsv; an hour (CHECKS="abi sbom": some; CHECKS=proofs: the slow ones)
	@bash tests/release-check.sh $(CHECKS)

sbom: ## build/sleek.cdx.json, which lists everything that the library and the command are built from; needs cargo-cyclonedx
	$(CARGO) cyclonedx --quiet --all-features --format json --spec-version 1.5 --override-filename sleek.cdx
	mkdir -p build && sed "s#file://$(CURDIR)#file:///sleek#" cli/sleek.cdx.json >build/sleek.cdx.json
	rm -f sleek.cdx.json cli/sleek.cdx.json

reproducible: ## builds the release twice, in folders of different names, and compares the bytes; minutes
	@bash packaging/reproducible.sh

exhaustive: ## every f32, f16 and bf16 pattern against a spread of bounds; minutes
	SLEEK_EXHAUSTIVE=1 $(CARGO) test --release --test exhaustive -- --nocapture

bench: ## our own ratio, speed against memcpy by instruction set, of small arrays, and what the checksums cost
	$(CARGO) bench --bench ratio
	$(CARGO) bench --bench cpu
	$(CARGO) bench --bench small
	$(CARGO) bench --bench checksum
	$(CARGO) bench --bench missing

CALLS_DATA ?= $(if $(SLEEK_DATA),$(SLEEK_DATA)/navy_uwnd_132x73x144.f32,tests/data/navy_uwnd_12x73x144.f32)
bench-calls: ## from C, what a call takes between other work, and what threads gain (THREADS="1 2 4"; default 1 and all)
	@bash examples/demo/need.sh cc:gcc
	$(CARGO) build --release --lib
	cc -O2 -Wall -Wextra -Iinclude benches/calls.c $(TARGET)/release/libsleek.a -lpthread -ldl -lm -o $(TARGET)/release/calls
	$(TARGET)/release/calls $(CALLS_DATA) 0.05 $(THREADS)

repack-speed: ## how fast sleek repack is on files of 500 MB, against what disk and codecs allow (needs SLEEK_DATA)
	$(CARGO) build --release --bin sleek
	SLEEK_BINARY=$(TARGET)/release/sleek bash tests/hdf5/repack_speed.sh

report: ## tables, plots and sentences of docs/performance.md and other pages: ratios, speeds, errors of all codecs; 25 minutes (REPORT=--quick: 3)
	@bash benches/report/run.sh $(REPORT)

report-speeds: ## the speeds alone, on a quiet machine, and the pages; 9 minutes
	@bash benches/report/run.sh speeds plots pages

scale: build ## docs/guide/scale.md: checkpoints of ranks and GPUs through parallel HDF5, in all ways (examples/mpi/scale); needs mpirun and h5pcc
	@bash examples/demo/need.sh h5pcc:libhdf5-openmpi-dev mpirun:openmpi-bin
	bash benches/scale/run.sh

gpu-check: kernels ## on a machine with a GPU: CPU and GPU bytes on real fields and odd inputs, compute-sanitizer
	@bash tests/gpu/check.sh

gpu-bench: kernels ## on a machine with a GPU: compress and decompress beside a device-to-device copy
	@bash tests/gpu/bench.sh

kernels: ## the compiled kernels, in target/kernels, with NVRTC and ptxas from PyPI; minutes. SLEEK_KERNELS=FOLDER takes others, =none none
	$(if $(SLEEK_KERNELS),,@python3 kernels/build.py $(TARGET)/kernels)

static: # the static library, in a folder of its own: two plugins in one program would collide, so it is none
	$(if $(SLEEK_PREBUILT),,$(STATIC_ENV) $(CARGO) rustc -p sleek-compress --release --lib --crate-type staticlib \
		--no-default-features --target-dir $(TARGET)/static)

# Whoever waits knows for what: the library is compiled once, and once more into the command.
.PHONY: wheel-time
wheel-time:
	$(if $(SLEEK_PREBUILT),,@echo "make wheel: about 4 minutes on two cores, unless the release is built already")

wheel: wheel-time build ## the Python package, in build/wheel; minutes
	SLEEK_LIBRARY=$(abspath $(RELEASE)/libsleek.so) bash python/wheel.sh build/wheel

decoder: ## the Python package that only reads, in Python and numpy alone, in build/decoder
	@bash python/decoder/wheel.sh build/decoder

h5wasm: ## build/h5wasm: the filter for HDF5 in browsers, an npm package, tested in Node.js and Chromium; needs nightly with rust-src
	@bash integrations/h5wasm/test.sh build/h5wasm

install: build static ## into PREFIX (default /usr/local): libraries, headers, CMake and pkg-config files, command, HDF5 plugin
	@PREFIX="$(abspath $(PREFIX))" LIBDIR="$(abspath $(LIBDIR))" \
		HDF5_PLUGIN_DIR="$(if $(filter auto auto:%,$(HDF5_PLUGIN_DIR)),$(HDF5_PLUGIN_DIR),$(abspath $(HDF5_PLUGIN_DIR)))" \
		FORTRAN="$(FORTRAN)" DESTDIR="$(DESTDIR)" VERSION=$(VERSION) RELEASE="$(RELEASE)" STATIC="$(STATIC)/libsleek.a" \
		bash packaging/install.sh

tarball: build static ## a prefix that may be unpacked anywhere, with its checksum, in build/dist
	@bash packaging/tarball.sh build/dist

portable: ## wheel and tarball that run on glibc 2.17 or newer, in build/wheel and build/dist; with zig, from PyPI (MACHINE=aarch64)
	@bash packaging/portable.sh build/portable $(MACHINE)

deb: build static ## Debian packages for this release of Debian or Ubuntu, in build/deb
	@CARGO_TARGET_DIR="$(abspath $(TARGET))" bash packaging/deb.sh build/deb

clean-room: ## a fresh Debian root without the sources: packages put in and out, quick starts, examples; needs root and make deb tarball wheel
	@bash tests/clean-room.sh

uninstall: ## what make install put into PREFIX
	@PREFIX="$(abspath $(PREFIX))" DESTDIR="$(DESTDIR)" bash packaging/uninstall.sh

.PHONY: findings
findings: ## surprises in outside libraries, tools and formats: does each still stand? 10 minutes; fetches packages
	@gone=; for f in findings/*.sh; do echo $$f; $$f || gone="$$gone $$f"; done; [ -z "$$gone" ] || ! echo gone:$$gone

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf build
