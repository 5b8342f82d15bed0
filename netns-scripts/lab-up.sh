#!/bin/sh
# Builds the network namespaces and links of a plan with ip(8).
#
#   lab-up.sh PLAN        builds what the file PLAN says; `-` reads standard input
#
# A plan has one entry a line; empty lines and lines that begin with # are skipped:
#
#   ns   NAME
#   veth NS_A DEV_A MAC_A NS_B DEV_B MAC_B MTU
#
# `ns` makes the namespace NAME. `veth` makes a pair of devices, one in each namespace; `-` for a MAC
# address leaves the choice to the kernel, MTU is in bytes of payload. Every device is brought up, its
# transmit checksum offload is switched off (a frame that XDP redirects on the other side would carry a
# half-finished checksum), and IPv6 is off in every namespace, so that the kernel sends nothing of its own.
#
# Needs root. When something fails, what was made stays: remove it with lab-down.sh PREFIX.
#
# A plan by hand: two hosts, one switch, all names beginning with `my-lab-`:
#
#   ns my-lab-s1
#   ns my-lab-h1
#   ns my-lab-h2
#   veth my-lab-s1 to-h1 - my-lab-h1 to-s1 02:57:00:00:00:01 1500
#   veth my-lab-s1 to-h2 - my-lab-h2 to-s1 02:57:00:00:00:02 1500
#
# `weir-lab plan SCENARIO` prints the plan of any scenario file.
set -eu

# For how long a device may take to get carrier, in tenths of a second.
CARRIER_WAIT=100

fail() {
    echo "lab-up.sh: $*" >&2
    exit 1
}

make_namespace() {
    ip netns add "$1"
    # shellcheck disable=SC2016 # expands inside
    ip netns exec "$1" sh -c '
        for scope in all default; do
            file=/proc/sys/net/ipv6/conf/$scope/disable_ipv6
            if [ -e "$file" ]; then echo 1 > "$file"; fi
        done'
    ip -n "$1" link set lo up
}

make_pair() {
    ns_a=$1 dev_a=$2 mac_a=$3 ns_b=$4 dev_b=$5 mac_b=$6 mtu=$7
    ip link add name "$dev_a" netns "$ns_a" mtu "$mtu" type veth \
        peer name "$dev_b" netns "$ns_b" mtu "$mtu"
    set_up "$ns_a" "$dev_a" "$mac_a"
    set_up "$ns_b" "$dev_b" "$mac_b"
}

set_up() {
    if [ "$3" != "-" ]; then
        ip -n "$1" link set dev "$2" address "$3"
    fi
    nsenter --net="/run/netns/$1" ethtool -K "$2" tx off > /dev/null
    # Tags are left in frames, where programs at the other end see them. Not every NIC can.
    nsenter --net="/run/netns/$1" ethtool -K "$2" txvlan off > /dev/null 2>&1 || true
    ip -n "$1" link set dev "$2" up
    devices="$devices $1/$2"
}

wait_for_carrier() {
    waited=0
    until ip -n "$1" -o link show dev "$2" | grep -q LOWER_UP; do
        [ "$waited" -lt "$CARRIER_WAIT" ] || fail "$2 in $1 gets no carrier"
        waited=$((waited + 1))
        sleep 0.1
    done
}

[ $# -eq 1 ] || fail "usage: lab-up.sh PLAN (what a plan is stands at the head of this script)"
[ "$(id -u)" -eq 0 ] || fail "network namespaces need root"
for tool in ip ethtool nsenter; do
    command -v "$tool" > /dev/null || fail "$tool is missing: cargo xtask setup"
done
if [ "$1" != "-" ]; then
    [ -r "$1" ] || fail "cannot read $1"
    exec < "$1"
fi

devices=
number=0
while read -r kind a b c d e f g rest; do
    number=$((number + 1))
    case $kind in
        '' | '#'*) ;;
        ns)
            if [ -z "$a" ] || [ -n "$b" ]; then
                fail "line $number: expected: ns NAME"
            fi
            make_namespace "$a" < /dev/null
            ;;
        veth)
            if [ -z "$g" ] || [ -n "$rest" ]; then
                fail "line $number: expected: veth NS_A DEV_A MAC_A NS_B DEV_B MAC_B MTU"
            fi
            make_pair "$a" "$b" "$c" "$d" "$e" "$f" "$g" < /dev/null
            ;;
        *) fail "line $number: \`$kind\` is neither ns nor veth" ;;
    esac
done

for device in $devices; do
    wait_for_carrier "${device%/*}" "${device#*/}"
done
