"""Runs give what the library's runs give: the digests and results on standard input."""

import json
import sys

import weir

expected = json.load(sys.stdin)
assert expected
for file, settings, digest, result in expected:
    for threads in (1, 2):
        run = weir.run(file, set=settings, threads=threads)
        assert run.digest == digest, (file, settings, threads)
    assert run.to_dict() == result, (file, settings)

# The same by text, by a dictionary and with arguments instead of settings.
file, settings, digest, _ = expected[1]
with open(file) as text:
    text = text.read()
assert weir.run(text, set=settings).digest == digest
arguments = {"set": {"deadlock.policy": "breaker"}, "until": "150ms", "seed": 7}
assert weir.run(file, **arguments).digest == digest
try:
    import tomllib
except ImportError:
    sys.exit("Python 3.11 has tomllib")
assert weir.run(tomllib.loads(text), **arguments).digest == digest
