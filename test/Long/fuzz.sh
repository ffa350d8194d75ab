#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs each fuzz target for a minute (scripts/fuzz). MPC_FUZZ_SECONDS changes the time. A finding is
# kept in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/../.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
scripts/fuzz --seconds="${MPC_FUZZ_SECONDS:-60}" | tee "$log" || status=$?
echo "ran $(grep -c '^| ' "$log") tests"
exit "$status"
