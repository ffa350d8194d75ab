#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the wheel, installs it where there is no compiler, no linker and nothing of mpc, and runs what the
# page (README.md) says of it: its blocks that are marked "run by" this file, with Keras from PyPI.
#
#   test/Long/wheel.sh BUILD
#
# On Debian 12, and on Debian 13 where a Python of 3.12 or later is there to build for. Needs root;
# MPC_BARE_FOLDER as in chroot.sh. MPC_WHEEL names a wheel that was built beforehand.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
# shellcheck disable=SC2034 # read by chroot.sh
program=wheel root=
# shellcheck source=/dev/null
. test/Long/chroot.sh

tools="$build/wheel-test"
[ -x "$tools/bin/pip" ] || /usr/bin/python3 -m venv "$tools"
"$tools/bin/pip" download --quiet --no-deps --dest "$tools/reach" auditwheel || {
  echo "SKIPPED: PyPI cannot be reached; the wheel was not built"
  exit 77
}
"$tools/bin/pip" install --quiet auditwheel
[ -n "${MPC_WHEEL:-}" ] || scripts/wheel
wheel=$(realpath "${MPC_WHEEL:-$(ls build/release/wheel/mpc_compiler-*.whl)}")
ran=0
passed() { echo "ok    $1"; ran=$((ran + 1)); }
failed() { echo "FAIL  $1"; exit 1; }

# "The following tags" begins a list of what else the wheel would be; the first tag is what it is.
"$tools/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q 'following platform tag: *"manylinux_2_34_x86_64"' || failed "auditwheel names another platform"
[ "$(stat -c %s "$wheel")" -lt 80000000 ] || failed "the wheel has 80 MB or more"
passed "what the wheel is"

# The blocks of all pages, one after the other: of the language $1.
blocks() {
  /usr/bin/python3 - "$1" <<'END'
import sys
sys.path.insert(0, "test")
import pages
found = [block.text for name in pages.names() for block in pages.blocks(name) if block.language == sys.argv[1] and block.markers.get("run by") == "test/Long/wheel.sh"]
assert found, "no page has such a block"
print("\n".join(found))
END
}

check_on() {
  local suite=$1
  bare_root "$suite" python3-venv ca-certificates
  bare_keep pip .cache/pip
  for absent in gcc cc clang ld ld.lld mpcc; do
    ! in_root sh -c "command -v $absent" >/dev/null || failed "$suite: $absent is there"
  done
  rm -rf "$root/srv/user"
  mkdir -p "$root/srv/user" "$root/etc/ssl/certs"
  # How PyPI is reached is the machine's, too.
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp "$wheel" "$root/srv/user/"
  cp examples/mnist_mlp/model_256.keras "$root/srv/user/model.keras"
  blocks python >"$root/srv/user/page.py"
  in_root bash -euc 'cd /srv/user; python3 -m venv venv; venv/bin/pip install --quiet --timeout 180 ./mpc_compiler-*.whl'
  # shellcheck disable=SC2016 # expanded there
  in_root bash -euc 'cd /srv/user; . venv/bin/activate
    mpcc model.keras -q --policy=mixed_bfloat16 -o model.mpc
    mpc-run bench model.mpc --warmup 1 --steps 2 >bench.txt
    mpc-convert model.mpc/model.safetensors --model model.keras -o again.keras
    mpc-opt --version >version.txt
    mpcc model.keras -q --emit=archive -o one.mpc
    mpc-run bench one.mpc --warmup 1 --steps 2 >bench.txt
    mpcc model.keras -q --link=static -o static
    test -s static/libmodel.a
    for file in lib/libmpcrt.a lib/pkgconfig/mpc-runtime-static.pc lib/cmake/mpc/mpc-config.cmake include/mpc-rt/model.h; do
      test -s venv/lib/python3*/site-packages/mpc/native/$file
    done'
  passed "$suite: the commands"
  in_root bash -euc 'cd /srv/user; . venv/bin/activate; python - <<END
import glob, mpc, numpy as np
from importlib.metadata import version
assert mpc.__version__ == version("mpc-compiler"), mpc.__version__
model = mpc.compile("model.keras", policy="mixed_bfloat16")
x = np.random.default_rng(0).uniform(size=(256, 784)).astype("float32")
y = (x.mean(axis=1) > 0.5).astype("int32")
history = model.fit(x, y, epochs=8, batch_size=32, verbose=0).history
assert history["loss"][-1] < history["loss"][0], history
assert model.predict(x, verbose=0).shape == (256, 10)
END'
  passed "$suite: Python without Keras"
  in_root bash -euc 'cd /srv/user; . venv/bin/activate; pip install --quiet --timeout 180 keras==3.15.1 jax; KERAS_BACKEND=jax python page.py'
  passed "$suite: what the pages say"
  # Kernels are compiled without a GPU. NVRTC is what the extra brings.
  ! in_root bash -uc 'cd /srv/user; . venv/bin/activate; mpcc model.keras -q --target=cuda:sm_90 -o cuda.mpc 2>without.txt' ||
    failed "$suite: kernels for GPUs without the extra cuda"
  in_root grep -q 'nvrtc' /srv/user/without.txt || failed "$suite: without NVRTC mpcc says $(cat "$root/srv/user/without.txt")"
  # shellcheck disable=SC2016 # expanded there
  in_root bash -euc 'cd /srv/user; . venv/bin/activate
    pip install --quiet --timeout 180 "$(echo ./mpc_compiler-*.whl)[cuda]"
    mpcc model.keras -q --target=cuda:sm_90 -o cuda.mpc
    mpc-run inspect cuda.mpc --json | grep -q sm_90'
  passed "$suite: kernels for GPUs with the extra cuda"
  bare_cleanup
}
check_on bookworm
if /usr/bin/python3 -m zipfile -l "$wheel" | grep abi3 >/dev/null; then
  check_on trixie
else
  echo "SKIPPED: no Python of 3.12 or later is in PATH; nothing was installed on Debian 13"
fi
echo "ran $ran tests"
