#!/bin/sh
# Runs Triton for the CPU with its Python back end; takes the options of tritonserver.
root=$(dirname "$(readlink -f "$0")")/..
server=$root/lib/pytriton/tritonserver
export PATH="$root/python/bin:$PATH"
exec "$server/bin/tritonserver" --backend-directory="$server/backends" "$@"
