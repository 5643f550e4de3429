#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills programs and the emulated machine that carries them, at random moments.

Usage: kills.py GPREEMPT PROGRAMS [--rounds N] [--seed N]

In most rounds some programs are killed while another one goes on, which has to end well; then the
machine must be as it was before: the same descriptors, memory and threads, no process left in its
/sys. In the others the machine itself is killed: its programs have to end by themselves, soon, and
nothing of the machine may stay in the runtime folder. Ends with status 1 and a sentence otherwise.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SETTLE_S = 20
END_S = 30


def fail(sentence):
    print("FAILED: " + sentence, file=sys.stderr)
    sys.exit(1)


class Machine:
    """A machine that was started, and what it holds."""

    def __init__(self, gpreempt, options):
        self.gpreempt = gpreempt
        out = self.emu("start", "--name", "soak", *options, "--json")
        started = json.loads(out)
        self.pid, self.dir = started["pid"], started["dir"]

    def emu(self, *args):
        done = subprocess.run([self.gpreempt, "emu", *args], stdout=subprocess.PIPE, timeout=60,
                              check=False)
        if done.returncode:
            fail(f"gpreempt emu {' '.join(args)} ends with {done.returncode}")
        return done.stdout

    def spawn(self, *command):
        return subprocess.Popen([self.gpreempt, "emu", "exec", "--name", "soak", "--", *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def holds(self):
        """What must be the same before and after a client."""
        proc = f"/proc/{self.pid}"
        fds = []
        for fd in os.listdir(proc + "/fd"):
            try:
                fds.append(os.readlink(f"{proc}/fd/{fd}").split(":")[0])
            except FileNotFoundError:
                pass
        with open(proc + "/maps", encoding="utf-8") as maps:
            shared = sum("memfd:" in line for line in maps)
        clients = os.listdir(self.dir + "/sys/devices/virtual/kfd/kfd/proc")
        return {
            "descriptors": len(fds),
            "memfds": sum("memfd" in fd for fd in fds),
            "maps of memfds": shared,
            "threads": len(os.listdir(proc + "/task")),
            "clients in /sys": len(clients),
        }

    def settle(self, want, what):
        end = time.monotonic() + SETTLE_S
        while True:
            try:
                have = self.holds()
            except FileNotFoundError:
                fail(f"{what}: the machine is gone; its log: {self.log()}")
            if have == want:
                return
            if time.monotonic() > end:
                fail(f"{what}: the machine holds {have} instead of {want}")
            time.sleep(0.05)

    def log(self):
        try:
            with open(self.dir + "/log", encoding="utf-8") as log:
                return log.read()
        except FileNotFoundError:
            return ""


def draw_program(programs, rng):
    stops = [programs + "/hsa_stops", "--seconds", "20", "--seed", str(rng.randrange(1000)), "--stop"]
    choices = [
        stops + ["none"],
        stops + ["update"],
        stops + ["debug"],
        stops + ["save"],
        [programs + "/hsa_memory"],
        [programs + "/hsa_queues"],
        [programs + "/hip_memory"],
        [programs + "/hip_streams"],
    ]
    return rng.choice([c for c in choices if os.access(c[0], os.X_OK)])


def end_of(process, what, seconds=END_S):
    """Waits for a program; its status and what it complained about."""
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{what} does not end within {seconds} s")
    return process.returncode, errors.decode(errors="replace")


def kill_clients(machine, programs, rng, idle):
    victims = [machine.spawn(*draw_program(programs, rng)) for _ in range(rng.randint(1, 3))]
    neighbour = machine.spawn(programs + "/hsa_stops", "--seconds", "1", "--stop", "update")
    time.sleep(rng.random() * 1.2)
    for victim in victims:
        time.sleep(rng.random() * 0.1)
        victim.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
    for victim in victims:
        end_of(victim, "a program that was killed")
    status, errors = end_of(neighbour, "a program beside killed ones", 90)
    if status:
        fail(f"a program beside killed ones ends with {status}: {errors}")
    machine.settle(idle, "after programs were killed")


def kill_machine(machine, programs, rng):
    clients = [machine.spawn(*draw_program(programs, rng)) for _ in range(rng.randint(1, 3))]
    time.sleep(rng.random() * 1.5)
    os.kill(machine.pid, signal.SIGKILL)
    for client in clients:
        end_of(client, f"{' '.join(client.args[6:])}, whose machine was killed,")
    # Without clients nothing has waited for it: a killed process takes a while to give its memory
    # back, and has its lock until then.
    end = time.monotonic() + END_S
    while json.loads(machine.emu("ls", "--json"))["machines"]:
        if time.monotonic() > end:
            fail("a machine that was killed is still listed")
        time.sleep(0.05)
    if os.path.exists(machine.dir):
        fail(f"a machine that was killed left {machine.dir}")


def start(gpreempt, programs):
    """A machine, and the resources it holds when it is idle."""
    machine = Machine(gpreempt, ["--kernel", "gpreempt", "--cus", "8"])
    status, errors = end_of(machine.spawn(programs + "/hsa_stops", "--seconds", "0"), "the first")
    if status:
        fail(f"the first program ends with {status}: {errors}")
    end = time.monotonic() + END_S
    while machine.holds()["clients in /sys"] and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    return machine, machine.holds()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpreempt")
    parser.add_argument("programs")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    print(f"{args.rounds} rounds, seed {args.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="gpreempt-kills-")
    os.environ["XDG_RUNTIME_DIR"] = folder
    machine, idle = start(args.gpreempt, args.programs)
    try:
        for n in range(args.rounds):
            if n % 5 == 4:
                kill_machine(machine, args.programs, rng)
                machine, idle = start(args.gpreempt, args.programs)
            else:
                kill_clients(machine, args.programs, rng, idle)
            if n % 10 == 9:
                print(f"{n + 1} rounds done", flush=True)
        machine.emu("stop", "--all")
        if os.listdir(folder + "/gpreempt/emu") != [".lock"]:
            fail(f"left in the runtime folder: {os.listdir(folder + '/gpreempt/emu')}")
    finally:
        subprocess.run([args.gpreempt, "emu", "stop", "--all"], timeout=60, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    print("nothing is left behind")


main()
