# SPDX-License-Identifier: MIT
"""A queue of the HSA runtime on the first GPU, with barrier packets as work."""
import ctypes
import struct

AGENT_DEVICE, DEVICE_GPU = 17, 1
# A barrier-AND packet, with the barrier bit, system scope to acquire and to release.
BARRIER_AND = 3 | 1 << 8 | 2 << 9 | 2 << 11
SIZE = 64
FOREVER = ctypes.c_uint64(2**64 - 1)


class Queue:
    def __init__(self):
        self.hsa = hsa = ctypes.CDLL("libhsa-runtime64.so.1")
        hsa.hsa_queue_add_write_index_scacq_screl.restype = ctypes.c_uint64
        hsa.hsa_signal_wait_scacquire.restype = ctypes.c_int64
        gpus = []

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
        def look(agent, _):
            kind = ctypes.c_uint32()
            hsa.hsa_agent_get_info(ctypes.c_uint64(agent), AGENT_DEVICE, ctypes.byref(kind))
            if kind.value == DEVICE_GPU:
                gpus.append(agent)
            return 0

        self.queue = ctypes.c_void_p()
        self.signal = ctypes.c_uint64()
        assert hsa.hsa_init() == 0
        assert hsa.hsa_iterate_agents(look, None) == 0
        assert hsa.hsa_queue_create(ctypes.c_uint64(gpus[0]), SIZE, 0, None, None, 0xffffffff, 0xffffffff,
                                    ctypes.byref(self.queue)) == 0
        assert hsa.hsa_signal_create(ctypes.c_int64(1), 0, None, ctypes.byref(self.signal)) == 0
        # struct hsa_queue_t: type, features, base address, doorbell
        _, _, self.ring, doorbell = struct.unpack("IIQQ", ctypes.string_at(self.queue, 24))
        self.doorbell = ctypes.c_uint64(doorbell)

    def work(self):
        """Submits a packet and waits for its end."""
        index = self.hsa.hsa_queue_add_write_index_scacq_screl(self.queue, ctypes.c_uint64(1))
        packet = self.ring + index % SIZE * 64
        self.hsa.hsa_signal_store_screlease(self.signal, ctypes.c_int64(1))
        ctypes.memmove(packet + 2, struct.pack("=HI7Q", 0, 0, 0, 0, 0, 0, 0, 0, self.signal.value)[:62], 62)
        ctypes.c_uint16.from_address(packet).value = BARRIER_AND
        self.hsa.hsa_signal_store_screlease(self.doorbell, ctypes.c_int64(index))
        assert self.hsa.hsa_signal_wait_scacquire(self.signal, 0, ctypes.c_int64(0), FOREVER, 0) == 0
