#!/bin/sh
# Runs mkdocs with what is installed beside it.
root=$(dirname "$(readlink -f "$0")")/..
export PYTHONPATH="$root/lib"
exec python3 -m mkdocs "$@"
