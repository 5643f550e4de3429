#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stage 1 is worth: an online program with a request every 100 ms beside an offline one.

Run by 'gpreempt bench seed004'. One JSON document a line: rows, and at the end what they come to.
The offline program alone, both without a scheduler, and both with one take turns, so that a
machine that slows down slows all of them.
"""
import json
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


def request(situation, server, sched):
    begin = time.monotonic()
    if sched:
        with sched.online_task():
            served, _ = server.request()
    else:
        served, _ = server.request()
    situation.online.all.append(time.monotonic() - begin)
    situation.served.all.append(served)


def run(situation, seconds, server, sched=None):
    """Requests for so long; none without a server."""
    end, next_at = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end:
        if server:
            request(situation, server, sched)
        next_at = max(next_at + PERIOD_S, time.monotonic())
        time.sleep(max(0, next_at - time.monotonic()))


def run_beside(situation, seconds, trainer, server, sched=None):
    """The same, with the trainer's steps: from the end of one to the end of another."""
    trainer.wait_for_step()
    steps, begin = trainer.steps(), time.monotonic()
    run(situation, seconds, server, sched)
    trainer.wait_for_step()
    situation.steps += trainer.steps() - steps
    situation.seconds += time.monotonic() - begin


def offline_loss(held, preempted):
    """The part of the time that the trainer was held for and no request was at the GPU; percent.

    Of one and the same run: how fast the trainer is alone depends on what else the host does.
    """
    return max(0, sum(held) - sum(preempted.served.all)) / preempted.seconds * 100


def main():
    quick = sys.argv[1:] == ["--quick"]
    turns, seconds = (1, 1) if quick else (4, 2.5)
    lab.STDERR = tempfile.TemporaryFile()
    server = Server()
    alone, offline = Situation("online alone"), Situation("offline alone")
    together, preempted = Situation("together"), Situation("preempted")
    run(alone, seconds, server)
    trainer = Trainer(*TRAINER)
    sched = poc.GPreemptScheduler()
    for q in trainer.queues():
        sched.register_offline_queue(q.queue_id)
    request(Situation("warm-up"), server, sched)
    for _ in range(turns):
        run_beside(offline, seconds, trainer, None)
        run_beside(together, seconds, trainer, server)
        run_beside(preempted, seconds, trainer, server, sched)
    sched.wait_idle(10)
    # Without the first ones, which begin to control the program.
    preempted.suspend.all, preempted.resume.all = sched.suspend_times[1:], sched.resume_times[1:]
    sched.cleanup()
    result = trainer.end()
    trainer.check_digest(result)
    server.result()
    for situation in alone, offline, together, preempted:
        print(json.dumps(situation.row()))
    loss = offline_loss(sched.held_times[1:], preempted)
    print(json.dumps({
        "key": "offline_loss_percent", "value": loss,
        "sentence": f"Preempted, the offline program loses {loss:.1f} % of its time, beyond what "
                    f"requests take; its {result['steps']} steps are right."}))
    if sched.errors:
        sys.exit(str(sched.errors[0]))


main()
