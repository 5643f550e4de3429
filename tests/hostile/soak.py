#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks gpreemptd in every known way and measures what its other users notice.

Usage: soak.py GPREEMPT GPREEMPTD PROGRAMS WORKLOADS [--seconds N] [--out FOLDER] [--judge] [--seed N]
       soak.py GPREEMPT GPREEMPTD PROGRAMS WORKLOADS --each SECONDS [--attacks NAME,...]

Victims are an urgent and a patient program of two users on a GPU of their own, a patient program on
the GPU that attackers claim, and a trainer and a server on an emulated machine. They run beside
nothing, beside as many CPU hogs as there are attackers, beside all attackers, and beside all
attackers while the daemon, programs and machines are killed. The end is a table, a JSON document and
a plot. The status is 1, with a sentence, if a bound is exceeded. Ratios of times are judged only
with --judge.

With --each, every attack runs alone. An attack that the daemon does not withstand must be listed in
the file expected-failures.

Needs root, to be other users; the status is 77 without.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # no files beside the sources
# pylint: disable=wrong-import-position
import plot
import stage
from stage import ATTACKS, CLAIMING, MAX_HOLD_MS

MB = 1 << 20
MEMORY_BOUND = 64 * MB
TURN_P99_BOUND_US = 1000
RATIO_BOUND = 2
# Guaranteed shares are kept within a tenth. A short run has few grants in it: within a half.
SHARE_BOUND, SHARE_BOUND_SHORT = 0.9, 0.5
# Ends of holds are seen late on a busy host.
HOLD_BOUND_MS = 1.1 * MAX_HOLD_MS + 100
# Of a daemon that is started again.
POLICIES = ["hpf", "hpf", "hpf", "fair", "share", "drf"]
SAMPLE_S = 0.5
PROGRESS_S = 5
# On a busy host an attack may need longer to begin: it has this many times as long then.
DID_NOTHING, LONGER = "the attack did nothing", 5
# Attacks that join with thousands of queues before they begin.
SLOW = ["groups", "why", "deaf"]


def quantile(values, q):
    """None without values."""
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


