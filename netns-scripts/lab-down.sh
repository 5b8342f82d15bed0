#!/bin/sh
# Removes everything that belongs to a lab, and prints each removed item.
#
#   lab-down.sh PREFIX          all network namespaces that begin with PREFIX, with their devices and the
#                               processes in them
#   lab-down.sh --all PREFIX    also the lab's directory of logs and configurations, with the BPF file
#                               systems that killed switches left mounted there
#
# Nothing to remove is no error, so it can be run twice. Needs root.
set -eu

# Directories of labs: that of the lab `weir-PID-N-` is lab-PID-N.
RUN=${WEIR_RUN_DIR:-/run/weir}
# Time for processes to end by themselves, in tenths of a second.
GRACE=20

fail() {
    echo "lab-down.sh: $*" >&2
    exit 1
}

# Are there processes in the namespace $1?
inhabited() {
    [ -n "$(ip netns pids "$1" 2> /dev/null)" ]
}

signal_all() {
    for pid in $(ip netns pids "$2" 2> /dev/null); do
        kill -s "$1" "$pid" 2> /dev/null || true
    done
}

empty_namespace() {
    inhabited "$1" || return 0
    echo "ending processes in $1"
    signal_all TERM "$1"
    waited=0
    while inhabited "$1" && [ "$waited" -lt "$GRACE" ]; do
        waited=$((waited + 1))
        sleep 0.1
    done
    signal_all KILL "$1"
}

files=no
if [ "${1-}" = "--all" ]; then
    files=yes
    shift
fi
[ $# -eq 1 ] || fail "usage: lab-down.sh [--all] PREFIX"
prefix=$1
case $prefix in
    *[!A-Za-z0-9._-]* | .*) fail "\`$prefix\` is not the beginning of a lab's name" ;;
    ????*) ;;
    *) fail "\`$prefix\` is too short to be safe: at least 4 characters" ;;
esac
[ "$(id -u)" -eq 0 ] || fail "network namespaces need root"

namespaces=
for file in /run/netns/"$prefix"*; do
    [ -e "$file" ] || continue
    empty_namespace "${file##*/}"
    namespaces="$namespaces ${file##*/}"
done
for namespace in $namespaces; do
    echo "netns delete $namespace"
done | ip -batch -
for namespace in $namespaces; do
    echo "removed namespace $namespace"
done

[ "$files" = yes ] || exit 0
lab=lab-${prefix#weir-}
lab=${lab%-}
for directory in "$RUN/$lab" "$RUN/$lab"-*; do
    [ -d "$directory" ] || continue
    # Daemons that were killed may have mounted one over the other.
    for mount in "$directory"/*/bpf; do
        while mountpoint -q "$mount"; do
            umount "$mount"
        done
    done
    rm -rf -- "$directory"
    echo "removed $directory"
done
