# SPDX-License-Identifier: MIT
"""The cases of bench/nvidia/run with a language model's server beside training.

Each situation is measured in blocks, and the blocks of all situations alternate. A block is saved as
soon as it ends, in OUT/CASE-blocks/MODE-NUMBER.json, with the decision log of its time beside it, and a
run measures only the blocks that are not there. So a measurement can be divided into runs of any length,
also on machines that are not the same; the report is of all blocks that are there.
"""
import contextlib
import gzip
import json
import os
import time
from bisect import bisect

import nvlog
import nvreport
from nvcases import AUTO, SLOW, Case, Stage, claim, right_claim
from nvstats import (Pool, covered, interval, mean, mean_interval, median, percentile, rate, ratio,
                     spread)
from nvworkers import Clocks, Mps, Trouble

PER_S = 4  # requests of each server
HINT_US = 1000
SHARES = (.5, .95, .99)
WHAT = {"first": "first token", "next": "next token", "whole": "whole request"}
TRAINING = "training"  # the trainers without a server; measured for every situation that has both
START_S = 45  # until all programs are open
AFTER_S = 30  # to end them, and for the report


class Mode:
    """A situation. @side: which programs it uses: plain, joined, joined to another build's daemon
    ("before"), or one of the MPS variants."""

    def __init__(self, name, title, side="plain", hint_us=-1, settings="", trains=True, serves=True):
        self.name, self.title, self.side = name, title, side
        self.hint_us, self.settings = hint_us, settings
        self.announces = hint_us == AUTO or hint_us >= 0
        self.trains, self.serves = trains, serves


