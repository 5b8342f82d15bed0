#!/bin/sh
# nfcapd reads only one of the four IPFIX time formats of softflowd: with the others flows date from 1970.
#
# Version:  softflowd 1.1.0-1+b1, nfdump 1.7.1-2+deb12u1 (Debian 12)
# Expected: nfdump shows the start of the flow to the millisecond for `softflowd -A nano`, and for milli and sec. (Micro was
#           expected to fail once nano had been seen.)
# Seen:     with milli it does. With sec, micro and nano (IPFIX elements 150, 154 and 156) first and last are 0, without
#           a message; bytes and packets are right. The exported times are correct: tshark 4.0.17 shows them.
# Output:   sec 1970-01-01T00:00:00.000 packets 5
#           milli 2023-11-14T22:13:20.123 packets 5
#           micro 1970-01-01T00:00:00.000 packets 5
#           nano 1970-01-01T00:00:00.000 packets 5
. "$(dirname "$0")/lib.sh"
apt_packages softflowd=1.1.0-1+b1 nfdump=1.7.1-2+deb12u1
capture_module
timeout 60 python3 - <<'PYTHON' || exit 1
import capture
from capture import *

# Five UDP datagrams of 128 bytes, 1 us apart, between addresses of the documentation's network.
addresses = bytes([192, 0, 2, 1, 192, 0, 2, 2])
ip = struct.pack(">BBHHHBBH", 0x45, 0, 128, 0, 0, 64, 17, 0) + addresses
udp = struct.pack(">HHHH", 50000, 4791, 108, 0) + bytes(100)
capture.FRAME = bytes.fromhex("0200000000020200000000010800") + ip + udp
packets = (packet(0, SECOND * 10**9 + 123_456_789 + i * 1000) for i in range(5))
write("flow.pcapng", interface((9, b"\x09")), *packets)
PYTHON
cat >export.sh <<'SH'
ip link set lo up || exit 3
for format in sec milli micro nano; do
    mkdir "$format"
    timeout 60 nfcapd -w "$PWD/$format" -p 9995 -b 127.0.0.1 >/dev/null 2>&1 &
    collector=$!
    # Port 9995 in hexadecimal.
    for try in 1 2 3 4 5 6 7 8 9 10; do
        grep -q ":270B " /proc/net/udp && break
        sleep 0.5
    done
    timeout 30 softflowd -d -r flow.pcapng -n 127.0.0.1:9995 -v 10 -A "$format" -p "$PWD/pid" -c none >/dev/null 2>&1
    sleep 1
    kill "$collector"
    wait "$collector"
    timeout 30 nfdump -R "$PWD/$format" -o json 2>/dev/null |
        sed -n 's/.*"first" : "\(.*\)".*/\1/p; s/.*"in_packets" : \(.*\),/\1/p' | paste -s -d ' ' |
        sed "s/^/$format /; s/ \([0-9]*\)\$/ packets \1/"
done
SH
seen=$(timeout 120 unshare --map-root-user --net sh export.sh 2>/dev/null)
[ $? -ne 3 ] || unavailable "a network namespace"
same "$seen" "sec 1970-01-01T00:00:00.000 packets 5
milli 2023-11-14T22:13:20.123 packets 5
micro 1970-01-01T00:00:00.000 packets 5
nano 1970-01-01T00:00:00.000 packets 5"
