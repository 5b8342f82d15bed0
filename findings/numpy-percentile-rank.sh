#!/bin/sh
# numpy.percentile's `inverted_cdf` is one sample too high at some exact ranks: 99.9 % of 1000 samples is the maximum.
#
# Version:  numpy 2.4.6 (PyPI)
# Expected: of the samples 1 to 1000, the 99.9th percentile by `inverted_cdf` is 999, the smallest value that 99.9 % of
#           the samples do not exceed; of 1 to 100, the 7th is 7.
# Seen:     1000 and 8. In floating point 99.9 / 100 and 0.07 * 100 exceed the exact values, and the rank is rounded up.
#           quantile with 0.999 returns 999. Of the percentiles 0.1, 0.2 to 99.9 of 1000 samples, 135 are too high.
# Output:   percentile 99.9 of 1000: 1000
#           quantile 0.999 of 1000: 999
#           percentile 7 of 100: 8
#           too high: 135 of 999
. "$(dirname "$0")/lib.sh"
pip_packages numpy==2.4.6
seen=$(python - <<'PYTHON' 2>&1
import numpy as np

rule = {"method": "inverted_cdf"}
thousand, hundred = np.arange(1, 1001), np.arange(1, 101)
print("percentile 99.9 of 1000:", np.percentile(thousand, 99.9, **rule))
print("quantile 0.999 of 1000:", np.quantile(thousand, 0.999, **rule))
print("percentile 7 of 100:", np.percentile(hundred, 7, **rule))
high = [tenths for tenths in range(1, 1000) if np.percentile(thousand, tenths / 10, **rule) > tenths]
print(f"too high: {len(high)} of 999")
PYTHON
)
same "$seen" "percentile 99.9 of 1000: 1000
quantile 0.999 of 1000: 999
percentile 7 of 100: 8
too high: 135 of 999"
