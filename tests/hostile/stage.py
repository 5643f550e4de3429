# SPDX-License-Identifier: MIT
"""The processes of the hostile soak: the daemon, attackers, victims, and programs on a machine."""
import json
import os
import shutil
import signal
import struct
import subprocess
import threading
import time

PATIENCE_S = 30
NICE = "-10"
# A device file that everybody can open: to the daemon, its users share GPUs.
GPU = "/dev/full"

# Made-up users. Each attack has one of its own, from ATTACKER on.
URGENT, PATIENT, SHARER, WORKER, ATTACKER = 60001, 60002, 60003, 60004, 60101
# The subordinate uids of the attacker "subuids", as /etc/subuid has them.
SUBORDINATE = (1000000, 65536)

ATTACKS = ["linger", "groups", "regroup", "why", "deaf", "toggle", "weight", "claim", "announce",
           "escape", "subuids", "presence", "names", "probe", "container", "machine"]
# Attackers that claim work on the GPU of the patient victim.
CLAIMING = ["toggle", "weight", "claim", "escape"]

MIN_SHARE_PCT = 5
MAX_HOLD_MS = 2000
# The guarantees of programs that ask for none add up to at most this part of a GPU.
GUARANTEED_TOGETHER = 0.5
# A decision log that grows beyond this is emptied, so that the disk does not fill up.
LOG_EMPTIED = 256 << 20

# A step of the trainer takes some ten milliseconds.
STEPS = ["--queues", "2", "--groups", "2", "--rounds", "400"]
REQUESTS = ["--requests", "1000000", "--groups", "4", "--rounds", "300", "--period", "30ms"]


def user_of(attack):
    return ATTACKER + ATTACKS.index(attack)


def as_user(uid):
    """Options of Popen for a process of this user."""
    return {"user": uid, "group": uid, "extra_groups": []}


def promised_share(policy, attackers):
    """The part of its GPU that the patient victim is promised beside these attackers: divided
    between users first. Announcements in vain take at most half of it."""
    users = 1 + sum(a in CLAIMING for a in attackers)
    if users == 1:
        return 0.5 if "announce" in attackers else 1.0
    if policy == "hpf":
        return min(MIN_SHARE_PCT / 100, GUARANTEED_TOGETHER / users)
    return 1 / users


