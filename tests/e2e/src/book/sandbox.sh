#!/bin/bash
# Runs a script of the book's commands where it can do no harm: in a separate mount namespace (made by the caller), whose /run
# and /tmp are empty, and where files written below /etc and /usr are gone afterwards.
#
#   sandbox.sh HOME BINARIES CHECKOUT SCRIPT [SWITCHES PREFIX HERE SWITCH...]
#
# HOME becomes /run/book, the directory of the switches' programs /run/weir-bin. CHECKOUT, whose scripts and scenarios programs
# look for where it was when they were built, stays there even below /tmp or /run. Of the switches, whose run directories are below
# SWITCHES and whose namespaces begin with PREFIX, HERE is in /run/weir as it would be on a separate machine, and all where a
# lab has them and where their programs know them to be.
set -eu
home=$1 binaries=$2 checkout=$3 script=$4
shift 4

run=$home/.run
mkdir -p "$run"
mount -t tmpfs book "$run"
mkdir -p "$run/netns" "$run/weir" "$run/book" "$run/weir-bin" "$run/written" "$run/checkout"
mount --bind "$home" "$run/book"
mount --bind "$checkout" "$run/checkout"
mount --bind "$binaries" "$run/weir-bin"
if [ $# -gt 0 ]; then
    switches=$1 prefix=$2 here=$3
    shift 3
    known=$run/weir/$(basename "$switches")
    mkdir -p "$run/weir/lab-PID-N" "$known" "$run/weir/$here"
    mount --rbind "$switches" "$run/weir/lab-PID-N"
    mount --rbind "$switches" "$known"
    mount --rbind "$switches/$here" "$run/weir/$here"
    for switch; do
        for name in "$switch" "weir-PID-N-$switch"; do
            : > "$run/netns/$name"
            mount --bind "/run/netns/$prefix$switch" "$run/netns/$name"
        done
    done
else
    ip link set lo up
fi
mount --rbind "$run" /run
for directory in etc usr; do
    mkdir -p "/run/written/$directory/upper" "/run/written/$directory/work"
    mount -t overlay book -o "lowerdir=/$directory,upperdir=/run/written/$directory/upper,workdir=/run/written/$directory/work" "/$directory"
done
# As the package has them.
mkdir -p /usr/share/weir
ln -s /run/book/scenarios /usr/share/weir/scenarios
mount -t tmpfs book /tmp
if [ ! -d "$checkout" ]; then
    mkdir -p "$checkout"
    mount --bind /run/checkout "$checkout"
fi
cd /run/book
export HOME=/run/book LC_ALL=C.UTF-8 NO_COLOR=1 PATH="/run/book/.stand-ins:/run/weir-bin:$PATH" WEIR_BIN_DIR=/run/weir-bin
unset WEIR_SOCKET WEIR_SCRIPTS XDG_RUNTIME_DIR
exec bash "$script"
