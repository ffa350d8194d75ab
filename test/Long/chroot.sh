# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# For scripts that run something on a bare Debian: sourced by them, after `program` has their name.

# bare_root SUITE [PACKAGE...]: sets `root` to a chroot of that Debian with these packages, and removes it
# when the script ends. MPC_BARE_FOLDER names a folder that is kept: it then gets one of the suite's name.
# The mirror is the one that apt is configured with.
# shellcheck disable=SC2154 # program
bare_root() {
  local suite=$1 mirror include
  [ "$(id -u)" = 0 ] || { echo "$program: error: needs root for chroot; run it as root" >&2; exit 2; }
  mirror=$(LC_ALL=C apt-cache policy | sed -n 's|^ *[0-9]* \([a-z]*://[^ ]*/debian\)/\{0,1\} bookworm/main .*|\1|p' | head -n 1)
  [ -n "$mirror" ] || { echo "$program: error: apt knows no mirror of bookworm" >&2; exit 1; }
  root="${MPC_BARE_FOLDER:-$(mktemp -d)}"
  [ -z "${MPC_BARE_FOLDER:-}" ] || root="$root/$suite"
  mkdir -p "$root"
  trap bare_cleanup EXIT
  include=$(IFS=,; echo "${*:2}")
  if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase ${include:+"--include=$include"} "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
      { tail -n 20 "$root.log" >&2; exit 1; }
    rm -f "$root.log"
  fi
  # The way to the mirror is the machine's, nothing else of it is visible.
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do
    [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
  done
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
}

# shellcheck disable=SC2317 # called by the trap
bare_cleanup() {
  umount "$root/proc" 2>/dev/null || true
  if [ -z "${MPC_BARE_FOLDER:-}" ] && ! grep -q " $root/" /proc/mounts; then
    rm -rf --one-file-system "$root"
  fi
}

# in_root COMMAND...: there, with nothing of this process's environment.
in_root() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" "$@" </dev/null
}
