#!/bin/sh
# prometheus_client's parser renames counters of the classic text format.
#
# Version:  prometheus_client 0.26.0 (PyPI)
# Expected: the sample of `weir_frames 5`, of type counter, has the name weir_frames: the text format 0.0.4 does not
#           require `_total`, and Prometheus stores weir_frames.
# Seen:     the parser names the sample weir_frames_total, a name that nothing exposed. A query written after it finds
#           nothing in Prometheus. A gauge keeps its name.
# Output:   weir_frames_total 5.0
#           weir_depth 5.0
. "$(dirname "$0")/lib.sh"
pip_packages prometheus_client==0.26.0
seen=$(python - <<'PYTHON' 2>&1
from prometheus_client.parser import text_string_to_metric_families

text = "# TYPE weir_frames counter\nweir_frames 5\n# TYPE weir_depth gauge\nweir_depth 5\n"
for family in text_string_to_metric_families(text):
    for sample in family.samples:
        print(sample.name, float(sample.value))
PYTHON
)
same "$seen" "weir_frames_total 5.0
weir_depth 5.0"
