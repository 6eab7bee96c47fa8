#!/bin/sh
# Prints the count of the tests that gotestsum ran; a package that does not build is a failure.
echo "$((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED)) passed, $((TESTS_FAILED + TESTS_ERRORS)) failed, $TESTS_SKIPPED skipped"
