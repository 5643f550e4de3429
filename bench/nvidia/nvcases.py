# SPDX-License-Identifier: MIT
"""The cases of bench/nvidia/run: measurements, their order, and the expected results.

Situations that are compared alternate within one run, in programs that keep running, so that a slow
machine slows all of them. A case that needs a joined program says so if the program is not.
"""
import contextlib
import gzip
import os
import signal
import time

import nvlog
import nvreport
import nvstats
from nvstats import Latency, median, rate, ratio, spread
from nvworkers import Daemon, Trouble, Worker, cpu_ns

FILL, SERVE, SUSPEND = "264x1024", "132x256", "64x64"  # blocks x threads
SLOW = 1.2  # times alone's median: beyond it, the report says why
AUTO = "auto"  # announced as far ahead as gp_hint_lead_time() says
SEE_S = 10  # within this time the daemon has to list a program


class Context:
    """Shared by all cases: options, programs, and the speed of this GPU."""

    # Of the llm cases; @before: the Place of another build to compare with.
    blocks, requests, llm_modes, settings, before = 5, 100, None, (), None
    clocks = False  # llm cases: sample the GPU's clock
    deadline = float("inf")  # of time.monotonic(): no block begins that would end later

    def __init__(self, place, folder, out, rounds=5, seconds=None, config="", modes=None):
        self.place, self.folder, self.out = place, folder, out
        self.rounds, self.config, self.modes = rounds, config, modes
        self.asked_seconds = seconds
        self.speed = None
        self.gpu = None

    def seconds(self, usual):
        return self.asked_seconds or usual

    def rounds_for(self, shape, us):
        if self.speed is None:
            worker = Worker(self.place, [self.place.worker, "calibrate", FILL, SERVE, SUSPEND],
                            errors=os.path.join(self.out, "calibrate.err"))
            said = worker.hear()
            worker.close()
            self.speed, self.gpu = said["rounds_per_us"], said["gpu"]
        return max(1, round(self.speed[shape] * us))


class Stage:
    """The programs of one case; they end with it."""

    def __init__(self, context, name, keep_log=True):
        self.context, self.name, self.keep_log = context, name, keep_log
        self.stack = contextlib.ExitStack()
        self.daemon = self.log = None
        self.nr_workers = 0

    def __enter__(self):
        self.daemon = self.start_daemon(self.context.place, self.name)
        self.log = nvlog.Follower(self.daemon.log)
        return self

    def start_daemon(self, place, name):
        folder = os.path.join(self.context.folder, name)
        os.makedirs(folder)
        daemon = Daemon(place, folder, self.context.config).start()
        self.stack.callback(daemon.stop)
        return daemon

    def __exit__(self, *error):
        self.stack.close()
        if not self.keep_log:
            return
        with gzip.open(os.path.join(self.context.out, f"{self.name}-decisions.log.gz"), "wt",
                       encoding="utf-8") as f:
            f.write("\n".join(self.daemon.lines()))

    def worker(self, words, job=None, env=None, daemon=None):
        """@daemon: the one that a program with a job joins, if that is not the stage's own."""
        self.nr_workers += 1
        errors = os.path.join(self.context.out, f"{self.name}-{self.nr_workers}.err")
        daemon = daemon or self.daemon
        worker = Worker(daemon.place, words, daemon if job else None, job, errors, env=env)
        self.stack.callback(worker.close)
        return worker

    def kernels(self, role, shape, us=None, job=None):
        words = [self.context.place.worker, role, shape]
        if us is not None:
            words.append(str(self.context.rounds_for(shape, us)))
        return self.worker(words, job)

    def torch(self, role, job=None):
        place = self.context.place
        return self.worker([place.python, place.torch_worker, role], job)

    def llm(self, role, **more):
        place = self.context.place
        return self.worker([place.python, place.llm_worker, role], **more)

    def is_joined(self, worker, daemon=None):
        """Waits until the daemon lists a program's queues; False: it does not."""
        end = time.monotonic() + SEE_S
        while time.monotonic() < end:
            if (daemon or self.daemon).groups(worker.pid):
                return True
            time.sleep(0.1)
        return False

    def must_be_joined(self, worker):
        if not self.is_joined(worker):
            raise Trouble(f"gpreemptd does not see {worker.name} on a GPU; "
                          "run 'gpreempt doctor' for the reason")


