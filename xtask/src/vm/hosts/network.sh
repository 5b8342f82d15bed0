# Two hosts at the ends of one cable, in namespaces of the guest. To be read by a shell: each function is a step of a check.
in_ns() { name=$1; shift; nsenter --net="/run/netns/$name" "$@"; }

# wait_until SECONDS COMMAND...
wait_until() {
    left=$(($1 * 5)); shift
    until "$@" > /dev/null 2>&1; do
        left=$((left - 1)); [ $left -gt 0 ] || { echo "not in time: $*"; return 1; }
        sleep 0.2
    done
}

# The hosts a and b; NAPI on, so that veth keeps the order of frames.
cable() {
    sysctl -q -w net.core.netdev_max_backlog=100000
    for n in a b; do ip netns add $n; done
    ip link add eth0 netns a type veth peer name eth0 netns b
    for n in a b; do
        in_ns $n ip link set lo up
        in_ns $n ip link set eth0 up
        in_ns $n ethtool -K eth0 tx off gro on > /dev/null
    done
    in_ns a ip addr add 10.2.0.1/24 dev eth0
    in_ns b ip addr add 10.2.0.2/24 dev eth0
}

uncable() { ip netns del a; ip netns del b; }

# nothing_left NAMESPACE DEVICE: no queue, programs, maps or links of weir-host's.
nothing_left() {
    in_ns "$1" tc qdisc show dev "$2" | grep ' wh[0-9a-f]*\.' && return 1
    bpftool prog show | grep -E 'name wh_' && return 1
    bpftool map show | grep -E 'name (wh_|weir_hos)' && return 1
    bpftool link show | grep struct_ops && return 1
    return 0
}

# plug OPTIONS...: `weir-host plug` in a; knows its processes.
plugged() { in_ns a tc qdisc show dev eth0 | grep -q 'plug 7743:'; }
unplugged() { ! in_ns a tc qdisc show dev eth0 | grep -qE ' plug | 7748:'; }
worker_of() { in_ns a weir-host --json status eth0 2> /dev/null | sed -n 's/.*"process": *\([0-9][0-9]*\).*/\1/p'; }
held() { [ -n "$(worker_of)" ]; }
plug() {
    nsenter --net=/run/netns/a weir-host --json plug eth0 "$@" > /share/plug 2> /tmp/plug-said & keeper=$!
    wait_until 20 held
    worker=$(worker_of)
}
