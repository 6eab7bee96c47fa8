#!/usr/bin/env bash
# Usage: scripts/fuzz.sh DURATION     runs each fuzz target of the module that long, one after another
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
duration=${1:?how long, such as 30s}

git grep -noE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file _ target; do
  go test "./$(dirname "$file")" -run '^$' -fuzz "^${target#func }\$" -fuzztime "$duration" < /dev/null
done
