# SPDX-License-Identifier: MIT
"""Statistics of bench/nvidia/run. An unknown value is None, never 0."""
import math
import random


def percentile(values, share):
    """The smallest value that is not below this share of all values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values):
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def spread(values):
    """The minimum and the maximum of the runs."""
    values = [v for v in values if v is not None]
    return (min(values), max(values)) if values else None


def ratio(a, b):
    return None if a is None or not b else a / b


class Latency:
    """Runs of one situation, each a list of nanoseconds; percentiles are medians of the runs."""

    # A run needs this many samples for a percentile of this share.
    NEEDED = {0.5: 1, 0.99: 50, 0.999: 1000}

    def __init__(self, runs):
        self.runs = [run for run in runs if run]

    def count(self):
        return sum(len(run) for run in self.runs)

    def of_runs(self, share):
        return [percentile(run, share) for run in self.runs if len(run) >= self.NEEDED[share]]

    def us(self, share):
        """The median of the runs; where runs are too short, the percentile of all together."""
        each, together = self.of_runs(share), sum(self.runs, [])
        if each:
            value = median(each)
        elif len(together) >= self.NEEDED[share]:
            value = percentile(together, share)
        else:
            value = None
        return None if value is None else value / 1e3

    def spread_us(self, share):
        both = spread(self.of_runs(share))
        return None if both is None else tuple(v / 1e3 for v in both)

    def max_us(self):
        return max(max(run) for run in self.runs) / 1e3 if self.runs else None


class Pool:
    """Samples of one situation: blocks of requests, each with one or more values.

    Percentiles are those of all values together. Intervals are by a bootstrap in two levels, blocks
    and then requests within them, since values of one block and of one request resemble each other.
    """

    TIMES, SEED, CONFIDENCE = 400, 1, 0.95

    def __init__(self, blocks):
        """@blocks: [[[value, ...] of a request, ...] of a block, ...]"""
        self.blocks = [block for block in blocks if block]
        first = 0
        self.numbers, self.values = [], []  # of the requests in each block; (value, request)
        for block in self.blocks:
            self.numbers.append(range(first, first + len(block)))
            self.values += [(v, first + i) for i, request in enumerate(block) for v in request]
            first += len(block)
        self.values.sort()
        self.sizes = [len(request) for block in self.blocks for request in block]
        self._drawn = {}

    def count(self):
        return len(self.values)

    def at(self, share):
        if not self.values:
            return None
        return self.values[max(0, math.ceil(share * len(self.values)) - 1)][0]

    def of_blocks(self, share):
        return [percentile(sum(block, []), share) for block in self.blocks]

    def drawn(self, shares):
        """For each share, its percentile in each of the bootstrap's samples."""
        if shares not in self._drawn:
            draw = random.Random(self.SEED)
            found = [self._draw(draw, shares) for _ in range(self.TIMES)] if self.values else []
            self._drawn[shares] = [list(column) for column in zip(*found)] or [[] for _ in shares]
        return self._drawn[shares]

    def _draw(self, draw, shares):
        times = [0] * len(self.sizes)
        for _ in self.numbers:
            block = draw.choice(self.numbers)
            for i in draw.choices(block, k=len(block)):
                times[i] += 1
        total = sum(n * size for n, size in zip(times, self.sizes))
        wanted, found, reached = [s * total for s in shares], [], 0
        for value, i in self.values:
            reached += times[i]
            while len(found) < len(wanted) and reached >= wanted[len(found)]:
                found.append(value)
            if len(found) == len(wanted):
                break
        return found


def interval(drawn, confidence=Pool.CONFIDENCE):
    """The middle part of a bootstrap's results; None: there are too few."""
    drawn = [v for v in drawn if v is not None]
    if len(drawn) < 20:
        return None
    rest = (1 - confidence) / 2
    return percentile(drawn, rest), percentile(drawn, 1 - rest)


def mean_interval(values, of=None):
    """The interval of a mean, or of its ratio to another one's, by a bootstrap of single values."""
    values, of = ([v for v in some if v is not None] for some in (values, [1.0] if of is None else of))
    if len(values) < 2 or not of:
        return None
    draw, found = random.Random(Pool.SEED), []
    for _ in range(Pool.TIMES):
        a, b = (sum(draw.choices(some, k=len(some))) / len(some) for some in (values, of))
        found.append(ratio(a, b))
    return interval(found)


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def covered(spans):
    """The time that spans of time cover together."""
    total, until = 0, None
    for begin, end in sorted(spans):
        if until is None or begin > until:
            total, until = total + end - begin, end
        elif end > until:
            total, until = total + end - until, end
    return total


def rate(ended_ns, begin_ns=None, end_ns=None):
    """Ends per second, from the first to the last end within a window."""
    inside = [t for t in ended_ns
              if (begin_ns is None or t >= begin_ns) and (end_ns is None or t <= end_ns)]
    if len(inside) < 2 or inside[-1] <= inside[0]:
        return None
    return (len(inside) - 1) * 1e9 / (inside[-1] - inside[0])


def signs(moved, came):
    """For each request that a sign followed before the next one: the time until it; and the number of
    other signs. Both lists are in order."""
    after, others, i = [], 0, 0
    for this, following in zip(came, came[1:] + [float("inf")]):
        while i < len(moved) and moved[i] < this:
            others, i = others + 1, i + 1
        if i < len(moved) and moved[i] < following:
            after.append(moved[i] - this)
            i += 1
    return after, others + len(moved) - i


def first_after(ended_ns, at):
    """The time until the next end; None: there is none."""
    later = [t for t in ended_ns if t >= at]
    return later[0] - at if later else None


def suspends(lines, pid_entities=None):
    """From a decision log: the time of each suspend, from its request to the last acknowledgement of
    its holds. Nanoseconds, in order."""
    took, waiting = [], {}  # entity -> [begin, queues without an acknowledgement, last acknowledgement]
    for line in lines:
        words = line.split()
        if len(words) < 5 or not words[0].isdigit():
            continue
        at, entity, what = int(words[0]), words[3], words[4]
        fields = dict(w.split("=", 1) for w in words[5:] if "=" in w)
        if pid_entities is not None and entity not in pid_entities:
            continue
        if what == "suspend":
            waiting[entity] = [at, set(), None]
        elif what == "exclude" and entity in waiting:
            waiting[entity][1].add(fields.get("q"))
        elif what == "ack" and entity in waiting and fields.get("q") in waiting[entity][1]:
            waiting[entity][1].discard(fields["q"])
            waiting[entity][2] = at
            if not waiting[entity][1]:
                took.append(at - waiting.pop(entity)[0])
    return took


def seen(lines, entities, came_ns):
    """From a decision log: the time from the arrival of each request until the daemon saw it, for
    those seen before the next arrival, and how many were not."""
    ready = sorted(int(words[0]) for words in map(str.split, lines)
                   if len(words) > 4 and words[4] == "ready" and words[3] in entities)
    after, at = [], 0
    for i, came in enumerate(came_ns):
        while at < len(ready) and ready[at] < came:
            at += 1
        if at < len(ready) and (i + 1 == len(came_ns) or ready[at] < came_ns[i + 1]):
            after.append(ready[at] - came)
    return after, len(came_ns) - len(after)


def same_bits(a, b):
    """How many steps of two loss curves are equal, and whether all common steps are."""
    n = min(len(a), len(b))
    same = next((i for i in range(n) if a[i] != b[i]), n)
    return same, n > 0 and same == n
