#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers of multiprocessing that use a GPU through the HSA runtime, which each loads by itself.

    gpu_workers.py fork|spawn|forkserver [SECONDS]
    gpu_workers.py none [SECONDS]       in this process

Each worker submits packets that depend on nothing to a queue, waits until they are done, and checks that.
"""
import ctypes
import ctypes.util
import multiprocessing
import sys
import time

DEVICE, QUEUE_TYPE_MULTI, DEVICE_GPU = 17, 0, 1
BARRIER = 3 | 1 << 8 | 2 << 9 | 2 << 11  # a barrier packet, system scope


class Queue(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("features", ctypes.c_uint32), ("base", ctypes.c_void_p),
                ("doorbell", ctypes.c_uint64), ("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("id", ctypes.c_uint64)]


class Barrier(ctypes.Structure):
    _fields_ = [("header", ctypes.c_uint16), ("reserved", ctypes.c_uint16 * 3),
                ("depends", ctypes.c_uint64 * 5), ("pad", ctypes.c_uint64), ("done", ctypes.c_uint64)]


def must(status):
    if status:
        sys.exit(f"gpu_workers: the HSA runtime answers {status:#x}")


def find_gpu(hsa):
    found = []
    called = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p)

    def see(agent, _):
        kind = ctypes.c_uint32()
        must(hsa.hsa_agent_get_info(ctypes.c_uint64(agent), DEVICE, ctypes.byref(kind)))
        if kind.value == DEVICE_GPU:
            found.append(agent)
        return 0

    must(hsa.hsa_iterate_agents(called(see), None))
    return ctypes.c_uint64(found[0])


def submit(hsa, queue, signal):
    hsa.hsa_signal_store_screlease(signal, ctypes.c_int64(1))
    index = hsa.hsa_queue_add_write_index_screlease(queue, ctypes.c_uint64(1))
    packet = Barrier.from_address(queue.contents.base + index % queue.contents.size * 64)
    packet.depends[:] = [0] * 5
    packet.done = signal.value
    packet.header = BARRIER
    hsa.hsa_signal_store_screlease(ctypes.c_uint64(queue.contents.doorbell), ctypes.c_int64(index))
    left = hsa.hsa_signal_wait_scacquire(signal, 0, ctypes.c_int64(0), ctypes.c_uint64(2**64 - 1), 0)
    if left:
        sys.exit("gpu_workers: a packet is not done")


def work(seconds):
    hsa = ctypes.CDLL("libhsa-runtime64.so.1")
    hsa.hsa_queue_add_write_index_screlease.restype = ctypes.c_uint64
    hsa.hsa_signal_wait_scacquire.restype = ctypes.c_int64
    queue, signal = ctypes.POINTER(Queue)(), ctypes.c_uint64()
    must(hsa.hsa_init())
    none = ctypes.c_uint32(2**32 - 1)
    must(hsa.hsa_queue_create(find_gpu(hsa), 64, QUEUE_TYPE_MULTI, None, None, none, none,
                              ctypes.byref(queue)))
    must(hsa.hsa_signal_create(ctypes.c_int64(1), 0, None, ctypes.byref(signal)))
    end, packets = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        submit(hsa, queue, signal)
        packets += 1
    must(hsa.hsa_queue_destroy(queue))
    must(hsa.hsa_shut_down())
    print(f"{packets} packets", flush=True)


def main():
    method = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4
    if method == "none":
        work(seconds)
        return 0
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=work, args=(seconds,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(abs(worker.exitcode) for worker in workers)


if __name__ == "__main__":
    sys.exit(main())
