# SPDX-License-Identifier: MIT
"""Prints the results of announcements; with --queue, from a program with a queue on an AMD GPU."""
import sys
import time

import gpreempt

if "--queue" in sys.argv:
    import hsa_queue

    queue = hsa_queue.Queue()
    end = time.monotonic() + 20
    while not gpreempt.arriving() and time.monotonic() < end:
        time.sleep(0.01)
print("joined" if gpreempt.joined() else "not joined",
      "announced" if gpreempt.arriving(within=0.001) else "refused",
      "over" if gpreempt.over() else "refused", sep=", ")
