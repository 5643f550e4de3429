#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test cases of stage 1: two programs, one GPU, and a scheduler over libgpreempt_poc.

Usage: cases.py CASE [--seconds N]

Runs on a machine with an AMD GPU or on an emulated one. Times are printed and not judged: that is
for benchmarks. What is checked: every request is answered right, the offline program computes
what it computes undisturbed, and nothing stays stopped.
"""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time

import gpreempt_poc as poc
from lab import LIMIT_S, Server, Trainer, check, die_with_parent, wait_for

TRAINER = ("--queues", 2, "--rounds", 6000)


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


def print_times(name, seconds):
    if seconds:
        print(f"{name}: p50 {percentile(seconds, .5) * 1e3:.2f} ms, "
              f"p99 {percentile(seconds, .99) * 1e3:.2f} ms, max {max(seconds) * 1e3:.2f} ms")


def print_summary(sched, latencies, result):
    print(f"{len(latencies)} requests answered, {sched.preemptions} preemptions, "
          f"{result['steps']} steps, digest {result['digest']} as undisturbed")
    print_times("online, arrival to answer", latencies)
    print_times("suspend", sched.suspend_times)
    print_times("resume", sched.resume_times)


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
    trainer, server = Trainer(*TRAINER, "--steps", 40, "--stay"), Server()
    sched = make_scheduler(verbose=True)
    check(len(sched.offline_queues) >= 2 and sched.online_queues, "queues are not found")
    # Suspended is suspended: no step ends while a task is under way.
    task = sched.notify_online_task()
    wait_for(lambda: sched.suspend_times, "the first suspend")
    before = trainer.steps_when_held()
    server.request()
    time.sleep(0.5)
    check(trainer.steps() == before < 40, "the trainer went on while it was suspended")
    task.done()
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
                                 nobody_ends, hold_for_ever)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--seconds", type=float, default=60, help="how long 'frequent' takes")
    args = parser.parse_args()
    CASES[args.case](args)
    print(f"{args.case}: ok", flush=True)
    # Children that a failed case would leave behind are none's; nothing else is to be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