class Daemon:
    """gpreemptd, run by root with the nice value of its unit."""

    def __init__(self, paths, folder):
        self.gpreempt, self.gpreemptd, self.folder = paths.gpreempt, paths.gpreemptd, folder
        self.log = folder + "/decisions"
        self.log_max = paths.log_limit // 2  # of a file, beside which the one before is kept
        self.process = None
        self.policy = "hpf"
        self.log_emptied = 0  # bytes

    def start(self, policy=None):
        self.policy = policy or self.policy
        with open(self.folder + "/gpreemptd.conf", "w", encoding="utf-8") as conf:
            conf.write(f"[daemon]\nlog = {self.log}\nlog_max = {self.log_max}\n"
                       f"policy = {self.policy}\ndevices = {GPU}\n"
                       f"[core]\nmin_share_pct = {MIN_SHARE_PCT}\nmax_hold_ms = {MAX_HOLD_MS}\n")
            for uid in (URGENT, WORKER):
                conf.write(f"[user {uid}]\nmax_priority = 15\n")
        with open(self.folder + "/daemon.err", "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                ["nice", "-n", NICE, self.gpreemptd, "-c", self.folder + "/gpreemptd.conf"],
                stderr=errors)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, timeout=PATIENCE_S):
        """Returns `gpreempt ps --json`, or None if it fails."""
        try:
            done = subprocess.run([self.gpreempt, "ps", "--json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(done.stdout) if done.returncode == 0 else None

    def wait_until_up(self):
        end = time.monotonic() + PATIENCE_S
        while not self.ask():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"gpreemptd does not answer; see {self.folder}/daemon.err")
            time.sleep(0.05)

    def memory(self):
        """Resident bytes, or None."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
                for line in status:
                    if line.startswith("VmRSS:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return None

    def descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return None

    def log_bytes(self):
        """Bytes of the decision log and its rotated files, of which any may vanish."""
        total = 0
        for name in os.listdir(self.folder):
            if name.startswith("decisions"):
                try:
                    total += os.stat(f"{self.folder}/{name}").st_size
                except OSError:
                    pass
        if total > LOG_EMPTIED:
            os.truncate(self.log, 0)
            self.log_emptied += total
        return total


class Reporter:
    """A process that prints JSON lines, which a thread collects with their time."""

    def __init__(self, command, **options):
        self.command = command
        self.lines = []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        **options)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith(b"{"):
                self.lines.append((time.monotonic(), json.loads(line)))

    def end(self):
        """Waits for its end by itself, and kills it if it does not come."""
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        self.thread.join(PATIENCE_S)

    def kill(self):
        self.process.kill()
        self.end()


class Keeper:
    """Starts a process again whenever it ends, and keeps all lines of all of them."""

    def __init__(self, command, seconds):
        self.command = command
        self.until = time.monotonic() + seconds
        self.before = []
        self.now = None
        self.tend()

    def tend(self):
        """Starts it if it does not run."""
        left = self.until - time.monotonic()
        if self.now and self.now.process.poll() is None or left < 1 and self.now:
            return
        if self.now:
            self.now.end()
            self.before += self.now.lines
        self.now = Reporter([*self.command, "--seconds", str(max(1, round(left)))])

    def kill(self):
        self.now.process.kill()

    def end(self):
        self.now.end()

    def stop(self):
        self.now.kill()

    @property
    def lines(self):
        return self.before + self.now.lines


class Victims:
    """A pair on a GPU of its own, and a patient program on the GPU that attackers claim."""

    def __init__(self, paths, seconds, prio=2):
        victim = paths.programs + "/victim"
        self.pair = Keeper([victim, "pair", "--users", f"{URGENT},{PATIENT}"], seconds)
        self.sharer = Keeper([victim, "patient", "--gpu", "gpu-a", "--users", str(SHARER), "--prio",
                              str(prio)], seconds)

    def tend(self):
        self.pair.tend()
        self.sharer.tend()

    def end(self):
        self.pair.end()
        self.sharer.end()


class Machine:
    """An emulated machine of a user."""

    def __init__(self, paths, folder, uid):
        self.gpreempt, self.uid = paths.gpreempt, uid
        self.runtime = f"{folder}/user-{uid}"
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        os.chown(self.runtime, uid, uid)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.runtime}
        self.pid = self.folder = None

    def start(self):
        """One that was killed may take a moment to end."""
        end = time.monotonic() + PATIENCE_S
        while True:
            done = subprocess.run([self.gpreempt, "emu", "start", "--name", "hostile", "--cus", "2",
                                   "--json"], capture_output=True, env=self.environment,
                                  timeout=60, check=False, **as_user(self.uid))
            if done.returncode == 0:
                break
            if time.monotonic() > end:
                raise RuntimeError(f"no machine can be started: {done.stderr.decode()}")
            time.sleep(0.1)
        machine = json.loads(done.stdout)
        self.pid, self.folder = machine["pid"], machine["dir"]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def stop(self):
        subprocess.run([self.gpreempt, "emu", "stop", "--all"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=self.environment, timeout=60, check=False,
                       **as_user(self.uid))


class Work:
    """A trainer and a more urgent server, unmodified and joined, on an emulated machine. The result
    of the trainer is known."""

    number = 0

    def __init__(self, paths, folder):
        self.paths = paths
        self.machine = Machine(paths, folder, WORKER)
        self.trainer = self.server = self.page = None
        self.results = []  # of trainers: the steps, and digests of which one is right

    def run(self, options, command):
        gpreempt = self.paths.gpreempt
        return subprocess.Popen(
            [gpreempt, "run", *options, "--", gpreempt, "emu", "exec", "--name", "hostile", "--",
             *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.machine.environment, **as_user(WORKER))

    def start_trainer(self):
        Work.number += 1
        self.page = f"{self.machine.runtime}/progress-{Work.number}"
        self.trainer = self.run(["-c", "offline"], [f"{self.paths.workloads}/offline_trainer",
                                                    *STEPS, "--progress", self.page, "--json"])

    def start_server(self):
        self.server = self.run(["-c", "online"],
                               [f"{self.paths.workloads}/online_server", *REQUESTS])

    def start(self):
        self.machine.start()
        self.start_trainer()
        self.start_server()

    def progress(self):
        """The number of steps, and the digest of that step or the next."""
        try:
            with open(self.page, "rb") as page:
                magic, _, steps, digest = struct.unpack("=IIQQ", page.read(24))
        except (FileNotFoundError, struct.error):
            return 0, 0
        return (steps, digest) if magic else (0, 0)

    def keep_result(self):
        """Keeps the result of a trainer that was killed."""
        steps, digest = self.progress()
        if steps:
            self.results.append((steps, f"{digest:016x}", True))

    def check_results(self):
        """Computes the steps on the host. Returns a sentence if a result differs."""
        most = max((steps for steps, _, _ in self.results), default=0) + 1
        done = subprocess.run([f"{self.paths.workloads}/offline_trainer", *STEPS, "--on", "host",
                               "--steps", str(most), "--each"], stdout=subprocess.PIPE, timeout=600,
                              check=True)
        right = {int(words[1]): words[3] for words in map(str.split, done.stdout.decode().splitlines())
                 if words[0] == "step"}
        for steps, digest, was_killed in self.results:
            # The page of a killed trainer may have the digest of the next step already.
            if digest != right[steps] and not (was_killed and digest == right[steps + 1]):
                return (f"a trainer has digest {digest} after {steps} steps, and the host "
                        f"{right[steps]}")
        return None

    def kill_trainer(self):
        self.trainer.kill()
        self.trainer.communicate()
        self.keep_result()
        self.start_trainer()

    def kill_server(self):
        self.server.kill()
        self.server.communicate()
        self.start_server()

    def kill_machine(self):
        """The programs of a machine that was killed end."""
        self.machine.kill()
        wrong = None
        for process in (self.trainer, self.server):
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                wrong = f"a program whose machine was killed does not end: {process.args}"
                process.kill()
                process.communicate()
        self.keep_result()
        self.start()
        return wrong

    def check_server(self):
        """Returns a sentence if the server, which checks its answers, has ended by itself."""
        if self.server.poll() is None:
            return None
        return "the server has ended: " + self.server.communicate()[1].decode(errors="replace")

    def end(self):
        """Ends the programs. Returns a sentence if a result is wrong."""
        wrong = self.check_server()
        self.server.kill()
        self.trainer.terminate()
        try:
            out, errors = self.trainer.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.trainer.kill()
            return "the trainer does not end when it is told to"
        if self.trainer.returncode:
            return f"the trainer ends with {self.trainer.returncode}: {errors.decode()}"
        done = json.loads(out)
        self.results.append((done["steps"], done["digest"], False))
        return wrong or self.check_results()

    def stop(self):
        for process in (self.trainer, self.server):
            if process and process.poll() is None:
                process.kill()
        self.machine.stop()


class Stage:
    """Everything together, in a folder that ends with it."""

    def __init__(self, paths, folder):
        self.paths, self.folder = paths, folder
        self.daemon = Daemon(paths, folder)
        self.work = self.attacked = None
        self.notes = []
        os.environ["GPREEMPT_SOCKET"] = folder + "/control.sock"

    def find_machines(self):
        """Machines need programs that other users may execute."""
        try:
            subprocess.run([self.paths.gpreempt, "--version"], stdout=subprocess.DEVNULL,
                           check=True, **as_user(WORKER))
        except (OSError, subprocess.CalledProcessError):
            self.notes.append(f"other users cannot execute {self.paths.gpreempt}: the attack "
                              "'machine' and the programs on a machine are left out")
            return
        self.attacked = Machine(self.paths, self.folder, user_of("machine"))
        self.attacked.start()
        if os.access(f"{self.paths.workloads}/offline_trainer", os.X_OK):
            self.work = Work(self.paths, self.folder)
        else:
            self.notes.append("no workloads, which need libhsa-runtime-dev and clang-19: results "
                              "on a machine are not checked")

    def attacker(self, attack, seconds):
        """None: the attack is left out."""
        command = [self.paths.programs + "/hostile", attack, "--user", str(user_of(attack))]
        if attack == "machine" and not self.attacked:
            return None
        if attack == "machine":
            command += ["--machine", self.attacked.folder]
        return Keeper(command, seconds)

    def hog(self, seconds):
        return Keeper([self.paths.programs + "/hostile", "hog", "--user", str(ATTACKER)], seconds)

    def end(self):
        if self.work:
            self.work.stop()
        if self.attacked:
            self.attacked.stop()
        if self.daemon.process:
            self.daemon.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
