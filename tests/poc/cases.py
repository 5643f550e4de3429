#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test cases of stage 1: two programs, one GPU, and a scheduler over libgpreempt_poc.

Usage: cases.py CASE [--seconds N] [--fill MS] [--json]

Runs on a machine with an AMD GPU or on an emulated one. Times are printed and not judged: that is
for benchmarks. What is checked: every request is answered right, the offline program computes
what it computes undisturbed, and nothing stays stopped.
"""
import argparse
import fcntl
import importlib.util
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import gpreempt_poc as poc
import lab
from lab import LIMIT_S, Server, Trainer, check, die_with_parent, wait_for

TRAINER = ("--queues", 2, "--rounds", 6000)
# The figures of the case, for --json.
FIGURES = {}


def make_scheduler(hold_limit=LIMIT_S, **options):
    """With all queues that carry the tags of the two programs. On a busy host a request may take
    long, so that nothing but a case about it counts on the limit."""
    sched = poc.GPreemptScheduler(hold_limit=hold_limit, **options)
    for q in poc.find_queues_by_tag("OFFLINE_AI"):
        sched.register_offline_queue(q.queue_id, q.priority)
    for q in poc.find_queues_by_tag("ONLINE_AI"):
        sched.register_online_queue(q.queue_id, q.priority)
    return sched


def request(sched, server, n=1):
    """A request as the scheduler's caller makes it; its seconds from arrival to answer."""
    begin = time.monotonic()
    with sched.online_task():
        server.request(n)
    return time.monotonic() - begin


def check_end(sched, trainer):
    """All is as if nothing had been, and the trainer ends well."""
    check(sched.wait_idle(LIMIT_S), "the offline queues are not resumed")
    check(not sched.errors, f"the scheduler failed: {[str(e) for e in sched.errors]}")
    trainer.wait_for_step()
    result = trainer.end()
    trainer.check_digest(result)
    return result


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def print_times(name, key, seconds):
    if seconds:
        FIGURES.update({f"{key}_p50_ms": percentile(seconds, .5) * 1e3,
                        f"{key}_p99_ms": percentile(seconds, .99) * 1e3 if len(seconds) >= 100 else None,
                        f"{key}_max_ms": max(seconds) * 1e3})
        print(f"{name}: p50 {percentile(seconds, .5) * 1e3:.2f} ms, "
              f"p99 {percentile(seconds, .99) * 1e3:.2f} ms, max {max(seconds) * 1e3:.2f} ms")


def print_summary(sched, latencies, result):
    print(f"{len(latencies)} requests answered, {sched.preemptions} preemptions, "
          f"{result['steps']} steps, digest {result['digest']} as undisturbed")
    FIGURES.update(requests=len(latencies), preemptions=sched.preemptions, steps=result["steps"])
    print_times("online, arrival to answer", "online", latencies)
    print_times("suspend", "suspend", sched.suspend_times)
    print_times("resume", "resume", sched.resume_times)


def identification(_):
    """Programs are found by priority and by tag, and a queue's id says whose it is."""
    poc.init()
    check(poc.get_all_queues() == [], "there are queues before there are programs")
    trainer, server = Trainer(*TRAINER), Server()
    offline, online = poc.find_queues_by_priority(0, 5), poc.find_queues_by_priority(10, 15)
    check(offline == trainer.queues() and len(offline) >= 2, f"by priority: {offline}")
    check(online == server.queues() and online, f"by priority: {online}")
    check(poc.find_queues_by_tag("OFFLINE_AI") == offline, "by tag, offline")
    check(poc.find_queues_by_tag("ONLINE_AI") == online, "by tag, online")
    check(poc.find_queues_by_tag("OFFLINE") == [], "a tag is more than its beginning")
    check(poc.find_queues_by_priority(3, 14) == [], "priorities between them")
    ids = [q.queue_id for q in poc.get_all_queues()]
    check(len(set(ids)) == len(ids) == len(offline) + len(online), f"ids: {ids}")
    check(all(q.gpu_id for q in offline), "which GPU")
    poc.suspend_queues([q.queue_id for q in offline])
    check(not any(q.is_active for q in trainer.queues()), "suspended queues are not active")
    check(ids == [q.queue_id for q in poc.get_all_queues()], "ids have changed")
    poc.cleanup()
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())
    server.result()


