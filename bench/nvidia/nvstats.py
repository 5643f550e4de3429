# SPDX-License-Identifier: MIT
"""What bench/nvidia/run computes from what was measured. What cannot be known is None, never 0."""
import math


def percentile(values, share):
    """The smallest value that at least this share of all is not above."""
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
    """The least and the most of some runs."""
    values = [v for v in values if v is not None]
    return (min(values), max(values)) if values else None


def ratio(a, b):
    return None if a is None or not b else a / b


class Latency:
    """Runs of one situation, each a list of nanoseconds; percentiles are medians of the runs."""

    # Of a share p, a run needs this many samples before it says anything.
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


def rate(ended_ns, begin_ns=None, end_ns=None):
    """How many ended in a second, from those that ended within a time: from the first to the last."""
    inside = [t for t in ended_ns
              if (begin_ns is None or t >= begin_ns) and (end_ns is None or t <= end_ns)]
    if len(inside) < 2 or inside[-1] <= inside[0]:
        return None
    return (len(inside) - 1) * 1e9 / (inside[-1] - inside[0])


def first_after(ended_ns, at):
    """How long after a time the next one ended; None: none did."""
    later = [t for t in ended_ns if t >= at]
    return later[0] - at if later else None


def suspends(lines, pid_entities=None):
    """From a log of decisions: how long each suspend by hand took, from its coming to the last
    acknowledgement of what was excluded for it. Nanoseconds, in order."""
    took, waiting = [], {}  # entity -> [begin, queues that have not answered, last answer]
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
    """From a log of decisions: how long after its coming each request was seen to be there, of those
    that were before the next one came, and how many were not."""
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
    """How many steps of two loss curves are the same, and whether all that both have are."""
    n = min(len(a), len(b))
    same = next((i for i in range(n) if a[i] != b[i]), n)
    return same, n > 0 and same == n
