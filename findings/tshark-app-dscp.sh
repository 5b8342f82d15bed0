#!/bin/sh
# tshark does not know the application priorities that RoCEv2 networks announce: those by DSCP.
#
# Version:  tshark 4.0.17-0+deb12u3 (Debian 12)
# Expected: selector 5 of the Application Priority TLV (802.1Q, DSCP since 802.1Qcd of 2015) is named, with the DSCP.
# Seen:     the selector is called "Reserved", the entry "Unknown Application", and the DSCP is shown in hexadecimal as a
#           protocol. FCoE in the same TLV is named.
# Output:   Unknown Application
#           Reserved (5)
#           0x001a
#           FCoE Application
. "$(dirname "$0")/lib.sh"
pip_packages dpkt==1.9.8
version=4.0.17-0+deb12u3
apt_packages tshark=$version wireshark-common=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version
python - <<'PYTHON' || exit 1
import dpkt

def tlv(kind, value):
    return (kind << 9 | len(value)).to_bytes(2, "big") + value

source = bytes.fromhex("020000000001")
# Priority 3 for DSCP 26, and for the EtherType 0x8906.
entries = bytes([3 << 5 | 5, 0, 26, 3 << 5 | 1, 0x89, 0x06])
frame = bytes.fromhex("0180c200000e") + source + b"\x88\xcc" + tlv(1, b"\x04" + source) + tlv(2, b"\x05eth0")
frame += tlv(3, b"\x00\x78") + tlv(127, b"\x00\x80\xc2\x0c\x00" + entries) + tlv(0, b"")
with open("lldp.pcap", "wb") as file:
    dpkt.pcap.Writer(file).writepkt(frame, 1_700_000_000)
PYTHON
seen=$(timeout 60 tshark -r lldp.pcap -O lldp 2>/dev/null |
    sed -n 's/^ *\(.* Application\)$/\1/p; s/.*Selector: \(Reserved.*\)/\1/p; s/.*Protocol Id: \(0x001a\)/\1/p')
same "$seen" "Unknown Application
Reserved (5)
0x001a
FCoE Application"
