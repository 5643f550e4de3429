# SPDX-License-Identifier: MIT
"""The commands of a PyTorch worker: it reads them as lines and answers each with a line of JSON."""
import json
import os
import sys
import threading
import time

now = time.monotonic_ns


def answer(**what):
    print(json.dumps(what), flush=True)


class Commands:
    """Reads lines from standard input in a thread, so that work does not wait for them."""

    def __init__(self):
        self.lines, self.came = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            self._put(line.split())
        self._put(["quit"])

    def _put(self, words):
        with self.came:
            self.lines.append(words)
            self.came.notify()

    def waiting(self):
        return bool(self.lines)

    def next(self):
        with self.came:
            self.came.wait_for(self.waiting)
            return self.lines.pop(0)


def wait_until(at):
    """Sleeps most of the time and then polls, to be on time without using the processor."""
    left = (at - now()) / 1e9 - 0.0002
    if left > 0:
        time.sleep(left)
    while now() < at:
        pass


def obey(worker, commands, **greeting):
    """Greets, and then calls the worker's method of each command until "quit"."""
    answer(pid=os.getpid(), **greeting)
    while True:
        words = commands.next()
        if words == ["quit"]:
            return
        getattr(worker, words[0])(*words[1:])
