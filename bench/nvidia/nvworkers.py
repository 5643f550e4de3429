# SPDX-License-Identifier: MIT
"""The programs that bench/nvidia/run starts: workers, joined or not, and a daemon of its own."""
import contextlib
import json
import os
import select
import subprocess
import sys
import time


class Trouble(Exception):
    """A sentence for people: a case cannot go on."""


class Place:
    """Where the programs are: a build folder, or what `make bench-nvidia-pack` collected."""

    def __init__(self, programs, python=sys.executable):
        here = os.path.dirname(os.path.abspath(__file__))
        self.python = python
        self.gpreempt = os.path.join(programs, "src/cli/gpreempt")
        self.daemon = os.path.join(programs, "src/daemon/gpreemptd")
        self.worker = os.path.join(programs, "bench/nvidia/nvworker")
        self.cycle = os.path.join(programs, "bench/nvidia/nvcycle")
        self.torch_worker = os.path.join(here, "torch_worker.py")
        modules = [os.path.join(programs, "python"), os.path.join(here, "../../python")]
        self.modules = next((m for m in modules if os.path.exists(m + "/gpreempt.py")), modules[1])
        for path in (self.gpreempt, self.daemon, self.worker, self.cycle):
            if not os.access(path, os.X_OK):
                raise Trouble(f"there is no {path}: build first, or name the folder with --programs")

    def environment(self, **more):
        env = dict(os.environ, PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", **more)
        env["PYTHONPATH"] = ":".join(filter(None, [self.modules, env.get("PYTHONPATH")]))
        return env


def cpu_ns(pid):
    """What all threads of a process have had of processors so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), \
                open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


class Daemon:
    """gpreemptd with a socket and a log of decisions of its own."""

    def __init__(self, place, folder, extra=""):
        self.place = place
        self.socket = os.path.join(folder, "s")
        self.log = os.path.join(folder, "decisions.log")
        self.config = os.path.join(folder, "gpreemptd.conf")
        self.errors = os.path.join(folder, "gpreemptd.err")
        self.process = None
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(f"[daemon]\nlog = {os.path.abspath(self.log)}\n{extra}\n")

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)  # of one that was killed
        with open(self.errors, "ab") as err:
            self.process = subprocess.Popen(
                [self.place.daemon, "--config", self.config], stderr=err, stdin=subprocess.DEVNULL,
                env=self.place.environment(GPREEMPT_SOCKET=self.socket))
        end = time.monotonic() + 10
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Trouble(f"gpreemptd does not start: see {self.errors}")
            time.sleep(0.01)
        return self

    def kill(self):
        """As when it crashes. When that was."""
        at = time.monotonic_ns()
        self.process.kill()
        self.process.wait()
        return at

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=10)
        self.process = None

    def ask(self, *words):
        done = subprocess.run([self.place.gpreempt, *words, "--json"], capture_output=True, text=True,
                              env=self.place.environment(GPREEMPT_SOCKET=self.socket), timeout=20,
                              check=False)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError as e:
            raise Trouble(f"gpreempt {' '.join(words)}: {done.stderr.strip()}") from e

    def groups(self, pid=None):
        found = self.ask("ps").get("groups") or []
        return [g for g in found if pid is None or g.get("pid") == pid]

    def lines(self):
        try:
            with open(self.log, encoding="utf-8") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def cycles(self, pid, count, hold_us, gap_us, seed):
        """Begins to suspend and resume a program; see Cycles."""
        return Cycles(self, pid, count, hold_us, gap_us, seed)


class Cycles:
    def __init__(self, daemon, pid, count, hold_us, gap_us, seed):
        words = [daemon.socket, pid, count, *hold_us, *gap_us, seed]
        self.process = subprocess.Popen([daemon.place.cycle, *map(str, words)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self, timeout):
        """[when it was asked, when it was off the GPU, when it was let go] of each."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as e:
            self.process.kill()
            raise Trouble(f"suspending takes longer than {timeout:.0f} s") from e
        if self.process.returncode:
            raise Trouble(err.strip())
        return json.loads(out)["cycles_ns"]


class Worker:
    """A program that is told lines and answers each with a line of JSON."""

    def __init__(self, place, words, daemon=None, job=None, errors=None, patience=90):
        """@daemon, @job: joined to that one, as online or offline; otherwise as it is."""
        self.name = " ".join(os.path.basename(w) for w in words[:3]) + (f" ({job})" if job else "")
        more = {}
        if daemon:
            words = [place.gpreempt, "run", "-c", job, "--", *words]
            more["GPREEMPT_SOCKET"] = daemon.socket
        self.errors = errors or os.devnull
        self.patience = patience
        with open(self.errors, "ab") as err:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=err, env=place.environment(**more), bufsize=0)
        self.rest = b""
        self.greeting = None

    def ready(self):
        """What it says first. Many are started before any is waited for."""
        if self.greeting is None:
            self.greeting = self.hear()
        return self

    @property
    def pid(self):
        return self.ready().greeting["pid"]

    def tell(self, line):
        self.ready()
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError as e:
            raise Trouble(f"{self.name} has ended: {self._last_words()}") from e

    def hear(self, timeout=None):
        end = time.monotonic() + (timeout or self.patience)
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Trouble(f"{self.name} does not answer: {self._last_words()}")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise Trouble(f"{self.name} has ended: {self._last_words()}")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, line, timeout=None):
        self.tell(line)
        return self.hear(timeout)

    def _last_words(self):
        try:
            with open(self.errors, encoding="utf-8", errors="replace") as f:
                return " / ".join(f.read().strip().splitlines()[-3:]) or "it says nothing"
        except OSError:
            return "it says nothing"

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.write(b"quit\n")
                self.process.wait(timeout=10)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
