# What a person types. `make help` lists it.

TARGET  := $(or $(CARGO_TARGET_DIR),target)
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
CARGO   ?= cargo

.DEFAULT_GOAL := help
.PHONY: help build demo test fmt lint doc header-check memcheck exhaustive bench peers install clean gpu-check gpu-bench kernels

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16 | sed 's/^/  make /'

build: ## the library, plugin and command, optimized
	$(CARGO) build --release

demo: ## real fields through h5repack with the filter and back through h5dump and h5py; a table of what that gave
	@bash examples/demo/demo.sh

test: ## every test that needs no GPU: Rust, C, Fortran, HDF5 tools, Python, MPI; installs what they need
	bash tests/hdf5/setup.sh
	$(CARGO) build --all-features
	$(CARGO) test --all-features

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

install: build ## into PREFIX (default /usr/local): library, header, pkg-config file, command, HDF5 plugin
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin include lib/pkgconfig lib/hdf5/plugin)
	install -m 755 $(TARGET)/release/sleek $(DESTDIR)$(PREFIX)/bin/sleek
	install -m 644 include/* $(DESTDIR)$(PREFIX)/include/
	install -m 755 $(TARGET)/release/libsleek.so $(DESTDIR)$(PREFIX)/lib/libsleek.so.$(VERSION)
	ln -sf libsleek.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libsleek.so.0
	ln -sf libsleek.so.0 $(DESTDIR)$(PREFIX)/lib/libsleek.so
	install -m 755 $(TARGET)/release/libsleek.so $(DESTDIR)$(PREFIX)/lib/hdf5/plugin/libsleek.so
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: sleek' \
		'Description: Error-bounded and lossless compression of floating-point arrays' 'Version: $(VERSION)' \
		'Libs: -L$${libdir} -lsleek' 'Cflags: -I$${includedir}' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/sleek.pc
	@echo "HDF5 finds the filter with: export HDF5_PLUGIN_PATH=$(PREFIX)/lib/hdf5/plugin"

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf build
