#!/bin/sh
# tshark shows wrong times for captures in picoseconds, and editcap writes them.
#
# Version:  tshark and editcap 4.0.17-0+deb12u3 (Debian 12)
# Expected: with if_tsresol 12 the time is cut to nanoseconds.
# Seen:     a fraction of a second below 18.4 ms is right; from there the product with 10^9 overflows 64 bits, and the
#           fraction is arbitrary: 0.123456789 s is shown as 0.012776325 s. No warning. editcap writes the wrong time.
# Output:   1700000.012345678
#           1700000.012776325
#           1700000.012776325 after editcap
. "$(dirname "$0")/lib.sh"
pip_packages dpkt==1.9.8
version=4.0.17-0+deb12u3
apt_packages tshark=$version wireshark-common=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version
capture_module
python - <<'PYTHON' || exit 1
from capture import *

second = 1_700_000 * 10**12
write("ps.pcapng", interface((9, b"\x0c")), packet(0, second + 12_345_678_999), packet(0, second + 123_456_789_999))
PYTHON
seen=$(timeout 60 tshark -r ps.pcapng -T fields -e frame.time_epoch 2>/dev/null)
timeout 60 editcap -F nsecpcap ps.pcapng ps.pcap 2>/dev/null
edited=$(timeout 60 tshark -r ps.pcap -T fields -e frame.time_epoch 2>/dev/null | tail -n 1)
same "$seen
$edited after editcap" "1700000.012345678
1700000.012776325
1700000.012776325 after editcap"
