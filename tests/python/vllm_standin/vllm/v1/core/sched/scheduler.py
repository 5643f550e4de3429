# SPDX-License-Identifier: MIT
"""Stand-in for vLLM's scheduler: each request takes a number of steps."""
import dataclasses


@dataclasses.dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict
    total_num_scheduled_tokens: int


class Scheduler:
    def __init__(self):
        self.left = {}  # request: its steps that are left

    def add_request(self, request_id, steps):
        self.left[request_id] = steps

    def get_num_unfinished_requests(self):
        return len(self.left)

    def schedule(self, throttle_prefills=False):
        del throttle_prefills
        tokens = {request_id: 1 for request_id in self.left}
        return SchedulerOutput(tokens, len(tokens))

    def update_from_output(self, scheduler_output, model_runner_output):
        for request_id in scheduler_output.num_scheduled_tokens:
            if request_id in self.left:
                self.left[request_id] -= 1
                if not self.left[request_id]:
                    del self.left[request_id]
        return model_runner_output

    def finish_requests(self, request_ids, finished_status):
        return [(self.left.pop(request_id, None), finished_status) for request_id in request_ids]


class AsyncScheduler(Scheduler):
    """vLLM's default is a subclass that does not override schedule()."""
