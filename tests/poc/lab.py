# SPDX-License-Identifier: MIT
"""What the tests of stage 1 share: the offline and the online program, started and watched.

Everything that waits has an end: LIMIT_S seconds, after which it is a failure.
"""
import ctypes
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

import gpreempt_poc as poc

LIMIT_S = 100
WORKLOADS = os.environ.get("WORKLOADS", "build/src/demo")
# The command that starts the programs, as 'scripts/rocr6 exec FOLDER': another runtime.
COMMAND = os.environ.get("POC_COMMAND", "").split()
# If the runtime does not tell the driver that a debugger may come, the programs do.
DEBUGGABLE = [] if COMMAND else ["--debuggable"]
# A file that the programs complain to, for who wants to see it only when a check fails.
STDERR = None
# Arguments that make every trainer's work as large as fill() has found it; none: as a case says.
FILLED = []
PROGRESS = struct.Struct("=IIQQQ")
PROGRESS_MAGIC = 0x6770726F


def check(condition, sentence):
    if not condition:
        print("FAILED: " + sentence, file=sys.stderr, flush=True)
        if STDERR:
            STDERR.seek(0)
            sys.stderr.write(STDERR.read().decode(errors="replace"))
            sys.stderr.flush()
        # Not sys.exit(): threads may wait for what has just failed.
        os._exit(1)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def wait_for(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        check(time.monotonic() < end, f"{what} did not come within {LIMIT_S} s")
        time.sleep(0.005)


def run_trainer(*arguments):
    """What a trainer prints that runs undisturbed."""
    command = [] if "host" in arguments else COMMAND
    done = subprocess.run([*command, f"{WORKLOADS}/offline_trainer", "--json",
                           *(str(a) for a in arguments)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def fill(milliseconds):
    """From now on trainers fill the GPU, and their steps take so long: on a real GPU, work that is
    long on an emulated one is over before it can be preempted."""
    size = run_trainer("--fill", f"{milliseconds}ms")
    FILLED[:] = ["--groups", str(size["groups"]), "--rounds", str(size["rounds"])]
    print(f"a trainer's steps of {milliseconds} ms: {' '.join(FILLED)}", flush=True)


class Program:
    """A workload under way."""

    def __init__(self, name, arguments, tag, priority):
        env = dict(os.environ, AMD_QUEUE_TAG=tag, AMD_QUEUE_PRIORITY=str(priority))
        self.popen = subprocess.Popen(
            [*COMMAND, f"{WORKLOADS}/{name}", "--json", *DEBUGGABLE, *arguments], env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=STDERR, preexec_fn=die_with_parent)

    def result(self):
        """What it prints at its end, which must be a good one."""
        # Its end is waited for only when it is near: while a debugger begins with a program,
        # its parent would be told of its stop.
        try:
            text, _ = self.popen.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            check(False, f"{self.popen.args} does not end")
        check(self.popen.returncode == 0, f"{self.popen.args}: {self.popen.returncode}")
        return json.loads(text.splitlines()[-1])

    def kill(self):
        self.popen.kill()
        self.popen.communicate()

    def queues(self):
        return [q for q in poc.get_all_queues()
                if poc.queue_pid(q.queue_id) == self.popen.pid]


class Trainer(Program):
    """The offline program."""

    def __init__(self, *arguments):
        self.arguments = [*(str(a) for a in arguments), *FILLED]
        file = tempfile.NamedTemporaryFile()
        file.truncate(PROGRESS.size)
        self.page = mmap.mmap(file.fileno(), PROGRESS.size, access=mmap.ACCESS_READ)
        super().__init__("offline_trainer", [*self.arguments, "--progress", file.name],
                         "OFFLINE_AI", 2)
        wait_for(lambda: self.progress()[0] == PROGRESS_MAGIC, "the trainer's beginning")
        file.close()

    def progress(self):
        return PROGRESS.unpack(self.page)

    def steps(self):
        return self.progress()[2]

    def steps_when_held(self):
        """Of a step that ended before, the host may still have to do its part."""
        time.sleep(0.2)
        return self.steps()

    def wait_for_step(self):
        now = self.steps()
        wait_for(lambda: self.steps() > now, "the trainer's next step")

    def end(self):
        self.popen.send_signal(signal.SIGTERM)
        return self.result()

    def check_digest(self, result):
        """That it computed what it does undisturbed: on the host, or, where the work is too much for
        that, on the GPU, which then has to agree with the host about a little work."""
        arguments = [a for a in self.arguments if a != "--stay"]
        if FILLED:
            little = ("--groups", 2, "--rounds", 500, "--steps", 20)
            check(run_trainer(*little)["digest"] == run_trainer(*little, "--on", "host")["digest"],
                  "the GPU and the host differ, although nothing is preempted")
        where = () if FILLED else ("--on", "host")
        digest = run_trainer(*arguments, "--steps", result["steps"], *where)["digest"]
        check(digest == result["digest"], f"after {result['steps']} steps the digest is "
              f"{result['digest']}, not that of an undisturbed run, {digest}")


class Server(Program):
    """The online program."""

    def __init__(self, *arguments):
        super().__init__("online_server", ["--stdin", *(str(a) for a in arguments)], "ONLINE_AI",
                         15)
        check(self.popen.stdout.readline() == "ready\n", "the server does not begin")

    def request(self, n=1):
        """n at once, and their answers; how long they took, in seconds: wall, device."""
        self.popen.stdin.write(f"{n}\n")
        self.popen.stdin.flush()
        words = self.popen.stdout.readline().split()
        check(words[:2] == ["served", str(n)], f"the server says {words}")
        return float(words[3]) / 1e6, float(words[5]) / 1e6