def claim(text, value, limit, most=True):
    """@most: the limit is a maximum; otherwise it is a minimum."""
    holds = None if value is None else value <= limit if most else value >= limit
    return {"text": text, "value": value, "limit": f"{'at most' if most else 'at least'} {limit:g}",
            "holds": holds}


def right_claim(text, all_right):
    return {"text": text, "value": all_right, "limit": "yes", "holds": all_right}


class Result:
    def __init__(self, case):
        self.whole = True  # False: a part is missing, which another run measures
        self.data = {"schema": 1, "bench": f"nvidia-{case.name}", "title": case.title,
                     "about": case.about, "tables": [], "claims": [], "notes": [], "plots": [],
                     "results": {}}

    def table(self, head, rows):
        self.data["tables"].append({"head": head, "rows": rows})

    def claims(self, *claims):
        self.data["claims"] += claims

    def note(self, text):
        self.data["notes"].append(text)

    def raw(self, **what):
        self.data["results"].update(what)


class Case:
    """Has a name, a title, estimate(context) in seconds, and run(context, result)."""

    resumes = False  # True: it is measured in parts, which least(context) and missing(context) describe


#
# An online and an offline program
#

class Pair:
    """Situations of a server beside an offline program, measured alternately."""

    def __init__(self, stage, ask):
        self.stage, self.ask = stage, ask  # ask(server, hint_us): its answer
        self.took, self.rates, self.right, self.announced = {}, {}, True, {}
        self.lead_ns, self.window_ns, self.wrong = {}, {}, []
        self.logs = {}  # situation -> [(decision log, process of the server, requests)]

    def measure(self, name, server, patient, hint_us=-1):
        self.stage.log.skip()
        if patient:
            patient.tell("go")
            time.sleep(0.2)
        said = self.ask(server, hint_us)
        done = patient.ask("stop") if patient else None
        self.took.setdefault(name, []).append(said["took_ns"])
        for who, what in (("the server", said), ("the offline program", done)):
            self.check(f"{name}, {who}", what)
        if server.joined:
            log = nvlog.Log(self.stage.log.take())
            self.logs.setdefault(name, []).append(
                (log, server.pid, list(zip(said["came_ns"], said["took_ns"]))))
        window = (said["begin_ns"], said["end_ns"])
        self.rates.setdefault(name, []).append(rate(done["ended_ns"], *window) if done else None)
        self.window_ns.setdefault(name, []).append(window[1] - window[0])
        self.lead_ns[name] = said["lead_ns"] if hint_us == AUTO else max(0, hint_us) * 1000
        self.announced[name] = self.announced.get(name, 0) + said["announced"]

    def check(self, who, what):
        """Records a wrong result with all that may explain it."""
        if what and not what.get("right", True):
            self.right = False
            self.wrong.append({"who": who, **{k: v for k, v in what.items() if "_ns" not in k}})

    def alone(self, name, patient, seconds):
        patient.tell("go")
        time.sleep(seconds)
        done = patient.ask("stop")
        self.check(name, done)
        self.rates.setdefault(name, []).append(rate(done["ended_ns"][1:]))

    def latency(self, name):
        return Latency(self.took.get(name, []))

    def times_alone(self, name, share):
        return ratio(self.latency(name).us(share), self.latency("alone").us(share))

    def busy(self, name):
        """The share of time that the online program needs: each request as long as alone, and the lead
        of its hint."""
        each = self.latency("alone").us(.5)
        if each is None or name not in self.took:
            return None
        each_ns = each * 1e3 + self.lead_ns[name]
        return median([len(took) * each_ns / window
                       for took, window in zip(self.took[name], self.window_ns[name])])

    def kept(self, name, alone):
        """The offline program's rate, of its rate alone in the time that the online one leaves."""
        best, mine, busy = median(self.rates.get(alone, [])), median(self.rates.get(name, [])), \
            self.busy(name)
        return None if None in (best, busy, mine) else mine / (best * (1 - busy))

    def rows(self, alone, unit=1e3):
        rows = []
        for name in self.took:
            a = self.latency(name)
            p50, p99, p999, most = a.us(.5), a.us(.99), a.us(.999), a.max_us()
            scaled = [None if v is None else v / unit for v in (p50, p99, p999, most)]
            both = a.spread_us(.99)
            rows.append([name, a.count(), *(nvreport.number(v) for v in scaled),
                         nvreport.pair(both and tuple(v / unit for v in both)),
                         nvreport.number(self.times_alone(name, .99)),
                         nvreport.number(median(self.rates[name]), 4),
                         nvreport.pair(spread(self.rates[name]), 4),
                         nvreport.number(self.kept(name, alone))])
        rate_alone = self.rates.get(alone, [])
        rows.append([alone, "-", "-", "-", "-", "-", "-", "-", nvreport.number(median(rate_alone), 4),
                     nvreport.pair(spread(rate_alone), 4), "-"])
        return rows

    def head(self, unit, done):
        return ["situation", "requests", f"p50 {unit}", f"p99 {unit}", f"p99.9 {unit}",
                f"max {unit}", f"p99 of the runs, {unit}", "p99 / alone", f"{done}/s",
                f"{done}/s of the runs", "kept"]

    def report(self, result, out, prefix, unit="ms", done="steps"):
        alone = "patient alone"
        result.table(self.head(unit, done), self.rows(alone, {"us": 1.0, "ms": 1e3}[unit]))
        nvreport.write_csv(os.path.join(out, f"{prefix}.csv"), self.took)
        plot = f"{prefix}.svg"
        with open(os.path.join(out, plot), "w", encoding="utf-8") as f:
            f.write(nvreport.cdf_svg(self.took, f"{prefix}: time to an answer", unit,
                                     {"us": 1e3, "ms": 1e6}[unit]))
        result.data["plots"].append(plot)
        self.slow_tables(result)
        result.raw(**{prefix: {"took_ns": self.took, "rates_per_s": self.rates,
                               "busy": {name: self.busy(name) for name in self.took},
                               "announced": self.announced, "wrong": self.wrong}})
        for what in self.wrong:
            result.note("wrong: " + ", ".join(f"{k} {v}" for k, v in what.items()))


    def slow_tables(self, result):
        """Why requests with gpreempt took longer than SLOW times alone's median."""
        usual = self.latency("alone").us(.5)
        if usual is None or not self.logs:
            return
        views, rows, slowest = [], [], []
        for name, runs in self.logs.items():
            view = nvlog.Overview()
            for log, pid, requests in runs:
                view.add(log, {pid}, requests)
            views.append(view.row(name))
            found = [one for log, pid, requests in runs
                     for one in nvlog.slow(log, {pid}, requests, SLOW * usual * 1e3, usual * 1e3)]
            rows += nvlog.summary_rows(name, found, self.latency(name).count())
            slowest += [(name, one) for one in found]
        result.table(nvlog.Overview.HEAD, views)
        result.table(nvlog.SUMMARY_HEAD, rows)
        if slowest:
            result.table(nvlog.DETAIL_HEAD, nvlog.detail_rows(slowest))


