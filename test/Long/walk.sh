#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A first-time user's walk: installs the Debian packages on a Debian 12 that has nothing of mpc, and
# enters what README.md and all other pages tell, as it stands there: each block in sh and console, in
# the pages' order, and the examples of each tool's --help. No step may fail. What is of the wheel,
# test/Long/wheel.sh enters.
#
#   test/Long/walk.sh BUILD
#
# Needs root; MPC_BARE_FOLDER as in chroot.sh. MPC_DEBS names a folder of packages that were made before.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
# shellcheck disable=SC2034 # read by chroot.sh
program=walk root=
# shellcheck source=/dev/null
. test/Long/chroot.sh
packages=${MPC_DEBS:-$build/walk-packages}
if [ -z "${MPC_DEBS:-}" ]; then
  rm -rf "$packages"
  (cd "$build" && cpack -B "$packages" >/dev/null)
fi

# The pages take a compiler, CMake and NumPy for granted. Git, protoc and the fixtures are the test's own.
bare_root bookworm ca-certificates build-essential cmake pkg-config python3-numpy curl unzip git protobuf-compiler
for absent in mpcc mpc-run clang lld ld.lld-22; do
  ! in_root sh -c "command -v $absent" >/dev/null || { echo "FAIL  $absent is there"; exit 1; }
done
# LLVM 22 came to Debian 12 through its security suite, which every installer enables.
mirror=$(awk '$1 == "deb" { sub("/$", "", $2); print $2; exit }' "$root/etc/apt/sources.list")
echo "deb $mirror-security bookworm-security main" >"$root/etc/apt/sources.list.d/security.list"
rm -rf "$root/srv/packages" "$root/srv/mpc" "$root/srv/walk"
mkdir -p "$root/srv/packages"
cp "$packages"/*.deb "$root/srv/packages/"
for attempt in 1 2 3; do
  if in_root sh -euc 'export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q -y --no-install-recommends install /srv/packages/*.deb dataset-fashion-mnist' >"$root.log" 2>&1; then
    break
  fi
  [ "$attempt" -lt 3 ] || { tail -n 20 "$root.log" >&2; exit 1; }
done
rm -f "$root.log"
echo "ok    the packages install"

git clone --quiet --no-hardlinks . "$root/srv/mpc"
fixture=fixtures/keras/forward/bidirectional_concat__float32
mkdir -p "$root/srv/mpc/build/release/$fixture"
cp "$build/$fixture/model.keras" "$root/srv/mpc/build/release/$fixture/"
trap 'umount -R "$root/dev" 2>/dev/null || true; bare_cleanup' EXIT
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
in_root git config --global --add safe.directory /srv/mpc
in_root /usr/bin/python3 /srv/mpc/test/Install/pages.py --installed --work /srv/walk
umount -R "$root/dev"
