#!/bin/busybox sh
# Mounts the root file system of a distribution, and starts its init: /dev/vda has it, /dev/vdb the kernel's modules.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*.ko; do
    insmod "$module" || echo "cannot load $module"
done
waited=0
until [ -b /dev/vda ] && [ -b /dev/vdb ]; do
    waited=$((waited + 1))
    [ $waited -lt 300 ] || { echo "no disks"; exec sleep 1000; }
    sleep 0.1
done
mount -t ext4 /dev/vda /root
mount -t ext4 -o ro /dev/vdb /root/usr/lib/modules
umount /proc /sys
mount --move /dev /root/dev
exec switch_root /root /sbin/init
