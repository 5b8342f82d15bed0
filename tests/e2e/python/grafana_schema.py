"""Reads dashboards by Grafana's own schema, as its Foundation SDK has it, writes them again, and prints what is not the same: keys that
the schema does not have, values that it takes for others. Arguments: the files. One line of JSON for each: what was lost, and how
many panels there are."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def same(one, other):
    are_numbers = all(isinstance(value, (int, float)) for value in (one, other))
    return one == other or (are_numbers and float(one) == float(other))


def lost(before, after, path=""):
    """Paths of what `before` has and `after` has not; indices of lists are left out."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{path}/{key}")
            else:
                yield f"{path}/{key}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after):
            yield from lost(one, other, path)
    elif not same(before, after):
        yield f"{path}: {before!r} becomes {after!r}"


register_default_plugins()
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as text:
        before = json.load(text)
    after = json.loads(JSONEncoder().encode(Dashboard.from_json(before)))
    print(json.dumps({"lost": sorted(set(lost(before, after))), "panels": len(before["panels"])}))
