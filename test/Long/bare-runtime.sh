#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the examples in C and C++ with cc and c++ on a Debian 12 that has neither LLVM, MLIR nor
# Python: in a debootstrap chroot with the components `runtime` and `dev`, and models that were
# compiled beforehand. Runs them and looks at what they print.
#
#   test/Long/bare-runtime.sh BUILD
#
# Needs root; MPC_BARE_FOLDER as in chroot.sh.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
# shellcheck disable=SC2034 # read by chroot.sh
program=bare-runtime root=
# shellcheck source=/dev/null
. test/Long/chroot.sh
bare_root bookworm g++ libc6-dev libdnnl2 libgomp1 libcpp-httplib-dev nlohmann-json3-dev curl
for component in runtime dev; do
  cmake --install "$build" --prefix "$root/usr/local" --component "$component" >/dev/null
done
models="$root/srv/models"
rm -rf "$models" "$root/srv/examples"
cp -r examples "$root/srv/examples"
mpcc() { "$build/bin/mpcc" -q "$@"; }
mpcc examples/c_predict/blobs.json -o "$models/blobs"
mpcc examples/c_custom_training_loop/blobs.json --policy=mixed_float16 --loss-scale=dynamic:67108864:50 -o "$models/scaled"
mpcc examples/two_models/blobs.json --policy=mixed_bfloat16 -o "$models/two"
mpcc examples/two_models/ring.json --weights=embedded -o "$models/two"

ran=0
in_chroot() {
  in_root /bin/bash -euc "cd /srv/examples/$1; $2"
}
# NAME COMMANDS PATTERN...: what the commands print has a line for each pattern.
check() {
  local text
  text=$(in_chroot "$1" "$2" 2>&1) || { echo "FAIL  $1: $text"; exit 1; }
  for pattern in "${@:3}"; do
    grep -Eq "$pattern" <<<"$text" || { echo "FAIL  $1: no line '$pattern' in: $text"; exit 1; }
  done
  echo "ok    $1"
  ran=$((ran + 1))
}
flags='-O1 -Wall -Wextra -Wpedantic -Werror -I/usr/local/include -L/usr/local/lib -Wl,-rpath,/usr/local/lib'
for absent in python3 perl-doc mpcc clang opt mlir-opt; do
  ! in_chroot . "command -v $absent" >/dev/null || { echo "FAIL  $absent is there"; exit 1; }
done
check c_predict "cc -std=c99 $flags main.c -I/srv/models/blobs -L/srv/models/blobs -lblobs -lmpcrt -Wl,-rpath,/srv/models/blobs -o run; ./run" \
  'model blobs, policy float32' 'sample 0: 0\.[0-9]{4} 0\.[0-9]{4} 0\.[0-9]{4}' 'sample 2: '
check c_custom_training_loop "cc -std=c99 $flags main.c -I/srv/models/scaled -L/srv/models/scaled -lblobs -lmpcrt -Wl,-rpath,/srv/models/scaled -lm -o run; ./run" \
  'step +0 +loss 1\.[0-9]+ +loss scale 67108864 +skipped' 'skipped [1-9][0-9]* steps, (5[89]|6[0-4]) of 64 right' 'restored: the same bytes'
check two_models "cc -std=c99 $flags main.c -I/srv/models/two -L/srv/models/two -lblobs -lring -lmpcrt -lpthread -Wl,-rpath,/srv/models/two -lm -o run; ./run" \
  'blobs \(mixed_bfloat16\): loss 1\.[0-9]+, then 0\.[0-9]+' 'ring \(float32\): loss 0\.[0-9]+, then 0\.[0-9]+'
check cpp_fine_tune "c++ -std=c++17 $flags main.cpp -lmpcrt -o run; ./run /srv/models/blobs tuned.safetensors predictions/" \
  '4 of 6 variables are frozen' 'loss [0-9]\.[0-9]+, then [0-9]\.[0-9]+'
check server "c++ -std=c++17 $flags main.cpp batcher.cpp -lmpcrt -lcpp-httplib -lpthread -o run; ./run /srv/models/blobs --port=0 >log & server=\$!
  until grep -q http log; do sleep 0.1; done; address=\$(grep -o 'http://[^ ]*' log)
  curl -s \$address/predict -d '{\"inputs\": [[1, 0, 0, 0]]}'; echo; curl -s \$address/health; kill \$server; wait \$server || true" \
  '"outputs":\[\[0\.[0-9]+,0\.[0-9]+,0\.[0-9]+\]\]' '"rows":1'
echo "ran $ran tests"
