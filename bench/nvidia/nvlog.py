# SPDX-License-Identifier: MIT
"""Joins requests with the decision log of gpreemptd: why a request was slow.

Both have the times of CLOCK_MONOTONIC. For each slow request, the time of it that another program was
allowed on the GPU is divided by the reason:

    not seen            the daemon had not yet been told of the request's work
    hold not done       it had ordered the hold, and the agent had not acknowledged it
    equal               another program with at least the server's priority was there
    released: RULE      it had released the other program, by this rule of the decision log
    time slices: RULE   the same, while the other program had a weight for shorter time slices
    server held: RULE   it held the server itself

The log says what the daemon allowed, not what the hardware did: a program that is allowed on the GPU and
has work need not run.
"""
import bisect
from collections import namedtuple

from nvstats import median, percentile

Line = namedtuple("Line", "at entity what fields text")
ORDERS = ("exclude", "admit")
REPORTS = ("unresponsive", "recovered", "failed", "inversion", "lingered")
NOBODY = "no other program"
BEFORE_NS = 2_000_000  # announcements come before the request
ACK_NS = 2_000_000_000  # an acknowledgement that comes later is none


def parse(lines):
    found = []
    for text in lines:
        words = text.split()
        if len(words) >= 5 and words[0].isdigit() and words[1] in "<>!":
            fields = dict(w.split("=", 1) for w in words[5:] if "=" in w)
            found.append(Line(int(words[0]), words[3], words[4], fields, text))
    return found


class Prelude:
    """The lines that say how things stood at the end of a log, so that the rest can be read alone."""

    KIND = {"exclude": "order", "admit": "order", "ready": "work", "idle": "work",
            "entity-add": "entity", "queue-add": "queue", "weigh": "weight", "ack": "ack"}

    def __init__(self):
        self.last = {}

    def feed(self, lines):
        for line in parse(lines):
            if line.what == "entity-remove":
                self.last = {k: v for k, v in self.last.items() if k[0] != line.entity}
            elif line.what in ("config", "policy"):
                self.last[(line.what, *(line.fields if line.what == "config" else ()))] = line
            elif line.what in self.KIND:
                self.last[line.entity, line.fields.get("q"), self.KIND[line.what]] = line

    def lines(self):
        return [line.text for line in sorted(self.last.values(), key=lambda line: line.at)]


class Follower:
    """Reads a log while it grows."""

    def __init__(self, path):
        self.path, self.at, self.prelude = path, 0, Prelude()

    def _read(self):
        try:
            with open(self.path, "rb") as f:
                f.seek(self.at)
                text = f.read()
        except FileNotFoundError:
            return []
        text = text[:text.rfind(b"\n") + 1]
        self.at += len(text)
        return text.decode("utf-8", "replace").splitlines()

    def skip(self):
        """Begins a piece of the log."""
        self.prelude.feed(self._read())

    def take(self):
        """The piece of the log since the last call, which can be read alone."""
        before, lines = self.prelude.lines(), self._read()
        self.prelude.feed(lines)
        return before + lines


class Queue:
    def __init__(self):
        self.work = self.acked = False
        self.order, self.rule, self.weighed = "admit", "never held", None


class Entity:
    def __init__(self, process, prio):
        self.process, self.prio, self.queues = process, prio, {}

    def state(self):
        """(has work, "released", "holding" or "held", the rule, whether it has a weight)"""
        queues = list(self.queues.values())
        work = any(q.work for q in queues)
        held = [q for q in queues if q.order == "exclude"]
        if held:
            done = all(q.acked for q in held)
            return work, "held" if done else "holding", held[-1].rule, False
        rule = queues[-1].rule if queues else "never held"
        weighed = [q.weighed for q in queues if q.weighed]
        return work, "released", rule, weighed[-1] if weighed else None


