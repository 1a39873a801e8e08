#!/usr/bin/env bash
# Makes the virtual environments of the peers that train_speed.py runs by their own commands, under benchmarks/.venvs/.
# One that cannot be installed is left out; the benchmark says so and goes on without it.
#   benchmarks/peers.sh [joeynmt] [eole]        PYTHON=python3.11 chooses the interpreter
set -uo pipefail
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
TORCH=$(grep '^torch==' ../constraints.txt)

# A peer's packages: the first is the peer, the others are what it imports without asking for.
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
    esac >/dev/null 2>&1
}

install() {
    local peer=$1 pip=".venvs/$1/bin/python -m pip install --quiet --disable-pip-version-check"
    [ -e ".venvs/$peer/.installed" ] && { echo "$peer: installed already"; return; }
    echo "$peer: installing $(packages "$peer") ..."
    # torch comes first and stays: the peers must run on the same one as regard.
    "$PYTHON" -m venv --clear ".venvs/$peer" &&
        echo "$TORCH" >".venvs/$peer/constraints.txt" &&
        $pip "$TORCH" &&
        $pip --constraint ".venvs/$peer/constraints.txt" $(packages "$peer") &&
        starts "$peer" &&
        touch ".venvs/$peer/.installed" &&
        echo "$peer: installed" ||
        { echo "$peer: could not be installed; train_speed.py will go on without it" >&2; failed=1; }
}

failed=0
mkdir -p .venvs
for peer in "${@:-joeynmt eole}"; do
    for name in $peer; do
        case $name in
            joeynmt | eole) install "$name" ;;
            *) echo "$name: no such peer; there are joeynmt and eole" >&2; exit 2 ;;
        esac
    done
done
exit $failed