class KernelPair(Case):
    name = "kernel-pair"
    title = "A 100 us kernel every 5 to 10 ms, beside 5 ms kernels that fill the GPU"
    about = ("Two processes, kernels of fixed work, every result checked. With 'gpreempt' both are "
             "joined unmodified; '+ hint' announces each request 1 ms ahead. 'kept' is the offline "
             "program's rate, of its rate alone in the time that the other program leaves.")

    def estimate(self, context):
        return 5 + context.rounds * 5 * (context.seconds(1.4) + 0.25)

    def run(self, context, result):
        seconds = context.seconds(1.4)

        def ask(server, hint_us):
            return server.ask(f"serve {seconds} 5 10 {hint_us} 1")

        with Stage(context, self.name) as stage:
            server, patient = stage.kernels("serve", SERVE, 100), stage.kernels("work", FILL, 5000)
            pair = Pair(stage, ask)
            online = stage.kernels("serve", SERVE, 100, "online")
            offline = stage.kernels("work", FILL, 5000, "offline")
            joined = stage.is_joined(online.ready()) and stage.is_joined(offline.ready())
            for _ in range(context.rounds):
                pair.measure("alone", server, None)
                pair.alone("patient alone", patient, seconds)
                pair.measure("native", server, patient)
                if joined:
                    pair.measure("gpreempt", online, offline)
                    pair.measure("gpreempt + hint", online, offline, 1000)
            pair.report(result, context.out, self.name, "us", "kernels")
        if not joined:
            result.note("the daemon did not see both programs on a GPU: not measured with gpreempt")
        result.claims(claim("online p99 against alone", pair.times_alone("gpreempt", .99), 2.3),
                      claim("the same with a hint 1 ms ahead",
                            pair.times_alone("gpreempt + hint", .99), 1.3),
                      right_claim("every kernel's result is right", pair.right))


