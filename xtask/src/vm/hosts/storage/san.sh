# A storage network in one guest, which ends with the check. Both ends of FCoE are in the first namespace, since fcoe.ko knows no other one: the
# initiator behind e1, the target behind e2. The switch is in the namespace sw, and a host that disturbs in h3.
FCOE_VLAN=100
NAME_1=20:00:02:00:00:00:00:01
NAME_2=20:00:02:00:00:00:00:02
TARGET=/sys/kernel/config/target
DISK_BYTES=67108864

# end NUMBER: a device of the first namespace, whose cable leads to a port of the switch, and the VLAN of storage at it. All
# its frames have PCP 3. FCoE does not arrive where the driver inserts tags.
end() {
    ip link add e$1 mtu 2500 address 02:00:00:00:00:0$1 type veth peer name p$1 netns sw mtu 2500
    ip -n sw link set p$1 up
    ethtool -K e$1 tx off txvlan off rxvlan off gro on > /dev/null
    ip link set e$1 up
    ip link add link e$1 name v$1 type vlan id $FCOE_VLAN \
        egress-qos-map 0:3 1:3 2:3 3:3 4:3 5:3 6:3 7:3
    ip link set v$1 up
}

# disturber: a host with the same VLAN, and an address that it sends to.
disturber() {
    ip netns add h3
    ip link add eth0 mtu 2500 address 02:00:00:00:00:03 netns h3 type veth peer name p3 netns sw mtu 2500
    ip -n sw link set p3 up
    in_ns h3 ethtool -K eth0 tx off txvlan off rxvlan off gro on > /dev/null
    in_ns h3 ip link set lo up
    in_ns h3 ip link set eth0 up
    in_ns h3 ip link add link eth0 name v3 type vlan id $FCOE_VLAN egress-qos-map 0:3 1:3 2:3 3:3 4:3 5:3 6:3 7:3
    in_ns h3 ip addr add 10.9.0.3/24 dev v3
    in_ns h3 ip link set v3 up
    ip addr add 10.9.0.2/24 dev v2
}

network() {
    sysctl -q -w net.core.netdev_max_backlog=100000
    ip netns add sw
    in_ns sw ip link set lo up
    end 1
    end 2
    disturber
}

# a target in VN2VN mode with a disk in memory, and its only initiator.
target() {
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    mkdir -p /tmp/disk
    mountpoint -q /tmp/disk || mount -t tmpfs disk /tmp/disk
    mkdir -p $TARGET/core/fileio_0/disk
    echo "fd_dev_name=/tmp/disk/disk,fd_dev_size=$DISK_BYTES,fd_buffered_io=1" > $TARGET/core/fileio_0/disk/control
    echo 1 > $TARGET/core/fileio_0/disk/enable
    mkdir -p $TARGET/fc
    mkdir $TARGET/fc/$NAME_2
    group=$TARGET/fc/$NAME_2/tpgt_1
    mkdir $group
    mkdir $group/lun/lun_0
    ln -s $TARGET/core/fileio_0/disk $group/lun/lun_0/disk
    mkdir $group/acls/$NAME_1
    mkdir $group/acls/$NAME_1/lun_0
    ln -s $group/lun/lun_0 $group/acls/$NAME_1/lun_0/disk
}

controllers() { ls -d /sys/bus/fcoe/devices/ctlr_* 2> /dev/null; }
has_disk() { ls /sys/block | grep -q '^sd'; }
disk() { ls /sys/block | grep '^sd' | head -n 1; }
# fc_host NUMBER: the kernel's FCoE host at v<NUMBER>.
fc_host() { dirname "$(grep -l " over v$1" /sys/class/fc_host/*/symbolic_name)"; }

log_in() {
    target
    for n in 2 1; do echo v$n > /sys/bus/fcoe/ctlr_create; done
    for controller in $(controllers); do
        # The kernel accepts only capitals.
        printf VN2VN > $controller/mode
        echo 1 > $controller/enabled
    done
    wait_until 60 has_disk
}

