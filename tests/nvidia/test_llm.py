# SPDX-License-Identifier: MIT
"""The figures of the language model's cases, and the order and saving of their blocks."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ.get("NVIDIA_BENCH", "bench/nvidia"))

import nvllm  # noqa: E402
from nvcases import Context, Result  # noqa: E402
from nvllm import ALONE, TRAIN, Blocks, Figures, LlmPair, Mode  # noqa: E402

MS = 1_000_000
NATIVE = nvllm.MODES[0]


def served(requests, begin=0, end=1000, first=5, token=1, tokens=4):
    """@requests: when each came, in milliseconds."""
    times = [[t * MS] + [(t + first + i * token) * MS for i in range(tokens + 1)] for t in requests]
    return {"begin_ns": begin * MS, "end_ns": end * MS, "times_ns": times, "right": True,
            "announced": 0}


def block(mode, number, servers, steps_ms=None):
    ended = [] if steps_ms is None else [{"ended_ns": [i * steps_ms * MS for i in range(1000)]}]
    return {"mode": mode.name, "number": number, "requests": len(servers and servers[0]["times_ns"]),
            "pids": [1, 2][:len(servers)], "served": servers, "trained": ended, "noted": []}


class OfBlocks(unittest.TestCase):
    def test_tokens_and_requests(self):
        f = Figures(NATIVE, [block(NATIVE, 0, [served([0, 100], first=5, token=2, tokens=3)]),
                             block(NATIVE, 1, [served([0], first=8, token=3, tokens=3)])], 1)
        pools = f.servers[0]
        self.assertEqual([v for v, _ in pools["first"].values], [5 * MS, 5 * MS, 8 * MS])
        self.assertEqual([v for v, _ in pools["next"].values], [2 * MS] * 6 + [3 * MS] * 3)
        self.assertEqual([v for v, _ in pools["whole"].values], [11 * MS, 11 * MS, 17 * MS])
        self.assertEqual(f.requests(0), 3)

    def test_training_counts_while_requests_come(self):
        f = Figures(NATIVE, [block(NATIVE, 0, [served([0], end=1000)], 100)], 1)
        self.assertEqual(f.rates(), [10])
        self.assertEqual(Figures(TRAIN, [block(TRAIN, 0, [], 50)], 1).rates(), [20])
        self.assertEqual(Figures(ALONE, [block(ALONE, 0, [served([0])])], 1).rates(), [None])

    def test_what_requests_leave(self):
        # Alone, 10 requests of 9 ms; natively as many in 1 s: 9 % are busy.
        figures = {"alone": Figures(ALONE, [block(ALONE, 0, [served(range(0, 1000, 100))])], 1),
                   "native": Figures(NATIVE, [block(NATIVE, 0, [served(range(0, 1000, 100), token=3)],
                                                    125)], 1),
                   "training": Figures(TRAIN, [block(TRAIN, 0, [], 100)], 1)}
        self.assertAlmostEqual(nvllm.busy_share(figures["alone"], figures["native"])[0], .09)
        self.assertAlmostEqual(LlmPair().kept_of(figures)["native"][0], 8 / (10 * .91))

    def test_tokens_in_cycles(self):
        # The clock rises from 1 to 2 GHz in the middle of a request: a token takes half as long.
        slow = block(ALONE, 0, [served([0], first=5, token=2, tokens=2)])
        slow["served"][0]["times_ns"] = [[0, 5 * MS, 7 * MS, 8 * MS]]
        slow["clocks"] = [[-MS, 1500, 0], [4 * MS, 1000, 300000], [7 * MS + 1, 2000, 400000]]
        f = Figures(ALONE, [slow], 1)
        self.assertEqual(f.clocks(), ([(1000, 300), (2000, 400)], [2e6, 2e6]))
        self.assertEqual(LlmPair().clock_table({"alone": f})[1],
                         [["alone", "1500 (1000 to 2000)", "350", "2000", "2000", "1.00", "1.00"]])
        self.assertEqual(Figures(NATIVE, [block(NATIVE, 0, [served([0])])], 1).clocks(), ([], []))

    def test_two_servers_are_busy_when_one_is(self):
        both = [served([0, 500]), served([4, 700])]  # 9 ms each, of which 5 ms are of both
        alone = Figures(ALONE, [block(ALONE, 0, both)], 2)
        mine = Figures(NATIVE, [block(NATIVE, 0, both, 100), block(NATIVE, 1, both, 100)], 2)
        self.assertEqual(nvllm.busy_share(alone, mine), [.031])


class Actors(unittest.TestCase):
    """Programs with workers that note what they are told."""

    class Worker:
        pid = 7

        def __init__(self, name, said):
            self.name, self.said = name, said

        def tell(self, line):
            self.said.append((self.name, line))

        def hear(self, _timeout=None):
            return {"from": self.name}

        def ask(self, line):
            self.tell(line)
            return {"from": self.name}

    def measure(self, mode, notebook=True):
        said = []
        names = ("server", "trainer", "notebook")
        server, trainer, book = (self.Worker(name, said) for name in names)
        programs = nvllm.Programs([server], [trainer], book if notebook else None)
        return programs.measure(mode, 10, 3, 0), said

    def test_each_mode_uses_its_programs(self):
        found, said = self.measure(ALONE)
        self.assertEqual(said, [("server", "serve 10 4 300 -1")])
        self.assertEqual((found["trained"], found["noted"]), ([], []))
        found, said = self.measure(TRAIN)
        self.assertEqual(said, [("trainer", "go"), ("trainer", "stop")])
        self.assertEqual((found["served"], len(found["trained"]), found["noted"]), ([], 1, []))
        found, said = self.measure(NATIVE)
        self.assertEqual(said, [("trainer", "go"), ("notebook", "go"), ("server", "serve 10 4 300 -1"),
                                ("trainer", "stop"), ("notebook", "stop")])
        self.assertEqual(found["noted"], [{"from": "notebook"}])
        self.assertEqual(found["trained"], [{"from": "trainer"}])

    def test_only_the_mode_with_a_hint_announces(self):
        for mode in nvllm.MODES:
            lead = nvllm.HINT_US if mode.name == "hint" else -1
            self.assertIn(("server", f"serve 10 4 300 {lead}"), self.measure(mode, False)[1])


class InOrder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.context = Context(None, None, self.folder.name)
        self.context.blocks, self.context.requests = 2, 10
        self.context.llm_modes = ["alone", "native"]
        self.blocks = Blocks(self.folder.name, "llm-pair")

    def missing(self):
        return [(mode.name, number) for mode, number in LlmPair().missing(self.context)]

    def test_rounds_begin_with_another_mode(self):
        self.assertEqual(self.missing(), [("alone", 0), ("native", 0), ("training", 0),
                                          ("native", 1), ("training", 1), ("alone", 1)])

    def test_a_saved_block_is_not_missing_unless_it_is_too_short(self):
        self.blocks.save(NATIVE, 1, block(NATIVE, 1, [served(range(10))], 100), [])
        self.blocks.save(TRAIN, 0, block(TRAIN, 0, [], 100), [])
        self.assertEqual(self.missing(), [("alone", 0), ("native", 0), ("training", 1), ("alone", 1)])
        self.context.requests = 11
        self.assertIn(("native", 1), self.missing())
        self.assertNotIn(("training", 0), self.missing())

    def test_a_file_that_was_cut_off_is_not_a_block(self):
        os.makedirs(self.blocks.folder)
        with open(self.blocks.path(NATIVE, 0), "w", encoding="utf-8") as f:
            f.write('{"mode": "nat')
        self.assertIn(("native", 0), self.missing())

    def test_the_log_is_kept_with_its_block(self):
        self.blocks.save(NATIVE, 0, block(NATIVE, 0, []), ["a", "b"])
        self.assertEqual(self.blocks.log(NATIVE, 0), ["a", "b"])
        self.assertEqual(self.blocks.log(NATIVE, 1), [])

    def test_a_configuration_is_a_mode_and_may_be_announced(self):
        self.context.settings = ["calm:linger_us=5", "calm+hint:linger_us=5"]
        own = nvllm.own_modes(self.context.settings)
        self.assertEqual([(m.name, m.hint_us, m.settings) for m in own],
                         [("calm", -1, "linger_us=5"), ("calm-hint", nvllm.HINT_US, "linger_us=5")])
        self.assertEqual([m.name for m in LlmPair().modes(self.context)],
                         ["alone", "native", "calm", "calm-hint", "training"])

    def test_no_block_begins_that_would_end_after_the_deadline(self):
        case, begun = LlmPair(), []

        class Sides(dict):
            def __missing__(self, side):
                raise KeyError(side)

        class Side:
            daemon = None

            def measure(self, mode, *_):
                begun.append(mode.name)
                return block(mode, 0, [served(range(10))] if mode.serves else [], 100)

        class Daemon:
            @staticmethod
            def sections(_):
                return ""

        stage = type("Stage", (), {"daemon": Daemon()})()
        case.open = lambda *_: Sides(plain=Side())
        missing = case.missing(self.context)
        self.context.deadline = 0
        self.assertIs(case.measure(self.context, Result(case), stage, self.blocks, missing), False)
        self.assertEqual(begun, [])
        self.context.deadline = float("inf")
        self.assertIs(case.measure(self.context, Result(case), stage, self.blocks, missing), True)
        self.assertEqual(len(begun), 6)
        self.assertEqual(self.missing(), [])


class Report(unittest.TestCase):
    def test_ratios_have_intervals_and_claims_their_limits(self):
        with tempfile.TemporaryDirectory() as folder:
            context, case = Context(None, None, folder), LlmPair()
            context.blocks, context.requests = 2, 10
            context.llm_modes = ["alone", "native", "gpreempt"]
            blocks = Blocks(folder, case.name)
            ours = Mode("gpreempt", "gpreempt", "joined")
            for i in range(2):
                blocks.save(ALONE, i, block(ALONE, i, [served(range(0, 1000, 100))]), [])
                blocks.save(NATIVE, i, block(NATIVE, i, [served(range(0, 1000, 100), token=2)], 125), [])
                blocks.save(ours, i, block(ours, i, [served(range(0, 1000, 100), first=6)], 105),
                            ["0 < gpu0 e1 entity-add process=1 tag=",
                             "0 < gpu0 e2 entity-add process=7 tag=",
                             "0 < gpu0 e2 ready q=2 pending=1"])
                blocks.save(TRAIN, i, block(TRAIN, i, [], 100), [])
            result = Result(case)
            case.report(context, result, blocks)
            claims = {c["text"]: (c["value"], c["holds"]) for c in result.data["claims"]}
            self.assertEqual(claims["gpreempt: whole request p99, of alone"], (10 / 9, False))
            self.assertEqual(claims["gpreempt: next token p50, of alone"], (1, True))
            self.assertIs(claims["gpreempt: what training keeps"][1], True)
            self.assertIs(claims["every last answer is right"][1], True)
            tables = {t["head"][0]: t["rows"] for t in result.data["tables"]}
            native = next(row for row in tables["whole request"] if row[0] == "native")
            self.assertEqual(native[5], "1.44 (1.44 to 1.44)")
            # 10 ms are less than 1.2 times 9 ms, but first tokens of 6 ms are not those of 5 ms.
            slow = {t["head"][1]: t["rows"] for t in result.data["tables"] if t["head"][1][:4] == "slow"}
            self.assertEqual(slow["slow requests"][0][1:4], [0, 20, "-"])
            context.llm_modes = ["native"]
            case.report(context, Result(case), blocks)  # without alone there is nothing to compare with


if __name__ == "__main__":
    unittest.main()
