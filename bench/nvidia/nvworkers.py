# SPDX-License-Identifier: MIT
"""The programs that bench/nvidia/run starts: workers, joined or not, and a private daemon."""
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time


class Trouble(Exception):
    """A case cannot continue; the text says why."""


class Place:
    """The folder of the programs: a build folder, or the one that `make bench-nvidia-pack` makes."""

    def __init__(self, programs, python=sys.executable):
        here = os.path.dirname(os.path.abspath(__file__))
        self.python = python
        self.gpreempt = os.path.join(programs, "src/cli/gpreempt")
        self.daemon = os.path.join(programs, "src/daemon/gpreemptd")
        self.worker = os.path.join(programs, "bench/nvidia/nvworker")
        self.cycle = os.path.join(programs, "bench/nvidia/nvcycle")
        self.torch_worker = os.path.join(here, "torch_worker.py")
        self.llm_worker = os.path.join(here, "llm_worker.py")
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
    """The CPU time of all threads of a process."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), \
                open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


class Clocks:
    """Samples the GPU's clock and power while it is entered, as NVIDIA's management library reports
    them. A sample is a call of the driver, so it is only for measurements of its own."""

    LIBRARY = "libnvidia-ml.so.1"
    PERIOD_S = 0.005
    SM = 1  # NVML_CLOCK_SM

    def __init__(self):
        try:
            self.nvml = ctypes.CDLL(self.LIBRARY)
        except OSError as e:
            raise Trouble(f"--clocks needs {self.LIBRARY}, which comes with the driver: {e}") from e
        self.device, self.samples = ctypes.c_void_p(), []
        self._call("nvmlInit_v2")
        self._call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.device))
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def _call(self, name, *arguments):
        status = getattr(self.nvml, name)(*arguments)
        if status:
            raise Trouble(f"{name} of {self.LIBRARY} failed with status {status}")

    def _read(self, name, *arguments):
        value = ctypes.c_uint()
        self._call(name, self.device, *arguments, ctypes.byref(value))
        return value.value

    def _sample(self):
        while not self.ends.wait(self.PERIOD_S):
            self.samples.append((time.monotonic_ns(), self._read("nvmlDeviceGetClockInfo", self.SM),
                                 self._read("nvmlDeviceGetPowerUsage")))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ends.set()
        self.thread.join()


class Daemon:
    """gpreemptd with a socket and a decision log of its own."""

    def __init__(self, place, folder, extra=""):
        self.place = place
        self.socket = os.path.join(folder, "s")
        self.log = os.path.join(folder, "decisions.log")
        self.config = os.path.join(folder, "gpreemptd.conf")
        self.errors = os.path.join(folder, "gpreemptd.err")
        self.process = None
        self.base, self.more = extra, ""
        self._write("")

    def _write(self, more):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(f"[daemon]\nlog = {os.path.abspath(self.log)}\n{self.base}\n{more}\n")

    def configure(self, more):
        """Applies a configuration in addition to the one it has started with, in place of the last
        additional one."""
        if more == self.more:
            return
        begin = os.path.getsize(self.log)
        self._write(more)
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 5
        while not self._continues(begin):
            if time.monotonic() > end:
                raise Trouble(f"gpreemptd does not read its configuration again: see {self.errors}")
            time.sleep(0.02)
        self.more = more

    def _continues(self, begin):
        """Whether its log was opened again since it had this size."""
        with open(self.log, "rb") as f:
            f.seek(begin)
            return b", continued\n" in f.read()

    def accepts(self, text):
        """Whether gpreemptd takes this text as a configuration, and what it says if not."""
        path = self.config + ".check"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([self.place.daemon, "--check", "--config", path], capture_output=True,
                              text=True, env=self.place.environment(), timeout=20, check=False)
        return done.returncode == 0, done.stderr.strip()

    def sections(self, settings):
        """The configuration of "key=value,...": policy, or parameters of the policy or of the core."""
        pairs = [tuple(part.strip() for part in one.split("=", 1)) for one in settings.split(",")]
        if any(len(pair) != 2 for pair in pairs):
            raise Trouble(f"'{settings}' is not KEY=VALUE,...")
        policy = "".join(f"[daemon]\npolicy = {v}\n" for k, v in pairs if k == "policy")
        text = policy
        for key, value in pairs:
            if key == "policy":
                continue
            for section in ("core", "policy"):
                line = f"[{section}]\n{key} = {value}\n"
                fits, said = self.accepts(policy + line)
                if fits:
                    text += line
                    break
            else:
                raise Trouble(f"gpreemptd does not accept {key} = {value}: {said}")
        return text

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)  # of a daemon that was killed
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
        """Kills the daemon, as a crash does, and returns the time."""
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
        """For each suspension: [time of the request, time off the GPU, time of the release]."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as e:
            self.process.kill()
            raise Trouble(f"suspending takes longer than {timeout:.0f} s") from e
        if self.process.returncode:
            raise Trouble(err.strip())
        return json.loads(out)["cycles_ns"]


class Worker:
    """A program that reads commands as lines and answers each with a line of JSON."""

    def __init__(self, place, words, daemon=None, job=None, errors=None, patience=90, env=None):
        """@daemon, @job: joins the program to that daemon as online or offline; None: not joined.
        @env: more of its environment."""
        self.name = " ".join(os.path.basename(w) for w in words[:3]) + (f" ({job})" if job else "")
        more = dict(env or {})
        if daemon:
            words = [place.gpreempt, "run", "-c", job, "--", *words]
            more["GPREEMPT_SOCKET"] = daemon.socket
        self.joined = bool(daemon)
        self.errors = errors or os.devnull
        self.patience = patience
        with open(self.errors, "ab") as err:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=err, env=place.environment(**more), bufsize=0)
        self.rest = b""
        self.greeting = None

    def ready(self):
        """Waits for its first answer. Several programs start before the first wait."""
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


class Mps:
    """NVIDIA's multi-process service, in folders of its own: only programs with its environment use
    it."""

    CONTROL = "nvidia-cuda-mps-control"

    def __init__(self, place, folder):
        self.place = place
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, "pipe"),
                    "CUDA_MPS_LOG_DIRECTORY": os.path.join(folder, "log")}

    @classmethod
    def is_there(cls):
        return shutil.which(cls.CONTROL) is not None

    def start(self):
        for path in self.env.values():
            os.makedirs(path, exist_ok=True)
        done = self._call(["-d"])
        if done.returncode:
            raise Trouble(f"{self.CONTROL} does not start: exit status {done.returncode}")
        return self

    def stop(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._call([], "quit\n")

    def _call(self, words, said=None):
        # Its daemon keeps standard output open, so that is not read from.
        return subprocess.run([self.CONTROL, *words], input=said, text=True, timeout=20, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=self.place.environment(**self.env))
