# SPDX-License-Identifier: MIT
"""What a Python program hears of its announcements; with --queue, when it has one on an AMD GPU."""
import ctypes
import sys
import time

import gpreempt


def make_queue():
    hsa = ctypes.CDLL("libhsa-runtime64.so.1")
    gpus = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
    def look(agent, _):
        kind = ctypes.c_uint32()
        hsa.hsa_agent_get_info(ctypes.c_uint64(agent), 17, ctypes.byref(kind))
        if kind.value == 1:
            gpus.append(agent)
        return 0

    queue = ctypes.c_void_p()
    assert hsa.hsa_init() == 0
    assert hsa.hsa_iterate_agents(look, None) == 0
    assert hsa.hsa_queue_create(ctypes.c_uint64(gpus[0]), 64, 0, None, None, 0xffffffff, 0xffffffff,
                                ctypes.byref(queue)) == 0


if "--queue" in sys.argv:
    make_queue()
    end = time.monotonic() + 20
    while not gpreempt.arriving() and time.monotonic() < end:
        time.sleep(0.01)
print("joined" if gpreempt.joined() else "not joined",
      "announced" if gpreempt.arriving(within=0.001) else "nobody heard",
      "over" if gpreempt.over() else "nobody heard", sep=", ")
