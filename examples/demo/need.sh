#!/usr/bin/env bash
# need.sh WHAT:PACKAGE… installs the Debian or Ubuntu package of everything that is missing, and nothing else.
# WHAT is a command, or a file's absolute path, or `python-venv`.
set -euo pipefail

have() {
    case $1 in
        python-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        /*) [ -e "$1" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

missing=()
for pair in "$@"; do
    have "${pair%%:*}" || missing+=("${pair#*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ! command -v apt-get >/dev/null; then
    echo "Missing here: ${missing[*]} (names of the Debian packages). Please install them with your package manager." >&2
    exit 1
fi
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Missing here. As root, please run: ${install[*]}" >&2; exit 1; }
    root=(sudo env DEBIAN_FRONTEND=noninteractive)
fi
echo "Installing ${missing[*]} …" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { "${root[@]}" apt-get update && "${root[@]}" "${install[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    echo "That failed. As root, please run: apt-get update && ${install[*]}" >&2
    exit 1
fi
rm -f "$log"
