# SPDX-License-Identifier: MIT
"""bench/nvidia/run as a whole, with a fake driver and a fake PyTorch."""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = os.environ.get("NVIDIA_BENCH", "bench/nvidia")
BUILD = os.environ.get("BUILD_DIR", "build")
CUDA = os.path.join(BUILD, "tests/nvidia/fake_cuda.so")
KERNELS = ("kernel-pair", "suspend", "joined", "seen", "signs", "cycles", "fail-open")
TORCH = ("torch-pair", "torch-trainers", "torch-cycles")
LLM = ("llm-pair", "llm-crowd")
MPS = """#!/bin/sh
echo "$* $(if [ $# = 0 ]; then cat; fi) $CUDA_MPS_PIPE_DIRECTORY" >>"$FAKE_MPS_LOG"
"""


class WholeRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nvt")
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out")

    def run_it(self, *words, driver=True, **env):
        libraries = os.path.join(self.folder, "lib")
        os.makedirs(libraries, exist_ok=True)
        if driver and not os.path.exists(libraries + "/libcuda.so.1"):
            shutil.copy(CUDA, libraries + "/libcuda.so.1")
        env = dict(os.environ, LD_LIBRARY_PATH=libraries, FAKE_CUDA=CUDA, **env)
        return subprocess.run([sys.executable, os.path.join(BENCH, "run"), "--programs", BUILD,
                               "--out", self.out, *words], env=env, text=True, capture_output=True,
                              timeout=300, check=False)

    def result(self, case):
        with open(os.path.join(self.out, f"{case}.json"), encoding="utf-8") as f:
            return json.load(f)

    def claims(self, case):
        return {c["text"]: c for c in self.result(case)["claims"]}

    def check_measured(self, done, cases):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.out, "report.md"), encoding="utf-8") as f:
            page = f.read()
        for case in cases:
            result = self.result(case)
            self.assertEqual(result["schema"], 1)
            self.assertIn(f"## {result['title']}", page)
            self.assertEqual(result["notes"], [], case)
            for plot in result["plots"]:
                self.assertTrue(os.path.exists(os.path.join(self.out, plot)))

    def test_kernels(self):
        done = self.run_it("--seconds", "0.2", "--rounds", "1", *[w for c in KERNELS
                                                                  for w in ("--only", c)])
        self.check_measured(done, KERNELS)
        for case, text in (("kernel-pair", "every kernel's result is right"),
                           ("suspend", "every kernel finishes with the right result"),
                           ("cycles", "bit-identical after 20 suspensions"),
                           ("fail-open", "a program that is killed leaves nothing")):
            self.assertIs(self.claims(case)[text]["holds"], True, done.stdout)
        self.assertEqual(sorted(self.result("kernel-pair")["results"]["kernel-pair"]["took_ns"]),
                         ["alone", "gpreempt", "gpreempt + hint", "native"])
        # The report says why requests were slow, from the decision log.
        heads = [t["head"][3] for t in self.result("kernel-pair")["tables"]]
        self.assertIn("main reason", heads)
        signs = self.result("signs")["results"]["signs"]
        self.assertEqual(sorted(signs), ["1000", "250"])
        for found in signs.values():
            self.assertGreater(found["looks"], 0)
            self.assertGreater(len(found["after_ns"]), 0)
        for took in self.result("suspend")["results"]["suspend_ns"].values():
            self.assertEqual(len(took), 20)
        # A second run has nothing left to do.
        again = self.run_it("--seconds", "0.2", *[w for c in KERNELS for w in ("--only", c)])
        self.assertEqual(again.returncode, 0)
        self.assertEqual(again.stdout.count("has a result"), len(KERNELS))

    def test_torch(self):
        done = self.run_it("--seconds", "0.1", "--rounds", "1", *[w for c in TORCH
                                                                  for w in ("--only", c)])
        self.check_measured(done, TORCH)
        self.assertIs(self.claims("torch-cycles")
                      ["the loss curve is bit-identical after 10 suspensions"]["holds"], True)
        self.assertEqual(sorted(self.result("torch-trainers")["results"]["steps_per_s"]),
                         ["gpreempt", "gpreempt, server", "native", "native, server"])

    def llm(self, *words, blocks=1, **env):
        return self.run_it("--requests", "2", "--seconds", "0.2", "--blocks", str(blocks), *words, **env)

    def block(self, case, name):
        with open(os.path.join(self.out, f"{case}-blocks", f"{name}.json"), encoding="utf-8") as f:
            return json.load(f)

    def test_llm_pair(self):
        words = ("--only", "llm-pair", "--modes", "alone,native,gpreempt,hint,share,lead",
                 "--config", "held:by_weight=0,linger_us=3000")
        done = self.llm(*words)
        self.check_measured(done, LLM[:1])
        results = self.result("llm-pair")["results"]
        names = ["alone", "gpreempt", "held", "hint", "lead", "native", "share", "training"]
        self.assertEqual(results["blocks"], dict.fromkeys(names, 1))
        self.assertEqual(len(results["percentiles_ns"]["gpreempt"][0]["next"]), 3)
        self.assertEqual(sorted(results["steps_per_s"]), names)
        for name in names[:-1]:
            served = self.block("llm-pair", f"{name}-0")["served"]
            self.assertEqual([len(s["times_ns"]) for s in served], [2])
            self.assertEqual(len(served[0]["times_ns"][0]), 34)
        # Each block with gpreempt has its decision log, with the configuration that was in force.
        for name, text in (("gpreempt", "policy hpf"), ("share", "policy share"),
                           ("held", "linger_us=3000")):
            path = os.path.join(self.out, "llm-pair-blocks", f"{name}-0.log.gz")
            with gzip.open(path, "rt", encoding="utf-8") as f:
                log = f.read()
            self.assertIn(text, log, name)
            self.assertEqual(log.count("entity-add"), 2, name)
        # Another run measures what is missing, and keeps the rest.
        before = self.block("llm-pair", "native-0")
        os.unlink(os.path.join(self.out, "llm-pair-blocks", "share-0.json"))
        done = self.llm("--only", "llm-pair", "--modes", "alone,share", blocks=2)
        self.check_measured(done, LLM[:1])
        self.assertEqual(self.block("llm-pair", "native-0"), before)
        self.assertEqual(sorted(line.split(": ")[1] for line in done.stdout.splitlines()
                                if ", block " in line),
                         ["alone, block 2 of 2", "gpreempt, policy share, block 1 of 2",
                          "gpreempt, policy share, block 2 of 2", "training alone, block 2 of 2"])
        self.assertEqual(self.result("llm-pair")["results"]["blocks"],
                         {"alone": 2, "share": 2, "training": 2})
        done = self.llm("--only", "llm-pair", "--modes", "alone,share", blocks=2)
        self.assertIn("has a result", done.stdout)

    def test_llm_crowd(self):
        done = self.llm("--only", "llm-crowd", "--modes", "alone,native,gpreempt,mps")
        self.check_measured(done, LLM[1:])
        block = self.block("llm-crowd", "gpreempt-0")
        self.assertEqual([len(block[k]) for k in ("served", "trained", "noted")], [2, 2, 1])
        self.assertEqual([len(self.block("llm-crowd", "alone-0")[k])
                          for k in ("served", "trained", "noted")], [2, 0, 0])
        # It has no blocks with MPS.
        self.assertNotIn("mps", self.result("llm-crowd")["results"]["blocks"])

    def test_two_builds_are_compared_each_with_its_own_daemon(self):
        done = self.llm("--only", "llm-pair", "--modes", "alone,gpreempt,before,before-hint",
                        "--before", BUILD)
        self.check_measured(done, LLM[:1])
        logs = {}
        for name in ("gpreempt", "before", "before-hint"):
            path = os.path.join(self.out, "llm-pair-blocks", f"{name}-0.log.gz")
            with gzip.open(path, "rt", encoding="utf-8") as f:
                logs[name] = [w for w in f.read().split() if w.startswith("process=")]
            self.assertEqual(len(logs[name]), 2)
        self.assertEqual(sorted(logs["before"]), sorted(logs["before-hint"]))
        self.assertFalse(set(logs["before"]) & set(logs["gpreempt"]))

    def test_llm_pair_with_mps(self):
        tools = os.path.join(self.folder, "bin")
        os.makedirs(tools)
        with open(os.path.join(tools, "nvidia-cuda-mps-control"), "w", encoding="ascii",
                  opener=lambda path, flags: os.open(path, flags, 0o755)) as f:
            f.write(MPS)
        logs = {name: os.path.join(self.folder, name) for name in ("FAKE_MPS_LOG", "FAKE_TORCH_LOG")}
        done = self.llm("--only", "llm-pair", "--modes", "mps,mps-priority,mps-half",
                        PATH=f"{tools}:{os.environ['PATH']}", **logs)
        self.check_measured(done, LLM[:1])
        self.assertEqual(self.result("llm-pair")["results"]["blocks"],
                         {"mps": 1, "mps-priority": 1, "mps-half": 1, "training": 1})
        with open(logs["FAKE_MPS_LOG"], encoding="ascii") as f:
            said = [line.split() for line in f]
        self.assertEqual([words[0] for words in said], ["-d", "quit"])
        with open(logs["FAKE_TORCH_LOG"], encoding="utf-8") as f:
            started = [json.loads(line) for line in f]
        found = sorted((p["words"][0], p.get("CUDA_MPS_CLIENT_PRIORITY", ""),
                        p.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "")) for p in started
                       if p.get("CUDA_MPS_PIPE_DIRECTORY") == said[0][1])
        self.assertEqual(found, [("serve", "", ""), ("train", "", ""), ("train", "1", ""),
                                 ("train", "1", "50")])

    def test_clocks(self):
        words = ("--only", "llm-pair", "--modes", "alone,native", "--clocks")
        done = self.llm(*words)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--clocks needs libnvidia-ml.so.1, which comes with the driver", done.stderr)
        os.makedirs(os.path.join(self.folder, "lib"), exist_ok=True)
        shutil.copy(CUDA, os.path.join(self.folder, "lib/libnvidia-ml.so.1"))
        done = self.llm(*words)
        self.check_measured(done, LLM[:1])
        for name in ("alone", "native"):
            clocks = self.block("llm-pair", f"{name}-0")["clocks"]
            self.assertEqual({(mhz, mw) for _, mhz, mw in clocks}, {(1000, 250000)})
        rows = next(t["rows"] for t in self.result("llm-pair")["tables"] if "power, W" in t["head"])
        self.assertEqual([row[:3] for row in rows], [["alone", "1000 (1000 to 1000)", "250"],
                                                     ["native", "1000 (1000 to 1000)", "250"]])

    def test_without_mps_the_report_says_so(self):
        done = self.llm("--only", "llm-pair", "--modes", "alone,mps", PATH="/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("not measured with MPS", "".join(self.result("llm-pair")["notes"]))

    def test_a_kernel_that_computes_something_else_is_seen(self):
        done = self.run_it("--seconds", "0.2", "--rounds", "1", "--only", "cycles",
                           FAKE_CUDA_WRONG="30")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIs(self.claims("cycles")["bit-identical after 20 suspensions"]["holds"], False)
        self.assertIn("**no**", done.stdout)

    def test_what_is_wrong_is_told_with_all_that_could_say_why(self):
        done = self.run_it("--seconds", "0.2", "--rounds", "1", "--only", "kernel-pair",
                           FAKE_CUDA_WRONG="30")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        wrong = self.result("kernel-pair")["results"]["kernel-pair"]["wrong"]
        self.assertIn("alone, the server", [w["who"] for w in wrong])
        self.assertEqual({w["wrong_threads"] for w in wrong}, {1})
        self.assertEqual({w["kernels_off"] for w in wrong}, {100})
        self.assertIn("wrong: who alone, the server", done.stdout)

    def test_without_a_driver_it_says_so(self):
        done = self.run_it("--seconds", "0.1", "--rounds", "1", "--only", "cycles", driver=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no NVIDIA driver here", done.stdout)
        # The report says so, and the case is not done.
        with open(os.path.join(self.out, "report.md"), encoding="utf-8") as f:
            self.assertIn("it ended early", f.read())
        self.assertFalse(os.path.exists(os.path.join(self.out, "cycles.json")))

    def test_a_case_that_does_not_fit_waits_for_another_run(self):
        done = self.run_it("--budget", "5", "--only", "kernel-pair")
        self.assertEqual(done.returncode, 1)
        self.assertIn("left out", done.stdout)
        self.assertFalse(os.path.exists(os.path.join(self.out, "kernel-pair.json")))

    def test_options_that_cannot_be(self):
        for words in (("--only", "none"), ("--rounds", "0"), ("--seconds", "-1"), ("--requests", "0"),
                      ("--modes", "alone,none"), ("--modes", "before"), ("--config", "alone:linger_us=1"),
                      ("--config", "a/b:linger_us=1"), ("--programs", self.folder)):
            done = self.run_it(*words)
            self.assertIn(done.returncode, (1, 2))
            self.assertTrue(done.stderr)

    def test_a_setting_that_the_daemon_does_not_know_is_refused_with_its_words(self):
        done = self.llm("--only", "llm-pair", "--modes", "alone", "--config", "odd:no_such_thing=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no parameter 'no_such_thing'", done.stdout)

    def test_the_whole_set_but_for_what_resumes_fits_into_nine_minutes(self):
        done = self.run_it("--list")
        self.assertEqual(done.returncode, 0)
        times = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
        self.assertEqual(sorted(times), sorted(KERNELS + TORCH + LLM))
        self.assertLessEqual(sum(s for name, s in times.items() if name not in LLM), 540)


if __name__ == "__main__":
    unittest.main()
