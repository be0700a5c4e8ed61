#!/usr/bin/env bash
# Runs a verb of ./dev on a fresh Debian: fresh_machine.sh FOLDER [VERB...] (as root; default: test).
# Makes a minimal bookworm (or what SUITE names) in FOLDER with debootstrap, or uses the one that is there,
# clones the committed state of this checkout into it as an unprivileged user would have it, and runs
# `./dev VERB...` there as root. Not part of `./dev test`: it downloads a whole system.
#
#     SUITE=trixie tests/support/fresh_machine.sh /var/tmp/trixie demo
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
folder=$(realpath -m "${1:?usage: fresh_machine.sh FOLDER [VERB...]}")
shift
mirror=${MIRROR:-http://deb.debian.org/debian}
suite=${SUITE:-bookworm}
verbs=("${@:-test}")

if ((EUID != 0)); then
  echo "fresh_machine.sh needs root for debootstrap and chroot" >&2
  exit 1
fi
if [[ ! -e $folder/etc/debian_version ]]; then
  debootstrap --variant=minbase "$suite" "$folder" "$mirror"
  # A minimal system lacks only what fetching a repository needs anyway.
  chroot "$folder" apt-get install -y -qq --no-install-recommends git ca-certificates
fi
# As every installer writes it, and debootstrap does not.
[[ -e $folder/etc/hosts ]] || echo "127.0.0.1 localhost" >"$folder/etc/hosts"

mounted=()
cleanup() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; --i)); do umount "${mounted[$i]}" || true; done
}
trap cleanup EXIT
attach() {  # attach TYPE NAME
  mount -t "$1" "$1" "$folder/$2"
  mounted+=("$folder/$2")
}
# Some tests give a program mounts of its own, for which the root has to be one.
mount --bind "$folder" "$folder"
mounted+=("$folder")
attach proc proc
attach sysfs sys
attach tmpfs tmp
mount --bind /dev "$folder/dev"
mounted+=("$folder/dev")
mount --bind /dev/pts "$folder/dev/pts"
mounted+=("$folder/dev/pts")
mkdir -p "$folder/dev/shm"
cp -L /etc/resolv.conf "$folder/etc/resolv.conf" 2>/dev/null || true

rm -rf "$folder/opt/sonde"
git clone -q --no-hardlinks "$here" "$folder/opt/sonde"
chroot "$folder" /usr/bin/env -i HOME=/opt PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
  /bin/bash -c 'cd /opt/sonde && exec ./dev "$@"' dev "${verbs[@]}"
