#!/bin/sh
# tc gives an htb class another burst than asked for, at 400 Gbit/s none.
#
# Version:  iproute2 6.1.0-3 (Debian 12), any kernel with sch_htb
# Expected: `burst 40k` at 400 Gbit/s reads about 40 kB, `burst 15k` at 10 Gbit/s 15360 bytes.
# Seen:     tc turns the burst into a time of whole microseconds at the rate, cut off, before the kernel has it and once
#           more when reading it. At 400 Gbit/s a step is 50000 bytes: 40k is 0, 200k reads 150000. No warning. tbf reads
#           back lower in the same way (32kb at 1 Gbit/s: 32750 bytes).
# Output:   40k at 400gbit: 0b
#           200k at 400gbit: 150000b
#           15k at 10gbit: 13750b
#           15k at 1gbit: 15125b
. "$(dirname "$0")/lib.sh"
apt_packages iproute2=6.1.0-3
cat >classes.sh <<'SH'
ip link add name x0 type veth peer name x1 && tc qdisc add dev x0 root handle 1: htb || exit 3
for pair in 40k@400gbit 200k@400gbit 15k@10gbit 15k@1gbit; do
    tc class replace dev x0 parent 1: classid 1:1 htb rate "${pair#*@}" burst "${pair%@*}" quantum 1500 || exit 1
    echo "${pair%@*} at ${pair#*@}: $(tc class show dev x0 | sed -n 's/.* burst \([^ ]*\) .*/\1/p')"
done
SH
seen=$(timeout 60 unshare --map-root-user --net sh classes.sh 2>&1)
[ $? -ne 3 ] || unavailable "a network namespace with veth and htb: $seen"
same "$seen" "40k at 400gbit: 0b
200k at 400gbit: 150000b
15k at 10gbit: 13750b
15k at 1gbit: 15125b"
