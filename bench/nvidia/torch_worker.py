#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A PyTorch program for bench/nvidia/run, told what to do by lines, answering each by one of JSON.

    torch_worker.py train [--batch 256]     ResNet-50, bf16, SGD
    torch_worker.py serve                   ResNet-50 for one image; a decode loop

    open            begins to use the GPU, and warms up
    go              (train) trains until "stop", which is answered by when each step ended
    repeat SEED     (train) trains a new model until "stop": bit by bit the same for a seed
    repeat SEED N   the same, for N steps
    serve MODE SECONDS FROM_MS TO_MS HINT_US
                    (serve) requests in MODE eager, graph or decode, so many milliseconds apart; where
                    HINT_US is not -1 each is announced so long before
    stop, quit

It is a program as any other: of gpreempt it only knows how to announce requests.
"""
import argparse
import json
import os
import random
import struct
import sys
import threading
import time

# For what is to be repeated bit by bit; cuBLAS reads it once.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
import torchvision  # noqa: E402

import gpreempt  # noqa: E402

now = time.monotonic_ns


def answer(**what):
    print(json.dumps(what), flush=True)


class Commands:
    """Lines from standard input, read by a thread, so that work need not wait for them."""

    def __init__(self):
        self.lines, self.came = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            self._put(line.split())
        self._put(["quit"])

    def _put(self, words):
        with self.came:
            self.lines.append(words)
            self.came.notify()

    def waiting(self):
        return bool(self.lines)

    def next(self):
        with self.came:
            self.came.wait_for(self.waiting)
            return self.lines.pop(0)


def resnet50():
    net = torchvision.models.resnet50(weights=None).cuda()
    return net.to(memory_format=torch.channels_last)


class Training:
    """One model with its optimizer and one batch, which is always the same."""

    def __init__(self, batch, seed):
        torch.manual_seed(seed)
        self.net = resnet50()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)
        images = torch.randn(batch, 3, 224, 224, device="cuda")
        self.images = images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step(self):
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.net(self.images), self.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


class Trainer:
    def __init__(self, options, commands):
        self.batch, self.commands = options.batch, commands
        self.stream = self.training = None

    def open(self):
        self.stream = torch.cuda.Stream()
        torch.backends.cudnn.benchmark = True
        with torch.cuda.stream(self.stream):
            self.training = Training(self.batch, 1)
            for _ in range(5):
                self.training.step()
            self.stream.synchronize()
        answer(open=True, gpu=torch.cuda.get_device_name())

    def go(self):
        ended = []
        with torch.cuda.stream(self.stream):
            while not self.commands.waiting():
                self.training.step()
                self.stream.synchronize()
                ended.append(now())
        self.commands.next()
        answer(ended_ns=ended)

    def repeat(self, seed, steps="0"):
        """The loss of each step, as the bits of a float."""
        losses, steps = [], int(steps)
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.use_deterministic_algorithms(True, warn_only=True)
        with torch.cuda.stream(self.stream):
            training = Training(32, int(seed))
            while len(losses) < steps if steps else not self.commands.waiting():
                loss = float(training.step().item())
                losses.append(struct.unpack("<I", struct.pack("<f", loss))[0])
        if not steps:
            self.commands.next()
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.benchmark = True
        answer(loss_bits=losses)


class Decoder:
    """As a language model makes one word after the other: many small kernels, each after the last."""

    WIDTH, LAYERS, WORDS = 1024, 8, 16

    def __init__(self):
        torch.manual_seed(1)
        scale = self.WIDTH ** -0.5
        self.weights = [torch.randn(self.WIDTH, self.WIDTH, device="cuda",
                                    dtype=torch.bfloat16) * scale for _ in range(2 * self.LAYERS)]
        self.first = torch.randn(1, self.WIDTH, device="cuda", dtype=torch.bfloat16)

    def __call__(self):
        x = self.first
        for _ in range(self.WORDS):
            for up, down in zip(self.weights[::2], self.weights[1::2]):
                y = torch.nn.functional.layer_norm(x, (self.WIDTH,))
                x = x + torch.nn.functional.gelu(y @ up) @ down
        return x


def wait_until(at):
    """Sleeps for most of it, so that others have the processor, and is on time."""
    left = (at - now()) / 1e9 - 0.0002
    if left > 0:
        time.sleep(left)
    while now() < at:
        pass


class Server:
    WARM_UP = 3  # requests before those that count

    def __init__(self, _options, commands):
        self.commands = commands
        self.stream, self.run, self.first = None, {}, {}

    def open(self):
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream), torch.inference_mode():
            net = resnet50().eval().bfloat16()
            image = torch.randn(1, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
            image = image.to(memory_format=torch.channels_last)
            self.run = {"eager": lambda: net(image), "decode": Decoder()}
            for mode in self.run.values():
                for _ in range(10):
                    mode()
            self.stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                scores = net(image)

            def replay():
                graph.replay()
                return scores

            self.run["graph"] = replay
            for name, mode in self.run.items():
                self.first[name] = mode().clone()
            self.stream.synchronize()
        answer(open=True, gpu=torch.cuda.get_device_name())

    def request(self, run, at, hint_ns):
        """One, at a time: what it took, what came of it, and whether somebody heard of it before."""
        heard = False
        if hint_ns >= 0:
            wait_until(at - hint_ns)
            heard = gpreempt.arriving(within=hint_ns / 1e9)
        wait_until(at)
        begun = now()
        result = run()
        self.stream.synchronize()
        took = now() - begun
        if hint_ns >= 0:
            gpreempt.over()
        return took, result, heard

    def serve(self, mode, seconds, from_ms, to_ms, hint_us):
        run, hint_ns = self.run[mode], int(hint_us) * 1000
        took, announced, result = [], 0, None

        def next_one():
            at = now() + int(random.uniform(float(from_ms), float(to_ms)) * 1e6)
            return self.request(run, at, hint_ns)

        with torch.cuda.stream(self.stream), torch.inference_mode():
            for _ in range(self.WARM_UP):
                next_one()
            begin = now()
            end = begin + int(float(seconds) * 1e9)
            while now() < end:
                this, result, heard = next_one()
                took.append(this)
                announced += heard
            right = result is None or bool(torch.equal(result, self.first[mode]))
        answer(right=right, announced=announced, begin_ns=begin, end_ns=now(), took_ns=took)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("role", choices=["train", "serve"])
    options.add_argument("--batch", type=int, default=256)
    options = options.parse_args()
    commands = Commands()
    random.seed(1)
    worker = {"train": Trainer, "serve": Server}[options.role](options, commands)
    # What the GPU is called is asked later: that would already use it.
    answer(ready=options.role, pid=os.getpid(), torch=str(torch.__version__))
    while True:
        words = commands.next()
        if words == ["quit"]:
            return
        getattr(worker, words[0])(*words[1:])


if __name__ == "__main__":
    main()
