#!/bin/sh
# Prints the count of the tests that gotestsum ran. It counts a package that does not build among the failures, but not
# in the total; an error outside any package is a failure too.
passed=$((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED))
failed=$TESTS_FAILED
[ "$passed" -ge 0 ] || passed=0
[ "$failed" -gt 0 ] || failed=$TESTS_ERRORS
echo "$passed passed, $failed failed, $TESTS_SKIPPED skipped"
