#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command of this repository on a Debian 12 where nothing was installed but git: in a
# debootstrap chroot, from a fresh clone, with nothing beside it.
#
#   test/Long/bare-debian.sh COMMAND...        e.g. scripts/quickstart
#
# Needs root. The mirror is the one that apt is configured with. MPC_BARE_FOLDER names the folder
# for the chroot (default: a temporary one, removed at the end).
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "bare-debian: error: needs root for chroot; run it as root" >&2; exit 2; }
[ "$#" -gt 0 ] || { sed -n '4,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }

mirror=$(LC_ALL=C apt-cache policy | sed -n 's|^ *[0-9]* \([a-z]*://[^ ]*/debian\)/\{0,1\} bookworm/main .*|\1|p' | head -n 1)
[ -n "$mirror" ] || { echo "bare-debian: error: apt knows no mirror of bookworm" >&2; exit 1; }
root="${MPC_BARE_FOLDER:-$(mktemp -d)}"

# shellcheck disable=SC2317 # called by the trap
cleanup() {
  umount "$root/proc" "$root/dev" 2>/dev/null || true
  if [ -z "${MPC_BARE_FOLDER:-}" ] && ! grep -q " $root/" /proc/mounts; then
    rm -rf --one-file-system "$root"
  fi
}
trap cleanup EXIT

if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
  rm -f "$root.log"
fi
# The way to the mirror is the machine's, nothing else of it is visible.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do
  [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
done
mkdir -p "$root/srv/mpc"
rm -rf "$root/srv/mpc/mpc"
git clone --quiet "$source" "$root/srv/mpc/mpc"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

start=$SECONDS
status=0
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  chroot "$root" /bin/bash -c 'cd /srv/mpc/mpc && exec "$@"' bash "$@" </dev/null || status=$?
echo "bare-debian: '$*' ended with exit $status after $((SECONDS - start)) s"
umount -R "$root/dev"
if [ "$status" = 0 ]; then echo "ran 1 tests"; fi
exit "$status"
