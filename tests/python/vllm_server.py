# SPDX-License-Identifier: MIT
"""A server in the processes of vLLM, of the stand-in's classes, whose model uses an AMD GPU.

The first process is the API server's. It starts one for the engine, which has the scheduler. The worker
with the GPU is in the engine's process, or with --worker in a process of its own, as vLLM's are with
several GPUs. With --bare, the worker has no GPU.
"""
import argparse
import multiprocessing
import time

from vllm.plugins import load_general_plugins
from vllm.v1.engine.core import EngineCore
from vllm.v1.worker.worker_base import WorkerWrapperBase

PREPARE_S = 0.005  # from a scheduled step to its first kernel


def make_model(bare):
    """Returns the model: a function of a step."""
    if bare:
        return len_of_step
    import gpreempt
    import hsa_queue

    queue = hsa_queue.Queue()
    end = time.monotonic() + 20
    # over() announces nothing.
    while not gpreempt.over() and time.monotonic() < end:
        time.sleep(0.01)

    def model(step):
        time.sleep(PREPARE_S)
        queue.work()
        return len_of_step(step)

    return model


def len_of_step(step):
    return step.total_num_scheduled_tokens


def run_worker(pipe, bare):
    worker = WorkerWrapperBase(make_model(bare))
    pipe.send("ready")
    while (step := pipe.recv()) is not None:
        pipe.send(worker.execute_model(scheduler_output=step))


def run_engine(pipe, options):
    spawn = multiprocessing.get_context("spawn")
    if options.worker:
        ours, theirs = spawn.Pipe()
        worker = spawn.Process(target=run_worker, args=(theirs, options.bare))
        worker.start()
        assert ours.recv() == "ready"

        def execute(step):
            ours.send(step)
            return ours.recv()
    else:
        execute = WorkerWrapperBase(make_model(options.bare)).execute_model
    engine = EngineCore(execute)
    while (request := pipe.recv()) is not None:
        engine.answer(request, options.steps)
        pipe.send(request)
    if options.worker:
        ours.send(None)
        worker.join()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--requests", type=int, default=3)
    options.add_argument("--steps", type=int, default=3)
    options.add_argument("--worker", action="store_true")
    options.add_argument("--bare", action="store_true")
    options = options.parse_args()
    load_general_plugins()
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    engine = spawn.Process(target=run_engine, args=(theirs, options))
    engine.start()
    theirs.close()
    for i in range(options.requests):
        ours.send(f"request {i}")
        assert ours.recv() == f"request {i}"
    ours.send(None)
    engine.join()
    assert engine.exitcode == 0
    print(f"{options.requests} requests, each answered right")


if __name__ == "__main__":
    main()