class TorchPair(Case):
    name = "torch-pair"
    title = "ResNet-50: inference of one image every 15 to 35 ms, beside training with batch 256"
    about = ("Unmodified PyTorch, bf16; requests as a CUDA graph and eagerly, and a decode-like loop "
             "of many small kernels. '+ hint' announces each request 1 ms ahead, '+ hint in time' as far "
             "ahead as gp_hint_lead_time() says (only the graph).")
    modes = {"graph": 4, "eager": 2, "decode": 1.2}

    def estimate(self, context):
        per_round = sum((5 if m == "graph" else 4) * (context.seconds(s) + 0.4)
                        for m, s in self.modes.items() if not context.modes or m in context.modes)
        return 20 + context.rounds * (per_round + 2 * context.seconds(2))

    def run(self, context, result):
        with Stage(context, self.name) as stage:
            trainer, server = stage.torch("train"), stage.torch("serve")
            offline, online = stage.torch("train", "offline"), stage.torch("serve", "online")
            for worker in (trainer, server, offline):
                worker.tell("open")
            result.raw(gpu=[w.hear() for w in (trainer, server, offline)][0].get("gpu"))
            joined = stage.is_joined(offline)
            self.joined_or_not(context, result, trainer, offline if joined else None)
            online.ask("open")
            joined = joined and stage.is_joined(online)
            if not joined:
                result.note("the daemon did not see both programs on a GPU: not measured with "
                            "gpreempt")
            for mode in context.modes or self.modes:
                usual = self.modes[mode]
                self.one_mode(context, result, stage, mode, context.seconds(usual),
                              (trainer, server), (offline, online) if joined else None)

    def joined_or_not(self, context, result, plain, joined):
        """Trains alone, joined and not, alternately: the cost of being joined and never preempted."""
        seconds, rates = context.seconds(2), {"not joined": [], "joined": []}
        for _ in range(context.rounds):
            for name, worker in (("not joined", plain), ("joined", joined)):
                if worker:
                    worker.tell("go")
                    time.sleep(seconds)
                    rates[name].append(rate(worker.ask("stop")["ended_ns"][1:]))
        self.alone = rates["not joined"]
        result.raw(training_alone_per_s=rates)
        result.table(["training alone", "steps/s", "steps/s of the runs"],
                     [[n, nvreport.number(median(r), 4), nvreport.pair(spread(r), 4)]
                      for n, r in rates.items()])

    def one_mode(self, context, result, stage, mode, seconds, native, ours):
        def ask(server, hint_us):
            return server.ask(f"serve {mode} {seconds} 15 35 {hint_us}")

        pair = Pair(stage, ask)
        pair.rates["patient alone"] = list(self.alone)
        for _ in range(context.rounds):
            pair.measure("alone", native[1], None)
            pair.measure("native", native[1], native[0])
            if ours:
                pair.measure("gpreempt", ours[1], ours[0])
                pair.measure("gpreempt + hint", ours[1], ours[0], 1000)
            if ours and mode == "graph":
                pair.measure("gpreempt + hint in time", ours[1], ours[0], AUTO)
        pair.report(result, context.out, f"{self.name}-{mode}")
        if ours:
            result.table([f"{mode}: situation", "announced ahead on average, ms"],
                         [[name, nvreport.number(ns / 1e6)] for name, ns in pair.lead_ns.items() if ns])
        result.claims(right_claim(f"{mode}: every last answer is right", pair.right))
        if mode == "graph":
            result.claims(
                claim("CUDA graph: online p99 against alone", pair.times_alone("gpreempt", .99), 1.4),
                claim("the same with a hint 1 ms ahead",
                      pair.times_alone("gpreempt + hint", .99), 1.15),
                claim("the same with a hint in time",
                      pair.times_alone("gpreempt + hint in time", .99), 1.05))
        if mode == "eager":
            result.claims(claim("eager: online p99 against alone",
                                pair.times_alone("gpreempt", .99), 1.15))
        if mode != "decode":
            for name in [n for n in pair.took if n.startswith("gpreempt")]:
                result.claims(claim(f"{mode}, {name}: what training keeps",
                                    pair.kept(name, "patient alone"), 0.94, most=False))


