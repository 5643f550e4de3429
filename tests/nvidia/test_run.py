# SPDX-License-Identifier: MIT
"""bench/nvidia/run as a whole, with a driver and a PyTorch that only pretend."""
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
KERNELS = ("kernel-pair", "suspend", "joined", "seen", "cycles", "fail-open")
TORCH = ("torch-pair", "torch-trainers", "torch-cycles")


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
        for took in self.result("suspend")["results"]["suspend_ns"].values():
            self.assertEqual(len(took), 20)
        # The same again: nothing is left to be done.
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
        # It is told in the report, and the case is not done.
        with open(os.path.join(self.out, "report.md"), encoding="utf-8") as f:
            self.assertIn("it ended early", f.read())
        self.assertFalse(os.path.exists(os.path.join(self.out, "cycles.json")))

    def test_a_case_that_does_not_fit_waits_for_another_run(self):
        done = self.run_it("--budget", "5", "--only", "kernel-pair")
        self.assertEqual(done.returncode, 1)
        self.assertIn("left out", done.stdout)
        self.assertFalse(os.path.exists(os.path.join(self.out, "kernel-pair.json")))

    def test_options_that_cannot_be(self):
        for words in (("--only", "none"), ("--rounds", "0"), ("--seconds", "-1"),
                      ("--programs", self.folder)):
            done = self.run_it(*words)
            self.assertIn(done.returncode, (1, 2))
            self.assertTrue(done.stderr)

    def test_the_whole_set_fits_into_nine_minutes(self):
        done = self.run_it("--list")
        self.assertEqual(done.returncode, 0)
        times = [int(line.split()[1]) for line in done.stdout.splitlines()]
        self.assertEqual(len(times), len(KERNELS) + len(TORCH))
        self.assertLessEqual(sum(times), 540)


if __name__ == "__main__":
    unittest.main()