class Log:
    """The states of all entities over time."""

    def __init__(self, lines):
        self.lines = sorted(parse(lines), key=lambda line: line.at)
        self.times = [line.at for line in self.lines]
        self.entities, self.changes = {}, {}  # entity -> [(time, state)]
        for line in self.lines:
            if line.what == "entity-add":
                self.entities[line.entity] = Entity(int(line.fields["process"]),
                                                    int(line.fields.get("prio", 0)))
                self.changes[line.entity] = []
            if line.entity in self.entities:
                self._apply(self.entities[line.entity], line)
                state = self.entities[line.entity].state()
                known = self.changes[line.entity]
                if line.what == "entity-remove":
                    state = (False, "released", "ended", None)
                if not known or known[-1][1] != state:
                    known.append((line.at, state))

    @staticmethod
    def _apply(entity, line):
        if line.what == "queue-remove":
            entity.queues.pop(line.fields["q"], None)
            return
        if "q" not in line.fields:
            return
        queue = entity.queues.setdefault(line.fields["q"], Queue())
        if line.what in ("ready", "idle"):
            queue.work = line.what == "ready"
        elif line.what in ORDERS:
            queue.order, queue.rule, queue.acked = line.what, line.fields.get("why"), False
        elif line.what == "ack":
            queue.acked = line.fields.get("result") == "0"
        elif line.what == "weigh":
            # A weight of 0 is the driver's own time slice.
            queue.weighed = line.fields.get("why") if line.fields.get("weight") != "0" else None

    def within(self, begin, end):
        return self.lines[bisect.bisect_left(self.times, begin):bisect.bisect_left(self.times, end)]

    def of(self, pids):
        return {name for name, entity in self.entities.items() if entity.process in pids}

    def pieces(self, entity, begin, end):
        """[(from, to, state)] of an entity within a time."""
        changes = self.changes[entity]
        i = max(0, bisect.bisect_right(changes, begin, key=lambda change: change[0]) - 1)
        while i < len(changes) and changes[i][0] < end:
            at, state = changes[i]
            i += 1
            until = changes[i][0] if i < len(changes) else end
            if until > begin:
                yield max(at, begin), min(until, end), state

    def seen(self, mine, came, end):
        """The time until the daemon knew of the server's work: 0 if it still had some in its view,
        None if it was never told."""
        for entity in mine:
            if any(state[0] for _, _, state in self.pieces(entity, came, came + 1)):
                return 0
        told = (line.at for line in self.within(came, end)
                if line.what == "ready" and line.entity in mine)
        return next((at - came for at in told), None)

    def acks(self, begin, end):
        """[(order, time until it was acknowledged or None)] of the holds and releases ordered within
        a time."""
        waiting, found = {}, []
        for line in self.within(begin, end + ACK_NS):
            key = (line.entity, line.fields.get("q"))
            if line.what in ORDERS and line.at < end:
                waiting[key] = len(found)
                found.append((line, None))
            elif line.what == "ack" and key in waiting:
                order = found[waiting[key]][0]
                found[waiting.pop(key)] = (order, line.at - order.at)
        return found


def reasons(log, mine, came, end):
    """Nanoseconds of a request for each reason, and the time until it was seen."""
    seen = log.seen(mine, came, end)
    known_at = end if seen is None else came + seen
    spent, prio = {}, max((log.entities[e].prio for e in mine), default=0)

    def add(reason, begin, until):
        if until > begin:
            spent[reason] = spent.get(reason, 0) + until - begin

    for name, entity in log.entities.items():
        for begin, until, (work, state, rule, weighed) in log.pieces(name, came, end):
            if name in mine:
                if state != "released":
                    add(f"server held: {rule}", begin, until)
            elif work and state == "released" and entity.prio >= prio:
                add("equal", begin, until)
            elif work and state == "holding":
                add("hold not done", begin, until)
            elif work and state == "released":
                add("not seen", begin, min(until, known_at))
                add(f"time slices: {rule}" if weighed else f"released: {rule}",
                    max(begin, known_at), until)
    return spent, seen


def events(log, mine, begin, end, most=14):
    """What the daemon was told and ordered during a request and just before, as words."""
    found = []
    acked = {id(line): took for line, took in log.acks(begin - BEFORE_NS, end)}
    for line in log.within(begin - BEFORE_NS, end):
        who = f"{line.entity}{' (server)' if line.entity in mine else ''}"
        at = f"{(line.at - begin) / 1e6:+.2f} ms "
        if line.what in ORDERS:
            took = acked.get(id(line))
            done = "not acknowledged" if took is None else f"done in {took / 1e6:.2f} ms"
            verb = "hold" if line.what == "exclude" else "release"
            found.append(f"{at}{verb} {who}: {line.fields.get('why')}, {done}")
        elif line.what == "weigh":
            found.append(f"{at}weigh {who}: {line.fields.get('weight')}")
        elif line.what in ("ready", "idle", "arriving") and line.entity in mine:
            found.append(f"{at}{line.what} {who}")
        elif line.what in REPORTS:
            found.append(f"{at}{line.what} {who}")
    if len(found) > most:
        left = len(found) - most
        found = found[:most - 4] + [f"({left} more)"] + found[-4:]
    return found