class TorchTrainers(Case):
    name = "torch-trainers"
    title = "Two trainers, with and without a server that comes and goes"
    about = ("ResNet-50 training with batch 256, twice; the server answers a request every 15 to 35 "
             "ms as a CUDA graph, for half of the time. Steps per second of both trainers together.")

    def estimate(self, context):
        return 22 + context.rounds * 4 * (context.seconds(3) + 0.5)

    def run(self, context, result):
        seconds = context.seconds(3)
        with Stage(context, self.name) as stage:
            plain = [stage.torch("train"), stage.torch("train"), stage.torch("serve")]
            ours = [stage.torch("train", "offline"), stage.torch("train", "offline"),
                    stage.torch("serve", "online")]
            for worker in plain + ours[:2]:
                worker.tell("open")
            for worker in plain + ours[:2]:
                worker.hear()
            joined = all([stage.is_joined(w) for w in ours[:2]])
            sums = {}
            for _ in range(context.rounds):
                self.together(sums, "native", plain[:2], None, seconds)
                self.together(sums, "native, server", plain[:2], plain[2], seconds)
                if joined:
                    self.together(sums, "gpreempt", ours[:2], None, seconds)
            # It is there from now on; what is to be shown without it has been measured.
            if joined:
                ours[2].ask("open")
                for _ in range(context.rounds):
                    self.together(sums, "gpreempt, server", ours[:2], ours[2], seconds)
        if not joined:
            result.note("the daemon did not see both trainers on a GPU: not measured with gpreempt")
        result.raw(steps_per_s=sums)
        result.table(["situation", "steps/s of both", "of the runs"],
                     [[n, nvreport.number(median([a + b for a, b in v]), 4),
                       nvreport.pair(spread([a + b for a, b in v]), 4)] for n, v in sums.items()])

        def kept(mine, native):
            both = [median([a + b for a, b in sums.get(n, [])]) for n in (mine, native)]
            return ratio(*both)

        result.claims(claim("two trainers keep, of native", kept("gpreempt", "native"), .95, False),
                      claim("the same with a server", kept("gpreempt, server", "native, server"),
                            .95, False))

    @staticmethod
    def together(sums, name, trainers, server, seconds):
        for trainer in trainers:
            trainer.tell("go")
        time.sleep(0.3)
        if server:
            time.sleep(seconds / 4)
            server.ask(f"serve graph {seconds / 2} 15 35 -1")
            time.sleep(seconds / 4)
        else:
            time.sleep(seconds)
        ended = [trainer.ask("stop")["ended_ns"] for trainer in trainers]
        window = (max(e[0] for e in ended), min(e[-1] for e in ended)) if all(ended) else (0, 0)
        rates = [rate(e, *window) or 0.0 for e in ended]
        sums.setdefault(name, []).append(rates)


#
# Suspending by hand
#

