#!/usr/bin/env bash
# Makes the virtual environments of the peers that train_speed.py runs by their own commands, under benchmarks/.venvs/.
# One that cannot be installed is left out; the benchmark says so and goes on without it.
#   benchmarks/peers.sh [joeynmt] [eole]
#   PYTHON=python3.11 benchmarks/peers.sh       with another interpreter than regard's
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu benchmarks/peers.sh       torch without the libraries for NVIDIA
set -uo pipefail
cd "$(dirname "$0")"
[ -x ../.venv/bin/python ] && default=../.venv/bin/python || default=python3
PYTHON=${PYTHON:-$default}
TORCH=$(grep '^torch==' ../constraints.txt)

# A peer's packages: the first is the peer, the other is what it imports without asking for.
packages() {
    case $1 in
        joeynmt) echo joeynmt==2.3.0 importlib_metadata ;;
        eole) echo eole==0.6.4 aiohttp ;;
    esac
}

# That it starts is the test of an installation.
starts() {
    case $1 in
        joeynmt) .venvs/joeynmt/bin/python -m joeynmt --help ;;
        eole) .venvs/eole/bin/eole train --help ;;
    esac >/dev/null
}

# torch comes first and stays: a peer must run on the same one as regard.
make_environment() {
    local folder=.venvs/$1
    "$PYTHON" -m venv --clear "$folder" || return
    local pip=("$folder/bin/python" -m pip install --quiet --disable-pip-version-check)
    echo "$TORCH" >"$folder/constraints.txt" || return
    "${pip[@]}" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$TORCH" || return
    # shellcheck disable=SC2046 # the names are to be split
    "${pip[@]}" --constraint "$folder/constraints.txt" $(packages "$1") || return
    starts "$1" && touch "$folder/.installed"
}

[ $# -gt 0 ] || set -- joeynmt eole
failed=0
for peer in "$@"; do
    if [ -z "$(packages "$peer")" ]; then
        echo "$peer: no such peer; there are joeynmt and eole" >&2
        exit 2
    elif [ -e ".venvs/$peer/.installed" ]; then
        echo "$peer: installed already"
    elif echo "$peer: installing $(packages "$peer") ..." && make_environment "$peer"; then
        echo "$peer: installed"
    else
        echo "$peer: could not be installed; train_speed.py will go on without it" >&2
        failed=1
    fi
done
exit $failed
