#!/usr/bin/env bash
# Builds the site into an empty folder. Links and headings that do not exist, and pages that are not in its navigation,
# are errors.
#
# Usage: scripts/site/build.sh FOLDER     as make site does; needs what make tools installs
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${SUPERSONIC_TOOLS:-$PWD/.tools}

# A copy of the pages in the folders in which they are, so that their links stay.
SITE_SOURCE=$(mktemp -d)
export SITE_SOURCE NO_MKDOCS_2_WARNING=1
trap 'rm -rf "$SITE_SOURCE"' EXIT
cp -r --parents README.md CHANGELOG.md chart/README.md chart/values.yaml docs values "$SITE_SOURCE"

"$tools/bin/mkdocs" build --quiet --strict --config-file scripts/site/mkdocs.yml --site-dir "$out"
