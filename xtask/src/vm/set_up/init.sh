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

while :; do
    for job in /share/job.*; do
        [ -f "$job" ] || continue
        number=${job##*.}
        mv "$job" "/tmp/job.$number"
        (
            /bin/sh "/tmp/job.$number" > "/tmp/out.$number" 2>&1
            status=$?
            cp "/tmp/out.$number" "/share/out.$number"
            echo "$status" > "/share/status.$number"
            rm -f "/tmp/job.$number" "/tmp/out.$number"
        ) &
    done
    sleep 0.1
done
