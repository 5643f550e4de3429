# SPDX-License-Identifier: MIT
"""A plugin for vLLM that announces the steps of its model to gpreemptd.

vLLM calls register() in each of its processes. From then on the process that has the GPU announces
each step when vLLM's scheduler has chosen the requests of it, before the first kernel is launched, and
ends the announcement when no request is left.

A request's result does not depend on it: the wrapped methods get their arguments and return their
results unchanged, and no exception of an announcement leaves this module. If gpreempt or the methods
that it wraps are not there, vLLM runs as without the plugin, and one line says so.
"""
import functools
import importlib
import logging
import multiprocessing

try:
    import gpreempt
except ImportError:
    gpreempt = None

__all__ = ["register"]

# The time in seconds from a scheduled step to its first kernel, after a pause: an announcement that is
# at least half a millisecond ahead also warms up the context of an NVIDIA GPU.
WITHIN = 0.001

SCHEDULER = ("vllm.v1.core.sched.scheduler", "Scheduler",
             ("schedule", "update_from_output", "finish_requests", "get_num_unfinished_requests"))
WORKER = ("vllm.v1.worker.worker_base", "WorkerWrapperBase", ("execute_model",))

# Below vLLM's own logger, so that the lines have its format.
log = logging.getLogger("vllm.gpreempt")


class Announcer:
    """The announcements of one process; it is the scheduler's, a worker's, or both."""

    def __init__(self):
        self.schedules = False  # vLLM's scheduler runs in this process
        self.announced = False  # since the last pause
        self.failed = False

    def scheduled(self, _scheduler, step):
        self.schedules = True
        if step.total_num_scheduled_tokens:
            gpreempt.arriving(0 if self.announced else WITHIN)
            self.announced = True

    def finished(self, scheduler, _result):
        if self.announced and not scheduler.get_num_unfinished_requests():
            self.announced = False
            gpreempt.over()

    def executes(self, args, kwargs):
        step = args[0] if args else kwargs["scheduler_output"]
        # With several GPUs, workers are processes of their own, and the scheduler's has no queue.
        if not self.schedules and step.total_num_scheduled_tokens:
            gpreempt.arriving()

    def safely(self, call, *args):
        if self.failed:
            return
        try:
            call(*args)
        except Exception as err:  # pylint: disable=broad-except
            self.failed = True
            log.warning("gpreempt: cannot announce a step of vLLM: %s: %s; steps are no longer announced",
                        type(err).__name__, err)


_announcer = Announcer()


def _find(module, name, methods):
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as err:  # pylint: disable=broad-except
        raise LookupError(f"cannot import {module}.{name}: {type(err).__name__}") from err
    for method in methods:
        if not callable(getattr(found, method, None)):
            raise LookupError(f"{module}.{name} of this vLLM has no method {method}")
    return found


def _call_after(cls, name, then):
    """Replaces a method by one that calls then(self, result) after it."""
    original = getattr(cls, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        _announcer.safely(then, self, result)
        return result

    setattr(cls, name, method)


def _call_before(cls, name, first):
    """Replaces a method by one that calls first(args, kwargs) before it."""
    original = getattr(cls, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        _announcer.safely(first, args, kwargs)
        return original(self, *args, **kwargs)

    setattr(cls, name, method)


def _wrap():
    """Wraps vLLM's methods. Returns the reason if it did not."""
    if gpreempt is None:
        return "there is no Python module gpreempt"
    if not gpreempt.joined():
        return "vLLM was not started by 'gpreempt run'"
    try:
        scheduler, worker = _find(*SCHEDULER), _find(*WORKER)
    except LookupError as err:
        return str(err)
    _call_after(scheduler, "schedule", _announcer.scheduled)
    _call_after(scheduler, "update_from_output", _announcer.finished)
    _call_after(scheduler, "finish_requests", _announcer.finished)
    _call_before(worker, "execute_model", _announcer.executes)
    return None


@functools.cache
def register():
    """The entry point. vLLM may call it several times in a process; the first call counts."""
    why_not = _wrap()
    # All processes of a server have the same reason; one of them says it.
    if why_not and multiprocessing.parent_process() is None:
        log.warning("gpreempt: %s; steps are not announced", why_not)
