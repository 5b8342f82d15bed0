# Devices of each kind in the guest. To be read by a shell behind network.sh's steps: the switch is in namespace w, the neighbour in f,
# a host in g. The device under test is x0 in w, its far end y0 in f.

# A cable from device $1 in w to device $2 in f.
pair() {
    ip link add "$1" netns w type veth peer name "$2" netns f
    in_ns w ip link set "$1" up
    in_ns f ip link set "$2" up
    in_ns f ethtool -K "$2" tx off txvlan off gro on > /dev/null
}

# Counters of frames.
counts() { for n in w f g; do in_ns $n ip -s link; in_ns $n ip neigh; done; tail -n 20 /tmp/d.log; }
# Sums the datagrams that applications did not read in time (RcvbufErrors).
without_room() { awk '/^Udp:/ { sum += $6 } END { print sum + 0 }'; }

begin() {
    sysctl -q -w net.core.netdev_max_backlog=100000 net.core.rmem_max=4194304 net.core.wmem_max=4194304
    for n in w f g; do
        ip netns add $n
        in_ns $n ip link set lo up
        in_ns $n sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 2> /dev/null || true
    done
    ip link add z0 netns w type veth peer name e0 netns g
    in_ns w ip link set z0 up
    in_ns g ip link set e0 up
    in_ns g ethtool -K e0 tx off txvlan off gro on > /dev/null
    in_ns g ip addr add 10.3.0.2/24 dev e0
}

# Removes everything left of a kind, also after a failed one.
end() {
    for program in /tmp/daemon /tmp/helper; do [ ! -e $program ] || kill "$(cat $program)" 2> /dev/null || true; done
    wait_until 60 sh -c '! pidof weir-switchd'
    rm -f /tmp/daemon /tmp/helper
    for n in w f g; do ip netns del $n 2> /dev/null || true; done
    wait_until 20 sh -c '! ip link show x0 2> /dev/null'
}

below() { pair b0 c0; in_ns w ip addr add 10.4.0.1/24 dev b0; in_ns f ip addr add 10.4.0.2/24 dev c0; }
# The far end is the cable's.
plain_far() { in_ns f ip link set c0 down; in_ns f ip link set c0 name y0; in_ns f ip link set y0 up; }
up() { in_ns w ip link set x0 up; }

# bond MODE: over one cable, whose other end is the neighbour.
bond() {
    pair b0 c0
    in_ns w ip link add x0 type bond mode "$1" miimon 100
    in_ns w ip link set b0 down
    in_ns w ip link set b0 master x0
    up; plain_far
}
# tunnel KIND OPTIONS: over a cable with addresses, which has room for its headers.
tunnel() {
    kind=$1; shift
    below
    in_ns w ip link set b0 mtu 1600
    in_ns f ip link set c0 mtu 1600
    in_ns w ip link add x0 type "$kind" "$@" remote 10.4.0.2
    in_ns f ip link add y0 type "$kind" "$@" remote 10.4.0.1
    in_ns w ip link set x0 mtu 1500
    in_ns f ip link set y0 mtu 1500
    up; in_ns f ip link set y0 up
}
# teamd has one port, whose other end is the neighbour.
team() {
    pair b0 c0
    in_ns w ip link set b0 down
    mkdir -p /var/run/teamd
    nsenter --net=/run/netns/w teamd -t x0 \
        -c '{"runner": {"name": "activebackup"}, "link_watch": {"name": "ethtool"}, "ports": {"b0": {}}}' > /tmp/teamd 2>&1 &
    echo $! > /tmp/helper
    wait_until 20 nsenter --net=/run/netns/w ip link show x0 || { cat /tmp/teamd; return 1; }
    up; plain_far
}
# The program behind the tap passes frames to and from a second one, y0.
tap() {
    nsenter --net=/run/netns/w socat TUN,tun-type=tap,tun-name=x0,iff-no-pi,iff-up TUN,tun-type=tap,tun-name=y0,iff-no-pi > /tmp/socat 2>&1 &
    echo $! > /tmp/helper
    wait_until 20 nsenter --net=/run/netns/w ip link show y0
    in_ns w ip link set y0 netns f
    up; in_ns f ip link set y0 up
}

