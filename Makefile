# What a person types. `make help` lists it.

TARGET  := $(or $(CARGO_TARGET_DIR),target)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
HDF5_PLUGIN_DIR ?= $(LIBDIR)/hdf5/plugin
VERSION := $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
CARGO   ?= cargo

.DEFAULT_GOAL := help
<<<<<<< HEAD
.PHONY: help build demo test fmt lint doc header-check memcheck exhaustive bench peers install clean gpu-check gpu-bench kernels
=======
.PHONY: help build demo test fmt lint doc header-check memcheck exhaustive bench peers static wheel install uninstall clean
>>>>>>> main

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16 | sed 's/^/  make /'

build: ## the library, plugin and command, optimized
	$(CARGO) build --release

demo: ## real fields through h5repack with the filter and back through h5dump and h5py; a table of what that gave
	@bash examples/demo/demo.sh

test: ## every test that needs no GPU: Rust, C, Fortran, HDF5 tools, Python, MPI, make install; installs what they need
	bash tests/hdf5/setup.sh
	$(CARGO) build --all-features
	$(CARGO) test --all-features
	bash tests/install.sh
	bash tests/python.sh

fmt: ## format the Rust sources
	$(CARGO) fmt

lint: ## what CI refuses: unformatted sources, warnings of clippy and rustdoc
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features

doc: ## the Rust documentation
	$(CARGO) doc --no-deps --all-features

header-check: ## include/sleek.h is what the sources say
	$(CARGO) test --test header

memcheck: ## the C tests under valgrind
	@bash examples/demo/need.sh valgrind:valgrind cc:gcc
	$(CARGO) test --test capi -- --ignored

exhaustive: ## every f32, f16 and bf16 pattern against a spread of bounds; minutes
	SLEEK_EXHAUSTIVE=1 $(CARGO) test --release --test exhaustive -- --nocapture

bench: ## our own ratio, and speed against memcpy
	$(CARGO) bench --bench ratio
	$(CARGO) bench --bench cpu

peers: ## other HDF5 filters on the same fields: docs/peers.md and its plot; minutes (PEERS=--quick for a short run)
	@bash benches/peers/run.sh $(PEERS)

gpu-check: ## on a machine with a GPU: CPU and GPU bytes on real fields and odd inputs, compute-sanitizer
	@bash tests/gpu/check.sh

gpu-bench: ## on a machine with a GPU: compress and decompress beside a device-to-device copy
	@bash tests/gpu/bench.sh

kernels: ## kernels/*.ptx from the kernel sources, with NVRTC 12.0 from PyPI
	@bash kernels/build.sh

static: # the static library, in a folder of its own: two plugins in one program would collide, so it is none
	$(CARGO) rustc --release --lib --crate-type staticlib --no-default-features --target-dir $(TARGET)/static

wheel: build ## the Python package, in build/wheel
	SLEEK_LIBRARY=$(abspath $(TARGET)/release/libsleek.so) bash python/wheel.sh build/wheel

install: build static ## into PREFIX (default /usr/local): libraries, headers, CMake and pkg-config files, command, HDF5 plugin
	@PREFIX="$(abspath $(PREFIX))" LIBDIR="$(abspath $(LIBDIR))" HDF5_PLUGIN_DIR="$(abspath $(HDF5_PLUGIN_DIR))" \
		DESTDIR="$(DESTDIR)" VERSION=$(VERSION) RELEASE="$(TARGET)/release" STATIC="$(TARGET)/static/release/libsleek.a" \
		bash packaging/install.sh

uninstall: ## what make install put into PREFIX
	@PREFIX="$(abspath $(PREFIX))" DESTDIR="$(DESTDIR)" bash packaging/uninstall.sh

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf build
