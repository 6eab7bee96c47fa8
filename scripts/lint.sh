#!/usr/bin/env bash
# Checks style, dead code, sizes, the scripts and the Lua filter, and names everything wrong before it fails.
# Needs shellcheck and luacheck (Debian: apt-get install shellcheck lua-check).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

export GOGC=400 # The linters and compilers of so many packages would collect garbage for a third of their time.
status=0
# check WHAT COMMAND...: a check fails if the command does, or prints anything on its output.
check() {
  local what=$1 said code
  shift
  said=$("$@")
  code=$?
  ((code)) || [[ $said ]] || return 0
  printf 'lint: %s\n%s\n' "$what" "$said" >&2
  status=1
}
tool() { go tool -modfile=scripts/tools.mod "$@"; }
tracked() { git ls-files -z --cached --others --exclude-standard -- "$@" | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' tracked; }

sizes() {
  tracked '*.go' '*.lua' | xargs -0 awk '
    FNR == 1 { if (NR > 1) file(); name = FILENAME; start = generated = 0 }
    { lines = FNR }
    /^\/\/ Code generated .* DO NOT EDIT\.$/ { generated = 1 }
    /^func / { start = /}$/ ? 0 : FNR; signature = $0 }
    /^}/ && start { if (FNR - start >= 40 && name !~ /_test\.go$/) say(start, FNR - start + 1, 40, signature); start = 0 }
    END { file() }
    function file() { if (lines > 300) say(1, lines, 300, "the file") }
    function say(at, got, want, what) { if (!generated) printf "%s:%d: %d lines, want at most %d: %s\n", name, at, got, want, what }'
}

# Exempt are what must be one line: an error or a warning in a template, from its key on; a selector that an
# example prints; and what is generated.
widths() {
  tracked '*.go' 'chart/files/*.lua' 'chart/templates/*' | grep -zv -e testdata -e _promql.tpl | xargs -0 awk '
    length($0) <= 140 { next }
    FILENAME ~ /\.tpl$/ && /^([a-z]|\{\{ [$.a-z ]+ \}\}).*: / { next }
    FILENAME ~ /example_test\.go$/ && /^\t\/\/ +[a-z_]+\{.*\}/ { next }
    { printf "%s:%d: %d characters, want at most 140\n", FILENAME, FNR, length($0) }'
}

# The name of a test says the case in a few words; its comment has the sentence.
names() {
  tracked '*_test.go' | xargs -0 awk 'match($0, /^func (Test|Benchmark|Fuzz)[A-Za-z0-9_]+/) && RLENGTH > 35 {
    printf "%s:%d: %d characters, want at most 30: %s\n", FILENAME, FNR, RLENGTH - 5, substr($0, 6, RLENGTH - 5) }'
}

# luacheck prints a total even if all is well.
lua() {
  local said
  said=$(luacheck --quiet --no-color chart/files/*.lua 2>&1) || printf '%s\n' "$said"
}

mapfile -d '' -t go_files < <(tracked '*.go')
check 'gofumpt: run go tool -modfile=scripts/tools.mod gofumpt -w on' tool gofumpt -l "${go_files[@]}"
for module in . scripts/lab scripts/release; do
  check "go vet in $module" go -C "$module" vet ./...
  check "staticcheck in $module" go -C "$module" tool -modfile="$PWD/scripts/tools.mod" staticcheck ./...
  check "deadcode in $module: nothing calls" go -C "$module" tool -modfile="$PWD/scripts/tools.mod" deadcode -test ./...
done
check sizes sizes
check widths widths
check names names
# SC2016 and SC2317 do not recognize awk programs, and functions that are called by a name in a variable.
check shellcheck xargs -0 -a <(tracked '*.sh' .ci) shellcheck --exclude=SC2016,SC2317
check luacheck lua
exit "$status"
