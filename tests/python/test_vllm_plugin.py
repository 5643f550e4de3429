# SPDX-License-Identifier: MIT
"""examples/vllm, with a stand-in for vLLM and one for the preload.

The stand-in (vllm_standin/) has the modules, classes and methods of vLLM that the plugin uses, and finds
the plugin by importlib.metadata, as vLLM does.
"""
import importlib
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import gpreempt
from install_package import install

HERE = pathlib.Path(__file__).parent
NOW = 5_000_000_000


class Case(unittest.TestCase):
    """A new process of vLLM in each test, in which nothing is imported and the plugin is installed."""

    def setUp(self):
        self.said = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        install(HERE.parent.parent / "examples/vllm", folder.name)
        self.patch(mock.patch.object(sys, "path", [folder.name, str(HERE / "vllm_standin"), *sys.path]))
        self.patch(mock.patch.dict(sys.modules))
        self.patch(mock.patch.object(gpreempt, "_call", self.call))
        self.patch(mock.patch.object(gpreempt.time, "monotonic_ns", return_value=NOW))
        importlib.invalidate_caches()

    def patch(self, patch):
        patch.start()
        self.addCleanup(patch.stop)

    def call(self, when_ns):
        self.said.append((when_ns - NOW) / 1e9 if when_ns else "over")
        return 0

    def load(self):
        importlib.import_module("vllm.plugins").load_general_plugins()

    def engine(self, execute):
        return importlib.import_module("vllm.v1.engine.core").EngineCore(execute)

    def scheduler(self):
        return importlib.import_module("vllm.v1.core.sched.scheduler").Scheduler

    def worker(self, model):
        return importlib.import_module("vllm.v1.worker.worker_base").WorkerWrapperBase(model)


class Announces(Case):
    def test_each_step_until_no_request_is_left(self):
        seen = []
        engine = self.engine(lambda step: seen.append(len(self.said)))
        engine.answer("a", 3)
        self.assertEqual(seen, [1, 2, 3])
        # The first is announced ahead: the warm-up of an NVIDIA GPU needs half a millisecond.
        self.assertEqual(self.said, [0.001, 0, 0, "over"])
        engine.answer("b", 1)
        self.assertEqual(self.said[4:], [0.001, "over"])

    def test_the_end_of_one_of_two_requests_is_not_the_end(self):
        engine = self.engine(lambda step: None)
        engine.scheduler.add_request("a", 1)
        engine.scheduler.add_request("b", 2)
        engine.step()
        self.assertEqual(self.said, [0.001])
        engine.step()
        self.assertEqual(self.said, [0.001, 0, "over"])

    def test_a_cancelled_request_is_over(self):
        said = []

        def cancel(_step):
            engine.scheduler.finish_requests(["a"], "aborted")
            said.extend(self.said)

        engine = self.engine(cancel)
        engine.answer("a", 5)
        self.assertEqual(said, [0.001, "over"])
        self.assertEqual(self.said, said)

    def test_a_step_without_tokens_is_not_announced(self):
        engine = self.engine(lambda step: None)
        engine.step()
        self.assertEqual(self.said, [])

    def test_a_worker_without_a_scheduler_announces(self):
        worker = self.worker(lambda step: len(self.said))
        step = mock.Mock(total_num_scheduled_tokens=7)
        self.assertEqual(worker.execute_model(step), 1)
        self.assertEqual(worker.execute_model(scheduler_output=step), 2)
        step.total_num_scheduled_tokens = 0
        self.assertEqual(worker.execute_model(step), 2)
        self.assertEqual(self.said, [0, 0])

    def test_a_worker_beside_the_scheduler_does_not_announce_again(self):
        worker = self.worker(lambda step: len(self.said))
        engine = self.engine(worker.execute_model)
        engine.answer("a", 2)
        self.assertEqual(self.said, [0.001, 0, "over"])

    def test_results_and_exceptions_are_those_of_vllm(self):
        class Lost(Exception):
            pass

        def fail(step):
            raise Lost(step)

        engine = self.engine(lambda step: step)
        engine.scheduler.add_request("a", 2)
        self.assertEqual(engine.step().num_scheduled_tokens, {"a": 1})
        engine.execute = fail
        with self.assertRaises(Lost):
            engine.step()

    def test_it_is_registered_once(self):
        self.load()
        importlib.import_module("gpreempt_vllm").register()
        engine = self.engine(lambda step: None)
        engine.answer("a", 1)
        self.assertEqual(self.said, [0.001, "over"])

    def test_vllm_can_leave_it_out(self):
        self.patch(mock.patch.dict(os.environ, VLLM_PLUGINS="another"))
        self.load()
        self.assertNotIn("gpreempt_vllm", sys.modules)


class StepsAside(Case):
    """vLLM runs as without the plugin, and one line says so."""

    def says(self, words):
        with self.assertLogs("vllm.gpreempt") as logs:
            self.load()
        self.assertEqual(len(logs.output), 1)
        self.assertIn(words, logs.output[0])
        engine = self.engine(lambda step: step)
        engine.answer("a", 2)
        self.assertEqual(self.said, [])
        for method in ("schedule", "update_from_output", "finish_requests"):
            self.assertFalse(hasattr(getattr(self.scheduler(), method, None), "__wrapped__"))

    def test_without_the_module(self):
        sys.modules["gpreempt"] = None
        self.says("there is no Python module gpreempt; steps are not announced")

    def test_without_gpreempt_run(self):
        self.patch(mock.patch.object(gpreempt, "_call", None))
        self.says("vLLM was not started by 'gpreempt run'")

    def test_without_a_class(self):
        del importlib.import_module("vllm.v1.worker.worker_base").WorkerWrapperBase
        self.says("cannot import vllm.v1.worker.worker_base.WorkerWrapperBase: AttributeError")

    def test_without_a_module(self):
        sys.modules["vllm.v1.worker.worker_base"] = None
        self.says("cannot import vllm.v1.worker.worker_base.WorkerWrapperBase: ModuleNotFoundError")

    def test_without_a_method(self):
        del self.scheduler().finish_requests
        self.says("vllm.v1.core.sched.scheduler.Scheduler of this vLLM has no method finish_requests")

    def test_a_step_of_another_form(self):
        module = importlib.import_module("vllm.v1.core.sched.scheduler")
        self.patch(mock.patch.object(module, "SchedulerOutput", lambda tokens, total: mock.Mock(
            spec=["num_scheduled_tokens"], num_scheduled_tokens=tokens)))
        engine = self.engine(lambda step: step)
        with self.assertLogs("vllm.gpreempt") as logs:
            engine.answer("a", 3)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("AttributeError", logs.output[0])
        self.assertIn("steps are no longer announced", logs.output[0])
        self.assertEqual(self.said, [])

    def test_one_process_of_a_server_says_it(self):
        self.patch(mock.patch.object(gpreempt, "_call", None))
        self.patch(mock.patch("multiprocessing.parent_process", return_value=mock.Mock()))
        with self.assertNoLogs("vllm.gpreempt"):
            self.load()


if __name__ == "__main__":
    unittest.main()
