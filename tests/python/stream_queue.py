# SPDX-License-Identifier: MIT
"""Finds the driver's queues of a HIP stream and of an HSA queue, or prints why it cannot."""
import ctypes
import os
import sys

import gpreempt
import hsa_queue

KFD = "/sys/class/kfd/kfd/proc/%d/queues/%%d/gpuid" % os.getpid()

try:
    hip = ctypes.CDLL(sys.argv[1])
    streams = [ctypes.c_void_p() for _ in range(5)]
    for s in streams:
        assert hip.hipStreamCreate(ctypes.byref(s)) == 0
    found = [gpreempt.queue_of_stream(s.value) for s in streams]
    again = gpreempt.queue_of_stream(streams[0].value)
    assert again.queue_id == found[0].queue_id
    assert sorted(again.sharers) == sorted(
        s.value for s, q in zip(streams[1:], found[1:]) if q.queue_id == again.queue_id)
    queue = hsa_queue.Queue()
    found.append(gpreempt.queue_of_hsa(queue.queue.value))
    assert found[-1].queue_id not in [q.queue_id for q in found[:-1]]
    for q in found:
        with open(KFD % q.queue_id) as f:
            assert int(f.read()) == q.gpu_id
    print("%d queues" % len(set(q.queue_id for q in found)))
    gpreempt.queue_of_hsa(64)
except OSError as e:
    print("%s: %s" % (type(e).__name__, e))
