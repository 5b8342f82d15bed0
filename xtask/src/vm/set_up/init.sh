#!/bin/busybox sh
# The guest's only service: runs the jobs that the host puts into /share, and leaves there what they say.
# What is there already stays: the host's ip, ethtool, nsenter, setpriv and sh.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
for module in /modules/*.ko; do
    insmod "$module" || echo "cannot load $module"
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none share /share || echo "cannot mount /share"
ip link set lo up
echo "guest up after $(cut -d' ' -f1 /proc/uptime) s"

JOB_SHELL=/bin/sh
. /jobs.sh
