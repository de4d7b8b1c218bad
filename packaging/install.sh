#!/usr/bin/env bash
# Puts what was built under $PREFIX, behind $DESTDIR if that is set, and writes a list of it for uninstall.sh.
# `make install` sets the variables: PREFIX and LIBDIR (absolute), HDF5_PLUGIN_DIR (absolute, several as a:b, or auto or auto:PART),
# FORTRAN (a compiler, or nothing), DESTDIR, VERSION, RELEASE (folder of libsleek.so, sleek and THIRD-PARTY.txt), STATIC (libsleek.a, or
# nothing). What has tables for debuggers loses them by STRIP (strip; `STRIP=:` keeps them).
set -euo pipefail
cd "$(dirname "$0")/.."

# The folders that the machine's HDF5 libraries search by themselves, those in Python left out; $1 is a part of the libraries' paths.
searched() {
    { env -u HDF5_PLUGIN_PATH "$RELEASE/sleek" doctor || true; } | awk -v part="$1" '
        /^  \// { on = index($1, part) && !/ in python3\)$/ }
        on && $1 == "searches" { sub(/:$/, "", $2); if (!seen[$2]++) print $2 }'
}

case $HDF5_PLUGIN_DIR in
auto | auto:*)
    part=${HDF5_PLUGIN_DIR#auto}
    mapfile -t plugin_dirs < <(searched "${part#:}")
    if [ ${#plugin_dirs[@]} = 0 ]; then
        echo "no libhdf5 with '${part#:}' in its path was found (sleek doctor lists them): HDF5_PLUGIN_DIR may also be a folder" >&2
        exit 1
    fi
    ;;
*) IFS=: read -ra plugin_dirs <<< "$HDF5_PLUGIN_DIR" ;;
esac

for folder in "$PREFIX" "$LIBDIR" "${plugin_dirs[@]}"; do
    case $folder in
    *[[:space:]\|\&]*) echo "cannot install to '$folder': white space, | and & break pkg-config or CMake" >&2 && exit 1 ;;
    /*) ;;
    *) echo "cannot install to '$folder': an absolute path is needed" >&2 && exit 1 ;;
    esac
done

list=$PREFIX/share/sleek/installed.txt
major=${VERSION%%.*}
installed=()

put() { # mode, file, place
    install -D -m "$1" "$2" "$DESTDIR$3"
    installed+=("$3")
}

put_stripped() { # options of strip, mode, file, place
    put "$2" "$3" "$4"
    "${STRIP:-strip}" "$1" "$DESTDIR$4"
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
        -e "s|@PLUGIN_DIR@|$(under_prefix "${plugin_dirs[0]}")|g" "$1" > "$DESTDIR$2"
    chmod 644 "$DESTDIR$2"
    installed+=("$2")
}

under_prefix() {
    case $1 in
    "$PREFIX"/*) echo "\${SLEEK_PREFIX}${1#"$PREFIX"}" ;;
    *) echo "$1" ;;
    esac
}

complete() { # shell or man, place: how the shell completes the command's arguments, or the manual page
    install -d "$DESTDIR$(dirname "$2")"
    ${SLEEK_RUNNER:-} "$RELEASE/sleek" completions "$1" > "$DESTDIR$2"
    chmod 644 "$DESTDIR$2"
    installed+=("$2")
}

put_stripped --strip-all 755 "$RELEASE/sleek" "$PREFIX/bin/sleek"
complete man "$PREFIX/share/man/man1/sleek.1"
complete bash "$PREFIX/share/bash-completion/completions/sleek"
complete zsh "$PREFIX/share/zsh/site-functions/_sleek"
complete fish "$PREFIX/share/fish/vendor_completions.d/sleek.fish"
for header in include/*; do
    put 644 "$header" "$PREFIX/$header"
done
# Modules as one compiler writes them, with the code behind them.
if [ -n "$FORTRAN" ]; then
    include=$PWD/include
    built=$(mktemp -d)
    trap 'rm -rf "$built"' EXIT
    (cd "$built" && "$FORTRAN" -c -O2 -fPIC "$include/sleek.f90" "$include/sleek_hdf5.f90" "$include/sleek_h5d.f90" && ar rcs libsleek_fortran.a ./*.o)
    for file in "$built"/*.mod "$built/libsleek_fortran.a"; do
        put 644 "$file" "$LIBDIR/sleek/${FORTRAN##*/}/${file##*/}"
    done
fi
put_stripped --strip-unneeded 755 "$RELEASE/libsleek.so" "$LIBDIR/libsleek.so.$VERSION"
link "libsleek.so.$VERSION" "$LIBDIR/libsleek.so.$major"
link "libsleek.so.$major" "$LIBDIR/libsleek.so"
# Two plugins in one program would collide: a static library hides what only a plugin is asked for.
if [ -n "$STATIC" ]; then
    put 644 "$STATIC" "$LIBDIR/libsleek.a"
    "${OBJCOPY:-objcopy}" --strip-debug --wildcard --localize-symbol='H5PL*' --localize-symbol='NCZ_*' "$DESTDIR$LIBDIR/libsleek.a"
fi
for text in LICENSE-MIT LICENSE-APACHE "$RELEASE/THIRD-PARTY.txt"; do
    put 644 "$text" "$PREFIX/share/doc/sleek/${text##*/}"
done
fill packaging/sleek.pc.in "$LIBDIR/pkgconfig/sleek.pc"
fill cmake/sleekConfig.cmake.in "$LIBDIR/cmake/sleek/sleekConfig.cmake"
fill cmake/sleekConfigVersion.cmake.in "$LIBDIR/cmake/sleek/sleekConfigVersion.cmake"
# A second name of the library where the file system has them, so that it is once on disk and in memory; no link to a path, since the
# folder may be shared by several prefixes.
for folder in "${plugin_dirs[@]}"; do
    install -d "$DESTDIR$folder"
    ln -f "$DESTDIR$LIBDIR/libsleek.so.$VERSION" "$DESTDIR$folder/libsleek.so" 2> /dev/null ||
        install -m 755 "$DESTDIR$LIBDIR/libsleek.so.$VERSION" "$DESTDIR$folder/libsleek.so"
    installed+=("$folder/libsleek.so")
done

# What lies under the prefix is listed without it, since a prefix may be moved.
install -d "$DESTDIR$(dirname "$list")"
printf '%s\n' "${installed[@]#"$PREFIX"/}" > "$DESTDIR$list"
echo "installed to $DESTDIR$PREFIX"
case $HDF5_PLUGIN_DIR in
auto*) printf 'HDF5 finds the filter by itself in %s\n' "${plugin_dirs[@]}" ;;
*) echo "HDF5 finds the filter with: export HDF5_PLUGIN_PATH=$HDF5_PLUGIN_DIR" ;;
esac
