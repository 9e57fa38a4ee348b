#!/bin/sh
# Makes a virtual environment: make-venv.sh PYTHON FOLDER. Installs Debian's venv package if that is what is missing.
set -eu
python=$1
folder=$2

command -v "$python" >/dev/null 2>&1 || {
    echo "Synapse needs Python 3.11 to 3.13, and '$python' was not found. Name one with: make PYTHON=python3.11" >&2
    exit 1
}
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
    echo "Synapse needs Python 3.11 to 3.13, not $("$python" --version). Name one with: make PYTHON=python3.11" >&2
    exit 1
}
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
    else
        echo "This Python can't make virtual environments. Install python3-venv (Debian, Ubuntu) and run make again." >&2
        exit 1
    fi
fi
"$python" -m venv "$folder"
