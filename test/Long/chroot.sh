# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# For scripts that run something on a bare Debian: sourced by them, after `program` has their name.

# bare_root SUITE [PACKAGE...]: sets `root` to a chroot of that Debian with these packages, and removes it
# when the script ends. MPC_BARE_FOLDER names a folder that is kept: it then gets one of the suite's name.
# The mirrors are those that apt is configured with. What was fetched is kept for a week in
# MPC_BARE_CACHE (default: the user's cache folder; empty: nowhere).
# shellcheck disable=SC2154 # program
bare_root() {
  local suite=$1 include cache made
  [ "$(id -u)" = 0 ] || { echo "$program: error: needs root for chroot; run it as root" >&2; exit 2; }
  command -v debootstrap >/dev/null || { echo "$program: error: debootstrap is missing; scripts/install-packages long installs it" >&2; exit 2; }
  root="${MPC_BARE_FOLDER:-$(mktemp -d)}"
  [ -z "${MPC_BARE_FOLDER:-}" ] || root="$root/$suite"
  mkdir -p "$root"
  bare_mounts=("$root/proc")
  trap bare_cleanup EXIT
  include=$(IFS=,; echo "${*:2}")
  if [ ! -e "$root/bare-root-is-whole" ]; then
    cache=$(bare_cache)
    made=$cache/$suite-$(echo "$include" | sha256sum | head -c 12).tar.gz
    if [ -n "$cache" ] && [ -n "$(find "$made" -mtime -7 2>/dev/null)" ]; then
      tar -C "$root" -xzf "$made"
    else
      bare_fetch "$suite" "$include" "$cache"
      if [ -n "$cache" ]; then
        find "$cache" -mindepth 1 -type f -mtime +7 -delete
        tar -C "$root" -I 'gzip -1' --exclude='./var/cache/apt/archives/*.deb' -cf "$made.$$" . && mv "$made.$$" "$made"
      fi
    fi
    touch "$root/bare-root-is-whole"
  fi
  # The way to the mirror is the machine's, nothing else of it is visible.
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do
    [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
  done
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
}

# bare_fetch SUITE PACKAGES CACHE: debootstrap into `root`. Mirrors stall and time out: each is tried
# three times, and packages that were fetched are not fetched again.
bare_fetch() {
  local mirrors attempt mirror debs
  mapfile -t mirrors < <(LC_ALL=C apt-cache policy |
    sed -n 's|^ *[0-9]* \([a-z]*://[^ ]*/debian\)/\{0,1\} bookworm/main .*|\1|p' | awk '!seen[$0]++')
  [ "${#mirrors[@]}" -gt 0 ] || { echo "$program: error: apt knows no mirror of bookworm" >&2; exit 1; }
  debs=${3:-$(mktemp -d)}/debs-$1
  mkdir -p "$debs"
  for attempt in 1 2 3; do
    for mirror in "${mirrors[@]}"; do
      find "$root" -xdev -mindepth 1 -delete
      if timeout 1200 debootstrap --variant=minbase --cache-dir="$debs" ${2:+"--include=$2"} "$1" "$root" "$mirror" >"$root.log" 2>&1; then
        rm -f "$root.log"
        [ -n "$3" ] || rm -rf "${debs%/*}"
        return
      fi
      umount "$root/proc" "$root/sys" 2>/dev/null || true
      echo "$program: attempt $attempt to fetch $1 failed: $(tail -n 1 "$root.log")" >&2
    done
    sleep $((attempt * 10))
  done
  tail -n 20 "$root.log" >&2
  exit 1
}

bare_cache() { echo "${MPC_BARE_CACHE-${XDG_CACHE_HOME:-$HOME/.cache}/mpc/bare}"; }

bare_home=/root # of the user there

# bare_keep FOLDER PLACE: what is written at PLACE of the home there is kept in FOLDER, beside the roots if it is
# relative, for the next run.
bare_keep() {
  local folder=$1 place=$root$bare_home/$2
  if [ "${folder#/}" = "$folder" ]; then
    [ -n "$(bare_cache)" ] || return 0
    folder=$(bare_cache)/$folder
  fi
  mkdir -p "$folder" "$place"
  mount --bind "$folder" "$place"
  bare_mounts+=("$place")
}

# shellcheck disable=SC2317 # called by the trap
bare_cleanup() {
  local place
  for place in "${bare_mounts[@]}"; do
    umount "$place" 2>/dev/null || true
  done
  if [ -z "${MPC_BARE_FOLDER:-}" ] && ! grep -q " $root/" /proc/mounts; then
    rm -rf --one-file-system "$root"
  fi
}

# in_root COMMAND...: there, with nothing of this process's environment.
in_root() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$bare_home" LC_ALL=C.UTF-8 chroot "$root" "$@" </dev/null
}