def basic(_):
    """Case 1: requests come now and then while the trainer computes."""
    undisturbed = Trainer(*TRAINER, "--steps", 40).result()
    server = Server() # first: it takes a while to start, and the trainer has few steps
    trainer = Trainer(*TRAINER, "--steps", 40, "--stay")
    sched = make_scheduler(verbose=True)
    check(len(sched.offline_queues) >= 2 and sched.online_queues, "queues are not found")
    # Suspended is suspended: no step ends while a task is under way.
    with sched.online_task():
        wait_for(lambda: sched.suspend_times, "the first suspend")
        before = trainer.steps_when_held()
        server.request()
        time.sleep(0.5)
        check(trainer.steps() == before < 40, f"the trainer went on while it was suspended: "
              f"step {before}, then {trainer.steps()}")
    trainer.wait_for_step()
    latencies = []
    for i in range(10):
        print(f"[TEST] online task {i + 1}")
        latencies.append(request(sched, server))
        time.sleep(0.1)
    wait_for(lambda: trainer.steps() == 40, "the trainer's last step")
    check(sched.wait_idle(LIMIT_S) and not sched.errors, f"{sched.errors}")
    result = trainer.end()
    check(result["digest"] == undisturbed["digest"] and result["steps"] == 40,
          f"undisturbed {undisturbed}, with requests {result}")
    # A request may be answered before the scheduler's thread has its turn.
    check(1 <= sched.preemptions <= 11, f"{sched.preemptions} preemptions of 11")
    print_summary(sched, latencies, result)
    sched.cleanup()
    check(server.result()["requests"] == 11, "a request was lost")


def frequent(args):
    """Case 2: a request every 100 ms."""
    trainer, server = Trainer(*TRAINER), Server()
    sched = make_scheduler()
    latencies, seen = [], trainer.steps()
    begin = next_at = time.monotonic()
    minute = begin + 60
    while time.monotonic() < begin + args.seconds:
        latencies.append(request(sched, server))
        next_at = max(next_at + 0.1, time.monotonic())
        time.sleep(max(0, next_at - time.monotonic()))
        check(not sched.errors, f"{sched.errors}")
        if time.monotonic() > minute:
            check(trainer.steps() > seen, "the trainer has made no step for a minute")
            seen, minute = trainer.steps(), minute + 60
            print(f"{minute - begin - 60:.0f} s: {len(latencies)} requests, {seen} steps",
                  flush=True)
    FIGURES["minutes"] = (time.monotonic() - begin) / 60
    result = check_end(sched, trainer)
    check(sched.preemptions and sched.expired == 0, "no preemption, or one that did not end")
    print_summary(sched, latencies, result)
    sched.cleanup()
    check(server.result()["requests"] == len(latencies), "a request was lost")


def no_offline_queue(_):
    """Case 3: there is nothing to preempt."""
    server = Server()
    sched = make_scheduler()
    check(not sched.offline_queues, "there is an offline queue")
    for _ in range(5):
        request(sched, server)
    check(sched.wait_idle(LIMIT_S) and not sched.errors and not sched.preemptions,
          "something was suspended")
    sched.cleanup()
    server.result()


def both_at_once(_):
    """Case 3: both programs submit from their first moment on, and the scheduler never rests."""
    trainer, server = Trainer("--queues", 3, "--rounds", 300), Server("--queues", 2)
    sched = make_scheduler()
    for _ in range(100):
        request(sched, server)
    check_end(sched, trainer)
    sched.cleanup()
    server.result()


def many_at_once(_):
    """Case 3: many requests in one moment, from several callers."""
    trainer = Trainer(*TRAINER)
    servers = [Server("--queues", 2) for _ in range(3)]
    sched = make_scheduler()

    def call(server):
        for _ in range(10):
            request(sched, server, 32)

    callers = [threading.Thread(target=call, args=[s]) for s in servers]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    check_end(sched, trainer)
    check(sched.preemptions, "nothing was suspended")
    sched.cleanup()
    for s in servers:
        check(s.result()["requests"] == 320, "a request was lost")


def queue_destroyed(_):
    """Case 3: a program ends, and destroys its queues, while they are suspended."""
    trainer = Trainer(*TRAINER, "--steps", 3, "--stay")
    wait_for(lambda: trainer.steps() == 3, "the third step")
    sched = make_scheduler()
    task = sched.notify_online_task()
    wait_for(lambda: sched.suspend_times, "the suspend")
    trainer.popen.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    task.done()
    trainer.check_digest(trainer.result())
    check(sched.wait_idle(LIMIT_S) and not sched.errors, f"{sched.errors}")
    # They are gone, which is found out when they are wanted the next time.
    sched.notify_online_task().done()
    check(sched.wait_idle(LIMIT_S), "the scheduler is stuck")
    with sched.online_task():
        wait_for(lambda: not sched.offline_queues, "that gone queues are forgotten")
    check(not sched.errors, f"{sched.errors}")
    sched.cleanup()


