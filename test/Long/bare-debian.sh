#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command of this repository on a Debian 12 where nothing was installed but git: in a
# debootstrap chroot, from a fresh clone, with nothing beside it.
#
#   test/Long/bare-debian.sh COMMAND...        e.g. scripts/quickstart
#
# Needs root; MPC_BARE_FOLDER as in chroot.sh. Objects are kept by ccache for the next run; MPC_BARE_CCACHE names
# another folder of it. That of this machine has what was compiled here: the clone has the name that it has here.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2034 # read by chroot.sh
program=bare-debian root=
# shellcheck source=/dev/null
. "$source/test/Long/chroot.sh"
[ "$#" -gt 0 ] || { sed -n '4,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bare_root bookworm git ca-certificates
rm -rf "${root:?}$source"
mkdir -p "$(dirname "$root$source")"
git clone --quiet --no-hardlinks "$source" "$root$source"
bare_keep "${MPC_BARE_CCACHE:-ccache}" .cache/ccache
trap 'umount -R "$root/dev" 2>/dev/null || true; bare_cleanup' EXIT
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

start=$SECONDS
status=0
# shellcheck disable=SC2016 # expanded there
in_root /bin/bash -c 'cd "$0" && exec "$@"' "$source" "$@" || status=$?
echo "bare-debian: '$*' ended with exit $status after $((SECONDS - start)) s"
umount -R "$root/dev"
if [ "$status" = 0 ]; then echo "ran 1 tests"; fi
exit "$status"
