#!/bin/sh
# PuLP with its own CBC returns eight significant digits, also for integers, and calls the result optimal.
#
# Version:  PuLP 3.3.2 with the CBC in its wheel (PyPI)
# Expected: the least integer x with x >= 123456789 is 123456789, and at 1234567941234 at least twelve digits are right.
# Seen:     123456790 and 1234567900000. The status is "Optimal", but the second value violates the only constraint, as
#           LpProblem.valid() confirms. In bytes or nanoseconds, 10^12 plus 1000 is 10^12.
# Output:   123456789: 123456790 Optimal, valid True
#           1234567941234: 1234567900000 Optimal, valid False
#           1000000001000: 1000000000000 Optimal, valid False
. "$(dirname "$0")/lib.sh"
pip_packages pulp==3.3.2
seen=$(python - <<'PYTHON' 2>&1
import pulp

for least in (123_456_789, 1_234_567_941_234, 10**12 + 1000):
    problem, x = pulp.LpProblem(sense=pulp.LpMinimize), pulp.LpVariable("x", lowBound=0, cat="Integer")
    problem += x
    problem += x >= least
    status = pulp.LpStatus[problem.solve(pulp.PULP_CBC_CMD(msg=False))]
    print(f"{least}: {x.value():.0f} {status}, valid {problem.valid()}")
PYTHON
)
same "$seen" "123456789: 123456790 Optimal, valid True
1234567941234: 1234567900000 Optimal, valid False
1000000001000: 1000000000000 Optimal, valid False"
