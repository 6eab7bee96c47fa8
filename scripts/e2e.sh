#!/usr/bin/env bash
# Usage: scripts/e2e.sh [FLAG...]     starts the lab if need be and runs its scenarios; flags as in -test.run TestStep
#        scripts/e2e.sh --build       only makes what the lab needs
#
# On a machine that cannot run the lab, it says what is missing and that no scenario ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/lab"

go build -o ../../bin/lab .
status=0
if [[ ${1:-} == --build ]]; then
  ../../bin/lab build || (($? == 3))
  exit
fi
../../bin/lab up || status=$?
if ((status == 3)); then
  echo "e2e: no scenario ran" >&2
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
elif ((status)); then
  exit "$status"
fi
go tool -modfile=../tools.mod gotestsum --format standard-verbose --post-run-command ../count.sh --raw-command -- \
  go tool test2json -t -p e2e ../../bin/lab e2e -test.v=test2json "$@"
