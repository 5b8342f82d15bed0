#!/bin/sh
# scipy's maximum_flow keeps the lowest 32 bits of a capacity: a link of 400 Gbit/s carries 0.57 Gbit/s.
#
# Version:  scipy 1.17.1 with numpy 2.4.6 (PyPI)
# Expected: ValueError for a capacity of 400 * 10^9 bit/s in a matrix of int64, because the function computes in 32 bits.
# Seen:     the capacity is cut to 32 bits with sign, without an error or warning, by both methods. 25 and 200 Gbit/s
#           become negative, and the flow is 0. shortest_path on the same matrix is exact.
# Output:   25 Gbit/s: 0 0
#           100 Gbit/s: 1215752192 1215752192
#           200 Gbit/s: 0 0
#           400 Gbit/s: 568041472 568041472
#           shortest_path: 400000000000
. "$(dirname "$0")/lib.sh"
pip_packages numpy==2.4.6 scipy==1.17.1
seen=$(python - <<'PYTHON' 2>&1
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow, shortest_path

for gigabits in (25, 100, 200, 400):
    link = csr_array(np.array([[0, gigabits * 10**9], [0, 0]], dtype=np.int64))
    flows = (maximum_flow(link, 0, 1, method=method).flow_value for method in ("dinic", "edmonds_karp"))
    print(f"{gigabits} Gbit/s:", *flows)
print(f"shortest_path: {shortest_path(link)[0, 1]:.0f}")
PYTHON
)
same "$seen" "25 Gbit/s: 0 0
100 Gbit/s: 1215752192 1215752192
200 Gbit/s: 0 0
400 Gbit/s: 568041472 568041472
shortest_path: 400000000000"
