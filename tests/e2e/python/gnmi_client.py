"""A gNMI client that does what it is told, line by line, and answers in JSON: pygnmi, an implementation that is not ours."""

import json
import queue
import sys

# pygnmi also prints.
answers = sys.stdout
sys.stdout = sys.stderr

from pygnmi.client import gNMIclient  # noqa: E402

# Seconds that an update is waited for.
PATIENCE = 60

options = json.loads(sys.argv[1])
address = ("127.0.0.1", options.pop("port"))
streams = []


def do(client, ask):
    kind = ask.pop("do")
    if kind == "capabilities":
        return client.capabilities()
    if kind == "get":
        return client.get(**ask)
    if kind == "set":
        return client.set(update=[("/interfaces", {"interface": []})])
    if kind == "subscribe":
        streams.append(client.subscribe2(ask["list"]))
        return len(streams) - 1
    if kind == "next":
        try:
            return streams[ask["stream"]].get_update(timeout=PATIENCE)
        except queue.Empty:
            return {"error": "nothing in time"}
    if kind == "close":
        streams[ask["stream"]].close()
        return {}
    return {"error": f"what is {kind}?"}


def answered(action):
    try:
        return action()
    except BaseException as error:  # gRPC's errors are no exceptions of pygnmi.
        cause = getattr(error, "orig_exc", None) or error
        code = getattr(cause, "code", None)
        return {
            "error": str(error),
            "code": code().name if callable(code) else None,
        }


def say(answer):
    print(json.dumps(answer), file=answers, flush=True)


def serve(client):
    say("ready")
    for line in sys.stdin:
        ask = json.loads(line)
        say(answered(lambda: do(client, ask)))


def main():
    try:
        client = gNMIclient(target=address, **options).connect(timeout=10)
    except BaseException as error:
        say({"error": str(error) or type(error).__name__})
        return
    serve(client)


main()
