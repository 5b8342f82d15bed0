#!/bin/sh
# DuckDB rounds TIMESTAMP_NS up before it truncates: an event falls into the next bucket, day or year.
#
# Version:  duckdb 2.0.1 (PyPI)
# Expected: date_trunc, time_bucket, casts to DATE and year() of a TIMESTAMP_NS cut off, as they do for TIMESTAMP, and
#           the first two keep TIMESTAMP_NS.
# Seen:     the value is first rounded to the nearest microsecond. In the last half microsecond of a bucket an event
#           counts in the bucket after it; year() of 2025-12-31 23:59:59.9999996 is 2026. epoch_us and second cut off.
# Output:   trunc 2026-01-01 00:00:01
#           bucket 2026-01-01 00:00:01
#           day 2026-01-01
#           year 2026
#           second 59
#           epoch_us 1767225599999999
. "$(dirname "$0")/lib.sh"
pip_packages duckdb==2.0.1
seen=$(python - <<'PYTHON' 2>&1
import duckdb

def show(name, expression, time):
    query = f"SELECT ({expression})::VARCHAR FROM (SELECT '{time}'::TIMESTAMP_NS AS t)"
    print(name, duckdb.execute(query).fetchone()[0])

show("trunc", "date_trunc('second', t)", "2026-01-01 00:00:00.9999996")
show("bucket", "time_bucket(INTERVAL '1 second', t)", "2026-01-01 00:00:00.9999996")
for name, expression in (("day", "t::DATE"), ("year", "year(t)"), ("second", "second(t)"), ("epoch_us", "epoch_us(t)")):
    show(name, expression, "2025-12-31 23:59:59.9999996")
PYTHON
)
same "$seen" "trunc 2026-01-01 00:00:01
bucket 2026-01-01 00:00:01
day 2026-01-01
year 2026
second 59
epoch_us 1767225599999999"