class Suspend(Case):
    name = "suspend"
    title = "XSched's latency protocol: 300 suspends of 64 blocks of 64 threads"
    about = ("Kernels of 100 us to 2 ms one after another, four launched ahead, and one that does not "
             "end. From the arrival of the suspend at gpreemptd to the acknowledgement of the last "
             "queue, from the daemon's decision log. Every kernel's result is checked.")
    lengths_us = (100, 400, 800, 1200, 1600, 2000, None)

    def estimate(self, context):
        return 4 + len(self.lengths_us) * (1.5 + 300 * 0.006)

    def run(self, context, result):
        count = 300 if not context.asked_seconds else max(5, int(context.asked_seconds * 100))
        rows, worst, right, raw = [], None, True, {}
        with Stage(context, self.name) as stage:
            for us in self.lengths_us:
                name = "endless" if us is None else f"{us} us"
                took, is_right = self.one(stage, us, count)
                right &= is_right
                raw[name] = took
                a = Latency([took])
                worst = max(filter(None, [worst, a.us(.5)]), default=None)
                rows.append([name, len(took), *(nvreport.number(v and v / 1e3) for v in
                                                (a.us(.5), a.us(.99), a.max_us())),
                             "yes" if is_right else "**no**"])
        result.raw(suspend_ns=raw)
        result.table(["kernel", "suspends", "p50 ms", "p99 ms", "max ms", "right"], rows)
        nvreport.write_csv(os.path.join(context.out, "suspend.csv"), {n: [t] for n, t in raw.items()})
        plot = "suspend.svg"
        with open(os.path.join(context.out, plot), "w", encoding="utf-8") as f:
            f.write(nvreport.cdf_svg({n: [t] for n, t in raw.items()}, "time to be off the GPU"))
        result.data["plots"].append(plot)
        result.claims(claim("worst p50 of a suspend, ms", worst and worst / 1e3, 0.8),
                      right_claim("every kernel finishes with the right result", right))

    @staticmethod
    def one(stage, us, count):
        worker = (stage.kernels("endless", SUSPEND, None, "offline") if us is None else
                  stage.kernels("work", SUSPEND, us, "offline"))
        worker.tell("go")
        stage.must_be_joined(worker)
        before = len(stage.daemon.lines())
        time.sleep(0.2)
        stage.daemon.cycles(worker.pid, count, (0, 1000), (1000, 4000), us or 1).result(120)
        said = worker.ask("stop")
        worker.close()
        time.sleep(0.1)
        return nvstats.suspends(stage.daemon.lines()[before:]), said["right"]


class Cycles(Case):
    name = "cycles"
    title = "1,000 random suspensions of a chain of kernels"
    about = ("Kernels of 300 us, each continuing with the last one's result, held and released at "
             "random times; the final result is compared with the host's.")

    def estimate(self, context):
        return 4 + 1000 * 0.009

    def run(self, context, result):
        count = 1000 if not context.asked_seconds else max(10, int(context.asked_seconds * 100))
        with Stage(context, self.name) as stage:
            worker = stage.kernels("work", SERVE, 300, "offline")
            worker.tell("go")
            stage.must_be_joined(worker)
            done = stage.daemon.cycles(worker.pid, count, (0, 3000), (100, 5000), 7).result(200)
            said = worker.ask("stop")
        result.raw(cycles_ns=done, kernels=len(said["ended_ns"]))
        result.table(["suspensions", "kernels", "right"],
                     [[len(done), len(said["ended_ns"]), "yes" if said["right"] else "**no**"]])
        result.claims(right_claim(f"bit-identical after {len(done)} suspensions", said["right"]))


class TorchCycles(Case):
    name = "torch-cycles"
    title = "1,000 random suspensions of a deterministic training"
    about = ("ResNet-50, batch 32, deterministic algorithms: the loss of each step while it is held "
             "and released at random times, and of the same steps undisturbed, twice; compared bit "
             "by bit.")

    def estimate(self, context):
        return 20 + 3 * 1000 * 0.009

    def run(self, context, result):
        count = 1000 if not context.asked_seconds else max(10, int(context.asked_seconds * 100))
        with Stage(context, self.name) as stage:
            trainer = stage.torch("train", "offline")
            trainer.ask("open")
            stage.must_be_joined(trainer)
            trainer.tell("repeat 5")
            time.sleep(1)
            done = stage.daemon.cycles(trainer.pid, count, (0, 3000), (100, 5000), 11).result(200)
            held = trainer.ask("stop")["loss_bits"]
            plain = [trainer.ask(f"repeat 5 {len(held)}")["loss_bits"] for _ in range(2)]
        same_plain, plain_is = nvstats.same_bits(*plain)
        same, is_same = nvstats.same_bits(held, plain[0])
        result.raw(loss_bits={"held": held, "plain": plain}, cycles_ns=done)
        result.table(["suspensions", "steps", "the same as undisturbed", "undisturbed twice the same"],
                     [[len(done), len(held), same, same_plain]])
        if not plain_is:
            result.note("two undisturbed runs of this training differ, so suspensions cannot be judged")
        result.claims(right_claim(f"the loss curve is bit-identical after {len(done)} suspensions",
                                  is_same if plain_is else None))