def shown(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


class Sample:
    """The state of the daemon at a time."""

    def __init__(self, daemon, t):
        self.t = t
        self.policy = daemon.policy
        self.memory = daemon.memory()
        self.descriptors = daemon.descriptors()
        self.log = daemon.log_bytes()


class Figures:
    """What was measured in a phase."""

    def __init__(self, name, attacks, victims, samples, attackers, begin, end):
        self.name, self.attacks, self.samples = name, attacks, samples
        # Only hpf holds a program at once. An order that an attack has delayed may come after it.
        pair = [d for t, d in victims.pair.lines if t > begin and self.policy_at(t) == "hpf"]
        self.order_us = [v for d in pair for v in d["order_us"]]
        self.seen_us = [v for d in pair for v in d["seen_us"]]
        self.lost = sum(d["lost"] for d in pair)
        self.sharer = [(t, d) for t, d in victims.sharer.lines if begin + 1 < t < end]
        self.memory = max((s.memory for s in samples if s.memory is not None), default=None)
        self.descriptors = max((s.descriptors for s in samples if s.descriptors is not None),
                               default=None)
        self.log = max((s.log for s in samples), default=None)
        self.counts = {}
        for attack, keeper in attackers.items():
            total = self.counts.setdefault(attack, {"succeeded": 0, "refused": 0, "dropped": 0,
                                                    "longest_ms": 0, "hole": False})
            for _, line in keeper.lines:
                for key in ("succeeded", "refused", "dropped"):
                    total[key] += line[key]
                total["longest_ms"] = max(total["longest_ms"], line["longest_ms"])
                total["hole"] |= line["hole"]
        self.turn = None
        self.answer_ms = None

    def policy_at(self, t):
        before = [s.policy for s in self.samples if s.t <= t]
        return before[-1] if before else None

    def shares(self):
        """For each policy, the share that the patient victim had and the one it was promised. Lines
        that follow a change of the policy are left out."""
        times = {}
        for t, d in self.sharer:
            policy = self.policy_at(t)
            if policy and policy == self.policy_at(t - 2 * SAMPLE_S) and not d["out_ms"]:
                run, held = times.get(policy, (0, 0))
                times[policy] = run + d["run_ms"], held + d["held_ms"]
        return {policy: (run / (run + held), stage.promised_share(policy, self.attacks))
                for policy, (run, held) in times.items() if run + held > 1000}

    def longest_hold_ms(self):
        return max((d["longest_hold_ms"] for _, d in self.sharer), default=None)

    def to_json(self):
        return {
            "name": self.name, "attacks": self.attacks,
            "orders": len(self.order_us), "lost": self.lost,
            "order_p50_us": quantile(self.order_us, 0.5),
            "order_p99_us": quantile(self.order_us, 0.99),
            "order_max_us": quantile(self.order_us, 1),
            "seen_p50_us": quantile(self.seen_us, 0.5),
            "seen_p99_us": quantile(self.seen_us, 0.99),
            "shares": {p: {"had": had, "promised": promised}
                       for p, (had, promised) in self.shares().items()},
            "longest_hold_ms": self.longest_hold_ms(),
            "memory_bytes": self.memory, "descriptors": self.descriptors, "log_bytes": self.log,
            "turn": self.turn, "answer_ms": self.answer_ms, "attackers": self.counts,
        }


class Soak:
    """The phases, and the samples of all of them."""

    def __init__(self, args, scene):
        self.args, self.scene = args, scene
        self.rng = random.Random(args.seed)
        self.began = time.monotonic()
        self.phases, self.figures, self.samples, self.marks = [], [], [], []
        self.events = {}
        self.pair_lines = []
        self.wrong = []

    # Kills

    def kill_daemon(self, _):
        self.scene.daemon.kill()
        self.scene.daemon.start(self.rng.choice(POLICIES))

    def kill_work(self, what):
        work = self.scene.work
        wrong = {"trainer": work.kill_trainer, "server": work.kill_server,
                 "machine": work.kill_machine}[what]()
        self.wrong += [wrong] if wrong else []

    def kill_attacked_machine(self, _):
        self.scene.attacked.kill()
        self.scene.attacked.start()

    def kill_something(self, victims, attackers):
        choices = [(3, "the daemon", self.kill_daemon, None),
                   (2, "the pair", lambda k: k.kill(), victims.pair),
                   (1, "the patient victim", lambda k: k.kill(), victims.sharer),
                   (3, "an attacker", lambda k: k.kill(),
                    self.rng.choice(list(attackers.values())))]
        if self.scene.work:
            choices += [(1, f"the {what}", self.kill_work, what)
                        for what in ("trainer", "server", "machine")]
        if self.scene.attacked:
            choices.append((1, "the attacked machine", self.kill_attacked_machine, None))
        _, what, kill, which = self.rng.choices(choices, [c[0] for c in choices])[0]
        self.events[what] = self.events.get(what, 0) + 1
        self.marks.append(time.monotonic() - self.began)
        kill(which)

    # Phases

    def progress(self, name, victims, sample):
        recent = [v for _, d in victims.pair.lines[-2 * PROGRESS_S:] for v in d["order_us"]]
        print(f"[{time.monotonic() - self.began:5.0f} s] {name}: order p50 "
              f"{shown(quantile(recent, 0.5), 0)} us, max {shown(quantile(recent, 1), 0)} us, memory "
              f"{shown(sample.memory and sample.memory / MB, 1)} MB, {sample.descriptors} "
              f"descriptors, log {sample.log / MB:.1f} MB", flush=True)

    def watch(self, name, seconds, victims, attackers, kills):
        """Samples until the phase is over."""
        end = time.monotonic() + seconds
        next_kill, next_progress = time.monotonic() + 2, 0
        samples = []
        while time.monotonic() < end:
            if self.scene.daemon.process.poll() is not None:
                self.wrong.append(f"gpreemptd ended by itself, with status "
                                  f"{self.scene.daemon.process.returncode}")
                self.scene.daemon.start()
            samples.append(Sample(self.scene.daemon, time.monotonic()))
            if time.monotonic() > next_progress:
                self.progress(name, victims, samples[-1])
                next_progress = time.monotonic() + PROGRESS_S
            if kills and time.monotonic() > next_kill:
                self.kill_something(victims, attackers)
                next_kill = time.monotonic() + self.rng.uniform(2, 5)
            for keeper in (victims, *attackers.values()):
                keeper.tend()
            time.sleep(SAMPLE_S)
        return samples

    def ask_daemon(self):
        """Returns the times of the daemon's turns, if it tells them, and the time of its answer in
        milliseconds."""
        began = time.monotonic()
        answer = self.scene.daemon.ask()
        if not answer:
            return None, None
        return answer["daemon"].get("turn"), (time.monotonic() - began) * 1000

    def phase(self, name, seconds, attacks, hogs=0, kills=False):
        daemon = self.scene.daemon
        if daemon.process:
            daemon.kill()
        if os.path.exists(daemon.log):
            os.truncate(daemon.log, 0)
        daemon.start("hpf")
        daemon.wait_until_up()
        # The victims go on while the daemon is asked at the end.
        victims = stage.Victims(self.scene.paths, seconds + 3)
        attackers = {a: self.scene.attacker(a, seconds + 1) for a in attacks}
        attackers = {a: keeper for a, keeper in attackers.items() if keeper}
        others = {f"hog {i}": self.scene.hog(seconds + 1) for i in range(hogs)}
        begin = time.monotonic()
        samples = self.watch(name, seconds, victims, {**attackers, **others}, kills)
        end = time.monotonic()
        turn, answer_ms = self.ask_daemon()
        for keeper in (*attackers.values(), *others.values(), victims):
            keeper.end()
        figures = Figures(name, attacks, victims, samples, attackers, begin, end)
        figures.turn, figures.answer_ms = turn, answer_ms
        self.phases.append((name, begin - self.began, time.monotonic() - self.began))
        self.figures.append(figures)
        self.samples += samples
        # A gap in the plot where another policy was in force.
        self.pair_lines += [(t, d["order_us"] if figures.policy_at(t) == "hpf" else [])
                            for t, d in victims.pair.lines]
        return figures

    def run(self):
        seconds = self.args.seconds
        attacks = self.args.attacks
        work = self.scene.work
        if work:
            self.scene.daemon.start("hpf")
            self.scene.daemon.wait_until_up()
            work.start()
        self.phase("nobody else", seconds * 0.1, [])
        self.phase("CPU hogs", seconds * 0.15, [], hogs=len(attacks))
        self.phase("attackers", seconds * 0.25, attacks)
        self.phase("attackers and kills", seconds * 0.5, attacks, kills=True)
        if work:
            wrong = work.end()
            self.wrong += [wrong] if wrong else []

    # Results

    def bounds(self):
        """Rows of: what is bounded, the value, the bound, whether it holds, whether it is a ratio of
        times."""
        quiet, hogs, attacked, killed = self.figures
        rows = []
        for what, q in (("p50", 0.5), ("p99", 0.99)):
            ours, theirs = quantile(attacked.order_us, q), quantile(hogs.order_us, q)
            ratio = ours / theirs if ours and theirs else None
            rows.append((f"time to the hold order beside attackers, over beside hogs, {what}", ratio,
                         f"<= {RATIO_BOUND}", ratio is not None and ratio <= RATIO_BOUND, True))
        if attacked.turn:
            p99 = attacked.turn["p99_us"]
            rows.append(("turns of the daemon, p99, us", p99, f"<= {TURN_P99_BOUND_US}",
                         p99 <= TURN_P99_BOUND_US, True))
        for f in (quiet, hogs, attacked, killed):
            memory = f.memory / MB
            rows.append((f"{f.name}: memory of the daemon, MB", memory, f"<= {MEMORY_BOUND // MB}",
                         f.memory <= MEMORY_BOUND, False))
        for f in (attacked, killed):
            rows.append((f"{f.name}: decision log, MB", f.log / MB, f"<= {self.args.log_limit}",
                         f.log <= self.args.log_limit * MB, False))
            rows.append((f"{f.name}: hold orders that never came", f.lost, "0", not f.lost, False))
            hold = f.longest_hold_ms()
            rows.append((f"{f.name}: longest hold, ms", hold, f"<= {HOLD_BOUND_MS:.0f}",
                         hold is not None and hold <= HOLD_BOUND_MS, False))
            for policy, (had, promised) in f.shares().items():
                rows.append((f"{f.name}: share under {policy}, %", had * 100,
                             f">= {SHARE_BOUND * promised * 100:.1f}",
                             had >= SHARE_BOUND * promised, False))
            holes = [a for a, counts in f.counts.items() if counts["hole"]]
            rows.append((f"{f.name}: attacks that got what they must not: "
                         f"{', '.join(holes) or 'none'}", len(holes), "0", not holes, False))
        rows.append(("results that are wrong, and unexpected ends", len(self.wrong), "0",
                     not self.wrong, False))
        return rows

    def print_table(self):
        head = ["", *(f.name for f in self.figures)]
        rows = []

        def row(name, value):
            rows.append([name, *(value(f) for f in self.figures)])

        row("hold orders", lambda f: str(len(f.order_us)))
        for name, values in (("order", "order_us"), ("seen", "seen_us")):
            for label, q in (("p50", 0.5), ("p99", 0.99), ("max", 1)):
                row(f"{name} {label}, us",
                    lambda f, v=values, q=q: shown(quantile(getattr(f, v), q), 0))
        row("lost orders", lambda f: str(f.lost))
        row("share, %", lambda f: ", ".join(f"{p} {100 * had:.1f} of {100 * promised:.1f}"
                                            for p, (had, promised) in f.shares().items()) or "-")
        row("longest hold, ms", lambda f: shown(f.longest_hold_ms(), 0))
        row("memory, MB", lambda f: shown(f.memory and f.memory / MB, 1))
        row("descriptors", lambda f: str(f.descriptors))
        row("log, MB", lambda f: shown(f.log / MB, 1))
        row("answer of ps, ms", lambda f: shown(f.answer_ms, 0))
        row("turn p99, us", lambda f: shown(f.turn and f.turn.get("p99_us"), 0))
        print_columns([head, *rows])
        print()
        print_columns([["attack", "succeeded", "refused", "dropped", "longest wait, ms", "hole"],
                       *attack_rows(self.figures[2])])
        print()

    def document(self, bounds):
        return {
            "schema": 1, "bench": "hostile-soak", "device": "none", "seed": self.args.seed,
            "seconds": self.args.seconds,
            "results": [f.to_json() for f in self.figures],
            "kills": self.events, "wrong": self.wrong, "notes": self.scene.notes,
            "bounds": [{"text": text, "value": value, "limit": limit, "holds": holds,
                        "is_time_ratio": timed} for text, value, limit, holds, timed in bounds],
            "series": [{"t": round(s.t - self.began, 2), "memory_bytes": s.memory,
                        "descriptors": s.descriptors, "log_bytes": s.log} for s in self.samples],
        }

    def draw(self):
        def over_time(value):
            return [(s.t - self.began, value(s)) for s in self.samples]

        def latency(q):
            return [(t - self.began, quantile(times, q)) for t, times in self.pair_lines]

        panels = [
            plot.Panel("time from urgent work to the hold order, us",
                       {"median": latency(0.5), "longest": latency(1)}, logarithmic=True),
            plot.Panel("memory of gpreemptd, MB",
                       {"resident": over_time(lambda s: s.memory and s.memory / MB)},
                       bound=MEMORY_BOUND / MB),
            plot.Panel("descriptors of gpreemptd", {"open": over_time(lambda s: s.descriptors)}),
            plot.Panel("decision log, MB", {"size": over_time(lambda s: s.log / MB)},
                       bound=self.args.log_limit),
        ]
        return plot.draw("gpreemptd attacked", panels, self.phases, self.marks,
                         max(end for _, _, end in self.phases))

    def finish(self):
        bounds = self.bounds()
        os.makedirs(self.args.out, exist_ok=True)
        with open(self.args.out + "/hostile-soak.json", "w", encoding="utf-8") as out:
            json.dump(self.document(bounds), out, indent=1)
        with open(self.args.out + "/hostile-soak.svg", "w", encoding="utf-8") as out:
            out.write(self.draw())
        self.print_table()
        print("killed: " + ", ".join(f"{what} {n} times" for what, n in sorted(self.events.items())))
        if self.scene.work:
            print(f"results checked: {len(self.scene.work.results)}")
        failed = []
        for text, value, limit, holds, timed in bounds:
            judged = not timed or self.args.judge
            if not holds and judged:
                failed.append(f"{text}: {shown(value)}, and not {limit}")
            print(f"{'ok    ' if holds else 'FAILED' if judged else 'over  '}  {text}: "
                  f"{shown(value)} ({limit})")
        for sentence in (*self.wrong, *self.scene.notes):
            print(sentence)
        print(f"wrote {self.args.out}/hostile-soak.json and .svg")
        if failed:
            print(f"FAILED: {len(failed)} bounds are exceeded; the first: {failed[0]}",
                  file=sys.stderr)
        return 1 if failed else 0


def print_columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def attack_rows(figures):
    return [[attack, str(c["succeeded"]), str(c["refused"]), str(c["dropped"]),
             shown(c["longest_ms"], 0), "yes" if c["hole"] else "-"]
            for attack, c in figures.counts.items()]


# Each attack alone

def expected_failures():
    """Attacks that the daemon does not withstand yet, with the reason."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected-failures")
    with open(path, encoding="utf-8") as lines:
        expected = dict(line.rstrip().split(None, 1) for line in lines
                        if line.strip() and not line.startswith("#"))
    unknown = set(expected) - set(ATTACKS)
    if unknown:
        sys.exit(f"{path}: no such attack: {', '.join(unknown)}")
    return expected


def wait_for_order(victims, after):
    """Waits until the pair has reported a hold order that came after this time."""
    end = time.monotonic() + stage.PATIENCE_S
    while time.monotonic() < end:
        if any(t > after + 2 * SAMPLE_S and d["order_us"] for t, d in victims.pair.lines):
            return True
        time.sleep(0.1)
    return False


def attack_once(args, scene, attack, factor=1):
    """Runs an attack beside the victims. Returns sentences about what it did to them."""
    weighs = attack == "weight"
    takes = attack in (*CLAIMING, "announce")
    seconds = factor * (max(args.each, 5) if takes or attack in SLOW else args.each)
    daemon = scene.daemon
    daemon.start("fair" if weighs else "hpf")
    daemon.wait_until_up()
    # The victim of weights is the equal of the attacker; the others are more patient.
    victims = stage.Victims(scene.paths, seconds + 3 * stage.PATIENCE_S, 7 if weighs else 2)
    wrong, samples = [], []
    if not wait_for_order(victims, 0):
        wrong.append("the victim was not held before the attack")
    begin = time.monotonic()
    keeper = scene.attacker(attack, seconds)
    while keeper.now.process.poll() is None and time.monotonic() < begin + 2 * stage.PATIENCE_S:
        samples.append(Sample(daemon, time.monotonic()))
        time.sleep(0.1)
    keeper.end()
    end = time.monotonic()
    if daemon.process.poll() is not None:
        wrong.append(f"gpreemptd ended with status {daemon.process.returncode}")
    elif not daemon.ask():
        wrong.append("gpreemptd does not answer")
    elif not wait_for_order(victims, time.monotonic()):
        wrong.append("the victim was not held after the attack")
    figures = Figures(attack, [attack], victims, samples, {attack: keeper}, begin, end)
    wrong += judge_alone(args, figures, takes)
    victims.pair.stop()
    victims.sharer.stop()
    daemon.kill()
    if os.path.exists(daemon.log):
        os.unlink(daemon.log)
    return figures, wrong


def judge_alone(args, figures, takes):
    wrong = []
    counts = figures.counts[figures.name]
    if not sum(counts[key] for key in ("succeeded", "refused", "dropped")):
        wrong.append(DID_NOTHING)
    if counts["hole"]:
        wrong.append(f"it succeeded {counts['succeeded']} times")
    if figures.lost:
        wrong.append(f"{figures.lost} hold orders did not come")
    if figures.memory > MEMORY_BOUND:
        wrong.append(f"the daemon had {figures.memory / MB:.0f} MB")
    if figures.log > args.log_limit * MB:
        wrong.append(f"the decision log had {figures.log / MB:.0f} MB")
    for policy, (had, promised) in figures.shares().items() if takes else ():
        if had < SHARE_BOUND_SHORT * promised:
            wrong.append(f"the patient victim had {100 * had:.1f} % of its GPU under {policy}, and "
                         f"{100 * promised:.1f} % are promised")
    return wrong


def run_each(args, scene):
    expected = expected_failures()
    status = 0
    rows = [["attack", "succeeded", "refused", "dropped", "order p50, us", "p99, us", "max, us",
             "memory, MB", "log, MB", "share, %", "verdict"]]
    for attack in args.attacks:
        if attack == "machine" and not scene.attacked:
            print(f"skipped   {attack}: {scene.notes[0]}")
            continue
        figures, wrong = attack_once(args, scene, attack)
        if DID_NOTHING in wrong:
            figures, wrong = attack_once(args, scene, attack, LONGER)
        verdict = "withstood" if not wrong else "expected" if attack in expected else "FAILED"
        status |= verdict == "FAILED"
        print(f"{verdict:9} {attack}: {'; '.join(wrong) or 'nobody else noticed'}", flush=True)
        if not wrong and attack in expected:
            print(f"          {attack} is withstood: remove it from expected-failures if that lasts")
        shares = ", ".join(f"{p} {100 * had:.1f}" for p, (had, _) in figures.shares().items())
        rows.append([*attack_rows(figures)[0][:4],
                     *(shown(quantile(figures.order_us, q), 0) for q in (0.5, 0.99, 1)),
                     shown(figures.memory / MB, 1), shown(figures.log / MB, 1), shares or "-",
                     verdict])
    print()
    print_columns(rows)
    if status:
        print("FAILED: the daemon does not withstand an attack that is not in expected-failures",
              file=sys.stderr)
    return status


# Starting

def enter_namespaces():
    """Runs this program again in namespaces of its own: no process survives it, and /etc/subuid is
    its own."""
    wrapper = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.environ.get("HOSTILE_INSIDE"):
        return
    if subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("unshare is not permitted: subordinate uids have no owner")
        return
    os.environ["HOSTILE_INSIDE"] = "1"
    os.execvp(wrapper[0], [*wrapper, sys.executable, *sys.argv])


def own_subuids(folder):
    """The attacker "subuids" owns the uids that it uses."""
    if not os.environ.get("HOSTILE_INSIDE") or not os.path.exists("/etc/subuid"):
        return
    first, count = stage.SUBORDINATE
    with open(folder + "/subuid", "w", encoding="utf-8") as out:
        out.write(f"{stage.user_of('subuids')}:{first}:{count}\n")
    subprocess.run(["mount", "--bind", folder + "/subuid", "/etc/subuid"], check=True)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpreempt", type=os.path.abspath)
    parser.add_argument("gpreemptd", type=os.path.abspath)
    parser.add_argument("programs", type=os.path.abspath)
    parser.add_argument("workloads", type=os.path.abspath)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--each", type=int, metavar="SECONDS")
    parser.add_argument("--attacks", type=lambda text: text.split(","), default=ATTACKS)
    parser.add_argument("--out", default=".")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--log-limit", type=int, default=64, metavar="MB")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    unknown = set(args.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"no such attack: {', '.join(unknown)}")
    return args


def main():
    args = parse()
    if os.geteuid():
        print("only root can be other users: run this as root")
        sys.exit(77)
    enter_namespaces()
    folder = tempfile.mkdtemp(prefix="gpreempt-hostile-")
    os.chmod(folder, 0o755)
    own_subuids(folder)
    scene = stage.Stage(args, folder)
    try:
        scene.find_machines()
        if args.each:
            sys.exit(run_each(args, scene))
        print(f"{args.seconds} s, seed {args.seed}", flush=True)
        soak = Soak(args, scene)
        soak.run()
        sys.exit(soak.finish())
    finally:
        scene.end()


main()
