#!/bin/sh
# editcap, mergecap and tshark -w lose a capture's drop counters.
#
# Version:  tshark, editcap and mergecap 4.0.17-0+deb12u3 (Debian 12)
# Expected: a copy in the same format keeps the interface statistics blocks (isb_ifrecv, isb_ifdrop), as it keeps the
#           options of packets (comments, epb_flags, epb_dropcount).
# Seen:     all three keep the options of packets and lose the interface statistics: a capture that lost frames looks
#           complete after it was cut, merged or filtered.
# Output:   original: 1 interface statistics, 1 epb_dropcount
#           editcap: 0 interface statistics, 1 epb_dropcount
#           mergecap: 0 interface statistics, 1 epb_dropcount
#           tshark: 0 interface statistics, 1 epb_dropcount
. "$(dirname "$0")/lib.sh"
pip_packages dpkt==1.9.8
version=4.0.17-0+deb12u3
apt_packages tshark=$version wireshark-common=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version
capture_module
python - <<'PYTHON' || exit 1
from capture import *

now = SECOND * 10**9
write("original.pcapng", interface((9, b"\x09")), packet(0, now, (4, struct.pack("<Q", 7))),
      statistics(0, now + 1, (4, struct.pack("<Q", 100)), (5, struct.pack("<Q", 9))))
PYTHON
timeout 60 editcap original.pcapng editcap.pcapng 2>/dev/null
timeout 60 mergecap -w mergecap.pcapng original.pcapng 2>/dev/null
timeout 60 tshark -r original.pcapng -w tshark.pcapng 2>/dev/null
seen=$(python - <<'PYTHON' 2>&1
import struct

for name in ("original", "editcap", "mergecap", "tshark"):
    data, at, statistics, drops = open(name + ".pcapng", "rb").read(), 0, 0, 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        statistics += kind == 5
        # The option of 8 bytes with the value 7, behind a packet.
        drops += kind == 6 and struct.pack("<HHQ", 4, 8, 7) in data[at:at + length]
        at += length
    print(f"{name}: {statistics} interface statistics, {drops} epb_dropcount")
PYTHON
)
same "$seen" "original: 1 interface statistics, 1 epb_dropcount
editcap: 0 interface statistics, 1 epb_dropcount
mergecap: 0 interface statistics, 1 epb_dropcount
tshark: 0 interface statistics, 1 epb_dropcount"
