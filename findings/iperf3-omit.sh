#!/bin/sh
# iperf3's intervals after --omit start at 0 a second time.
#
# Version:  iperf3 3.12-1+deb12u2 (Debian 12)
# Expected: with --omit 1 --time 2 three intervals on one clock, 0-1 (omitted), 1-2 and 2-3.
# Seen:     the clock starts again: 0-1 (omitted), 0-1 and 1-2. A plot over `start` lays the omitted second onto the first
#           measured one, and later intervals lie a second before they were.
# Output:   0-1 omitted
#           0-1
#           1-2
. "$(dirname "$0")/lib.sh"
version=3.12-1+deb12u2
apt_packages iperf3=$version libiperf0=$version
cat >transfer.sh <<'SH'
ip link set lo up || exit 3
timeout 30 iperf3 --server --one-off --bind 127.0.0.1 >/dev/null 2>&1 &
for try in 1 2 3 4 5; do
    sleep 1
    timeout 20 iperf3 --client 127.0.0.1 --udp --bitrate 1M --length 1000 --time 2 --omit 1 --json >report.json && break
done
wait
SH
timeout 60 unshare --map-root-user --net sh transfer.sh 2>/dev/null
[ $? -ne 3 ] || unavailable "a network namespace"
seen=$(timeout 60 python3 - <<'PYTHON' 2>&1
import json

for interval in json.load(open("report.json"))["intervals"]:
    total = interval["sum"]
    print(f"{total['start']:.0f}-{total['end']:.0f}" + " omitted" * total["omitted"])
PYTHON
)
same "$seen" "0-1 omitted
0-1
1-2"
