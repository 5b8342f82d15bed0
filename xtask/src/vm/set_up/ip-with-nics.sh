#!/bin/sh
# Stands before ip(8) in the path of a lab in the guest: where the lab asks for a pair of veth devices, it gets two NICs
# whose cables lead to each other, as long as there are any. Their addresses end in 10 and 11, 12 and 13, and so on; ip(8)
# still shows that as `permaddr` where an earlier lab has given a NIC another.
set -eu

ip=/bin/ip
state=/tmp/next-nic

# Puts the NIC with address $1 into namespace $2 as $3, with MTU $4 and one queue.
place() {
    device=$($ip -o link | grep -i "$1" | cut -d' ' -f2 | tr -d :)
    $ip link set "$device" down
    ethtool -L "$device" combined 1 > /dev/null 2>&1 || true
    ethtool -K "$device" rxvlan off txvlan off > /dev/null 2>&1 || true
    $ip link set "$device" netns "$2" name "$3" mtu "$4"
}

# link add name A netns NS_A mtu MTU type veth peer name B netns NS_B mtu MTU
if [ "${1-} ${2-} ${10-}" = "link add veth" ]; then
    number=$(cat $state 2> /dev/null || echo 16)
    first=$(printf '52:54:00:00:05:%02x' "$number")
    second=$(printf '52:54:00:00:05:%02x' $((number + 1)))
    if $ip -o link | grep -qi "$second"; then
        place "$first" "$6" "$4" "$8"
        place "$second" "${15}" "${13}" "${17}"
        echo $((number + 2)) > $state
        exit 0
    fi
fi
exec $ip "$@"
