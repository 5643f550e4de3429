# SPDX-License-Identifier: MIT
"""Stand-in for the part of a worker that vLLM's executors call."""
from vllm.plugins import load_general_plugins


class WorkerWrapperBase:
    def __init__(self, worker):
        load_general_plugins()
        self.worker = worker

    def execute_model(self, scheduler_output):
        return self.worker(scheduler_output)
