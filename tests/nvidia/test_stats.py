# SPDX-License-Identifier: MIT
"""Statistics and reports of the NVIDIA benchmark, from figures with known results."""
import os
import random
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, os.environ.get("NVIDIA_BENCH", "bench/nvidia"))

import nvreport  # noqa: E402
import nvstats  # noqa: E402
from nvstats import Latency, Pool  # noqa: E402

MS = 1_000_000


class Percentiles(unittest.TestCase):
    def test_they_are_values_that_were_seen(self):
        values = list(range(1, 101))
        self.assertEqual(nvstats.percentile(values, .5), 50)
        self.assertEqual(nvstats.percentile(values, .99), 99)
        self.assertEqual(nvstats.percentile(values, .999), 100)
        self.assertEqual(nvstats.percentile([7], .999), 7)

    def test_nothing_has_none(self):
        self.assertIsNone(nvstats.percentile([], .5))
        self.assertIsNone(nvstats.median([]))
        self.assertIsNone(nvstats.median([None]))
        self.assertIsNone(nvstats.spread([None, None]))
        self.assertIsNone(nvstats.ratio(None, 1))
        self.assertIsNone(nvstats.ratio(1, 0))

    def test_the_median_of_runs_is_not_that_of_all_together(self):
        slow = [100 * MS] * 1000
        runs = [[MS] * 100, [2 * MS] * 100, [3 * MS] * 100, slow, slow]
        self.assertEqual(Latency(runs).us(.99), 3000)
        self.assertEqual(Latency(runs).spread_us(.99), (1000, 100000))
        self.assertEqual(Latency(runs).max_us(), 100000)
        self.assertEqual(Latency(runs).count(), 2300)

    def test_short_runs_say_nothing_of_a_tail_unless_together(self):
        self.assertIsNone(Latency([[MS] * 20]).us(.99))
        self.assertIsNone(Latency([[MS] * 20]).spread_us(.99))
        self.assertEqual(Latency([[MS] * 20, [2 * MS] * 40, []]).us(.99), 2000)
        self.assertIsNone(Latency([]).us(.5))
        self.assertIsNone(Latency([[]]).max_us())


class Pools(unittest.TestCase):
    def test_percentiles_are_of_all_blocks_together(self):
        pool = Pool([[[1], [2]], [[3, 4], [5]], []])
        self.assertEqual(pool.count(), 5)
        self.assertEqual([pool.at(s) for s in (.5, .99)], [3, 5])
        self.assertEqual(pool.of_blocks(.99), [2, 5])
        self.assertIsNone(Pool([]).at(.5))
        self.assertEqual(Pool([]).drawn((.5,)), [[]])

    def test_an_interval_has_the_value_in_it_and_narrows_with_more_samples(self):
        draw = random.Random(3)
        widths = []
        for n in (20, 500):
            pool = Pool([[[draw.gauss(100, 10)] for _ in range(n)] for _ in range(5)])
            low, high = nvstats.interval(pool.drawn((.5, .99))[0])
            self.assertLess(low, pool.at(.5))
            self.assertGreater(high, pool.at(.5))
            widths.append(high - low)
        self.assertLess(widths[1], widths[0] / 2)

    def test_one_block_in_five_that_is_slow_is_in_the_interval(self):
        blocks = [[[1]] * 100] * 4 + [[[3]] * 100]
        low, high = nvstats.interval(Pool(blocks).drawn((.99,))[0])
        self.assertEqual((low, high), (1, 3))

    def test_values_of_one_request_are_drawn_together(self):
        # Ten requests of 50 values each, one of which is slow: drawn one by one, p95 would be 2 nearly
        # always.
        pool = Pool([[[1] * 50] * 9 + [[2] * 50]])
        drawn = pool.drawn((.95,))[0]
        self.assertGreater(drawn.count(1), 50)
        self.assertGreater(drawn.count(2), 50)

    def test_the_same_samples_have_the_same_interval(self):
        blocks = [[[i * 7 % 13] for i in range(50)]]
        self.assertEqual(Pool(blocks).drawn((.5,)), Pool(blocks).drawn((.5,)))

    def test_means(self):
        self.assertEqual(nvstats.mean([1, None, 3]), 2)
        self.assertIsNone(nvstats.mean([None]))
        self.assertIsNone(nvstats.mean_interval([1.0]))
        self.assertEqual(nvstats.mean_interval([2.0, 2.0], [4.0, 4.0]), (.5, .5))
        low, high = nvstats.mean_interval([1.0, 2.0, 3.0, None])
        self.assertLess(low, 2)
        self.assertGreater(high, 2)

    def test_covered_time_counts_once(self):
        self.assertEqual(nvstats.covered([(0, 10), (5, 12), (6, 8), (20, 30)]), 22)
        self.assertEqual(nvstats.covered([]), 0)


