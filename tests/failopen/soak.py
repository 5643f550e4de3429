#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills and stops gpreemptd, joined programs and the emulated machine, at random moments.

Usage: soak.py GPREEMPT GPREEMPTD WORKLOADS [--rounds N] [--seed N]

A trainer and a more urgent server share an emulated GPU, unmodified and joined with `gpreempt run`;
a second trainer starts and ends. In each round one of them, the daemon or the machine is killed or
stopped. The soak ends with status 1 and a sentence if one of these does not hold:

- A running trainer is never without a step for more than two seconds in which a program that is not
  joined takes steps.
- After each round the daemon lists exactly the running programs, each scheduled, and holds as many
  queues as it shows as held.
- The result of a trainer, killed or not, is what the host computes in as many steps; every answer
  of the server is right.
"""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

EXCLUDED_S = 2.0
PATIENCE_S = 20
# A trainer's step takes some ten milliseconds, so a missing step means that the trainer is held.
STEPS = ["--queues", "2", "--groups", "2", "--rounds", "400"]
REQUESTS = ["--stdin", "--groups", "4", "--rounds", "300"]
# The server rests so many times as long as its last request took, so that it is idle most of the time
# on a busy host as well: beside a server that always works a trainer has its minimum share only.
RESTS = 3


def fail(sentence):
    print("FAILED: " + sentence, file=sys.stderr)
    # The watch thread may have called this.
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)


def eventually(what, condition):
    """Waits until the condition holds, and returns what it returned."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            fail(what() if callable(what) else what)
        time.sleep(0.02)


class Trainer:
    """A program of the offline class, and the page with its progress."""

    number = 0

    def __init__(self, soak, tag, joined=True):
        Trainer.number += 1
        self.soak, self.tag = soak, tag
        self.page = f"{soak.folder}/progress-{Trainer.number}"
        self.process = soak.start(["-c", "offline", "-t", tag] if joined else None,
                                  [f"{soak.workloads}/offline_trainer", *STEPS, "--progress",
                                   self.page, "--json"])
        eventually(f"the trainer {tag} takes no step", lambda: self.progress()[0] > 0)

    def progress(self):
        """Returns the number of steps, and the digest of that step or the next."""
        try:
            with open(self.page, "rb") as page:
                magic, _, steps, digest = struct.unpack("=IIQQ", page.read(24))
        except (FileNotFoundError, struct.error):
            return 0, 0
        return (steps, digest) if magic else (0, 0)

    def processor(self):
        """Returns for how many seconds its main thread has run, and has waited for a processor, which
        counts when it gets one, and whether it is ready to run."""
        try:
            with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as schedstat:
                ran, waited = (int(word) / 1e9 for word in schedstat.read().split()[:2])
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
                return ran, waited, stat.read().rpartition(")")[2].split()[0] == "R"
        except (OSError, ValueError, IndexError):
            return 0.0, 0.0, False

    def check_result(self):
        """Checks the result of a trainer that was killed."""
        steps, digest = self.progress()
        digest = f"{digest:016x}"
        if digest != self.soak.host_digest(steps) and digest != self.soak.host_digest(steps + 1):
            fail(f"the trainer {self.tag} has digest {digest} after {steps} steps, and the "
                 f"host {self.soak.host_digest(steps)}")

    def end(self):
        self.process.terminate()
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        if self.process.returncode:
            fail(f"the trainer {self.tag} ends with {self.process.returncode}: {errors.decode()}")
        done = json.loads(out)
        if done["digest"] != self.soak.host_digest(done["steps"]):
            fail(f"the trainer {self.tag} ends with {done}, and the host with "
                 f"{self.soak.host_digest(done['steps'])}")
        return done["steps"]