class Joined(Case):
    name = "joined"
    title = "Joined and never preempted"
    about = ("5 ms kernels that fill the GPU, alternately from a program that is joined and one that "
             "is not; a pair is two neighbours.")

    def estimate(self, context):
        return 4 + 20 * 2 * (context.seconds(1) / 2 + 0.1)

    def run(self, context, result):
        seconds, rates = context.seconds(1), {"not joined": [], "joined": []}
        with Stage(context, self.name) as stage:
            plain = stage.kernels("work", FILL, 5000)
            ours = stage.kernels("work", FILL, 5000, "offline")
            stage.must_be_joined(ours)
            for i in range(20):
                order = [("not joined", plain), ("joined", ours)]
                for name, worker in order if i % 2 else order[::-1]:
                    worker.tell("go")
                    time.sleep(seconds / 2)
                    rates[name].append(rate(worker.ask("stop")["ended_ns"][1:]))
        ratios = [ratio(a, b) for a, b in zip(rates["joined"], rates["not joined"])]
        result.raw(kernels_per_s=rates, ratios=ratios)
        result.table(["pairs", "joined / not joined, median", "of the pairs"],
                     [[len(ratios), nvreport.number(median(ratios), 5),
                       nvreport.pair(spread(ratios), 5)]])
        loss = median(ratios)
        result.claims(claim("lost by being joined, percent", loss and (1 - loss) * 100, 0.5))


class Seen(Case):
    name = "seen"
    title = "Time until work is seen, and the cost of looking"
    about = ("100 us kernels every 5 to 10 ms by a joined program while another is there: from just "
             "before the launch until gpreemptd knows of it, from its decision log. Then all are idle: "
             "the CPU use of the program with its agent, and of gpreemptd.")

    def estimate(self, context):
        return 6 + context.rounds * context.seconds(2) + 3 * context.seconds(3)

    def run(self, context, result):
        seconds, runs, missed, idle = context.seconds(2), [], 0, {}
        with Stage(context, self.name) as stage:
            plain = stage.kernels("serve", SERVE, 100)
            online = stage.kernels("serve", SERVE, 100, "online")
            stage.must_be_joined(online)
            idle["not joined"] = self.idle(plain.pid, stage.daemon, context.seconds(3))
            idle["joined, alone there"] = self.idle(online.pid, stage.daemon, context.seconds(3))
            offline = stage.kernels("work", FILL, 5000, "offline")
            stage.must_be_joined(offline)
            entities = {f"e{g['group']}" for g in stage.daemon.groups(online.pid)}
            for _ in range(context.rounds):
                came = online.ask(f"serve {seconds} 5 10 -1 1")["came_ns"]
                time.sleep(0.1)
                after, others = nvstats.seen(stage.daemon.lines(), entities, came)
                runs.append(after)
                missed += others
            idle["joined, another there"] = self.idle(online.pid, stage.daemon, context.seconds(3))
            by = {q["seen_by"] for g in stage.daemon.groups(online.pid) for q in g["queues"]}
        a = Latency(runs)
        result.raw(seen_ns=runs, missed=missed, idle_percent=idle, seen_by=sorted(by))
        result.table(["seen by", "requests", "p50 us", "p99 us", "max us", "not seen as new"],
                     [[", ".join(sorted(by)), a.count(),
                       *(nvreport.number(v) for v in (a.us(.5), a.us(.99), a.max_us())), missed]])
        result.table(["all are idle", "the program, % of a processor", "gpreemptd, %"],
                     [[name, *(nvreport.number(v) for v in both)] for name, both in idle.items()])

    @staticmethod
    def idle(pid, daemon, seconds):
        """The CPU use of the program and of the daemon, in percent of a processor."""
        pids = (pid, daemon.process.pid)
        time.sleep(0.2)
        before, begin = [cpu_ns(p) for p in pids], time.monotonic_ns()
        time.sleep(seconds)
        took = time.monotonic_ns() - begin
        return [100 * (cpu_ns(p) - b) / took for p, b in zip(pids, before)]


