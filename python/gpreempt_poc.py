# SPDX-License-Identifier: MIT
"""Stage 1: an online program preempts an offline one on an AMD GPU, from Python.

Has the functions of libgpreempt_poc (see gpreempt_poc(3)) and a scheduler, which suspends the queues
of offline programs while there is an online task.

    sched = GPreemptScheduler()
    for q in find_queues_by_tag("OFFLINE_AI"):
        sched.register_offline_queue(q.queue_id, q.priority)
    for q in find_queues_by_tag("ONLINE_AI"):
        sched.register_online_queue(q.queue_id, q.priority)
    sched.notify_online_task()          # ends when the online queues are empty
    with sched.online_task():
        ...                             # send the request, wait for its answer
    sched.cleanup()

Needs only the standard library. GPREEMPT_POC_LIB names the library if it is not installed.
"""
import ctypes
import ctypes.util
import errno
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import List, Optional

__all__ = ["GPreemptError", "GPreemptScheduler", "OnlineTask", "QueueInfo", "cleanup",
           "find_queues_by_priority", "find_queues_by_tag", "get_all_queues", "init",
           "queue_pid", "queues_busy", "resume_queues", "suspend_queues", "warning"]


GOING_S = 0.1  # how long a program that is being killed may still be listed
LOOK_S = 0.001  # between two looks at the online queues, while offline queues are suspended
ARRIVAL_S = 0.010  # how long the work of a notified task may take to arrive
LINGER_S = 0.002  # how long the online queues must be empty


class GPreemptError(OSError):
    """A failed call of the library: errno, its message, and the ids of the queues that it concerns."""

    def __init__(self, number, sentence, queue_ids):
        super().__init__(number, sentence)
        self.queue_ids = queue_ids

    def __str__(self):
        return self.strerror


@dataclass
class QueueInfo:
    """A compute queue of a program."""
    queue_id: int
    priority: int
    gpu_id: int
    tag: str
    is_active: bool


class _QueueInfo(ctypes.Structure):
    _fields_ = [("queue_id", ctypes.c_uint32), ("priority", ctypes.c_uint32),
                ("gpu_id", ctypes.c_uint32), ("tag", ctypes.c_char * 64),
                ("is_active", ctypes.c_bool)]


def _load():
    name = os.environ.get("GPREEMPT_POC_LIB") or ctypes.util.find_library("gpreempt_poc")
    library = ctypes.CDLL(name or "libgpreempt_poc.so.0", use_errno=True)
    u32, ids = ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)
    found = [ctypes.POINTER(ctypes.POINTER(_QueueInfo)), ids]
    library.gpreempt_poc_cleanup.restype = None
    library.gpreempt_suspend_queues.argtypes = [ids, u32, u32]
    library.gpreempt_resume_queues.argtypes = [ids, u32]
    library.gpreempt_queues_busy.argtypes = [ids, u32]
    library.gpreempt_get_all_queues.argtypes = found
    library.gpreempt_find_queues_by_priority.argtypes = [u32, u32] + found
    library.gpreempt_find_queues_by_tag.argtypes = [ctypes.c_char_p] + found
    library.gpreempt_free_queues.argtypes = [ctypes.POINTER(_QueueInfo)]
    library.gpreempt_free_queues.restype = None
    library.gpreempt_queue_pid.argtypes = [u32]
    library.gpreempt_queue_pid.restype = ctypes.c_int32
    library.gpreempt_failed_queues.argtypes = [ids, u32]
    library.gpreempt_failed_queues.restype = u32
    library.gpreempt_last_error.restype = ctypes.c_char_p
    library.gpreempt_poc_warning.restype = ctypes.c_char_p
    return library


lib = _load()


def _check(result):
    if result >= 0:
        return result
    number = ctypes.get_errno()
    failed = (ctypes.c_uint32 * lib.gpreempt_failed_queues(None, 0))()
    lib.gpreempt_failed_queues(failed, len(failed))
    raise GPreemptError(number, lib.gpreempt_last_error().decode(), list(failed))


def _array(queue_ids):
    return (ctypes.c_uint32 * len(queue_ids))(*queue_ids), len(queue_ids)


def init():
    _check(lib.gpreempt_poc_init())


def cleanup():
    lib.gpreempt_poc_cleanup()


def warning():
    return lib.gpreempt_poc_warning().decode()


def suspend_queues(queue_ids, grace_period_us=0):
    _check(lib.gpreempt_suspend_queues(*_array(queue_ids), grace_period_us))


