# SPDX-License-Identifier: MIT
"""Announces GPU work of a program to gpreemptd, so that less urgent programs are held before it arrives.

    gpreempt.arriving(within=0.001)     # kernels will come within a millisecond
    with gpreempt.request():            # announces work now, until the end of the block
        answer = model(x)
        torch.cuda.synchronize()

The calls have an effect in programs that `gpreempt run` has started; in others they cost a comparison.
They never change what a program computes or may do: without them its work only starts later. The daemon
limits how long others wait (arrive_grace_ms). If announced work does not arrive, further announcements
are ignored for that time.
"""
import contextlib
import ctypes
import errno
import time

__all__ = ["arriving", "over", "request", "joined"]


def _find():
    """Returns the function of the preload of `gpreempt run`, or None without the preload."""
    try:
        call = ctypes.CDLL(None).gp_join_arriving
    except (AttributeError, OSError):
        return None
    call.argtypes = [ctypes.c_uint64]
    call.restype = ctypes.c_int
    return call


_call = _find()


def _say(when_ns):
    return _call(when_ns) if _call else -errno.ENOTCONN


def joined():
    """Whether `gpreempt run` has started this program."""
    return _call is not None


def arriving(within=0.0):
    """Announces work within this number of seconds. True: the daemon was notified.

    False: the program was not started by `gpreempt run`, there is no daemon, or the program has no
    queue on a GPU yet.
    """
    if not 0 <= within <= 3600:
        raise ValueError("within=%r is not a number of seconds from 0 to 3600" % (within,))
    return _say(time.monotonic_ns() + int(within * 1e9)) == 0


def over():
    """Ends the announcement: the work is done or will not come. True: the daemon was notified."""
    return _say(0) == 0


@contextlib.contextmanager
def request(within=0.0):
    """Announces work, and ends the announcement when the block ends, by an exception too."""
    arriving(within)
    try:
        yield
    finally:
        over()