def slow(log, pids, requests, limit_ns, usual_ns):
    """The requests [(came, took)] of these processes that took longer than the limit, with reasons.

    A reason is the main one if it has the most time, and at least a tenth of what the request took
    longer than usual; otherwise no other program was allowed on the GPU for long enough.
    """
    mine, found = log.of(pids), []
    for came, took in requests:
        if took <= limit_ns:
            continue
        spent, seen = reasons(log, mine, came, came + took)
        main = max(spent, key=spent.get, default=None)
        if main is None or spent[main] < (took - usual_ns) / 10:
            main = NOBODY
        acks = [ns for line, ns in log.acks(came, came + took) if ns and line.what == "exclude"]
        found.append({"came_ns": came, "took_ns": took, "main": main, "spent_ns": spent,
                      "seen_ns": seen, "slowest_hold_ns": max(acks, default=None),
                      "events": events(log, mine, came, came + took)})
    return found


class Overview:
    """What the daemon did during all requests of a situation, slow or not."""

    HEAD = ["situation", "requests", "seen after, p50 and p99 ms", "never told",
            "time with another program allowed", "holds", "done in, p50 and p99 ms",
            "releases of others, by rule"]

    def __init__(self):
        self.seen, self.beside, self.took, self.holds, self.rules = [], 0, 0, [], {}

    def add(self, log, pids, requests):
        mine = log.of(pids)
        for came, took in requests:
            spent, seen = reasons(log, mine, came, came + took)
            self.seen.append(seen)
            self.beside += sum(ns for reason, ns in spent.items() if not reason.startswith("server"))
            self.took += took
            for line, done in log.acks(came, came + took):
                if line.entity in mine:
                    continue
                if line.what == "exclude":
                    self.holds.append(done)
                else:
                    rule = line.fields.get("why")
                    self.rules[rule] = self.rules.get(rule, 0) + 1

    def row(self, situation):
        told, done = ([v for v in values if v is not None] for values in (self.seen, self.holds))
        share = f"{100 * self.beside / self.took:.1f} %" if self.took else "-"
        rules = sorted(self.rules.items(), key=lambda item: -item[1])
        return [situation, len(self.seen), _two(told), len(self.seen) - len(told), share,
                len(self.holds), _two(done),
                ", ".join(f"{rule} {count}" for rule, count in rules) or "none"]


def _two(values):
    return " and ".join(_ms(percentile(values, share)) for share in (.5, .99))


def _ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.2f}"


SUMMARY_HEAD = ["situation", "slow requests", "of", "main reason", "how many",
                "its time in them, median ms", "seen after, median ms", "slowest hold, p99 ms"]
DETAIL_HEAD = ["situation", "took ms", "main reason", "time by reason, ms", "seen after, ms",
               "what the daemon was told and ordered"]


def summary_rows(situation, found, total):
    """A row for each main reason, the most frequent first."""
    rows = []
    by_main = {}
    for one in found:
        by_main.setdefault(one["main"], []).append(one)
    for main, ones in sorted(by_main.items(), key=lambda item: -len(item[1])):
        rows.append([situation, len(found), total, main, len(ones),
                     _ms(median([o["spent_ns"].get(main) for o in ones])),
                     _ms(median([o["seen_ns"] for o in ones])),
                     _ms(percentile([o["slowest_hold_ns"] for o in ones
                                     if o["slowest_hold_ns"] is not None], .99))])
    return rows or [[situation, 0, total, "-", "-", "-", "-", "-"]]


def detail_rows(found, most=10):
    """The slowest ones; @found: [(situation, request)]."""
    slowest = sorted(found, key=lambda item: -item[1]["took_ns"])[:most]
    return [[name, _ms(one["took_ns"]), one["main"],
             ", ".join(f"{reason} {_ms(ns)}" for reason, ns in
                       sorted(one["spent_ns"].items(), key=lambda item: -item[1])) or "-",
             _ms(one["seen_ns"]), "; ".join(one["events"]) or "nothing"]
            for name, one in slowest]
