#!/bin/sh
# Two pcapng readers ignore if_tsoffset, two add it.
#
# Version:  scapy 2.8.0, python-pcapng 2.1.1, dpkt 1.9.8 (PyPI), tshark 4.0.17-0+deb12u3 (Debian 12)
# Expected: scapy, python-pcapng and tshark add the option's seconds to each time of the interface; dpkt ignores it.
# Seen:     tshark and dpkt add it; scapy and python-pcapng ignore it, and the packet lies in January 1970.
# Output:   scapy 0.123
#           python-pcapng 0.123
#           dpkt 1700000000.123
#           tshark 1700000000.123456789
. "$(dirname "$0")/lib.sh"
pip_packages scapy==2.8.0 python-pcapng==2.1.1 dpkt==1.9.8
version=4.0.17-0+deb12u3
apt_packages tshark=$version wireshark-common=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version
capture_module
seen=$(python - <<'PYTHON' 2>&1
from capture import *
import dpkt, pcapng
from scapy.utils import rdpcap

write("offset.pcapng", interface((9, b"\x09"), (14, struct.pack("<q", SECOND))), packet(0, 123_456_789))
print(f"scapy {float(rdpcap('offset.pcapng')[0].time):.3f}")
blocks = pcapng.FileScanner(open("offset.pcapng", "rb"))
print(*(f"python-pcapng {b.timestamp:.3f}" for b in blocks if isinstance(b, pcapng.blocks.EnhancedPacket)))
print(*(f"dpkt {float(time):.3f}" for time, _ in dpkt.pcapng.Reader(open("offset.pcapng", "rb"))))
PYTHON
)
tshark=$(timeout 60 tshark -r offset.pcapng -T fields -e frame.time_epoch 2>/dev/null)
same "$seen
tshark $tshark" "scapy 0.123
python-pcapng 0.123
dpkt 1700000000.123
tshark 1700000000.123456789"
