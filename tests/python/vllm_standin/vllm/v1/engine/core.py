# SPDX-License-Identifier: MIT
"""Stand-in for vLLM's engine: schedules, executes, and updates, in the process of the scheduler."""
from vllm.plugins import load_general_plugins


class EngineCore:
    """execute(scheduler_output) is the executor: it runs the worker, here or in another process."""

    def __init__(self, execute):
        load_general_plugins()
        from vllm.v1.core.sched.scheduler import AsyncScheduler  # after the plugins, as in vLLM
        self.scheduler = AsyncScheduler()
        self.execute = execute

    def step(self):
        step = self.scheduler.schedule(False)
        return self.scheduler.update_from_output(step, self.execute(step))

    def answer(self, request_id, steps):
        self.scheduler.add_request(request_id, steps)
        while self.scheduler.get_num_unfinished_requests():
            self.step()
