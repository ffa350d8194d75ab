#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command of this repository on a Debian 12 where nothing was installed but git: in a
# debootstrap chroot, from a fresh clone, with nothing beside it.
#
#   test/Long/bare-debian.sh COMMAND...        e.g. scripts/quickstart
#
# Needs root; MPC_BARE_FOLDER as in chroot.sh.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2034 # read by chroot.sh
program=bare-debian root=
# shellcheck source=/dev/null
. "$source/test/Long/chroot.sh"
[ "$#" -gt 0 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bare_root bookworm git ca-certificates
mkdir -p "$root/srv/mpc"
rm -rf "$root/srv/mpc/mpc"
git clone --quiet "$source" "$root/srv/mpc/mpc"
trap 'umount -R "$root/dev" 2>/dev/null || true; bare_cleanup' EXIT
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

start=$SECONDS
status=0
in_root /bin/bash -c 'cd /srv/mpc/mpc && exec "$@"' bash "$@" || status=$?
echo "bare-debian: '$*' ended with exit $status after $((SECONDS - start)) s"
umount -R "$root/dev"
if [ "$status" = 0 ]; then echo "ran 1 tests"; fi
exit "$status"
