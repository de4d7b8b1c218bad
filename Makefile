# What a person types. `make help` lists it.

TARGET  := $(or $(CARGO_TARGET_DIR),target)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
HDF5_PLUGIN_DIR ?= $(LIBDIR)/hdf5/plugin
VERSION := $(shell sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
CARGO   ?= cargo
# What is installed and packed: the release, or what lies in the folder SLEEK_PREBUILT (libsleek.so, sleek, THIRD-PARTY.txt, and
# where STATIC asks for it libsleek.a), and then nothing is built.
RELEASE := $(or $(SLEEK_PREBUILT),$(TARGET)/release)

.DEFAULT_GOAL := help
.PHONY: help build demo test fmt lint docs bench kernels gpu-check install uninstall dist nightly clean

help: # this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16 | sed 's/^/  make /'

build: $(if $(SLEEK_PREBUILT),,kernels) ## the library, plugin and command, optimized
	$(if $(SLEEK_PREBUILT),,$(CARGO) build --release && python3 packaging/licences.py > $(RELEASE)/THIRD-PARTY.txt)

demo: ## real fields and a simulated one through h5repack with the filter and back through h5dump and h5py; a table of what that gave
	@bash examples/demo/demo.sh

test: ## every kind of test that needs no GPU, with one build: Rust, C, Fortran, HDF5, Python, MPI, make install
	@bash tests/all.sh

# clang-format, if there is one; CUDA sources end their lines at 120 columns too.
CLANG_FORMAT ?= clang-format
CUDA_SOURCES := $(wildcard kernels/*/*.cu kernels/*/*.cuh kernels/*/*/*.cuh tests/codecs/*/*.cu tests/gpu/*.cu) \
	$(wildcard examples/cuda/*.cu examples/mpi/scale/*.cu) \
	tests/gpu/cpu_shim.h tests/gpu/driver.cpp

fmt: ## format the Rust and CUDA sources
	$(CARGO) fmt --all
	@for file in $(wildcard tests/codecs/*/*.rs); do rustfmt --edition 2024 $$file || exit 1; done
	@if command -v $(CLANG_FORMAT) >/dev/null; then $(CLANG_FORMAT) -i $(CUDA_SOURCES); \
	else echo "clang-format is not installed (pip install clang-format==23.1.5): the CUDA sources were left as they are"; fi

ARM := aarch64-unknown-linux-gnu
lint: ## what CI refuses: unformatted sources, warnings of clippy and rustdoc, also without GPU code
	@bash examples/demo/need.sh cc:gcc pkg-config:pkg-config h5cc:libhdf5-dev
	$(CARGO) fmt --all --check
	@for file in $(wildcard tests/codecs/*/*.rs); do rustfmt --edition 2024 --check $$file || exit 1; done
	@if command -v $(CLANG_FORMAT) >/dev/null; then $(CLANG_FORMAT) --dry-run --Werror $(CUDA_SOURCES); \
	else echo "clang-format is not installed (pip install clang-format==23.1.5): the CUDA sources were not looked at"; fi
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	$(CARGO) clippy -p sleek-compress --no-default-features --features plugin -- -D warnings
	@if rustup target list --installed 2>/dev/null | grep -qx $(ARM); then \
		$(CARGO) clippy -p sleek-compress --no-default-features --target $(ARM) -- -D warnings; \
	else echo "$(ARM) is not installed (rustup target add $(ARM)): NEON was not looked at"; fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --all-features

docs: ## the documentation as a site, build/site, and that of the Rust interface; installs mdBook into build/tools if it is not there
	@bash packaging/site.sh build/site
	$(CARGO) doc --no-deps --all-features

PROOFS ?=
nightly: ## slow proofs, hours: fuzzing, sanitizers, Miri, Arm, damage, … (PROOFS="miri asan": some; tests/proofs.sh lists them)
	@bash tests/proofs.sh $(PROOFS)

BENCH ?= measure hdf5 page
bench: ## docs/performance.md: ratio, error and speed beside other compressors, on a quiet machine; an hour (BENCH="measure --quick": minutes)
	$(MAKE) -s dist DIST=wheel
	[ -x build/bench/bin/python ] || python3 -m venv build/bench
	build/bench/bin/python -m pip install -q --disable-pip-version-check -r benches/requirements.txt
	build/bench/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall build/wheel/sleek_compress-*.whl
	$(if $(filter --quick,$(BENCH)),build/bench/bin/python benches/bench.py $(BENCH),@for part in $(BENCH); do \
		build/bench/bin/python benches/bench.py $$part || exit 1; done)

gpu-check: kernels ## on a machine with a GPU: CPU and GPU bytes on real fields and odd inputs, compute-sanitizer
	@bash tests/gpu/check.sh

kernels: ## the compiled kernels, in target/kernels, with NVRTC and ptxas from PyPI; minutes. SLEEK_KERNELS=FOLDER takes others, =none none
	$(if $(SLEEK_KERNELS),,@python3 kernels/build.py $(TARGET)/kernels)

.PHONY: told
told:
	@echo "Sleek goes to $(PREFIX) and takes 40 MB. Compiling takes minutes: on two cores three for the library and the command, and, if"
	@echo "they are not in $(TARGET)/kernels, three for the kernels of GPUs (SLEEK_KERNELS=none leaves them out)."

install: $(if $(wildcard $(RELEASE)/libsleek.so),,told) build ## into PREFIX (default /usr/local): library, headers, CMake and pkg-config files, command, HDF5 plugin (STATIC=yes: libsleek.a)
	@PREFIX="$(abspath $(PREFIX))" LIBDIR="$(abspath $(LIBDIR))" \
		HDF5_PLUGIN_DIR="$(if $(filter auto auto:%,$(HDF5_PLUGIN_DIR)),$(HDF5_PLUGIN_DIR),$(abspath $(HDF5_PLUGIN_DIR)))" \
		FORTRAN="$(FORTRAN)" DESTDIR="$(DESTDIR)" VERSION=$(VERSION) RELEASE="$(RELEASE)" \
		STATIC="$(if $(STATIC),$(RELEASE)/libsleek.a)" \
		bash packaging/install.sh

DIST ?= wheel decoder tarball deb crates sbom
dist: $(if $(SLEEK_PREBUILT),,kernels) $(if $(filter deb,$(DIST)),build) ## packages, in build/: Python wheels, tarball, Debian packages, crates (dry run), bill of materials (DIST=wheel: one)
	@CARGO_TARGET_DIR="$(abspath $(TARGET))" bash packaging/dist.sh $(DIST)

uninstall: ## what make install put into PREFIX, and nothing outside of it
	@PREFIX="$(abspath $(PREFIX))" DESTDIR="$(DESTDIR)" bash packaging/uninstall.sh

.PHONY: findings
findings: # surprises in outside libraries, tools and formats: does each still stand? 10 minutes; fetches packages
	@gone=; for f in findings/*.sh; do echo $$f; $$f || gone="$$gone $$f"; done; [ -z "$$gone" ] || ! echo gone:$$gone

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf build