# configuration CLASS PORT...: the switch's file, with the keys of the class of priority 3.
configuration() {
    class=$1; shift
    cat <<END
name = "san"
[dataplane]
mtu = "$mtu"
[page]
listen = "off"
[forwarding]
learning = true
[[class]]
name = "storage"
priority = 3
$class
END
    for port in "$@"; do printf '[[port]]\ndevice = "%s"\nrole = "edge"\nrate = "%s"\n' $port $rate; done
}

is_ready() { grep -q ' ready ' /tmp/san.log; }
# switch CLASS PORT...: starts it, with a keeper.
switch() {
    configuration "$@" > /tmp/san.toml
    : > /tmp/san.log
    nsenter --net=/run/netns/sw weir-switchd --keeper --config /tmp/san.toml > /tmp/san.log 2>&1 & daemon=$!
    wait_until 120 is_ready || { cat /tmp/san.log; return 1; }
}
# counted NAME: its present counters, in the file that the checks read.
counted() { in_ns sw wget -q -O "/share/$1" http://127.0.0.1:9464/metrics; }

# obey DEVICE OPTIONS...: the device of this namespace obeys pauses and is bounded, by the kernel if it can.
obey() {
    device=$1; shift
    options="$device --rate $rate --max-rate $rate --obey 3 $*"
    if weir-host attach $options > /tmp/attach-$device 2>&1; then how=attach; return; fi
    how=plug
    weir-host plug $options > /tmp/plug-$device 2>&1 &
    wait_until 20 weir-host status $device || { cat /tmp/attach-$device /tmp/plug-$device; return 1; }
}
in_h3() { nsenter --net=/run/netns/h3 sh -c ". /etc/hosts.sh; . /etc/san.sh; rate=$rate; $*"; }

# every_block COMMAND...: runs it at once for each block of the data, and prints how many failed.
BLOCKS=100
WRITERS=4
each=$((BLOCKS / WRITERS))
fill() { dd if=/dev/urandom of=/tmp/data bs=512k count=$BLOCKS 2> /dev/null; }
all_at_once() {
    failed=0; running=
    for writer in $(seq 0 $((WRITERS - 1))); do "$1" $((writer * each)) & running="$running $!"; done
    for process in $running; do wait $process || failed=$((failed + 1)); done
    echo $failed
}
write_part() {
    dd if=/tmp/data of=/dev/$device bs=512k skip=$1 seek=$1 count=$each oflag=direct conv=notrunc 2> /dev/null
}
sum() { dd if=$1 bs=512k skip=$2 count=$each $3 2> /dev/null | sha256sum; }
compare_part() { [ "$(sum /tmp/data $1)" = "$(sum /dev/$device $1 iflag=direct)" ]; }
# write_and_compare DEVICE: all of the data, written and read back by as many processes at once.
write_and_compare() {
    device=$1
    echo "unwritten $(all_at_once write_part)"
    echo "different $(all_at_once compare_part)"
}

# is_paused PORT: the switch has paused what is behind it.
is_paused() {
    in_ns sw wget -q -O - http://127.0.0.1:9464/metrics |
        grep "^weir_pfc_frames_total{.*\"$1\".*\"3\".*\"tx\".*\"xoff\"} [1-9]"
}
# is_written BLOCKS: the initiator has written as many, at least.
is_written() { [ $(($(cat "$(fc_host 1)/statistics/fcp_output_megabytes") * 2)) -ge $1 ]; }

# of_hosts FAMILY...: sums what weir-host has counted in this namespace; reads its metrics.
of_hosts() {
    families=$(echo "$*" | tr ' ' '|')
    awk -v families="^weir_host_($families)_total" '$1 ~ families { sum += $NF } END { print sum + 0 }'
}
rate_waits() { of_hosts rate_waits; }
refused() { of_hosts dropped_limit dropped_memory dropped_draining; }

# fc_counts: errors that libfc has counted at both ends.
fc_counts() {
    for name in error_frames invalid_crc_count fcp_packet_aborts fcp_frame_alloc_failures; do
        sum=0
        for end in 1 2; do sum=$((sum + $(cat "$(fc_host $end)/statistics/$name"))); done
        echo "$name $sum"
    done
}
