#!/usr/bin/env bash
# Puts what was built under $PREFIX, behind $DESTDIR if that is set, and writes a list of it for uninstall.sh.
# `make install` sets the variables: PREFIX, LIBDIR and HDF5_PLUGIN_DIR (absolute), DESTDIR, VERSION,
# RELEASE (folder of libsleek.so and sleek), STATIC (libsleek.a).
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in "$PREFIX" "$LIBDIR" "$HDF5_PLUGIN_DIR"; do
    case $folder in
    *[[:space:]\|\&]*) echo "cannot install to '$folder': white space, | and & break pkg-config or CMake" >&2 && exit 1 ;;
    /*) ;;
    *) echo "cannot install to '$folder': an absolute path is needed" >&2 && exit 1 ;;
    esac
done

list=$PREFIX/share/sleek/installed.txt
major=${VERSION%%.*}
installed=("$list")

put() { # mode, file, place
    install -D -m "$1" "$2" "$DESTDIR$3"
    installed+=("$3")
}

link() { # what the link says, place
    ln -sfn "$1" "$DESTDIR$2"
    installed+=("$2")
}

fill() { # template, place: the template with its @NAMES@ replaced
    install -d "$DESTDIR$(dirname "$2")"
    # Paths in CMake's files are relative to the prefix where they can be, so that a moved prefix still works.
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@PREFIX@|$PREFIX|g" -e "s|@LIBDIR@|$LIBDIR|g" \
        -e "s|@SONAME@|libsleek.so.$major|g" \
        -e "s|@TO_PREFIX@|$(realpath -m --relative-to="$(dirname "$2")" "$PREFIX")|g" \
        -e "s|@TO_LIBDIR@|$(realpath -m --relative-to="$PREFIX" "$LIBDIR")|g" \
        -e "s|@PLUGIN_DIR@|$(under_prefix "$HDF5_PLUGIN_DIR")|g" "$1" > "$DESTDIR$2"
    chmod 644 "$DESTDIR$2"
    installed+=("$2")
}

under_prefix() {
    case $1 in
    "$PREFIX"/*) echo "\${SLEEK_PREFIX}${1#"$PREFIX"}" ;;
    *) echo "$1" ;;
    esac
}

complete() { # shell, place: how the shell completes the command's arguments
    install -d "$DESTDIR$(dirname "$2")"
    "$RELEASE/sleek" completions "$1" > "$DESTDIR$2"
    chmod 644 "$DESTDIR$2"
    installed+=("$2")
}

put 755 "$RELEASE/sleek" "$PREFIX/bin/sleek"
put 644 packaging/sleek.1 "$PREFIX/share/man/man1/sleek.1"
complete bash "$PREFIX/share/bash-completion/completions/sleek"
complete zsh "$PREFIX/share/zsh/site-functions/_sleek"
complete fish "$PREFIX/share/fish/vendor_completions.d/sleek.fish"
for header in include/*; do
    put 644 "$header" "$PREFIX/$header"
done
put 755 "$RELEASE/libsleek.so" "$LIBDIR/libsleek.so.$VERSION"
link "libsleek.so.$VERSION" "$LIBDIR/libsleek.so.$major"
link "libsleek.so.$major" "$LIBDIR/libsleek.so"
put 644 "$STATIC" "$LIBDIR/libsleek.a"
fill packaging/sleek.pc.in "$LIBDIR/pkgconfig/sleek.pc"
fill cmake/sleekConfig.cmake.in "$LIBDIR/cmake/sleek/sleekConfig.cmake"
fill cmake/sleekConfigVersion.cmake.in "$LIBDIR/cmake/sleek/sleekConfigVersion.cmake"
# A file, not a link: HDF5 opens every library of that folder, which may be shared by several prefixes.
put 755 "$RELEASE/libsleek.so" "$HDF5_PLUGIN_DIR/libsleek.so"

install -d "$DESTDIR$(dirname "$list")"
printf '%s\n' "${installed[@]}" > "$DESTDIR$list"
echo "installed to $DESTDIR$PREFIX; HDF5 finds the filter with: export HDF5_PLUGIN_PATH=$HDF5_PLUGIN_DIR"