class Signs(Case):
    name = "signs"
    title = "Would work be seen sooner by the CPU time of its program, and at what cost"
    about = ("100 us kernels every 5 to 10 ms by a program that is not joined, as gpreempt's own threads "
             "use CPU time, too. A second process looks whether the program's CPU time has moved: from "
             "just before the launch until it has, and how often it moves without a launch. The cost "
             "of a look includes that of waking up for it. Compare with the case 'seen'.")
    periods_us = (1000, 250)

    def estimate(self, context):
        return 3 + len(self.periods_us) * (1 + context.seconds(1))

    def run(self, context, result):
        seconds, rows, raw = context.seconds(1), [], {}
        with Stage(context, self.name) as stage:
            server = stage.kernels("serve", SERVE, 100)
            watch = stage.worker([context.place.worker, "watch", str(server.pid)])
            for period_us in self.periods_us:
                watch.tell(f"watch {period_us}")
                served = server.ask(f"serve {seconds} 5 10 -1 1")
                found = watch.ask("stop")
                after, other = nvstats.signs([t for t in found["moved_ns"] if served["begin_ns"] <= t
                                              <= served["end_ns"]], served["came_ns"])
                raw[period_us] = {"after_ns": after, "other": other,
                                  **{k: v for k, v in found.items() if k != "moved_ns"}}
                a, cost = Latency([after]), [found[f"{k}_ns"] / max(found[n], 1) / 1e3
                                             for k, n in (("cpu", "looks"), ("wakes_cpu", "wakes"))]
                rows.append([period_us, a.count(), *(nvreport.number(v) for v in
                                                     (a.us(.5), a.us(.99), other / seconds, *cost,
                                                      100 * cost[0] / period_us))])
        result.raw(signs=raw)
        result.table(["period us", "requests", "p50 us", "p99 us", "others per second",
                      "CPU of a look, us", "of waking up alone, us", "% of a processor"], rows)


class FailOpen(Case):
    name = "fail-open"
    title = "The daemon is killed, and a program is killed"
    about = ("A program is suspended, and then gpreemptd is killed: the time until the next kernel "
             "ends. Another program is killed while it is suspended: what the daemon still lists.")

    def estimate(self, context):
        return 6 + context.rounds * 3.5

    def run(self, context, result):
        waited, left = [], []
        with Stage(context, self.name) as stage:
            for _ in range(context.rounds):
                worker = stage.kernels("work", SUSPEND, 300, "offline")
                worker.tell("go")
                stage.must_be_joined(worker)
                stage.daemon.ask("suspend", str(worker.pid))
                time.sleep(0.3)
                killed = stage.daemon.kill()
                time.sleep(2.2)
                waited.append(nvstats.first_after(worker.ask("stop")["ended_ns"], killed))
                worker.close()
                stage.daemon.start()
            worker = stage.kernels("work", SUSPEND, 300, "offline")
            worker.tell("go")
            stage.must_be_joined(worker)
            stage.daemon.ask("suspend", str(worker.pid))
            time.sleep(0.3)
            os.kill(worker.pid, signal.SIGKILL)
            worker.process.wait()
            time.sleep(0.5)
            left = stage.daemon.groups()
        slowest = max(waited) / 1e9 if None not in waited else None
        result.raw(waited_ns=waited, left=left)
        result.table(["times the daemon was killed", "slowest to run again, s", "left of a program "
                      "killed while suspended"], [[len(waited), nvreport.number(slowest), len(left)]])
        result.claims(claim("slowest to run again, s", slowest, 2.0),
                      right_claim("a program that is killed leaves nothing", not left))


CASES = [KernelPair(), Suspend(), Joined(), Seen(), Signs(), Cycles(), FailOpen(), TorchPair(),
         TorchTrainers(), TorchCycles()]
