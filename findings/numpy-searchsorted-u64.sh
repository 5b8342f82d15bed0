#!/bin/sh
# numpy.searchsorted compares 64-bit nanoseconds as floating point when the key is a Python integer or int64.
#
# Version:  numpy 2.4.6 (PyPI)
# Expected: a key out of an array of uint64 is found at its own place, whatever its integer type; or an error. `==`,
#           isin and digitize are exact here.
# Seen:     for a Python integer, or an array of int64, both sides become float64: above 2^53 (104 days in nanoseconds)
#           the place is too low. numpy.uint64 as key is exact. numpy.arange of numpy.uint64 with a step of 1 is float64.
# Output:   Python integer 0
#           int64 0
#           uint64 1
#           arange float64
. "$(dirname "$0")/lib.sh"
pip_packages numpy==2.4.6
seen=$(python - <<'PYTHON' 2>&1
import numpy as np

first = 2**53
times = np.array([first, first + 1, first + 2], dtype=np.uint64)
print("Python integer", np.searchsorted(times, first + 1))
print("int64", np.searchsorted(times, np.array([first + 1]))[0])
print("uint64", np.searchsorted(times, np.uint64(first + 1)))
print("arange", np.arange(np.uint64(first), np.uint64(first + 3), 1).dtype)
PYTHON
)
same "$seen" "Python integer 0
int64 0
uint64 1
arange float64"
