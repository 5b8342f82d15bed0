#!/bin/sh
# DuckDB's INTERVAL loses its microseconds in Parquet.
#
# Version:  duckdb 2.0.1 (PyPI)
# Expected: COPY … TO 'x.parquet' of an INTERVAL below a millisecond is an error, or the value survives.
# Seen:     Parquet's INTERVAL counts milliseconds. 1500 µs comes back as 1 ms and 999 µs as 0, without an error; the
#           same query to CSV keeps both.
# Output:   00:00:00.001 00:00:00
#           00:00:00.0015 00:00:00.000999 in CSV
. "$(dirname "$0")/lib.sh"
pip_packages duckdb==2.0.1
seen=$(python - <<'PYTHON' 2>&1
import duckdb

query = "SELECT INTERVAL '1500 microseconds' AS a, INTERVAL '999 microseconds' AS b"
duckdb.execute(f"COPY ({query}) TO 'x.parquet'")
duckdb.execute(f"COPY ({query}) TO 'x.csv'")
print(*duckdb.execute("SELECT a::VARCHAR, b::VARCHAR FROM 'x.parquet'").fetchone())
print(*open("x.csv").read().splitlines()[1].split(","), "in CSV")
PYTHON
)
same "$seen" "00:00:00.001 00:00:00
00:00:00.0015 00:00:00.000999 in CSV"
