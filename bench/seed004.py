#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stage 1 is worth: an online program with a request every 100 ms beside an offline one.

Run by 'gpreempt bench seed004', as seed004.py [--quick] [--fill MS]; with --fill the trainer's work is as
large as a real GPU needs, and its steps take so long. One JSON document a line: rows, and at the end what they come to.
The offline program alone, both without a scheduler, and both with one take turns, so that a
machine that slows down slows all of them. For the same reason every second preemption is made by
the bare ioctl where the kernel has it, in the same thread: what both take is the driver's time, or
the emulated machine's, and not the library's.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import struct
import sys
import tempfile
import time

import gpreempt_poc as poc
import lab
from lab import Server, Trainer

# It fills the GPU: what comes has to wait, or something must go.
TRAINER = ("--queues", 2, "--groups", 64, "--rounds", 600)
PERIOD_S = 0.1


class Times:
    """Seconds of one kind."""

    def __init__(self):
        self.all = []

    def ms(self, share):
        if not self.all:
            return None
        return sorted(self.all)[min(len(self.all) - 1, int(share * len(self.all)))] * 1e3


class Situation:
    """What was measured of one of the things that are compared."""

    def __init__(self, name):
        self.name = name
        self.online, self.served = Times(), Times()  # from arrival; from submission
        self.suspend, self.resume = Times(), Times()
        self.steps, self.seconds = 0, 0.0

    def rate(self):
        return self.steps / self.seconds if self.seconds else None

    def row(self):
        return {
            "situation": self.name,
            "requests": len(self.online.all),
            "online_p50_ms": self.online.ms(.5),
            "online_p99_ms": self.online.ms(.99),
            "online_max_ms": self.online.ms(1),
            "suspend_p50_ms": self.suspend.ms(.5),
            "suspend_p99_ms": self.suspend.ms(.99),
            "resume_p50_ms": self.resume.ms(.5),
            "resume_p99_ms": self.resume.ms(.99),
            "offline_steps_per_s": self.rate(),
        }


class Preempter(poc.GPreemptScheduler):
    """By the library, or where it is told so by the ioctl of the series."""

    IOCTL, MAGIC = 0xc0304bf0, 0x475052454d505431
    QUERY, PREEMPT, RESUME, SAVE, TARGET = 1, 2, 3, 2, 1

    def __init__(self):
        super().__init__()
        self.kfd = os.open("/dev/kfd", os.O_RDWR | os.O_CLOEXEC)
        self.by_ioctl = None  # the situation that it is told for

    def _call(self, times, queue_ids, operation):
        """The queues are of one program."""
        ids = (ctypes.c_uint32 * len(queue_ids))(*(q & 1023 for q in queue_ids))
        save = self.SAVE if operation == self.PREEMPT else 0
        target = os.pidfd_open(poc.queue_pid(queue_ids[0]))
        args = bytearray(struct.pack("=IIiIQIIIIQ", operation, self.TARGET, target, 0,
                                     ctypes.addressof(ids), len(ids), save, 0, 0, 0))
        begin = time.monotonic()
        done = fcntl.ioctl(self.kfd, self.IOCTL, args)
        times.all.append(time.monotonic() - begin)
        os.close(target)
        if done != len(ids):
            sys.exit(f"{done} of {len(ids)} queues by the bare ioctl")

    def has_ioctl(self, queue_ids):
        query = bytearray(struct.pack("=IIiIQQQQ", self.QUERY, 0, 0, 0, 0, 0, 0, 0))
        try:
            fcntl.ioctl(self.kfd, self.IOCTL, query)
        except OSError:
            return False
        return struct.unpack_from("=Q", query, 16)[0] == self.MAGIC

    def _suspend(self, queue_ids):
        if not self.by_ioctl:
            return super()._suspend(queue_ids)
        self._call(self.by_ioctl.suspend, queue_ids, self.PREEMPT)
        return queue_ids

    def _resume(self, queue_ids):
        if self.by_ioctl:
            self._call(self.by_ioctl.resume, queue_ids, self.RESUME)
        else:
            super()._resume(queue_ids)


def request(situation, server, sched):
    begin = time.monotonic()
    if sched:
        with sched.online_task():
            served, _ = server.request()
    else:
        served, _ = server.request()
    situation.online.all.append(time.monotonic() - begin)
    situation.served.all.append(served)


def turns_of(situation, by_ioctl, sched):
    """The situation for one request after the other: every second one is by ioctl."""
    while True:
        for turn in situation, by_ioctl:
            if turn and sched:
                sched.wait_idle(10)
                sched.by_ioctl = turn if turn is by_ioctl else None
            if turn:
                yield turn


def run(situation, seconds, server, sched=None, by_ioctl=None):
    """Requests for so long; none without a server."""
    turns = turns_of(situation, by_ioctl, sched)
    end, next_at = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end:
        if server:
            request(next(turns), server, sched)
        next_at = max(next_at + PERIOD_S, time.monotonic())
        time.sleep(max(0, next_at - time.monotonic()))


def run_beside(situation, seconds, trainer, server, sched=None, by_ioctl=None):
    """The same, with the trainer's steps: from the end of one to the end of another."""
    trainer.wait_for_step()
    steps, begin = trainer.steps(), time.monotonic()
    run(situation, seconds, server, sched, by_ioctl)
    trainer.wait_for_step()
    situation.steps += trainer.steps() - steps
    situation.seconds += time.monotonic() - begin


def offline_loss(held, preempted, by_ioctl):
    """The part of the time that the trainer was held for and no request was at the GPU; percent.

    Of one and the same run: how fast the trainer is alone depends on what else the host does.
    """
    served = sum(preempted.served.all) + sum(by_ioctl.served.all)
    return max(0, sum(held) - served) / preempted.seconds * 100


def main():
    quick = "--quick" in sys.argv
    turns, seconds = (1, 1) if quick else (4, 2.5)
    lab.STDERR = tempfile.TemporaryFile()
    if "--fill" in sys.argv:
        with contextlib.redirect_stdout(sys.stderr):
            lab.fill(int(sys.argv[sys.argv.index("--fill") + 1]))
    server = Server()
    alone, offline = Situation("online alone"), Situation("offline alone")
    together, preempted = Situation("together"), Situation("preempted")
    by_ioctl = Situation("the same by ioctl")
    run(alone, seconds, server)
    trainer = Trainer(*TRAINER)
    sched = Preempter()
    for q in trainer.queues():
        sched.register_offline_queue(q.queue_id)
    request(Situation("warm-up"), server, sched)
    has_ioctl = sched.has_ioctl([q.queue_id for q in trainer.queues()])
    for _ in range(turns):
        run_beside(offline, seconds, trainer, None)
        run_beside(together, seconds, trainer, server)
        run_beside(preempted, seconds, trainer, server, sched, has_ioctl and by_ioctl)
    sched.wait_idle(10)
    # Without the first ones, which begin to control the program.
    preempted.suspend.all, preempted.resume.all = sched.suspend_times[1:], sched.resume_times[1:]
    sched.cleanup()
    result = trainer.end()
    trainer.check_digest(result)
    server.result()
    for situation in (alone, offline, together, preempted) + (by_ioctl,) * has_ioctl:
        print(json.dumps(situation.row()))
    loss = offline_loss(sched.held_times[1:], preempted, by_ioctl)
    print(json.dumps({
        "key": "offline_loss_percent", "value": loss,
        "sentence": f"Preempted, the offline program loses {loss:.1f} % of its time, beyond what "
                    f"requests take; its {result['steps']} steps are right."}))
    if sched.errors:
        sys.exit(str(sched.errors[0]))


main()
