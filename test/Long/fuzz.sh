#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs each libFuzzer target for a minute under the address and undefined behaviour sanitizers (preset
# fuzz), starting from the fixtures' files. MPC_FUZZ_SECONDS changes the time. A finding is kept in
# build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/../.."
shared="${MPC_SHARED:-$(dirname "$PWD")/shared}"
seconds="${MPC_FUZZ_SECONDS:-60}"

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)" --target KerasFuzzer Hdf5Fuzzer | tail -n 2
work=build/fuzz/corpus
rm -rf "$work"
mkdir -p "$work/KerasFuzzer" "$work/Hdf5Fuzzer" build/fuzz/findings

/usr/bin/python3 - "$shared/fixtures/keras" "$work" test <<'PYTHON'
import glob
import os
import shutil
import sys
import zipfile

fixtures, work, tests = sys.argv[1:]
for number, path in enumerate(sorted(glob.glob(fixtures + "/*/*__mixed_float16/model.keras"))):
    with zipfile.ZipFile(path) as archive:
        config = archive.read("config.json")
    with open(f"{work}/KerasFuzzer/config{number}", "wb") as handle:
        handle.write(b"j" + config)
    if number % 8 == 0:
        shutil.copy(path, f"{work}/KerasFuzzer/archive{number}")
for number, path in enumerate(sorted(glob.glob(tests + "/Import/Keras/Inputs/*.json"))):
    with open(path, "rb") as source, open(f"{work}/KerasFuzzer/json{number}", "wb") as handle:
        handle.write(b"j" + source.read())
files = glob.glob(fixtures + "/forward/*/model.h5") + glob.glob(tests + "/Integration/KerasFiles/Inputs/*.h5")
for number, path in enumerate(sorted(files)):
    shutil.copy(path, f"{work}/Hdf5Fuzzer/model{number}")
PYTHON

# LLVM's packages are built without sanitizers: containers that cross into them look broken,
# memory that their allocators hand out looks poisoned, and what they keep for the life of the process
# looks leaked.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for target in KerasFuzzer Hdf5Fuzzer; do
  echo "$target: $(find "$work/$target" -type f | wc -l) seeds, $seconds s"
  log=build/fuzz/$target.log
  if ! "build/fuzz/test/bin/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
    -malloc_limit_mb=512 -max_len=200000 -artifact_prefix=build/fuzz/findings/ "$work/$target" >"$log" 2>&1; then
    tail -n 60 "$log"
    exit 1
  fi
  grep -E '^Done|stat::|DONE' "$log" | tail -n 3
done
echo "ran 2 tests"
