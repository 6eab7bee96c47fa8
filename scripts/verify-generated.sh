#!/usr/bin/env bash
# Runs every generator in a copy of the tree, so that checking changes nothing, and shows what is not current.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard --deduplicate | while IFS= read -r -d '' file; do
  [[ ! -e $file ]] || printf '%s\0' "$file"
done | tar --null --files-from=- -cf - | tar -xf - -C "$copy"
cp -r "$copy" "$copy.generated"
trap 'rm -rf "$copy" "$copy.generated"' EXIT

make --no-print-directory -C "$copy.generated" generate
if ! diff -ruN "$copy" "$copy.generated"; then
  echo "generated files are not current: run make generate and commit what it writes" >&2
  exit 1
fi