ALONE = Mode("alone", "alone", trains=False)
TRAIN = Mode(TRAINING, "training alone", serves=False)
MODES = [
    Mode("native", "native"),
    Mode("gpreempt", "gpreempt", "joined"),
    Mode("hint", "gpreempt + hint", "joined", HINT_US),
    Mode("mps", "MPS", "mps"),
    Mode("mps-priority", "MPS, trainer of lower priority", "mps-priority"),
    Mode("mps-half", "MPS, the same on 50 % of the SMs", "mps-half"),
]
OPTIONAL = [
    Mode("fair", "gpreempt, policy fair", "joined", settings="policy=fair"),
    Mode("share", "gpreempt, policy share", "joined", settings="policy=share"),
    Mode("lead", "gpreempt + hint in time", "joined", AUTO),
]
BEFORE = [
    Mode("before", "gpreempt of the other build", "before"),
    Mode("before-hint", "gpreempt of the other build + hint", "before", HINT_US),
]
JOINED = ("joined", "before")
MPS_TRAINER = {
    "mps": {},
    "mps-priority": {"CUDA_MPS_CLIENT_PRIORITY": "1"},
    "mps-half": {"CUDA_MPS_CLIENT_PRIORITY": "1", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"},
}


def own_modes(texts):
    """The modes of --config NAME:KEY=VALUE,... ; NAME+hint announces requests, too."""
    found = []
    for text in texts:
        name, settings = text.split(":", 1)
        hinted = name.endswith("+hint")
        found.append(Mode(name.replace("+", "-"), f"gpreempt, {name}", "joined",
                          HINT_US if hinted else -1, settings))
    return found


def mode_names():
    return [m.name for m in (ALONE, *MODES, *OPTIONAL, *BEFORE)]


class Blocks:
    """The measured blocks of a case, as files."""

    def __init__(self, out, case):
        self.folder = os.path.join(out, f"{case}-blocks")

    def path(self, mode, number, kind="json"):
        return os.path.join(self.folder, f"{mode.name}-{number}.{kind}")

    def load(self, mode, number):
        try:
            with open(self.path(mode, number), encoding="utf-8") as f:
                return json.load(f)
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def log(self, mode, number):
        try:
            with gzip.open(self.path(mode, number, "log.gz"), "rt", encoding="utf-8") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def save(self, mode, number, block, log):
        """The block's own file comes last: where it is, the block is whole."""
        os.makedirs(self.folder, exist_ok=True)
        if log:
            with gzip.open(self.path(mode, number, "log.gz"), "wt", encoding="utf-8") as f:
                f.write("\n".join(log))
        path = self.path(mode, number)
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(block, f)
        os.replace(path + ".new", path)


class Programs:
    """The programs of one side: servers, trainers and perhaps a notebook. They are opened once and are
    quiet while another side is measured."""

    def __init__(self, servers, trainers, notebook=None):
        self.servers, self.trainers, self.notebook = servers, trainers, notebook
        self.daemon = self.log = None  # what they are joined to, and its decision log

    def all(self):
        return [*self.servers, *self.trainers, *([self.notebook] if self.notebook else [])]

    def measure(self, mode, requests, number, train_s):
        """One block: its servers' and its other programs' answers."""
        busy = [*(self.trainers if mode.trains else []),
                *([self.notebook] if self.notebook and mode.trains and mode.serves else [])]
        for worker in busy:
            worker.tell("go")
        if mode.serves:
            time.sleep(0.5 if mode.trains else 0)
            for i, server in enumerate(self.servers):
                server.tell(f"serve {requests} {PER_S} {100 * number + i} {mode.hint_us}")
            served = [server.hear(60 + 2 * requests) for server in self.servers]
        else:
            time.sleep(train_s)
            served = []
        done = [worker.ask("stop") for worker in busy]
        trained = done[:len(self.trainers)] if mode.trains else []
        return {"mode": mode.name, "number": number, "requests": requests if mode.serves else 0,
                "pids": [s.pid for s in self.servers], "served": served, "trained": trained,
                "noted": done[len(trained):]}


class Figures:
    """The figures of one situation, of all its blocks."""

    def __init__(self, mode, blocks, nr_servers):
        self.mode, self.blocks = mode, blocks
        self.servers = [self._pools(i) for i in range(nr_servers)]

    def _pools(self, i):
        times = [b["served"][i]["times_ns"] for b in self.blocks if b["served"]]
        return {"first": Pool([[[t[1] - t[0]] for t in block] for block in times]),
                "next": Pool([[[b - a for a, b in zip(t[1:], t[2:])] for t in block]
                              for block in times]),
                "whole": Pool([[[t[-1] - t[0]] for t in block] for block in times])}

    @staticmethod
    def window(block):
        """The time in which all servers serve."""
        return (max(s["begin_ns"] for s in block["served"]), min(s["end_ns"] for s in block["served"]))

    def rates(self):
        """Steps per second of all trainers together, in each block."""
        found = []
        for block in self.blocks:
            window = self.window(block) if block["served"] else (None, None)
            each = [rate(t["ended_ns"], *window) for t in block["trained"]]
            found.append(None if None in each or not each else sum(each))
        return found

    def clocks(self):
        """Of blocks with samples of the clock: MHz and watts in requests, and the cycles of each next
        token of the first server."""
        samples, cycles = [], []
        for block in self.blocks:
            clocks = block.get("clocks") or []
            when = [c[0] for c in clocks]
            for times in block["served"][0]["times_ns"] if clocks and block["served"] else []:
                samples += [(mhz, mw / 1e3) for _, mhz, mw in
                            clocks[bisect(when, times[0]):bisect(when, times[-1])]]
                for begin, end in zip(times[1:], times[2:]):
                    last = max(bisect(when, end) - 1, 0)
                    cycles.append((end - begin) * clocks[last][1] / 1e3)
        return samples, cycles

    def right(self):
        return all(s["right"] for b in self.blocks for s in b["served"])

    def announced(self):
        return sum(s["announced"] for b in self.blocks for s in b["served"])

    def requests(self, i):
        return sum(len(b["served"][i]["times_ns"]) for b in self.blocks if b["served"])


def busy_share(alone, figures):
    """The share of time that requests need without trainers, in each block of a situation: for one
    server its requests as long as alone on average; for several, the time in which any of them has one
    in the same block without trainers."""
    found = []
    by_number = {b["number"]: b for b in alone.blocks}
    took = [t[-1] - t[0] for b in alone.blocks for t in b["served"][0]["times_ns"]]
    for block in figures.blocks:
        begin, end = figures.window(block)
        if len(block["served"]) == 1:
            found.append(len(block["served"][0]["times_ns"]) * sum(took) / len(took) / (end - begin))
            continue
        same = by_number.get(block["number"])
        if same:
            first, last = alone.window(same)
            spans = [(max(t[0], first), min(t[-1], last)) for s in same["served"]
                     for t in s["times_ns"] if t[-1] > first and t[0] < last]
            found.append(covered(spans) / (last - first))
    return found


class LlmCase(Case):
    nr_servers = nr_trainers = 1
    notebook = False
    sides = ("plain", *JOINED, *MPS_TRAINER)
    resumes = True
    gpu = None

    #
    # The blocks
    #

    def modes(self, context):
        known = [ALONE, *MODES, *OPTIONAL, *BEFORE]
        own = own_modes(context.settings)
        usual = [ALONE, *MODES, *(BEFORE if context.before else []), *own]
        if context.llm_modes:
            wanted = {m.name: m for m in known + own}
            usual = [wanted[name] for name in context.llm_modes if name in wanted]
            usual += [m for m in own if m not in usual]
        usual = [m for m in usual if m.side in self.sides]
        return usual + ([TRAIN] if any(m.trains for m in usual) else [])

    def length(self, context, mode):
        """The seconds of a block, about: with all of MPS on, a request takes ten times as long."""
        if not mode.serves:
            return self.train_s(context) + 1
        return context.requests * (0.55 if mode.name == "mps" else 1.05 / PER_S) + 3

    @staticmethod
    def train_s(context):
        return context.seconds(8)

    def missing(self, context):
        """The blocks to measure, in order: round by round, each beginning with another situation.
        Without the programs of MPS, its blocks are not missing."""
        blocks, found = Blocks(context.out, self.name), []
        modes = [m for m in self.modes(context) if m.side not in MPS_TRAINER or Mps.is_there()]
        for number in range(context.blocks):
            turned = modes[number % len(modes):] + modes[:number % len(modes)]
            for mode in turned:
                block = blocks.load(mode, number)
                if not block or (mode.serves and block["requests"] < context.requests):
                    found.append((mode, number))
        return found

    def estimate(self, context):
        """The time for all missing blocks, in one run."""
        missing = self.missing(context) if context.out else \
            [(mode, i) for mode in self.modes(context) for i in range(context.blocks)]
        return (START_S if missing else 0) + AFTER_S + \
            sum(self.length(context, mode) for mode, _ in missing)

    def least(self, context):
        """The time below which a run is not worth while: one round, or what is missing."""
        return min(self.estimate(context),
                   START_S + AFTER_S + sum(self.length(context, m) for m in self.modes(context)))

    def run(self, context, result):
        blocks = Blocks(context.out, self.name)
        missing = self.missing(context)
        if any(mode.side in MPS_TRAINER for mode in self.modes(context)) and not Mps.is_there():
            result.note(f"there is no {Mps.CONTROL} here: not measured with MPS")
        if missing:
            try:
                with Stage(context, self.name, keep_log=False) as stage:
                    result.whole = self.measure(context, result, stage, blocks, missing)
            except Trouble as e:
                result.note(f"it ended early: {e}")
                result.whole = False
        self.report(context, result, blocks)
        if not result.whole:
            result.note(f"{len(self.missing(context))} blocks are missing: run again with the same "
                        "--out")

    def measure(self, context, result, stage, blocks, missing):
        """False: there was no time for all blocks."""
        settings = {mode.name: stage.daemon.sections(mode.settings) if mode.settings else ""
                    for mode, _ in missing}
        sides = self.open(stage, result, {mode.side for mode, _ in missing})
        for side in [s for s in JOINED if s in sides]:
            if not all([stage.is_joined(w, sides[side].daemon) for w in sides[side].all()]):
                result.note("the daemon did not see all programs on a GPU: not measured with gpreempt")
                del sides[side]
        for mode, number in missing:
            if mode.side not in sides:
                continue
            if time.monotonic() + self.length(context, mode) + AFTER_S > context.deadline:
                return False
            begin, programs, log = time.monotonic(), sides[mode.side], []
            if programs.daemon:
                programs.daemon.configure(settings[mode.name])
                programs.log.skip()
            with Clocks() if context.clocks else contextlib.nullcontext() as clocks:
                block = programs.measure(mode, context.requests, number, self.train_s(context))
            if clocks:
                block["clocks"] = clocks.samples
            if programs.daemon:
                time.sleep(0.1)
                log = programs.log.take()
            block["gpu"] = self.gpu
            blocks.save(mode, number, block, log)
            print(f"{self.name}: {mode.title}, block {number + 1} of {context.blocks}: "
                  f"{time.monotonic() - begin:.0f} s{self.brief(mode, block)}", flush=True)
        return True

    def brief(self, mode, block):
        figures = Figures(mode, [block], self.nr_servers)
        said = []
        if mode.serves:
            whole = figures.servers[0]["whole"]
            said.append(f"p50 {whole.at(.5) / 1e6:.1f} ms, p99 {whole.at(.99) / 1e6:.1f} ms")
        if mode.announces:
            said.append(f"{figures.announced()} announced")
        if mode.trains and figures.rates()[0] is not None:
            said.append(f"{figures.rates()[0]:.2f} steps/s")
        return ": " + ", ".join(said) if said else ""

    def open(self, stage, result, needed):
        """Starts the programs of these sides, all at once, and waits until they are open. A side of
        MPS that does not open is left out."""
        sides = {}
        if "plain" in needed:
            sides["plain"] = self.programs(stage, {}, {})
        if "joined" in needed:
            sides["joined"] = self.joined(stage, stage.daemon, stage.log)
        if "before" in needed:
            daemon = stage.start_daemon(stage.context.before, f"{self.name}-before")
            sides["before"] = self.joined(stage, daemon, nvlog.Follower(daemon.log))
        if needed & set(MPS_TRAINER):
            sides.update(self.mps_sides(stage, needed))
        opened, failed = {}, []
        for side, programs in sides.items():
            for worker in programs.all():
                if worker not in opened:
                    worker.tell("open")
                    opened[worker] = None
        for side, programs in sides.items():
            try:
                for worker in programs.all():
                    opened[worker] = opened[worker] or worker.hear(180)
                    self.gpu = opened[worker].get("gpu")
            except Trouble as e:
                if side not in MPS_TRAINER:
                    raise
                result.note(f"{side}: not measured: {e}")
                failed.append(side)
        return {side: programs for side, programs in sides.items() if side not in failed}

    def mps_sides(self, stage, needed):
        """The sides of MPS have one server."""
        mps = Mps(stage.context.place, os.path.join(stage.context.folder, "mps")).start()
        stage.stack.callback(mps.stop)
        sides, servers = {}, None
        for side in MPS_TRAINER:
            if side in needed:
                sides[side] = self.programs(stage, {"env": mps.env},
                                            {"env": dict(mps.env, **MPS_TRAINER[side])}, servers)
                servers = sides[side].servers
        return sides

    def joined(self, stage, daemon, log):
        programs = self.programs(stage, {"job": "online", "daemon": daemon},
                                 {"job": "offline", "daemon": daemon},
                                 notebook={"job": "normal", "daemon": daemon})
        programs.daemon, programs.log = daemon, log
        return programs

    def programs(self, stage, server, trainer, servers=None, notebook=None):
        """@servers: those of another side with the same environment, which are shared."""
        return Programs(servers or [stage.llm("serve", **server) for _ in range(self.nr_servers)],
                        [stage.llm("train", **trainer) for _ in range(self.nr_trainers)],
                        stage.llm("notebook", **(notebook or {})) if self.notebook else None)

    #
    # The report
    #

    def report(self, context, result, blocks):
        figures = {}
        for mode in self.modes(context):
            found = [blocks.load(mode, i) for i in range(context.blocks)]
            figures[mode.name] = Figures(mode, [b for b in found if b], self.nr_servers)
        self.kept = self.kept_of(figures)
        for i in range(self.nr_servers):
            for what in WHAT:
                result.table(*self.latency_table(figures, i, what))
        result.table(*self.training_table(figures))
        if any(b.get("clocks") for f in figures.values() for b in f.blocks):
            result.table(*self.clock_table(figures))
        self.slow_tables(context, result, blocks, figures)
        self.plots(context, result, figures)
        right = [f.right() for f in figures.values() if f.blocks]
        result.raw(blocks={name: len(f.blocks) for name, f in figures.items()},
                   requests={name: [f.requests(i) for i in range(self.nr_servers)]
                             for name, f in figures.items()},
                   announced={name: f.announced() for name, f in figures.items()},
                   steps_per_s={name: f.rates() for name, f in figures.items()}, kept=self.kept,
                   percentiles_ns=self.percentiles(figures))
        self.expect(result, figures)
        result.claims(right_claim("every last answer is right", all(right) if right else None))

    def percentiles(self, figures):
        return {name: [{what: [pool.at(s) for s in SHARES] for what, pool in server.items()}
                       for server in f.servers] for name, f in figures.items()}

    def times_alone(self, figures, name, what, share, server=0):
        """A percentile against alone's, and its interval."""
        if not all(n in figures and figures[n].blocks for n in (name, "alone")):
            return None, None
        mine, alone = (figures[n].servers[server][what] for n in (name, "alone"))
        k = SHARES.index(share)
        # Both are drawn with the same random numbers; shifted by one they are independent.
        others = alone.drawn(SHARES)[k]
        drawn = [ratio(a, b) for a, b in zip(mine.drawn(SHARES)[k], others[1:] + others[:1])]
        return ratio(mine.at(share), alone.at(share)), interval(drawn)

    def latency_table(self, figures, i, what):
        """Percentiles of all blocks together, and of alone's, each with its interval."""
        title = WHAT[what] if self.nr_servers == 1 else f"server {i + 1}, {WHAT[what]}"
        head = [title, "requests", "p50 ms", "p95 ms", "p99 ms", "p50 / alone", "p95 / alone",
                "p99 / alone", "p99 of the blocks, ms"]
        rows = []
        for name, f in figures.items():
            if not f.mode.serves or not f.blocks:
                continue
            pool = f.servers[i][what]
            both = spread(pool.of_blocks(.99))
            rows.append([f.mode.title, f.requests(i),
                         *(with_interval(pool.at(s), interval(pool.drawn(SHARES)[k]), 1e6)
                           for k, s in enumerate(SHARES)),
                         *("1" if name == "alone" else
                           with_interval(*self.times_alone(figures, name, what, s, i))
                           for s in SHARES),
                         nvreport.pair(both and tuple(v / 1e6 for v in both))])
        return head, rows

    def kept_of(self, figures):
        """For each situation: the trainers' rate, of their rate alone in the time that requests leave;
        of each block."""
        kept, alone, training = {}, figures.get("alone"), figures.get(TRAINING)
        best = mean(training.rates()) if training else None
        if best is None or not alone or not alone.blocks:
            return kept
        for name, f in figures.items():
            if f.mode.trains and f.mode.serves and f.blocks:
                kept[name] = [r / (best * (1 - busy)) for r, busy in
                              zip(f.rates(), busy_share(alone, f)) if r is not None]
        return kept

    def training_table(self, figures):
        head = ["situation", "steps/s", "steps/s of the blocks", "busy share",
                "kept of what requests leave"]
        rows, alone = [], figures.get("alone")
        for name, f in figures.items():
            if not f.mode.trains or not f.blocks:
                continue
            rates, kept = f.rates(), self.kept.get(name)
            busy = busy_share(alone, f) if f.mode.serves and alone and alone.blocks else []
            rows.append([f.mode.title, with_interval(mean(rates), mean_interval(rates), digits=4),
                         nvreport.pair(spread(rates), 4), nvreport.number(mean(busy)),
                         with_interval(mean(kept), mean_interval(kept), digits=4)
                         if kept else "-"])
        return head, rows

    def clock_table(self, figures):
        """The GPU's clock while requests ran, and the next tokens in its cycles."""
        head = ["situation", "SM clock in requests, MHz", "power, W", "next token p50, kilocycles",
                "p99", "p50 / alone", "p99 / alone"]
        rows, cycles = [], {}
        for name, f in figures.items():
            clocks, cycles[name] = f.clocks()
            if cycles[name]:
                mhz, watts = zip(*clocks)
                own = [percentile(cycles[name], s) for s in (.5, .99)]
                alone = [percentile(cycles.get("alone"), s) for s in (.5, .99)]
                rows.append([f.mode.title, f"{median(mhz):.0f} ({min(mhz)} to {max(mhz)})",
                             f"{median(watts):.0f}", *(nvreport.number(c / 1e3) for c in own),
                             *(nvreport.number(ratio(*both)) for both in zip(own, alone))])
        return head, rows

    def slow_tables(self, context, result, blocks, figures):
        """Why requests with gpreempt were slow, whole ones and first tokens."""
        alone = figures.get("alone")
        if not alone or not alone.blocks:
            return
        ours = {name: f for name, f in figures.items() if f.mode.side in JOINED and f.blocks}
        views, raw = [], {}
        for name, f in ours.items():
            view, raw[name] = nvlog.Overview(), {"whole": [], "first": []}
            for block in f.blocks:
                log = nvlog.Log(blocks.log(f.mode, block["number"]))
                self.slow_of(log, block, alone, view, raw[name])
            views.append(view.row(f.mode.title))
        if views:
            result.table(nvlog.Overview.HEAD, views)
        for what, named in (("whole", "slow requests"), ("first", "slow first tokens")):
            rows, slowest = [], []
            for name, f in ours.items():
                rows += nvlog.summary_rows(f.mode.title, raw[name][what],
                                           sum(f.requests(i) for i in range(self.nr_servers)))
                slowest += [(f.mode.title, one) for one in raw[name][what]]
            if rows:
                result.table([nvlog.SUMMARY_HEAD[0], named, *nvlog.SUMMARY_HEAD[2:]], rows)
            if slowest:
                result.table(nvlog.DETAIL_HEAD, nvlog.detail_rows(slowest))
        with gzip.open(os.path.join(context.out, f"{self.name}-slow.json.gz"), "wt",
                       encoding="utf-8") as f:
            json.dump(raw, f)

    @staticmethod
    def slow_of(log, block, alone, view, found):
        """Adds a block's requests to an overview, and its slow ones to those that were found."""
        for i, served in enumerate(block["served"]):
            pids = {block["pids"][i]}
            view.add(log, pids, [(t[0], t[-1] - t[0]) for t in served["times_ns"]])
            for what, last in (("whole", -1), ("first", 1)):
                usual, most = (alone.servers[i][what].at(share) for share in (.5, .99))
                # First tokens vary more: one as slow as alone's slowest is not slow.
                limit = max(SLOW * usual, most if what == "first" else 0)
                found[what] += nvlog.slow(log, pids, [(t[0], t[last] - t[0])
                                                      for t in served["times_ns"]], limit, usual)

    def plots(self, context, result, figures):
        took = {f.mode.title: [[t[-1] - t[0] for t in s["times_ns"]] for b in f.blocks
                               for s in b["served"]] for f in figures.values() if f.mode.serves}
        nvreport.write_csv(os.path.join(context.out, f"{self.name}.csv"), took)
        plot = f"{self.name}.svg"
        with open(os.path.join(context.out, plot), "w", encoding="utf-8") as f:
            f.write(nvreport.cdf_svg(took, f"{self.name}: time to a whole answer"))
        result.data["plots"].append(plot)

    def expect(self, result, figures):
        raise NotImplementedError


def with_interval(value, both, scale=1.0, digits=3):
    """A value and its interval, as in 1.02 (1.00 to 1.05)."""
    if value is None:
        return "-"
    text = nvreport.number(value / scale, digits)
    return text if both is None else f"{text} ({nvreport.pair([v / scale for v in both], digits)})"


class LlmPair(LlmCase):
    name = "llm-pair"
    title = "A language model's server, 4 requests a second, beside training"
    about = ("A decoder of 16 layers and width 2048 in bf16. A request is a prompt of 512 tokens, run "
             "eagerly, and 32 tokens, each one replay of a CUDA graph; requests come at random times and "
             "do not overlap. The trainer has the same model, with a batch of 8 x 1024. Percentiles are "
             "of all blocks together, with 95 % intervals by a bootstrap of blocks and requests. 'busy "
             "share' is the sum of the requests' times alone, of the duration; 'kept' is the trainer's "
             "rate, of its rate alone times the rest.")

    def expect(self, result, figures):
        def times(name, what, share):
            return self.times_alone(figures, name, what, share)[0]

        limits = [("gpreempt", "next", .5, 1.02), ("gpreempt", "next", .99, 1.06),
                  ("gpreempt", "whole", .5, 1.03), ("gpreempt", "whole", .99, 1.06),
                  ("gpreempt", "first", .5, 1.08), ("hint", "first", .99, 1.15),
                  ("hint", "whole", .99, 1.05)]
        for name, what, share, limit in limits:
            if name in figures:
                result.claims(claim(f"{figures[name].mode.title}: {WHAT[what]} p{share * 100:g}, of "
                                    "alone", times(name, what, share), limit))
        for name in ("gpreempt", "hint"):
            if name in figures:
                result.claims(claim(f"{figures[name].mode.title}: what training keeps",
                                    mean(self.kept.get(name, [])), 1.0, most=False))
        if "gpreempt" in self.kept and "before" in self.kept:
            result.claims(claim("training, of the other build's",
                                ratio(mean(figures["gpreempt"].rates()),
                                      mean(figures["before"].rates())), 1.0, most=False))
        ours = times("gpreempt", "whole", .5)
        for name in MPS_TRAINER:
            theirs = times(name, "whole", .5)
            if ours and theirs:
                result.claims(claim(f"{figures[name].mode.title}: whole request p50, of gpreempt's",
                                    theirs / ours, 1.0, most=False))
        if "mps-half" in self.kept and "gpreempt" in self.kept:
            result.claims(claim(f"{figures['mps-half'].mode.title}: training, of gpreempt's",
                                ratio(mean(figures["mps-half"].rates()),
                                      mean(figures["gpreempt"].rates())), 1.0))


class LlmCrowd(LlmCase):
    name = "llm-crowd"
    title = "Two servers, two trainers and a notebook"
    about = ("The programs of llm-pair, twice, and a program of class normal that runs 20 short kernels "
             "every 50 to 400 ms. 'alone' is the two servers together, without the others; 'training' "
             "is the two trainers together. 'busy share' is the time in which a server has a request in "
             "the same block of 'alone'; 'kept' is the rate of both trainers, of their rate without "
             "others times the rest, so the notebook's time counts as lost.")
    nr_servers = nr_trainers = 2
    notebook = True
    sides = ("plain", *JOINED)

    def expect(self, result, figures):
        if "gpreempt" not in figures:
            return
        for i in range(self.nr_servers):
            result.claims(claim(f"server {i + 1}: whole request p99, of the servers without trainers",
                                self.times_alone(figures, "gpreempt", "whole", .99, i)[0], 1.15))
        result.claims(claim("what the trainers keep", mean(self.kept.get("gpreempt", [])), .95,
                            most=False))

    def report(self, context, result, blocks):
        super().report(context, result, blocks)
        rows = []
        for mode in self.modes(context):
            found = [blocks.load(mode, i) for i in range(context.blocks)]
            took = [t for b in found if b for n in b["noted"] for t in n["took_ns"]]
            if took:
                rows.append([mode.title, len(took), *(nvreport.number(Pool([[took]]).at(s) / 1e6)
                                                      for s in (.5, .99))])
        result.table(["notebook", "cells", "p50 ms", "p99 ms"], rows)


CASES = [LlmPair(), LlmCrowd()]
