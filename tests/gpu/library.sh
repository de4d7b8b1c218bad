# For scripts that build programs with nvcc, to be sourced. $what is left out, with a word, where something for it is missing.
left_out() { echo "$1: $what was left out" && exit 0; }
command -v nvcc > /dev/null || left_out "nvcc is not installed"

# Sets work, a folder that goes when the script ends, with the library in it: SLEEK_LIBRARY if that was built elsewhere.
make_work() {
    local library=${SLEEK_LIBRARY:-}
    if [ -z "$library" ]; then
        command -v cargo > /dev/null || left_out "cargo is not installed and SLEEK_LIBRARY not set"
        cargo build --release --lib
        library=${CARGO_TARGET_DIR:-target}/release/libsleek.so
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$library" "$work/libsleek.so.0"
    ln -s libsleek.so.0 "$work/libsleek.so"
    export LD_LIBRARY_PATH=$work:${LD_LIBRARY_PATH:-}
}
