# shellcheck shell=bash
# Shared by check.sh and elsewhere.sh: a root file system made by debootstrap below $root, and its messages.
# The caller is in a separate mount namespace, so mounts end with it.

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
    echo "${0##*/}: $*" >&2
    [ ! -s "$root.log" ] || tail -n 20 "$root.log" >&2
    exit 1
}
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { "$@" >>"$root.log" 2>&1 || fail "failed: $*"; }

# make_root SUITE MIRROR [OPTION...]: by Debian's script for the suite or, without one, by that of its kind.
make_root() {
    local suite=$1 mirror=$2 scripts=/usr/share/debootstrap/scripts script=
    shift 2
    [ -e "$scripts/$suite" ] || script=$scripts/gutsy
    debootstrap --variant=minbase "$@" "$suite" "$root" "$mirror" $script >"$root.log" 2>&1 || fail "debootstrap of $suite failed"
    mount_root
    quietly in_root apt-get --quiet update
}
mount_root() {
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs tmpfs "$root/run"
}