make() {
    case $1 in
        veth) pair x0 y0 ;;
        bond-active-backup) bond active-backup ;;
        bond-balance-rr) bond balance-rr ;;
        vlan)
            pair b0 c0
            # As on a cable: tags are in the frames.
            in_ns w ethtool -K b0 txvlan off > /dev/null
            in_ns w ip link add link b0 name x0 type vlan id 10; up
            in_ns f ip link add link c0 name y0 type vlan id 10; in_ns f ip link set y0 up ;;
        macvlan-passthru) pair b0 c0; in_ns w ip link add link b0 name x0 type macvlan mode passthru; up; plain_far ;;
        macvlan) pair b0 c0; in_ns w ip link add link b0 name x0 type macvlan mode bridge; up; plain_far ;;
        macvtap) pair b0 c0; in_ns w ip link add link b0 name x0 type macvtap mode bridge; up; plain_far ;;
        ipvlan) pair b0 c0; in_ns w ip link add link b0 name x0 type ipvlan mode l2; up; plain_far ;;
        vxlan) tunnel vxlan id 7 dstport 4789 ;;
        geneve) tunnel geneve id 7 ;;
        gretap) tunnel gretap ;;
        netkit)
            in_ns w newer-ip link add x0 type netkit mode l2 forward peer forward name y0
            in_ns w ip link set y0 netns f; up; in_ns f ip link set y0 up ;;
        bridge) pair b0 c0; in_ns w ip link add x0 type bridge; in_ns w ip link set b0 master x0; up; plain_far ;;
        bridge-port) pair x0 y0; in_ns w ip link add br0 type bridge; in_ns w ip link set br0 up; in_ns w ip link set x0 master br0 ;;
        bond-port)
            pair x0 y0; in_ns w ip link add bond9 type bond mode active-backup
            in_ns w ip link set x0 down; in_ns w ip link set x0 master bond9; in_ns w ip link set bond9 up ;;
        team) team ;;
        tap) tap ;;
        loopback) ;;
        dummy) in_ns w ip link add x0 type dummy; up ;;
        ifb) in_ns w ip link add x0 type ifb; up ;;
        wireguard) in_ns w ip link add x0 type wireguard; up ;;
        vrf) in_ns w ip link add x0 type vrf table 10; up ;;
        *) echo "no such kind: $1"; return 1 ;;
    esac
}

# configuration MODE CLASSES PORTS...: a switch's file, /tmp/d.toml.
configuration() {
    mode=$1; classes=$2; shift 2
    {
        printf 'name = "d"\n[dataplane]\nxdp-mode = "%s"\n[page]\nlisten = "off"\n[metrics]\nlisten = "off"\n[lldp]\nenabled = false\n' "$mode"
        printf '[forwarding]\nlearning = true\n'
        [ "$classes" = lossy ] || printf '[[class]]\nname = "storage"\npriority = 3\nmode = "pfc"\nxoff = "60KiB"\nxon = "52KiB"\nheadroom = "256KiB"\n'
        for port in "$@"; do printf '[[port]]\ndevice = "%s"\nrole = "edge"\nrate = "100Mbit"\n' "$port"; done
    } > /tmp/d.toml
}

# Starts the daemon; if it refuses, prints its message and its exit status.
start() {
    : > /tmp/d.log
    nsenter --net=/run/netns/w weir-switchd --config /tmp/d.toml > /tmp/d.log 2>&1 & daemon=$!
    echo $daemon > /tmp/daemon
    left=300
    until grep -q ' ready' /tmp/d.log; do
        left=$((left - 1))
        if ! kill -0 $daemon 2> /dev/null; then
            wait $daemon; echo "status $?"; cat /tmp/d.log; return 3
        fi
        [ $left -gt 0 ] || { cat /tmp/d.log; kill -9 $daemon; return 4; }
        sleep 0.1
    done
}
stop() { kill $daemon; wait $daemon || true; }