def resume_queues(queue_ids):
    _check(lib.gpreempt_resume_queues(*_array(queue_ids)))


def queues_busy(queue_ids) -> bool:
    """Whether a queue has work, or has had some since the previous call."""
    return bool(_check(lib.gpreempt_queues_busy(*_array(queue_ids))))


def _list(function, *arguments) -> List[QueueInfo]:
    queues, number = ctypes.POINTER(_QueueInfo)(), ctypes.c_uint32()
    _check(function(*arguments, ctypes.byref(queues), ctypes.byref(number)))
    found = [QueueInfo(q.queue_id, q.priority, q.gpu_id, q.tag.decode(errors="replace"),
                       q.is_active) for q in queues[:number.value]]
    lib.gpreempt_free_queues(queues)
    return found


def get_all_queues() -> List[QueueInfo]:
    return _list(lib.gpreempt_get_all_queues)


def find_queues_by_priority(min_prio, max_prio) -> List[QueueInfo]:
    return _list(lib.gpreempt_find_queues_by_priority, min_prio, max_prio)


def find_queues_by_tag(tag) -> List[QueueInfo]:
    return _list(lib.gpreempt_find_queues_by_tag, tag.encode())


def queue_pid(queue_id):
    return lib.gpreempt_queue_pid(queue_id)


class OnlineTask:
    """An online task. It ends when done() is called, or at the end of a with block; without such a
    block also when the online queues are empty."""

    def __init__(self, scheduler):
        self._scheduler = scheduler
        self.in_block = False
        self.since = time.monotonic()

    def done(self):
        self._scheduler._end_task(self)

    def __enter__(self):
        self.in_block = True
        return self

    def __exit__(self, *exception):
        self.done()


