#!/bin/sh
# Builds the network namespaces and links of a plan with ip(8).
#
#   lab-up.sh PLAN        builds the plan in the file PLAN; `-` reads standard input
#
# A plan has one entry per line; empty lines and lines that begin with # are skipped:
#
#   ns   NAME
#   veth NS_A DEV_A MAC_A NS_B DEV_B MAC_B MTU
#
# `ns` makes the namespace NAME. `veth` makes a pair of devices, one in each namespace; `-` for a MAC
# address leaves the choice to the kernel, MTU is in bytes of payload. Every device is brought up, its
# transmit checksum offload is switched off (a frame that XDP redirects on the other side would carry a
# half-finished checksum), and IPv6 is off in every namespace, so the kernel itself sends nothing.
#
# Needs root. After a failure, the part that was made remains: remove it with lab-down.sh PREFIX.
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

# Time for a device to get carrier, in tenths of a second.
CARRIER_WAIT=100

fail() {
    echo "lab-up.sh: $*" >&2
    exit 1
}

# Runs inside the namespace; the arguments are devices and their MAC addresses.
# shellcheck disable=SC2016 # expands inside
set_up='
    set -eu
    for scope in all default; do
        file=/proc/sys/net/ipv6/conf/$scope/disable_ipv6
        if [ -e "$file" ]; then echo 1 > "$file"; fi
    done
    commands="link set lo up"
    while [ $# -gt 0 ]; do
        # Tags are left in frames, where programs at the other end see them. Not every NIC can.
        ethtool -K "$1" tx off txvlan off > /dev/null 2>&1 || ethtool -K "$1" tx off > /dev/null
        [ "$2" = - ] || commands="$commands
            link set dev $1 address $2"
        commands="$commands
            link set dev $1 up"
        shift 2
    done
    echo "$commands" | ip -batch -'

wait_for_carrier() {
    waited=0
    while ip -n "$1" -o link show | grep -v LOWER_UP; do
        [ "$waited" -lt "$CARRIER_WAIT" ] || fail "a device in $1 gets no carrier"
        waited=$((waited + 1))
        sleep 0.1
    done > /dev/null
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

# Starts few processes: starting one takes longer than its work.
namespaces=
pairs=
commands=
number=0
while read -r kind a b c d e f g rest; do
    number=$((number + 1))
    case $kind in
        '' | '#'*) ;;
        ns)
            if [ -z "$a" ] || [ -n "$b" ]; then
                fail "line $number: expected: ns NAME"
            fi
            namespaces="$namespaces $a"
            commands="${commands}netns add $a
"
            ;;
        veth)
            if [ -z "$g" ] || [ -n "$rest" ]; then
                fail "line $number: expected: veth NS_A DEV_A MAC_A NS_B DEV_B MAC_B MTU"
            fi
            pairs="${pairs}$a $b $c $d $e $f
"
            commands="${commands}link add name $b netns $a mtu $g type veth peer name $e netns $d mtu $g
"
            ;;
        *) fail "line $number: \`$kind\` is neither ns nor veth" ;;
    esac
done
printf '%s' "$commands" | ip -batch -

for namespace in $namespaces; do
    set --
    while read -r ns_a dev_a mac_a ns_b dev_b mac_b; do
        [ "$ns_a" != "$namespace" ] || set -- "$@" "$dev_a" "$mac_a"
        [ "$ns_b" != "$namespace" ] || set -- "$@" "$dev_b" "$mac_b"
    done << END
$pairs
END
    nsenter --net="/run/netns/$namespace" sh -c "$set_up" sh "$@"
done
for namespace in $namespaces; do
    wait_for_carrier "$namespace"
done
