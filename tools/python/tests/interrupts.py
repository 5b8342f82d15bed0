"""Ctrl-C ends a run and a sweep; other threads go on during a run."""

import os
import signal
import threading
import time

import weir

# A shell starts what is in the background without it.
signal.signal(signal.SIGINT, signal.default_int_handler)

FABRIC = "scenarios/fat-tree.toml"
# It would take hours.
LONG = {"until": "1000s"}


def interrupted(call, *arguments, **settings):
    """Sends SIGINT once another thread of Python has run beside the call."""
    turns = 0
    is_over = threading.Event()

    def beside():
        nonlocal turns
        while turns < 20:
            turns += 1
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        is_over.set()

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        call(*arguments, **settings)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("it went on")
    thread.join()
    assert turns == 20 and is_over.is_set()


for threads in (1, 2):
    interrupted(weir.run, FABRIC, threads=threads, **LONG)
interrupted(weir.sweep, FABRIC, seeds=4, jobs=2, **LONG)


class Slow(weir.Control):
    def on_ack(self, ack):
        pass


# With callbacks the interpreter runs the handler in one of them, or between them.
interrupted(weir.run, FABRIC, control=Slow, **LONG)

# The next run is whole.
assert weir.run(FABRIC, until="20us").digest == weir.run(FABRIC, until="20us").digest