def program_killed(_):
    """Case 3: a program is killed while its queues are suspended; another one takes its place."""
    server = Server()
    trainers = [Trainer(*TRAINER), Trainer(*TRAINER)]
    sched = make_scheduler()
    with sched.online_task():
        wait_for(lambda: sched.suspend_times, "the suspend")
        trainers[0].kill()
        server.request()
    check(sched.wait_idle(LIMIT_S), "the scheduler is stuck")
    request(sched, server)
    trainers.append(Trainer(*TRAINER))
    for q in trainers[2].queues():
        sched.register_offline_queue(q.queue_id, q.priority)
    with sched.online_task():
        server.request()
        wait_for(lambda: {poc.queue_pid(q.queue_id) for q in sched.offline_queues} ==
                 {t.popen.pid for t in trainers[1:]}, "that who is gone is forgotten")
    for t in trainers[1:]:
        check_end(sched, t)
    sched.cleanup()
    server.result()


def nobody_ends(_):
    """Case 3: the end of an online task is never told, as its program is gone."""
    trainer = Trainer(*TRAINER)
    sched = make_scheduler(hold_limit=0.2)
    task = sched.notify_online_task()
    wait_for(lambda: sched.expired == 1, "that the task is given up")
    trainer.wait_for_step()
    task.done()
    with sched.online_task():
        wait_for(lambda: len(sched.suspend_times) == 2, "the next suspend")
    check_end(sched, trainer)
    sched.cleanup()


class SeedProgram:
    """test_priority_scheduling.py, the example program of stage 1's design, as it was published
    (with the characters that were damaged in it). It expects the library in the current folder, and
    three functions that it does not define."""

    def __init__(self):
        self.trainer = self.server = None
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.realpath(os.environ["GPREEMPT_POC_LIB"]),
                       folder + "/libgpreempt_poc.so")
            os.chdir(folder)
            path = pathlib.Path(__file__).with_name("test_priority_scheduling.py")
            spec = importlib.util.spec_from_file_location("test_priority_scheduling", path)
            self.module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self.module)
            os.chdir("/")
        self.module.launch_offline_ai = self.launch_offline_ai
        self.module.launch_online_ai = self.launch_online_ai
        self.module.find_queues_by_priority = poc.find_queues_by_priority

    def launch_offline_ai(self):
        self.trainer = Trainer(*TRAINER)
        return self.trainer.popen

    def launch_online_ai(self):
        self.server = Server()
        return self.server.popen

    def run(self):
        self.module.test_online_offline_scheduling()
        result = self.trainer.result()
        self.trainer.check_digest(result)
        self.server.popen.communicate()
        check(result["steps"], "the trainer made no step")


def seed_program(_):
    """The example program of stage 1's design, unchanged, with the scheduler that it has itself."""
    SeedProgram().run()


class Recorder(poc.GPreemptScheduler):
    """Measures its preemptions also by the GPU's clock."""

    GET_CLOCK_COUNTERS = 0xc0284b05

    def __init__(self):
        self.kfd = os.open("/dev/kfd", os.O_RDWR | os.O_CLOEXEC)
        self.gpu_id, self.notifier = 0, None
        self.device_held, self.device_from, self.device_to = 0, None, None
        self.begin, self.end = None, None
        super().__init__()

    def device_clock(self):
        args = bytearray(struct.pack("=QQQQII", 0, 0, 0, 0, self.gpu_id, 0))
        fcntl.ioctl(self.kfd, self.GET_CLOCK_COUNTERS, args)
        return struct.unpack("=QQQQII", args)[0]

    def notify_online_task(self):
        if self.begin is None:
            self.gpu_id = poc.get_all_queues()[0].gpu_id
            self.begin, self.device_from = time.monotonic(), self.device_clock()
        if self.notifier:
            self.notifier()
        return super().notify_online_task()

    def _suspend(self, queue_ids):
        self.suspended_at = self.device_clock()
        return super()._suspend(queue_ids)

    def _resume(self, queue_ids):
        super()._resume(queue_ids)
        self.device_held += self.device_clock() - self.suspended_at

    def cleanup(self):
        self.wait_idle(LIMIT_S)
        self.end, self.device_to = time.monotonic(), self.device_clock()
        super().cleanup()


