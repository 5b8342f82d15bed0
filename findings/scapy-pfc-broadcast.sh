#!/bin/sh
# scapy sends PFC, PAUSE and LLDP to the broadcast address unless told otherwise.
#
# Version:  scapy 2.8.0 (PyPI)
# Expected: Ether() below MACControlClassBasedFlowControl goes to 01:80:c2:00:00:01, and below LLDPDU to
#           01:80:c2:00:00:0e, as Ether() below IPv6 multicast takes its group's address.
# Seen:     all go to ff:ff:ff:ff:ff:ff. A switch does not take such a frame for PFC, and a bridge floods it to all
#           ports instead of keeping it on the link.
# Output:   PFC ff:ff:ff:ff:ff:ff
#           PAUSE ff:ff:ff:ff:ff:ff
#           LLDP ff:ff:ff:ff:ff:ff
#           IPv6 33:33:00:00:00:01
. "$(dirname "$0")/lib.sh"
pip_packages scapy==2.8.0
seen=$(python - <<'PYTHON' 2>/dev/null
from scapy.contrib.lldp import *
from scapy.contrib.mac_control import *
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

lldp = LLDPDUChassisID(subtype=4, id="02:00:00:00:00:01") / LLDPDUPortID(subtype=5, id="eth0")
lldp /= LLDPDUTimeToLive(ttl=120) / LLDPDUEndOfLLDPDU()
pfc = MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=100)
pause, ipv6 = MACControlPause(pause_time=100), IPv6(src="fe80::1", dst="ff02::1")
for name, payload in (("PFC", pfc), ("PAUSE", pause), ("LLDP", lldp), ("IPv6", ipv6)):
    frame = bytes(Ether(src="02:00:00:00:00:01") / payload)
    print(name, frame[:6].hex(":"))
PYTHON
)
same "$seen" "PFC ff:ff:ff:ff:ff:ff
PAUSE ff:ff:ff:ff:ff:ff
LLDP ff:ff:ff:ff:ff:ff
IPv6 33:33:00:00:00:01"
