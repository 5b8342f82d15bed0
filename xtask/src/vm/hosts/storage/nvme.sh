# NVMe over Fabrics: a subsystem with a disk in memory, its ports, and its initiators. No program: configfs and /dev/nvme-fabrics.
NVMET=/sys/kernel/config/nvmet
SUBSYSTEM=$NVMET/subsystems/weir

subsystem() {
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    mkdir -p /tmp/nvme
    mountpoint -q /tmp/nvme || mount -t tmpfs disk /tmp/nvme
    dd if=/dev/zero of=/tmp/nvme/disk bs=1M count=0 seek=64 2> /dev/null
    losetup -f /tmp/nvme/disk
    loop=$(losetup -a | grep /tmp/nvme/disk | cut -d: -f1)
    mkdir $SUBSYSTEM
    echo 1 > $SUBSYSTEM/attr_allow_any_host
    mkdir $SUBSYSTEM/namespaces/1
    echo "$loop" > $SUBSYSTEM/namespaces/1/device_path
    echo 1 > $SUBSYSTEM/namespaces/1/enable
}

# offer NUMBER TRANSPORT ADDRESS: the subsystem at an address of this namespace.
offer() {
    port=$NVMET/ports/$1
    mkdir $port
    echo ipv4 > $port/addr_adrfam
    echo $2 > $port/addr_trtype
    echo 4420 > $port/addr_trsvcid
    echo $3 > $port/addr_traddr
    ln -s $SUBSYSTEM $port/subsystems/weir
}

# reach TRANSPORT ADDRESS [OPTION]: connects to it, from this namespace.
reach() {
    echo "transport=$1,traddr=$2,trsvcid=4420,nqn=weir,nr_io_queues=1${3:+,$3}" > /dev/nvme-fabrics
}
# Not its hidden paths.
namespace() { ls /sys/block | grep -E '^nvme[0-9]+n[0-9]+$' | head -n 1; }
has_namespace() { [ -n "$(namespace)" ]; }