def run_seed_loop(name, notifier=None):
    """The program's loop with the module's scheduler, and nobody who calls done()."""
    schedulers = []

    def make():
        schedulers.append(Recorder())
        schedulers[0].notifier = notifier and (lambda: notifier(program))
        return schedulers[0]

    program = SeedProgram()
    program.module.GPreemptScheduler = make
    program.run()
    sched = schedulers[0]
    check(not sched.errors, f"the scheduler failed: {[str(e) for e in sched.errors]}")
    check(sched.online_queues and sched.watches, "the online queues are not watched")
    check(sched.expired == 0 and sched.emptied == 10 == sched.preemptions,
          f"of 10 tasks {sched.emptied} ended with their work, {sched.expired} by the limit; "
          f"{sched.preemptions} preemptions")
    took, device = sched.end - sched.begin, sched.device_to - sched.device_from
    held = sum(sched.held_times) / took
    print(f"{name}: the offline queues were held for {sum(sched.held_times):.2f} of {took:.2f} s, "
          f"{held * 100:.1f} % (goal: 5 %); {sched.device_held / device * 100:.1f} % of device time")
    return held


def seed_loop(_):
    """A notification every 500 ms: a preemption ends with the work that it is for."""
    held = run_seed_loop("no work comes")
    check(held < 0.2, f"the offline queues were held for {held * 100:.0f} % of the time")

    def ask(program):
        program.server.popen.stdin.write("1\n")
        program.server.popen.stdin.flush()

    held = run_seed_loop("a request each", ask)
    check(held < 0.4, f"the offline queues were held for {held * 100:.0f} % of the time")


def work_ends_the_task(_):
    """A notified task ends with its work and without done(), also when the program with the work
    has ended; one in a block ends with the block."""
    trainer, server = Trainer(*TRAINER), Server("--rounds", 2000, "--groups", 4)
    sched = make_scheduler()
    check(sched.watches, "the online queues are not watched")
    for _ in range(3):
        with sched.online_task() as task:
            server.request(8)
            # From here on it is as if there were no block.
            task.in_block = False
            check(sched.wait_idle(LIMIT_S), "the task did not end")
    check(sched.emptied == 3 and sched.expired == 0, f"{sched.emptied} of 3 ended with their work")
    with sched.online_task():
        wait_for(lambda: len(sched.suspend_times) == 4, "the suspend")
        server.request()
        time.sleep(0.2)
        check(sched.online_task_pending, "a block's task ended before the block")
    check_end(sched, trainer)
    server.kill()
    sched.notify_online_task()
    wait_for(lambda: not sched.online_queues, "that gone online queues are forgotten")
    check(sched.wait_idle(LIMIT_S) and sched.expired == 0, "a task outlived its program")
    sched.cleanup()


def hold_for_ever(_):
    """Not a test: suspends the offline queues, says so, and waits to be killed."""
    poc.init()
    poc.suspend_queues([q.queue_id for q in poc.find_queues_by_tag("OFFLINE_AI")])
    print("held", flush=True)
    signal.pause()


def scheduler_killed(_):
    """Case 3: who holds queues is killed: the kernel lets them go."""
    trainer = Trainer(*TRAINER)
    for _ in range(3):
        holder = subprocess.Popen([sys.executable, __file__, "hold_for_ever"],
                                  stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        check(holder.stdout.readline() == "held\n", "the queues cannot be suspended")
        before = trainer.steps_when_held()
        time.sleep(0.3)
        check(trainer.steps() == before, "the trainer goes on while it is suspended")
        holder.kill()
        holder.communicate()
        trainer.wait_for_step()
    trainer.check_digest(trainer.end())


CASES = {f.__name__: f for f in (identification, basic, frequent, no_offline_queue, both_at_once,
                                 many_at_once, queue_destroyed, program_killed, scheduler_killed,
                                 nobody_ends, seed_program, seed_loop, work_ends_the_task,
                                 hold_for_ever)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--seconds", type=float, default=60, help="how long 'frequent' takes")
    parser.add_argument("--fill", type=int, metavar="MS",
                        help="the trainer fills the GPU, with steps so long: for a real GPU")
    parser.add_argument("--json", action="store_true",
                        help="one JSON document; what a case says goes to standard error")
    args = parser.parse_args()
    out = sys.stdout
    if args.json:
        sys.stdout = sys.stderr
    if args.fill:
        lab.fill(args.fill)
    CASES[args.case](args)
    print(f"{args.case}: ok", flush=True)
    if args.json:
        print(json.dumps({"schema": 1, "case": args.case, **FIGURES}), file=out, flush=True)
    # Children that a failed case would leave behind are none's; nothing else is to be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
