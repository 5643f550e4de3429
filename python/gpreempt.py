# SPDX-License-Identifier: MIT
"""Announces a program's work on GPUs to gpreemptd, so that room is made before it is there.

    gpreempt.arriving(within=0.001)     # a request comes in: kernels within a millisecond
    with gpreempt.request():            # the same now, and over at the end
        answer = model(x)
        torch.cuda.synchronize()

It has an effect in programs that `gpreempt run` has started, and costs a comparison in others. A
hint never changes what a program computes or may do: its work is as urgent without, and only begins
later. How long room is kept is limited by the daemon (arrive_grace_ms), and after an announcement in
vain it does not believe the next for a while.
"""
import contextlib
import ctypes
import errno
import time

__all__ = ["arriving", "over", "request", "joined"]


def _find():
    """What the preload of `gpreempt run` offers, or None where it is not in this process."""
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
    """Whether `gpreempt run` has started this program, so that there is somebody to tell."""
    return _call is not None


def arriving(within=0.0):
    """Work will come in so many seconds, at the latest. True: the daemon was told.

    False: the program was not started by `gpreempt run`, there is no daemon, or the program has
    nothing on a GPU yet.
    """
    if not 0 <= within <= 3600:
        raise ValueError("work is announced for a time from now to an hour ahead, in seconds")
    return _say(time.monotonic_ns() + int(within * 1e9)) == 0


def over():
    """What was announced is done, or will not come. True: the daemon was told."""
    return _say(0) == 0


@contextlib.contextmanager
def request(within=0.0):
    """Announces work, and says that it is over when the block ends, however it ends."""
    arriving(within)
    try:
        yield
    finally:
        over()
