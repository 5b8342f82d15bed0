#!/bin/sh
# dpkt reads every interface of a pcapng file with the time resolution of the first.
#
# Version:  dpkt 1.9.8 (PyPI)
# Expected: each packet's time in the resolution (if_tsresol) of its own interface, as the pcapng specification has it.
# Seen:     the second interface counts microseconds, the first nanoseconds; the second packet lies in January 1970,
#           a thousandth of its time. No error, no warning.
# Output:   1700000000.123
#           1700000.000
. "$(dirname "$0")/lib.sh"
pip_packages dpkt==1.9.8
capture_module
seen=$(python - <<'PYTHON' 2>&1
from capture import *
import dpkt

write("two.pcapng", interface((9, b"\x09")), interface((9, b"\x06")),
      packet(0, SECOND * 10**9 + 123_456_789), packet(1, SECOND * 10**6 + 123_456))
for time, _ in dpkt.pcapng.Reader(open("two.pcapng", "rb")):
    print(f"{float(time):.3f}")
PYTHON
)
same "$seen" "1700000000.123
1700000.000"