class GPreemptScheduler:
    """Suspends the offline queues while there is an online task, and resumes them after it.

    A thread does so. It sleeps until a task is notified, and then until all that were are done, or
    the registered online queues are empty; tasks that nobody ends in hold_limit seconds hold
    nothing any longer. Queues that are gone are forgotten. If the online queues cannot be watched,
    one line on stderr says why, and only done() and hold_limit end a task.
    """

    def __init__(self, grace_period_us=1000, hold_limit=1.0, verbose=False):
        self.online_queues: List[QueueInfo] = []
        self.offline_queues: List[QueueInfo] = []
        self.grace_period_us = grace_period_us
        self.hold_limit = hold_limit
        self.verbose = verbose
        # Measured times in seconds, one per preemption, and the errors.
        self.suspend_times: List[float] = []
        self.resume_times: List[float] = []
        self.held_times: List[float] = []
        self.errors: List[GPreemptError] = []
        self.expired = 0  # tasks that nobody ended
        self.emptied = 0  # tasks that ended because the online queues were empty
        self.watches = False  # whether it watches the online queues
        self._tasks = set()
        self._held: List[int] = []
        self._is_blind = False  # it cannot watch them
        self._ending = False
        self._changed = threading.Condition()
        init()
        if warning():
            self._say(warning())
        self.monitor_thread = threading.Thread(target=self._monitor_loop, daemon=True)
        self.monitor_thread.start()

    @property
    def online_task_pending(self):
        return bool(self._tasks)

    @property
    def preemptions(self):
        return len(self.held_times)

    def register_online_queue(self, queue_id, priority=15):
        """Registers a queue that a notified task ends with."""
        self._register(self.online_queues, QueueInfo(queue_id, priority, 0, "ONLINE", True))
        self.watches = not self._is_blind
        if self.watches:
            self._look()

    def register_offline_queue(self, queue_id, priority=2):
        self._register(self.offline_queues, QueueInfo(queue_id, priority, 0, "OFFLINE", True))

    def notify_online_task(self) -> OnlineTask:
        """Starts an online task and returns at once. It ends when the online queues are empty, or
        by done() of the result, or after hold_limit seconds."""
        task = OnlineTask(self)
        with self._changed:
            self._tasks.add(task)
            self._changed.notify_all()
        return task

    online_task = notify_online_task

    def wait_idle(self, timeout: Optional[float] = None):
        """Waits until there is no task and the offline queues run. False: timed out."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._tasks and not self._held, timeout)

    def cleanup(self):
        """Resumes all queues and ends the scheduler."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self.monitor_thread.join()
        cleanup()

    def _register(self, queues, queue):
        with self._changed:
            queues.append(queue)
        self._say(f"registered {queue.tag} queue {queue.queue_id}, priority {queue.priority}")

    def _end_task(self, task):
        with self._changed:
            self._tasks.discard(task)
            self._changed.notify_all()

    def _monitor_loop(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._ending)
                if self._ending:
                    return
                self._held = [q.queue_id for q in self.offline_queues]
            self._handle_online_task(self._held)
            with self._changed:
                self._held = []
                self._changed.notify_all()

    def _handle_online_task(self, queue_ids):
        begin = time.monotonic()
        if self.watches:
            self._look()
        held = self._suspend(queue_ids)
        self._wait_for_online_completion(begin + self.hold_limit)
        if held:
            self._resume(held)
            self.held_times.append(time.monotonic() - begin)

    def _wait_for_online_completion(self, deadline):
        busy_at = float("-inf")  # when the online queues were last seen to have work
        while True:
            if self.watches and self._look():
                busy_at = time.monotonic()
            now = time.monotonic()
            with self._changed:
                self._end_tasks(now, busy_at, deadline)
                pause = min(LOOK_S, deadline - now) if self.watches else deadline - now
                if self._changed.wait_for(lambda: not self._tasks or self._ending, max(0, pause)):
                    return

    def _end_tasks(self, now, busy_at, deadline):
        """Ends the tasks whose work or time is over. With the lock."""
        if now >= deadline:
            # The program may have ended; that is no reason to hold others.
            self.expired += len(self._tasks)
            self._tasks.clear()
        elif self.watches and now - busy_at >= LINGER_S:
            over = {t for t in self._tasks if not t.in_block and
                    (busy_at > t.since or now - t.since >= ARRIVAL_S)}
            self.emptied += len(over)
            self._tasks -= over

    def _look(self):
        """Whether the online queues have work, or have had some since the previous look."""
        while self.online_queues:
            try:
                return queues_busy([q.queue_id for q in self.online_queues])
            except GPreemptError as error:
                gone = self._gone(error)
                with self._changed:
                    self.online_queues = [q for q in self.online_queues if q.queue_id not in gone]
                if gone:
                    self._say(f"{len(gone)} online queues are gone")
                else:
                    self._watch_no_longer(error)
                    return False
        return False

    def _watch_no_longer(self, error):
        self._is_blind, self.watches = True, False
        print(f"gpreempt_poc: {error}; tasks end by done() or after {self.hold_limit:g} s",
              file=sys.stderr, flush=True)

    def _suspend(self, queue_ids):
        """Suspends all queues that still exist. Returns those that are suspended afterwards."""
        while queue_ids:
            begin = time.monotonic()
            try:
                suspend_queues(queue_ids, self.grace_period_us)
            except GPreemptError as error:
                queue_ids = self._without_gone(queue_ids, error)
                continue
            self.suspend_times.append(time.monotonic() - begin)
            self._say(f"suspended {len(queue_ids)} offline queues")
            return queue_ids
        return []

    def _resume(self, queue_ids):
        begin = time.monotonic()
        try:
            resume_queues(queue_ids)
        except GPreemptError as error:
            self._without_gone(queue_ids, error)
        else:
            self.resume_times.append(time.monotonic() - begin)
            self._say(f"resumed {len(queue_ids)} offline queues")

    def _without_gone(self, queue_ids, error):
        """Returns the queues to try again. A failure on a queue that still exists is an error."""
        gone = self._gone(error)
        if not gone:
            self.errors.append(error)
            self._say(str(error))
            return []
        with self._changed:
            self.offline_queues = [q for q in self.offline_queues if q.queue_id not in gone]
        self._say(f"{len(gone)} offline queues are gone")
        return [q for q in queue_ids if q not in gone]

    def _gone(self, error):
        """Returns the queues of an error that no longer exist."""
        # While a program is being killed, the driver refuses its queues and still lists them, and its
        # rings cannot be read any more.
        ends = error.errno in (errno.ENOENT, errno.ESRCH, errno.EFAULT)
        deadline = time.monotonic() + (GOING_S if ends else 0)
        while True:
            try:
                gone = set(error.queue_ids) - {q.queue_id for q in get_all_queues()}
            except GPreemptError:
                return set()
            if gone or time.monotonic() >= deadline:
                return gone
            time.sleep(GOING_S / 20)

    def _say(self, sentence):
        if self.verbose:
            print("[SCHED] " + sentence, flush=True)
