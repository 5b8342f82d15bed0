#!/bin/sh
# `tc -json class show` prints text.
#
# Version:  iproute2 6.1.0-3 (Debian 12), any kernel with sch_htb
# Expected: JSON, as from `tc -json qdisc show` for the same device.
# Seen:     the text of `tc class show`, with exit status 0; a JSON parser fails.
# Output:   qdisc: JSON
#           class: status 0, class htb 1:1 root prio 0 rate 1Gbit
. "$(dirname "$0")/lib.sh"
apt_packages iproute2=6.1.0-3
cat >classes.sh <<'SH'
ip link add name x0 type veth peer name x1 && tc qdisc add dev x0 root handle 1: htb || exit 3
tc class add dev x0 parent 1: classid 1:1 htb rate 1gbit quantum 1500 || exit 1
tc -json qdisc show dev x0 | python3 -c 'import json, sys; json.load(sys.stdin); print("qdisc: JSON")'
text=$(tc -json class show dev x0)
echo "class: status $?, ${text%% ceil*}"
SH
seen=$(timeout 60 unshare --map-root-user --net sh classes.sh 2>&1)
[ $? -ne 3 ] || unavailable "a network namespace with veth and htb: $seen"
same "$seen" "qdisc: JSON
class: status 0, class htb 1:1 root prio 0 rate 1Gbit"
