# SPDX-License-Identifier: MIT
"""Reasons for slow requests, from decision logs with known contents."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ.get("NVIDIA_BENCH", "bench/nvidia"))

import nvlog  # noqa: E402
from nvlog import Log  # noqa: E402

MS = 1_000_000
SERVER, TRAINER = 100, 200


def line(ms, what, entity="e2", sign="<", **fields):
    words = "".join(f" {k}={v}" for k, v in fields.items())
    return f"{round(ms * MS)} {sign} gpu0 {entity} {what}{words}"


def add(entity, queue, process, prio):
    return [line(0, "entity-add", entity, process=process, prio=prio, tag=""),
            line(0, "queue-add", entity, q=queue, requested=3, level=3)]


def hold(ms, ack_ms=None, why="priority"):
    return [line(ms, "exclude", sign=">", q=2, level=3, why=why, by="e1")] + \
        ([line(ack_ms, "ack", q=2, result=0)] if ack_ms else [])


def release(ms, why):
    return [line(ms, "admit", sign=">", q=2, level=3, why=why, by="-"),
            line(ms + .01, "ack", q=2, result=0)]


# The server is e1, the trainer e2, which has work from the beginning.
BASE = add("e1", 1, SERVER, 15) + add("e2", 2, TRAINER, 2) + [line(1, "ready", q=2, pending=1)]


def ready(ms):
    return [line(ms, "ready", "e1", q=1, pending=1)]


def idle(ms):
    return [line(ms, "idle", "e1", q=1)]


class Reasons(unittest.TestCase):
    def one(self, lines, came=100, took=50, usual=40):
        found = nvlog.slow(Log(BASE + lines), {SERVER}, [(came * MS, took * MS)], usual * 1.2 * MS,
                           usual * MS)
        self.assertEqual(len(found), 1)
        spent = {reason: ns / MS for reason, ns in found[0]["spent_ns"].items()}
        return found[0], spent

    def test_requests_within_the_limit_are_not_slow(self):
        self.assertEqual(nvlog.slow(Log(BASE), {SERVER}, [(0, 48 * MS), (60 * MS, 47 * MS)], 48 * MS,
                                    40 * MS), [])

    def test_work_that_is_seen_late(self):
        found, spent = self.one(ready(112) + hold(112, 112.5))
        self.assertEqual(spent, {"not seen": 12, "hold not done": .5})
        self.assertEqual(found["main"], "not seen")
        self.assertEqual(found["seen_ns"], 12 * MS)
        self.assertEqual(found["slowest_hold_ns"], .5 * MS)

    def test_work_that_is_never_seen(self):
        found, spent = self.one([])
        self.assertEqual(spent, {"not seen": 50})
        self.assertIsNone(found["seen_ns"])

    def test_a_server_that_is_still_busy_is_known(self):
        found, spent = self.one(ready(90) + hold(90, 90.5))
        self.assertEqual((found["main"], spent), (nvlog.NOBODY, {}))
        self.assertEqual(found["seen_ns"], 0)

    def test_a_hold_that_is_acknowledged_late_or_not(self):
        found, spent = self.one(ready(100) + hold(101, 120))
        self.assertEqual(spent, {"released: never held": 1, "hold not done": 19})
        self.assertEqual(found["main"], "hold not done")
        _, spent = self.one(ready(100) + hold(101))
        self.assertEqual(spent["hold not done"], 49)

    def test_a_hold_that_failed_is_not_done(self):
        lines = ready(100) + hold(100) + [line(105, "ack", q=2, result=-5)]
        self.assertEqual(self.one(lines)[1], {"hold not done": 50})

    def test_a_grant_is_named_by_its_rule(self):
        found, spent = self.one(ready(90) + hold(90, 91) + release(110, "min-share") + hold(120, 121))
        self.assertEqual(spent, {"released: min-share": 10, "hold not done": 1})
        self.assertEqual(found["main"], "released: min-share")

    def test_time_slices_are_told_from_a_release(self):
        weigh = [line(95, "weigh", sign=">", q=2, weight=16777214, why="weight", by="-")]
        _, spent = self.one(ready(101) + weigh)
        self.assertEqual(spent, {"not seen": 1, "time slices: never held": 49})
        weigh.append(line(111, "weigh", sign=">", q=2, weight=0, why="weight", by="-"))
        _, spent = self.one(ready(101) + weigh)
        self.assertEqual(spent["released: never held"], 39)

    def test_a_server_that_is_held_itself(self):
        lines = ready(90) + hold(90, 91) + [
            line(110, "exclude", "e1", ">", q=1, level=3, why="slice", by="e2"),
            line(130, "admit", "e1", ">", q=1, level=3, why="chosen", by="-")]
        found, spent = self.one(lines)
        self.assertEqual(spent, {"server held: slice": 20})
        self.assertEqual(found["main"], "server held: slice")

    def test_a_program_without_work_is_not_on_the_gpu(self):
        _, spent = self.one(ready(100) + [line(100, "idle", q=2)])
        self.assertEqual(spent, {})

    def test_little_time_of_another_program_is_not_the_reason(self):
        found, spent = self.one(ready(90) + hold(90, 91) + release(149.5, "chosen"))
        self.assertEqual(spent, {"released: chosen": .5})
        self.assertEqual(found["main"], nvlog.NOBODY)

    def test_a_program_that_has_ended_is_not_there(self):
        lines = [line(105, "entity-remove")] + ready(101)
        self.assertEqual(self.one(lines)[1], {"not seen": 1, "released: never held": 4})

    def test_an_equal_program_is_not_the_daemons_choice(self):
        lines = add("e3", 3, 300, 15) + [line(110, "ready", "e3", q=3, pending=1)] + ready(100) + \
            hold(100, 101) + [line(130, "idle", "e3", q=3)]
        found, spent = self.one(lines)
        self.assertEqual(spent, {"equal": 20, "hold not done": 1})
        self.assertEqual(found["main"], "equal")

    def test_events_are_in_words(self):
        found, _ = self.one([line(99, "arriving", "e1", at=100 * MS)] + hold(99.2, 99.7) + ready(100.6) +
                            release(120, "max-hold") + [line(130, "inversion", "e1", "!", by="e2")])
        self.assertEqual(found["events"], [
            "-1.00 ms arriving e1 (server)", "-0.80 ms hold e2: priority, done in 0.50 ms",
            "+0.60 ms ready e1 (server)", "+20.00 ms release e2: max-hold, done in 0.01 ms",
            "+30.00 ms inversion e1 (server)"])

    def test_many_events_are_cut_in_the_middle(self):
        found, _ = self.one(sum([ready(100 + i) + idle(100.5 + i) for i in range(40)], []))
        self.assertEqual(len(found["events"]), 15)
        self.assertEqual(found["events"][10], "(66 more)")
        self.assertEqual(found["events"][-1], "+39.50 ms idle e1 (server)")


def prelude(lines):
    found = nvlog.Prelude()
    found.feed(lines)
    return found.lines()


class Prelude(unittest.TestCase):
    def test_the_rest_of_a_log_reads_as_the_whole(self):
        whole = BASE + ready(10) + hold(10, 11) + idle(20) + release(20, "chosen") + ready(30) + \
            hold(30, 31) + [line(31.5, "weigh", sign=">", q=2, weight=5, why="weight", by="-")] + \
            ready(101) + release(120, "ageing")
        requests = [(100 * MS, 50 * MS)]
        wanted = nvlog.slow(Log(whole), {SERVER}, requests, 1, 1)
        self.assertEqual(wanted[0]["spent_ns"], {"time slices: ageing": 30 * MS})
        for cut in range(1, len(whole) - 2):
            some = prelude(whole[:cut]) + whole[cut:]
            self.assertEqual(nvlog.slow(Log(some), {SERVER}, requests, 1, 1), wanted, cut)
        self.assertLess(len(prelude(whole)), len(whole))

    def test_programs_that_have_ended_are_not_in_it(self):
        kept = prelude(BASE + [line(5, "entity-remove", "e2")])
        self.assertEqual([text for text in kept if " e2 " in text], [])

    def test_the_configuration_in_force_is_in_it(self):
        log = ["0 < - - config linger_us=50", "0 < - - config tries=3", "0 < - - policy hpf age_ms=500",
               "9 < - - config linger_us=3000", "9 < - - policy fair quantum_ms=10"]
        self.assertEqual(prelude(log), [log[1], log[3], log[4]])


class Following(unittest.TestCase):
    def test_pieces_of_a_growing_log_can_be_read_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            follower = nvlog.Follower(path)
            self.assertEqual(follower.take(), [])
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(BASE) + "\n")
                f.flush()
                follower.skip()
                f.write("\n".join(ready(10)) + "\n" + idle(11)[0][:9])
                f.flush()
                self.assertEqual(follower.take(), BASE + ready(10))
                f.write(idle(11)[0][9:] + "\n")
                f.flush()
                self.assertEqual(follower.take(), BASE + ready(10) + idle(11))
                self.assertEqual(follower.take(), BASE + idle(11))


class Overview(unittest.TestCase):
    def test_all_requests_count(self):
        log = Log(BASE + ready(101) + hold(101, 103) + idle(120) + release(120, "chosen") +
                  ready(202) + hold(202, 206))
        view = nvlog.Overview()
        view.add(log, {SERVER}, [(100 * MS, 25 * MS), (200 * MS, 75 * MS), (90 * MS, 5 * MS)])
        self.assertEqual(view.row("x"), ["x", 3, "1.00 and 2.00", 1, "18.1 %", 2, "2.00 and 4.00",
                                         "chosen 1"])
        self.assertEqual(nvlog.Overview().row("x")[1:3], [0, "- and -"])


class Tables(unittest.TestCase):
    def test_reasons_are_counted_and_the_slowest_are_shown(self):
        def one(main, took):
            return {"came_ns": 0, "took_ns": took * MS, "main": main, "spent_ns": {main: MS},
                    "seen_ns": None, "slowest_hold_ns": 2 * MS, "events": []}

        found = [one("a", 50 + i) for i in range(20)] + [one("b", 90)]
        rows = nvlog.summary_rows("x", found, 100)
        self.assertEqual([row[:5] for row in rows], [["x", 21, 100, "a", 20], ["x", 21, 100, "b", 1]])
        self.assertEqual(nvlog.summary_rows("x", [], 100)[0][:4], ["x", 0, 100, "-"])
        detail = nvlog.detail_rows([("x", o) for o in found])
        self.assertEqual(len(detail), 10)
        self.assertEqual([row[1] for row in detail[:2]], ["90.00", "69.00"])


if __name__ == "__main__":
    unittest.main()
