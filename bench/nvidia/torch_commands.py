# SPDX-License-Identifier: MIT
"""The commands of a PyTorch worker: it reads them as lines and answers each with a line of JSON."""
import json
import os
import sys
import threading
import time

import gpreempt

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


class Hint:
    """How long before it a request is announced: HINT_US, never (-1), or as gpreempt says (auto)."""

    LEAST_NS = 500_000  # with less notice a context is not warmed up

    def __init__(self, hint_us):
        self.auto = hint_us == "auto"
        self.fixed_ns = 0 if self.auto else int(hint_us) * 1000
        self.used_ns = []

    def lead_ns(self):
        """Of the next request. Negative: it is not announced."""
        lead = max(int(gpreempt.lead_time() * 1e9), self.LEAST_NS) if self.auto else self.fixed_ns
        self.used_ns.append(lead)
        return lead

    def mean_ns(self):
        return max(0, sum(self.used_ns) / len(self.used_ns)) if self.used_ns else 0


def obey(worker, commands, **greeting):
    """Greets, and then calls the worker's method of each command until "quit"."""
    answer(pid=os.getpid(), **greeting)
    while True:
        words = commands.next()
        if words == ["quit"]:
            return
        getattr(worker, words[0])(*words[1:])
