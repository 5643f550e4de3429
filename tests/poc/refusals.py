#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libgpreempt_poc refuses, each with errno and a sentence that has a rule and a remedy.

Usage: refusals.py NAME...

Each is for a certain machine: tests/e2e/poc.bats has which. After every refusal about queues of a
program that is there, that program goes on.
"""
import errno
import io
import os
import random
import signal
import subprocess
import sys
import threading
import time

import gpreempt_poc as poc
import lab
from lab import Trainer, check, wait_for

TRAINER = ("--queues", 2, "--rounds", 2000)


def refused(number, words, call, *args):
    """That the call fails with errno and all words in its sentence; the queues it is about."""
    try:
        call(*args)
    except poc.GPreemptError as error:
        name = errno.errorcode[number]
        check(error.errno == number and f"({name})" in str(error),
              f"{name} was expected: {error.errno}, {error}")
        check(all(w in str(error) for w in words), f"no {words} in: {error}")
        print(f"  {error}")
        return error.queue_ids
    check(False, f"{call.__name__}{args} is not refused")


def ids_of(program):
    return [q.queue_id for q in program.queues()]


def traced_by_another(pid):
    """A process that traces it; ends when its input does."""
    code = ("import ctypes, sys\n"
            "sys.exit(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None)"
            " or print('traced', flush=True) or sys.stdin.read())")
    tracer = subprocess.Popen([sys.executable, "-c", code, str(pid)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    check(tracer.stdout.readline() == "traced\n", "the other tracer cannot trace")
    return tracer


def holder():
    """Another program with this library that holds the offline queues."""
    other = subprocess.Popen([sys.executable, os.path.dirname(__file__) + "/cases.py",
                              "hold_for_ever"], stdout=subprocess.PIPE, text=True)
    check(other.stdout.readline() == "held\n", "the other holder cannot hold")
    return other


def end(process):
    process.kill()
    process.communicate()


def no_device():
    refused(errno.ENOENT, ["/dev/kfd", "modprobe amdgpu"], poc.init)
    check(not poc.warning(), "a warning without a device")


def no_permission():
    refused(errno.EACCES, ["/dev/kfd", "group render"], poc.init)


def bad_way():
    os.environ["GPREEMPT_POC_WAY"] = "update"
    refused(errno.EINVAL, ["GPREEMPT_POC_WAY", "dbgtrap or preempt"], poc.init)


def arguments():
    for call, args in ((poc.suspend_queues, [[1024]]), (poc.resume_queues, [[1024]]),
                       (poc.queues_busy, [[1024]]), (poc.get_all_queues, [])):
        refused(errno.ENOTCONN, ["gpreempt_poc_init()"], call, *args)
    poc.init()
    refused(errno.EALREADY, ["gpreempt_poc_cleanup()"], poc.init)
    trainer = Trainer(*TRAINER)
    ids = ids_of(trainer)
    for call in poc.suspend_queues, poc.resume_queues, poc.queues_busy:
        check(refused(errno.EINVAL, ["no queue"], call, []) == [], "about a queue")
        refused(errno.E2BIG, ["10000", "1024"], call, list(range(10000)))
        check(refused(errno.EINVAL, ["twice"], call, ids + ids[:1]) == ids[:1], "which is twice")
    check(poc.lib.gpreempt_suspend_queues(None, 3, 0) == -1, "a pointer that is none")
    check(poc.lib.gpreempt_get_all_queues(None, None) == -1, "no place for the result")
    # Of many unknown ones each is named.
    strange = [trainer.popen.pid << 10 | n for n in range(1000, 1024)]
    check(sorted(refused(errno.EINVAL, ["queue"], poc.suspend_queues, strange)) == strange,
          "all that failed")
    check(refused(errno.ENOENT, ["list the queues"], poc.resume_queues, [2 << 10]) == [2 << 10],
          "a strange one is resumed")
    check(sorted(refused(errno.ENOENT, ["list the queues"], poc.queues_busy, strange)) == strange,
          "a strange one is watched")
    wait_for(lambda: poc.queues_busy(ids), "work of the trainer")
    poc.resume_queues(ids)
    poc.cleanup()
    trainer.check_digest(trainer.end())


def all_or_none():
    trainer, other = Trainer(*TRAINER), Trainer(*TRAINER)
    poc.init()
    ids = ids_of(trainer) + ids_of(other)
    bad = other.popen.pid << 10 | 1023
    check(refused(errno.EINVAL, [f"queue {bad}", "none is suspended"], poc.suspend_queues,
                  ids + [bad]) == [bad], "which failed")
    trainer.wait_for_step()
    other.wait_for_step()
    # Queues that were suspended before stay so.
    poc.suspend_queues(ids_of(trainer))
    refused(errno.EINVAL, [], poc.suspend_queues, ids + [bad])
    before = trainer.steps_when_held()
    other.wait_for_step()
    check(trainer.steps() == before, "a queue that was suspended before runs")
    # Resuming goes as far as it can.
    check(refused(errno.EINVAL, ["run"], poc.resume_queues, ids + [bad]) == [bad], "which failed")
    for t in trainer, other:
        t.wait_for_step()
        t.check_digest(t.end())
    poc.cleanup()


def program_ended():
    trainer, fresh = Trainer(*TRAINER), Trainer(*TRAINER)
    poc.init()
    ids, fresh_ids = ids_of(trainer), ids_of(fresh)
    poc.suspend_queues(ids)
    trainer.kill()
    fresh.kill()
    check(sorted(refused(errno.ENOENT, ["ended"], poc.resume_queues, ids)) == ids, "which")
    refused(errno.ESRCH, ["has ended"], poc.suspend_queues, ids)
    refused(errno.ESRCH, ["has ended"], poc.suspend_queues, fresh_ids)
    check(sorted(refused(errno.ENOENT, ["ended"], poc.queues_busy, ids + fresh_ids)) ==
          sorted(ids + fresh_ids), "which cannot be watched")
    wait_for(lambda: poc.get_all_queues() == [], "that queues of who is gone are, too")
    poc.cleanup()


def debugger():
    trainer = Trainer(*TRAINER)
    poc.init()
    other = holder()
    refused(errno.EALREADY, ["another debugger", "rocgdb"], poc.suspend_queues, ids_of(trainer))
    refused(errno.EALREADY, ["cannot be watched", "rocgdb"], poc.queues_busy, ids_of(trainer))
    end(other)
    trainer.wait_for_step()
    tracer = traced_by_another(trainer.popen.pid)
    refused(errno.EPERM, ["no other tracer"], poc.suspend_queues, ids_of(trainer))
    tracer.communicate()
    poc.suspend_queues(ids_of(trainer))
    poc.cleanup()
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())


def two_holders():
    """The series has holds of several programs: all must release."""
    trainer = Trainer(*TRAINER)
    poc.init()
    poc.suspend_queues(ids_of(trainer))
    other = holder()
    poc.resume_queues(ids_of(trainer))
    before = trainer.steps_when_held()
    time.sleep(0.3)
    check(trainer.steps() == before, "one of two holders released, and the queues run")
    end(other)
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())
    poc.cleanup()


def no_runtime():
    lab.DEBUGGABLE.clear()
    trainer = Trainer(*TRAINER)
    poc.init()
    refused(errno.EPERM, ["RUNTIME_ENABLE", "5.7"], poc.suspend_queues, ids_of(trainer))
    # They can be watched, though.
    wait_for(lambda: poc.queues_busy(ids_of(trainer)), "work of the trainer")
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())
    poc.cleanup()


def old_kernel():
    lab.DEBUGGABLE.clear()
    trainer = Trainer(*TRAINER)
    poc.init()
    check(len(ids_of(trainer)) >= 2, "queues are not listed")
    refused(errno.ENOTTY, ["Linux 6.5"], poc.suspend_queues, ids_of(trainer))
    refused(errno.ENOTTY, ["cannot be watched", "Linux 6.5"], poc.queues_busy, ids_of(trainer))
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())
    poc.cleanup()


def unwatchable():
    """A scheduler that cannot watch its online queues says so once, and tasks end by the limit."""
    trainer, online = Trainer(*TRAINER), Trainer(*TRAINER)
    tracer = traced_by_another(online.popen.pid)
    sched = poc.GPreemptScheduler(hold_limit=0.2)
    for q in ids_of(trainer):
        sched.register_offline_queue(q)
    told, sys.stderr = sys.stderr, io.StringIO()
    for q in ids_of(online):
        sched.register_online_queue(q)
    told, sys.stderr = sys.stderr.getvalue(), told
    print(f"  {told}", end="")
    check(told.count("\n") == 1 and "cannot be watched" in told and "no other tracer" in told and
          told.endswith("end by done() or after 0.2 s\n"), f"not one line that says why: {told}")
    check(not sched.watches and sched.online_queues, "it watches")
    sched.notify_online_task()
    check(sched.wait_idle(lab.LIMIT_S) and sched.expired == 1 and sched.emptied == 0,
          "the task did not end by the limit")
    check(not sched.errors, f"{sched.errors}")
    sched.cleanup()
    tracer.communicate()
    for t in trainer, online:
        t.wait_for_step()
        t.check_digest(t.end())


def drains():
    """Without context save a suspend waits for what runs, and the library says so."""
    trainer = Trainer(*TRAINER)
    poc.init()
    check("drains" in poc.warning() and "cwsr_enable=1" in poc.warning(), poc.warning())
    for _ in range(5):
        poc.suspend_queues(ids_of(trainer))
        before = trainer.steps_when_held()
        time.sleep(0.2)
        check(trainer.steps() == before, "the trainer goes on")
        poc.resume_queues(ids_of(trainer))
        trainer.wait_for_step()
    poc.cleanup()
    trainer.check_digest(trainer.end())


def many_threads():
    """Calls from many threads at once, with programs that come and go."""
    poc.init()
    trainers = [Trainer(*TRAINER) for _ in range(2)]
    queues = [ids_of(t) for t in trainers]
    over = time.monotonic() + 4
    poc_errors = []

    def list_both(_):
        found = [q.queue_id for q in poc.get_all_queues()]
        check(all(q in found for ids in queues for q in ids), f"{queues} in {found}")

    def call(seed):
        rng = random.Random(seed)
        while time.monotonic() < over:
            ids = rng.choice(queues)
            ids = rng.sample(ids, rng.randint(1, len(ids)))
            try:
                rng.choice([poc.suspend_queues, poc.resume_queues, poc.queues_busy,
                            list_both])(ids)
            except poc.GPreemptError as error:
                poc_errors.append(str(error))

    threads = [threading.Thread(target=call, args=[s]) for s in range(6)]
    for t in threads:
        t.start()
    while time.monotonic() < over:
        Trainer(*TRAINER).kill()
    for t in threads:
        t.join()
    check(not poc_errors, f"{poc_errors[:3]}")
    poc.cleanup()
    for t in trainers:
        t.wait_for_step()
        t.check_digest(t.end())


def fork():
    """A child has nothing of its parent's, and keeps nothing of it alive."""
    trainer = Trainer(*TRAINER)

    def hold(ready):
        poc.init()
        poc.suspend_queues([q.queue_id for q in poc.find_queues_by_tag("OFFLINE_AI")])
        if not os.fork():
            try:
                poc.resume_queues([1024])
            except poc.GPreemptError as error:
                os.write(ready, b"y" if error.errno == errno.ENOTCONN else b"n")
            time.sleep(lab.LIMIT_S)
            os._exit(0)
        signal.pause()

    here, there = os.pipe()
    parent = os.fork()
    if not parent:
        os.setpgid(0, 0)
        hold(there)
    check(os.read(here, 1) == b"y", "the child of a holder has its state")
    before = trainer.steps_when_held()
    time.sleep(0.3)
    check(trainer.steps() == before, "a holder's child released the queues")
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    trainer.wait_for_step()
    os.killpg(parent, signal.SIGKILL)
    trainer.check_digest(trainer.end())


def begin_anew():
    """Init and cleanup again and again; nothing is left of it."""
    trainer = Trainer(*TRAINER)

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = None
    for i in range(20):
        poc.init()
        poc.suspend_queues(ids_of(trainer))
        poc.queues_busy(ids_of(trainer))
        poc.cleanup()
        before = before or descriptors()
    check(descriptors() == before, f"{descriptors()} descriptors, not {before}")
    poc.cleanup()
    trainer.wait_for_step()
    trainer.check_digest(trainer.end())


def main():
    for name in sys.argv[1:]:
        print(f"{name} ...", flush=True)
        globals()[name]()
    print(f"{' '.join(sys.argv[1:])}: ok", flush=True)
    os._exit(0)


main()
