# SPDX-License-Identifier: MIT
"""Announces GPU work of a program to gpreemptd, so that less urgent programs are held before it arrives, and
finds the driver's queues of streams on AMD GPUs.

    gpreempt.arriving(within=0.001)     # kernels will come within a millisecond
    gpreempt.lead_time()                # how far ahead that should be said
    with gpreempt.request():            # announces work now, until the end of the block
        answer = model(x)
        torch.cuda.synchronize()

The calls have an effect in programs that `gpreempt run` has started; in others they cost a comparison.
They never change what a program computes or may do: without them its work only starts later. The daemon
limits how long others wait (arrive_grace_ms). If announced work does not arrive, further announcements
are ignored for that time.

    queue_of_stream(torch.cuda.current_stream().cuda_stream).queue_id

`python3 -m gpreempt` says which parts of gpreempt this interpreter finds.
"""
import contextlib
import ctypes
import ctypes.util
import errno
import os
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

__version__ = "0.2.0"
__all__ = ["RuntimeQueue", "arriving", "joined", "lead_time", "over", "parts", "queue_of_hsa", "queue_of_stream", "request"]


def _find(name: str, argument: Any) -> Optional[Callable[..., int]]:
    """Returns a function of the preload of `gpreempt run`, or None without the preload."""
    try:
        call = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    call.argtypes = [argument]
    call.restype = ctypes.c_int
    return call


_call = _find("gp_join_arriving", ctypes.c_uint64)
_lead_time = _find("gp_join_lead_time", ctypes.POINTER(ctypes.c_uint64))


def _say(when_ns: int) -> int:
    return _call(when_ns) if _call else -errno.ENOTCONN


def joined() -> bool:
    """Whether `gpreempt run` has started this program."""
    return _call is not None


def arriving(within: float = 0.0) -> bool:
    """Announces work within this number of seconds. True: the daemon was notified.

    False: the program was not started by `gpreempt run`, there is no daemon, or the program has no
    queue on a GPU yet.
    """
    if not 0 <= within <= 3600:
        raise ValueError("within=%r is not a number of seconds from 0 to 3600" % (within,))
    return _say(time.monotonic_ns() + int(within * 1e9)) == 0


def lead_time() -> float:
    """Returns how far ahead work should be announced, in seconds: lately, nearly all holds took less.

    0.0: nothing would be held, or it is not known.
    """
    lead = ctypes.c_uint64()
    if not _lead_time or _lead_time(ctypes.byref(lead)):
        return 0.0
    return lead.value / 1e9


def over() -> bool:
    """Ends the announcement: the work is done or will not come. True: the daemon was notified."""
    return _say(0) == 0


@contextlib.contextmanager
def request(within: float = 0.0) -> Iterator[None]:
    """Announces work, and ends the announcement when the block ends, by an exception too."""
    arriving(within)
    try:
        yield
    finally:
        over()


class RuntimeQueue(NamedTuple):
    """A queue of the driver, among those of this process."""
    queue_id: int
    gpu_id: int
    sharers: List[int]  # other streams on it, of those that were asked for and exist; at most 16


class _RuntimeQueue(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("queue_id", ctypes.c_uint32), ("gpu_id", ctypes.c_uint32),
                ("nr_sharers", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("sharers", ctypes.c_void_p * 16)]


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 256)]


def _queue_of(kind: str, handle: int) -> RuntimeQueue:
    found, error = _RuntimeQueue(size=ctypes.sizeof(_RuntimeQueue)), _Error()
    try:
        call = getattr(ctypes.CDLL(None), "gp_join_queue_of_" + kind)
    except (AttributeError, OSError):
        raise OSError(errno.ENOTCONN, "this program is not joined, so its queues are not seen; start it "
                      "with 'gpreempt run'") from None
    if call(ctypes.c_void_p(handle), ctypes.byref(found), ctypes.byref(error)):
        raise OSError(-error.code, error.message.decode(errors="replace") or os.strerror(-error.code))
    sharers = found.sharers[:min(found.nr_sharers, 16)]
    return RuntimeQueue(found.queue_id, found.gpu_id, [s or 0 for s in sharers])


def queue_of_stream(stream: int) -> RuntimeQueue:
    """Returns the queue that carries a HIP stream, the address in a hipStream_t; 0 is the default stream.

    An event is recorded in the stream, which nothing waits for. OSError: EBUSY while the stream is captured
    into a graph, EINVAL if HIP refuses it, ENOTCONN if `gpreempt run` has not started this program.
    """
    return _queue_of("stream", stream)


def queue_of_hsa(queue: int) -> RuntimeQueue:
    """Returns the queue of the driver beneath one of the HSA runtime, the address of an hsa_queue_t."""
    return _queue_of("hsa", queue)


def _library_version(name: str, function: str) -> Optional[str]:
    """Returns the version that a library says it has; None: it is not installed."""
    try:
        call = getattr(ctypes.CDLL(ctypes.util.find_library(name) or "lib%s.so.0" % name), function)
    except (AttributeError, OSError):
        return None
    call.restype = ctypes.c_char_p
    return str(call().decode())


def parts() -> Dict[str, Any]:
    """Returns what `python3 -m gpreempt` prints: the versions that are there, and whether it has joined."""
    return {"module": __version__, "libgpreempt": _library_version("gpreempt", "gp_version"), "joined": joined()}


def _main() -> None:
    found = parts()
    print("module gpreempt  %s, %s" % (found["module"], os.path.abspath(__file__)))
    print("libgpreempt      %s" % (found["libgpreempt"] or
                                   "not found; install Debian's libgpreempt0, or run 'make install' in the sources"))
    print("joined           %s" % ("yes: arriving() and request() have an effect" if found["joined"] else
                                   "no; start the program with 'gpreempt run'"))


if __name__ == "__main__":
    _main()
