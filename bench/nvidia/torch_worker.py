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
                    HINT_US is not -1 each is announced so long before, or as long as gpreempt says
                    where it is auto
    stop, quit

It is a program as any other: of gpreempt it only knows how to announce requests.
"""
import argparse
import os
import random
import struct

# For bit-identical repetitions; cuBLAS reads it once.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
import torchvision  # noqa: E402

import gpreempt  # noqa: E402
from torch_commands import Commands, Hint, answer, now, obey, wait_until  # noqa: E402


def resnet50():
    net = torchvision.models.resnet50(weights=None).cuda()
    return net.to(memory_format=torch.channels_last)


class Training:
    """A model with its optimizer and a fixed batch."""

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
        """Returns the loss of each step, as the bits of a float."""
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
    """Runs many small kernels one after another, as a language model does for each token."""

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
        """Serves a request: returns its arrival, its time, its result, and whether it was announced."""
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
        return begun, took, result, heard

    def serve(self, mode, seconds, from_ms, to_ms, hint_us):
        run, hint = self.run[mode], Hint(hint_us)
        came, took, announced, result = [], [], 0, None

        def next_one():
            at = now() + int(random.uniform(float(from_ms), float(to_ms)) * 1e6)
            return self.request(run, at, hint.lead_ns())

        with torch.cuda.stream(self.stream), torch.inference_mode():
            for _ in range(self.WARM_UP):
                next_one()
            begin = now()
            end = begin + int(float(seconds) * 1e9)
            while now() < end:
                begun, this, result, heard = next_one()
                came.append(begun)
                took.append(this)
                announced += heard
            right = result is None or bool(torch.equal(result, self.first[mode]))
        answer(right=right, announced=announced, begin_ns=begin, end_ns=now(), came_ns=came,
               took_ns=took, lead_ns=hint.mean_ns())


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("role", choices=["train", "serve"])
    options.add_argument("--batch", type=int, default=256)
    options = options.parse_args()
    commands = Commands()
    random.seed(1)
    worker = {"train": Trainer, "serve": Server}[options.role](options, commands)
    # The GPU's name is read later, since that already uses the GPU.
    obey(worker, commands, ready=options.role, torch=str(torch.__version__))


if __name__ == "__main__":
    main()
