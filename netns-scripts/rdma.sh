#!/bin/sh
# Runs a program of RDMA over a soft-RoCE device (rdma_rxe), and reports counts of its packets.
#
#   rdma.sh [--cm-tos TOS] PROGRAM [ARGUMENT...]
#   rdma.sh ib_write_bw -d DEV --tclass 96 10.87.0.2
#   rdma.sh --cm-tos 96 rping -c -a 10.87.0.2 -C 10
#
# --cm-tos: the traffic class (DSCP × 4) of connections by the connection manager, for programs that set none.
#
# It is for a network namespace, or a machine, with one Ethernet device, which gets a soft-RoCE device unless it has one
# already. It is removed with the network device. DEV in the arguments means its name. Several may run at once. The
# last line has the device's counters, in the kernel's words (Documentation/ABI/stable/sysfs-class-infiniband):
#
#   rdma: sent_pkts=4821 rcvd_pkts=1206 rcvd_seq_err=0 completer_retry_err=0 out_of_seq_request=0 duplicate_request=0
#
# rcvd_seq_err: the other end missed our packet and reported it; completer_retry_err: it did not answer in time. Both make
# us send again. out_of_seq_request: we missed one; duplicate_request: we received it twice.
#
# It needs root, rdma(8) and the module rdma_rxe. Its exit status is PROGRAM's, or 125 if PROGRAM was not started.
set -eu

fail() {
    echo "rdma.sh: $*" >&2
    exit 125
}

cm_tos=
if [ "${1-}" = --cm-tos ]; then
    [ $# -ge 2 ] || fail "--cm-tos needs a number"
    cm_tos=$2
    shift 2
fi
[ $# -ge 1 ] || fail "usage: rdma.sh [--cm-tos TOS] PROGRAM [ARGUMENT...] (what it does stands at the head of this script)"
for tool in ip rdma; do
    command -v "$tool" > /dev/null || fail "$tool is missing (package iproute2)"
done
command -v "$1" > /dev/null || fail "$1 is missing (packages perftest and rdmacm-utils)"

# Its number, name and address.
link=$(ip -o link show up | grep 'link/ether' | head -n 1)
[ -n "$link" ] || fail "no Ethernet device is up here"
device=$(echo "$link" | sed 's/^[0-9]*: \([^:@]*\).*/\1/')
# All namespaces share one list of names.
rxe=rxe$(echo "$link" | sed 's/.*link\/ether \([0-9a-f:]*\).*/\1/' | tr -d :)

is_there() {
    rdma link show | grep -q "^link $rxe/"
}

if ! is_there; then
    # Another instance may be faster.
    said=$(rdma link add "$rxe" type rxe netdev "$device" 2>&1) || is_there ||
        fail "rdma link add $rxe type rxe netdev $device: $said (is the module rdma_rxe loaded?)"
fi

# The kernel has this only in configfs, by the device's name; it stays with the device.
set_cm_tos() {
    configuration=$(mktemp -d)
    mount -t configfs none "$configuration" || { rmdir "$configuration"; return 1; }
    status=0
    mkdir -p "$configuration/rdma_cm/$rxe" &&
        echo "$cm_tos" > "$configuration/rdma_cm/$rxe/ports/1/default_roce_tos" || status=1
    rmdir "$configuration/rdma_cm/$rxe" 2> /dev/null || true
    umount "$configuration" && rmdir "$configuration"
    return $status
}

if [ -n "$cm_tos" ]; then
    # Another instance may remove the directory while we write.
    left=5
    until said=$(set_cm_tos 2>&1); do
        left=$((left - 1))
        [ $left -gt 0 ] || fail "setting the traffic class of $rxe: $said (configfs; is the module rdma_cm loaded?)"
        sleep 0.2
    done
fi

for word; do
    shift
    [ "$word" != DEV ] || word=$rxe
    set -- "$@" "$word"
done

# Most of these programs poll: they must not take the CPU from a switch on the same machine.
if command -v nice > /dev/null; then set -- nice -n 15 "$@"; fi
"$@" &
program=$!

say_counters() {
    rdma statistic show link "$rxe/1" | awk '
        { for (at = 3; at < NF; at += 2) counted[$at] = $(at + 1) }
        END {
            names = "sent_pkts rcvd_pkts rcvd_seq_err completer_retry_err out_of_seq_request duplicate_request"
            count = split(names, name, " ")
            printf "rdma:"
            for (at = 1; at <= count; at++) printf " %s=%s", name[at], counted[name[at]]
            print ""
        }'
}

# Also of interrupted programs: one that waits for the network may not end at once.
trap 'say_counters; kill -KILL "$program"; exit 143' TERM INT
status=0
wait "$program" || status=$?
say_counters
exit "$status"