class Rates(unittest.TestCase):
    def test_from_the_first_to_the_last_within(self):
        ended = [i * 50 * MS for i in range(100)]
        self.assertAlmostEqual(nvstats.rate(ended), 20)
        self.assertAlmostEqual(nvstats.rate(ended, 1001 * MS, 2001 * MS), 20)
        self.assertIsNone(nvstats.rate(ended, 0, 10 * MS))
        self.assertIsNone(nvstats.rate([]))

    def test_what_comes_next(self):
        self.assertEqual(nvstats.first_after([1, 5, 9], 4), 1)
        self.assertEqual(nvstats.first_after([1, 5, 9], 5), 0)
        self.assertIsNone(nvstats.first_after([1, 5, 9], 10))


class Signs(unittest.TestCase):
    def test_the_first_sign_after_a_request_counts(self):
        self.assertEqual(nvstats.signs([5, 12, 14, 25], [10, 20]), ([2, 5], 2))
        self.assertEqual(nvstats.signs([], [10, 20]), ([], 0))
        # None between the requests, and several after the last.
        self.assertEqual(nvstats.signs([21, 30, 31], [10, 20]), ([1], 2))


class Decisions(unittest.TestCase):
    LOG = """# gpreempt decision log 2
10 < gpu0 e1 ready q=2 pending=1
100 < gpu0 e1 suspend
100 > gpu0 e1 exclude q=2 level=3 why=operator by=-
100 > gpu0 e1 exclude q=3 level=3 why=operator by=-
150 < gpu0 e1 ack q=2 result=0
160 < gpu0 e9 ack q=7 result=0
180 < gpu0 e1 ack q=3 result=0
200 < gpu0 e1 resume
200 > gpu0 e1 admit q=2 level=3 why=operator by=-
220 < gpu0 e1 ack q=2 result=0
300 < gpu0 e1 suspend
300 > gpu0 e1 exclude q=2 level=3 why=operator by=-
340 < gpu0 e1 ack q=2 result=0
400 > gpu0 e1 exclude q=2 level=3 why=priority by=e5
450 < gpu0 e1 ack q=2 result=0
500 < gpu0 e1 suspend
500 > gpu0 e1 exclude q=2 level=3 why=operator by=-
not a line"""

    def test_a_suspend_ends_with_its_last_acknowledgement(self):
        self.assertEqual(nvstats.suspends(self.LOG.splitlines()), [80, 40])
        self.assertEqual(nvstats.suspends([]), [])

    def test_a_request_is_seen_before_the_next_comes_or_not(self):
        log = ["10 < gpu0 e1 ready q=2 pending=1", "25 < gpu0 e2 ready q=3 pending=1",
               "30 < gpu0 e1 idle q=2 since=30 sees_ns=0", "48 < gpu0 e1 ready q=2 pending=1", "not a line"]
        self.assertEqual(nvstats.seen(log, {"e1"}, [5, 20, 40]), ([5, 8], 1))
        self.assertEqual(nvstats.seen(log, {"e2"}, [5, 20, 40]), ([5], 2))
        self.assertEqual(nvstats.seen([], {"e1"}, [5]), ([], 1))


class Bits(unittest.TestCase):
    def test_curves(self):
        self.assertEqual(nvstats.same_bits([1, 2, 3], [1, 2, 3, 4]), (3, True))
        self.assertEqual(nvstats.same_bits([1, 2, 3], [1, 9, 3]), (1, False))
        self.assertEqual(nvstats.same_bits([], [1]), (0, False))


class Report(unittest.TestCase):
    def test_numbers_have_three_digits_and_what_is_unknown_none(self):
        for value, text in ((None, "-"), (0.0, "0"), (1234.5, "1234"), (12.345, "12.3"),
                            (0.012345, "0.0123"), (True, "yes"), (7, "7")):
            self.assertEqual(nvreport.number(value), text)
        self.assertEqual(nvreport.pair(None), "-")
        self.assertEqual(nvreport.pair((1.0, 2.0)), "1.00 to 2.00")

    def test_a_plot_is_xml_and_has_all_situations(self):
        series = {"alone": [[MS, 2 * MS]], "a < b": [[3 * MS], [40 * MS]], "nothing": [[]]}
        svg = xml.dom.minidom.parseString(nvreport.cdf_svg(series, "a & b"))
        self.assertEqual(len(svg.getElementsByTagName("polyline")), 2)
        self.assertEqual(len(xml.dom.minidom.parseString(nvreport.cdf_svg({}, "x")).documentElement
                             .getElementsByTagName("polyline")), 0)

    def test_raw_data_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            nvreport.write_csv(path, {"alone": [[1, 2], [3]]})
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.read().splitlines(),
                                 ["situation,run,sample,ns", "alone,0,0,1", "alone,0,1,2",
                                  "alone,1,0,3"])

    def test_what_does_not_hold_is_seen(self):
        rows = nvreport.claim_rows([{"text": "a", "value": 2.0, "limit": "at most 1", "holds": False},
                                    {"text": "b", "value": None, "limit": "yes", "holds": None}])
        self.assertEqual([r[3] for r in rows], ["**no**", "not measured"])


if __name__ == "__main__":
    unittest.main()