def ask_for_ever(to, answers, rest):
    """Asks a server until it has ended, and rests between requests."""
    with open(to, "wb", buffering=0) as requests, open(answers, "rb") as lines:
        answered = lines.readline()  # it is ready
        while answered:
            began = time.monotonic()
            try:
                requests.write(b"1\n")
            except BrokenPipeError:
                break
            answered = lines.readline()
            time.sleep(max(rest, RESTS * (time.monotonic() - began)))


class Watch(threading.Thread):
    """Watches the trainers' steps. Only time in which the witness, a trainer that is not joined, takes
    steps counts, and in which the watched one has a processor: else the host is slow."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lock = threading.Lock()
        self.witness, self.witness_steps = None, 0
        self.without = {}  # seconds without a step, the steps, and processor(), of each trainer
        self.longest = 0.0
        self.what = ""
        self.start()

    def set_witness(self, witness):
        with self.lock:
            self.witness = witness
            self.witness_steps = witness.progress()[0] if witness else 0

    def add(self, trainer):
        with self.lock:
            self.without[trainer] = [0.0, trainer.progress()[0], trainer.processor()]

    def remove(self, trainer):
        with self.lock:
            self.without.pop(trainer, None)

    def begin(self, what):
        """From now on this event may have stopped a trainer."""
        with self.lock:
            self.what = what
            for seen in self.without.values():
                seen[0] = 0.0

    def look(self, passed):
        for trainer, seen in self.without.items():
            steps = trainer.progress()[0]
            ran, waited, ready = processor = trainer.processor()
            starves = ready and ran == seen[2][0]
            more = 0.0 if starves else max(0.0, passed - max(0.0, waited - seen[2][1]))
            seen[0] = 0.0 if steps != seen[1] else seen[0] + more
            seen[1], seen[2] = steps, processor
            self.longest = max(self.longest, seen[0])
            if seen[0] > EXCLUDED_S:
                fail(f"after this, the trainer {trainer.tag} had no step for {EXCLUDED_S} s in "
                     f"which another program had some: {self.what}")

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.02)
            with self.lock:
                steps = self.witness.progress()[0] if self.witness else 0
                if steps == self.witness_steps:
                    self.look(0.0)
                    continue
                self.witness_steps = steps
                now = time.monotonic()
                self.look(min(now - last, 0.1))
                last = now


class Soak:
    """The daemon, the machine and the programs."""

    def __init__(self, args, folder):
        self.gpreempt, self.gpreemptd = args.gpreempt, args.gpreemptd
        self.workloads, self.folder = args.workloads, folder
        self.rng = random.Random(args.seed)
        self.daemon = self.machine = self.server = None
        self.main = self.other = self.witness = None
        self.digests = {}
        self.counts = {}
        self.watch = Watch()
        with open(folder + "/gpreemptd.conf", "w", encoding="utf-8") as conf:
            conf.write(f"[daemon]\nlog = {folder}/decisions\n")

    # Starting

    def start_daemon(self):
        self.daemon = subprocess.Popen([self.gpreemptd, "-c", self.folder + "/gpreemptd.conf"])

    def start(self, joined, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        """Starts a program on the machine; joined with these options, or not at all."""
        run = [self.gpreempt, "run", *joined, "--"] if joined else []
        return subprocess.Popen([*run, self.gpreempt, "emu", "exec", "--name", "soak", "--",
                                 *command], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)

    def start_machine(self):
        done = subprocess.run([self.gpreempt, "emu", "start", "--name", "soak", "--cus", "8",
                               "--json"], stdout=subprocess.PIPE, timeout=60, check=True)
        self.machine = json.loads(done.stdout)["pid"]

    def start_server(self):
        requests, to = os.pipe()
        answers, out = os.pipe()
        self.server = self.start(["-c", "online"], [f"{self.workloads}/online_server", *REQUESTS],
                                 requests, out)
        os.close(requests)
        os.close(out)
        threading.Thread(target=ask_for_ever, daemon=True,
                         args=(to, answers, self.rng.uniform(0.01, 0.04))).start()

    def start_other(self):
        self.other = Trainer(self, "other")
        self.watch.add(self.other)

    def start_programs(self):
        self.witness = Trainer(self, "witness", joined=False)
        self.watch.set_witness(self.witness)
        self.main = Trainer(self, "main")
        self.watch.add(self.main)
        self.start_other()
        self.start_server()

    # Looking

    def host_digest(self, steps):
        if steps not in self.digests:
            done = subprocess.run([f"{self.workloads}/offline_trainer", *STEPS, "--on", "host",
                                   "--steps", str(max(steps, 1)), "--json"],
                                  stdout=subprocess.PIPE, timeout=120, check=True)
            self.digests[steps] = json.loads(done.stdout)["digest"]
        return self.digests[steps]

    def ask(self, *args):
        """Returns the JSON of a command, or None if it fails."""
        try:
            done = subprocess.run([self.gpreempt, *args, "--json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired:
            fail(f"gpreempt {' '.join(args)} does not end")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def programs(self):
        return [p for p in (self.main.process, self.other.process, self.server) if p]

    def is_settled(self):
        """Whether the daemon lists exactly the running programs, all of them scheduled."""
        listed = self.ask("ps")
        if not listed:
            return False
        pids = sorted(group["pid"] for group in listed["groups"])
        if pids != sorted(p.pid for p in self.programs()):
            return False
        queues = [q for group in listed["groups"] for q in group["queues"]]
        held = sum(q["state"] in ("excluding", "excluded") for q in queues)
        wrong = [g for g in listed["groups"] if g["state"] in ("failed", "unresponsive")]
        return held == listed["daemon"]["stopped"] and not wrong

    def settle(self, what):
        eventually(lambda: f"after this, the daemon does not list the running programs, "
                   f"{[p.pid for p in self.programs()]}: {what}: {self.ask('ps')}",
                   self.is_settled)
        for trainer in (self.main, self.other):
            steps = trainer.progress()[0]
            eventually(f"after this, the trainer {trainer.tag} does not continue: {what}",
                       lambda t=trainer, s=steps: t.progress()[0] >= s + 2)
        if self.server.poll() is not None:
            fail(f"the server has ended: {self.server.communicate()[1].decode()}")

    def hold_main(self):
        """Holds the trainer by suspending it."""
        if not self.ask("suspend", str(self.main.process.pid)):
            fail("the trainer cannot be suspended")
        eventually("a trainer that was suspended is not held", lambda: any(
            group["pid"] == self.main.process.pid and group["state"] == "excluded"
            for group in self.ask("ps")["groups"]))

    # Rounds

    def begin(self, what):
        time.sleep(self.rng.random() * 0.2)
        self.counts[what] = self.counts.get(what, 0) + 1
        self.watch.begin(what)

    def kill_daemon(self):
        held = self.rng.random() < 0.5
        if held:
            self.hold_main()
        self.begin("gpreemptd is killed" + (" while it holds a trainer" if held else ""))
        self.daemon.kill()
        self.daemon.wait()
        if self.rng.random() < 0.5:
            # It must continue without a new daemon.
            steps = self.main.progress()[0]
            eventually("a trainer without a gpreemptd does not continue",
                       lambda: self.main.progress()[0] > steps + 1)
        else:
            time.sleep(self.rng.random() * 0.3)
        self.start_daemon()

    def stop_daemon(self):
        held = self.rng.random() < 0.7
        if held:
            self.hold_main()
        self.begin("gpreemptd is stopped" + (" while it holds a trainer" if held else ""))
        self.daemon.send_signal(signal.SIGSTOP)
        steps = self.main.progress()[0]
        time.sleep(0.2 + self.rng.random())
        eventually("a trainer of a stopped gpreemptd does not continue",
                   lambda: self.main.progress()[0] > steps + 1)
        if self.rng.random() < 0.4:
            self.daemon.kill()
            self.daemon.wait()
            self.start_daemon()
            return
        self.daemon.send_signal(signal.SIGCONT)
        if held and not self.ask("resume", str(self.main.process.pid)):
            # Its agent has closed the connection, and connects again as a new program.
            eventually("a trainer does not come back", lambda: self.ask("ps") and any(
                g["pid"] == self.main.process.pid for g in self.ask("ps")["groups"]))
            self.ask("resume", str(self.main.process.pid))

    def restart_daemon(self):
        self.begin("gpreemptd is restarted")
        self.daemon.terminate()
        if self.daemon.wait(timeout=PATIENCE_S):
            fail(f"gpreemptd ends with {self.daemon.returncode}")
        self.start_daemon()

    def kill_server(self):
        self.begin("the server is killed")
        self.server.kill()
        self.server.communicate()
        time.sleep(self.rng.random() * 0.2)
        self.start_server()

    def kill_other(self):
        if self.rng.random() < 0.5:
            self.ask("suspend", "tag:other")
        self.begin("a trainer is killed")
        self.watch.remove(self.other)
        self.other.process.kill()
        self.other.process.communicate()
        self.other.check_result()
        self.start_other()

    def kill_machine(self):
        self.begin("the machine is killed")
        trainers = (self.main, self.other, self.witness)
        self.watch.set_witness(None)
        for trainer in trainers:
            self.watch.remove(trainer)
        os.kill(self.machine, signal.SIGKILL)
        for process in (*self.programs(), self.witness.process):
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                fail(f"a program whose machine was killed does not end: {process.args}")
        for trainer in trainers:
            trainer.check_result()
        eventually("the daemon lists programs whose machine was killed",
                   lambda: (self.ask("ps") or {"groups": [0]})["groups"] == [])
        eventually("a machine that was killed is still listed",
                   lambda: not self.ask("emu", "ls")["machines"])
        self.start_machine()
        self.start_programs()

    def round(self):
        event = self.rng.choices(
            [self.kill_daemon, self.stop_daemon, self.restart_daemon, self.kill_server,
             self.kill_other, self.kill_machine], [30, 20, 8, 18, 16, 8])[0]
        event()
        self.settle(self.watch.what)

    def run(self, rounds):
        self.start_daemon()
        self.start_machine()
        self.start_programs()
        self.settle("the beginning")
        for n in range(rounds):
            self.round()
            if n % 10 == 9:
                print(f"{n + 1} rounds done", flush=True)
        self.server.kill()
        self.server.communicate()
        self.server = None
        eventually("a queue is held although there is no urgent program",
                   lambda: self.ask("ps")["daemon"]["stopped"] == 0)
        self.watch.set_witness(None)
        for trainer in (self.main, self.other, self.witness):
            self.watch.remove(trainer)
            trainer.end()
        eventually("the daemon lists programs that have ended",
                   lambda: self.ask("ps")["groups"] == [])
        self.restart_daemon()

    def end(self):
        trainers = [t.process for t in (self.main, self.other, self.witness) if t]
        for process in (self.daemon, self.server, *trainers):
            if process:
                process.kill()
        subprocess.run([self.gpreempt, "emu", "stop", "--all"], stdout=subprocess.DEVNULL,
                       timeout=60, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpreempt")
    parser.add_argument("gpreemptd")
    parser.add_argument("workloads")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    print(f"{args.rounds} rounds, seed {args.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="gpreempt-failopen-")
    os.environ["XDG_RUNTIME_DIR"] = folder
    os.environ["GPREEMPT_SOCKET"] = folder + "/control.sock"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begin = time.monotonic()
    soak = Soak(args, folder)
    try:
        soak.run(args.rounds)
    finally:
        soak.end()
        shutil.rmtree(folder, ignore_errors=True)
    for what, count in sorted(soak.counts.items()):
        print(f"{count:5} x {what}")
    print(f"the longest time without a step: {soak.watch.longest:.2f} s")
    print(f"{args.rounds} rounds in {time.monotonic() - begin:.0f} s: no program stayed held, and "
          "all results are right")


main()
