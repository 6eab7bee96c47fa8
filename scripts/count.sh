#!/bin/sh
# Usage: count.sh [--no-skips]
# Prints the count of the tests that gotestsum ran. It counts a package that does not build among the failures, but not
# in the total; an error outside any package is a failure too. With --no-skips it fails if a test was skipped.
passed=$((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED))
failed=$TESTS_FAILED
[ "$passed" -ge 0 ] || passed=0
[ "$failed" -gt 0 ] || failed=$TESTS_ERRORS
echo "$passed passed, $failed failed, $TESTS_SKIPPED skipped"
if [ "${1:-}" = --no-skips ] && [ "$TESTS_SKIPPED" -gt 0 ]; then
  echo "count: $TESTS_SKIPPED tests were skipped, want none" >&2
  exit 1
fi
