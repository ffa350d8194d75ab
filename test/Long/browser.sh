#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Looks at the pages that the tools write with a real browser, Chromium in a Debian chroot:
# test/Long/browser.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
# shellcheck disable=SC2034 # read by chroot.sh
program=browser root=
# shellcheck source=/dev/null
. test/Long/chroot.sh
# debootstrap knows no virtual packages: dbus-x11 is the bus that a part of Chromium asks for.
bare_root bookworm dbus-x11 chromium
/usr/bin/python3 test/Long/browser.py "$build/bin" "$root"
