#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A language model in PyTorch for bench/nvidia/run: a server, a trainer, and a notebook-like program.

    llm_worker.py serve | train | notebook

    open            begins to use the GPU, and warms up
    go              (train, notebook) works until "stop", which is answered by the times
    serve REQUESTS PER_S SEED HINT_US
                    (serve) requests at random times that depend only on SEED; where HINT_US is not -1,
                    each is announced so long before
    stop, quit

The model is a decoder of 16 layers and width 2048 in bf16. A request is a prompt of 512 tokens, run
eagerly, and 32 tokens, each of which is one replay of a CUDA graph. Of gpreempt the server only knows
how to announce requests. The weights are random: only the time of an answer matters, and that the same
prompt has the same answer.
"""
import argparse
import random

import torch

import gpreempt
from torch_commands import Commands, Hint, answer, now, obey, wait_until

F = torch.nn.functional
LAYERS, WIDTH, HEADS, WORDS = 16, 2048, 16, 32000
PROMPT, TOKENS = 512, 32
ROOM = 576  # positions of the cache: a multiple of 64, which attention with a mask needs
BATCH, LENGTH = 8, 1024  # of the trainer


class Model:
    """The weights, and the layers between a token's embedding and the scores of the next one."""

    def __init__(self):
        torch.manual_seed(1)
        self.embedding = self.matrix(WORDS, WIDTH)
        self.layers = [[self.matrix(3 * WIDTH, WIDTH), self.matrix(WIDTH, WIDTH),
                        self.matrix(4 * WIDTH, WIDTH), self.matrix(WIDTH, 4 * WIDTH)]
                       for _ in range(LAYERS)]

    @staticmethod
    def matrix(rows, columns):
        return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) * columns ** -0.5

    def weights(self):
        return [self.embedding] + sum(self.layers, [])

    def __call__(self, tokens, attend):
        """@attend(layer, q, k, v): the attention; it keeps keys and values where they are needed."""
        x = F.embedding(tokens, self.embedding)
        batch, length = tokens.shape[0], tokens.shape[1]
        for i, (qkv, out, up, down) in enumerate(self.layers):
            y = F.linear(F.layer_norm(x, (WIDTH,)), qkv)
            y = y.view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            y = attend(i, y[0], y[1], y[2]).transpose(1, 2).reshape(batch, length, WIDTH)
            x = x + F.linear(y, out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (WIDTH,)), up)), down)
        return F.layer_norm(x, (WIDTH,))

    def scores(self, x):
        return F.linear(x, self.embedding)


class Chat:
    """Answers one prompt, again and again, with a cache of keys and values at fixed addresses."""

    def __init__(self, stream):
        self.stream, self.model = stream, Model()
        self.prompt = torch.randint(0, WORDS, (1, PROMPT), device="cuda")
        shape = (LAYERS, 2, 1, HEADS, ROOM, WIDTH // HEADS)
        self.cache = torch.zeros(*shape, device="cuda", dtype=torch.bfloat16)
        self.places = torch.arange(ROOM, device="cuda")
        self.at = torch.full((1,), PROMPT, device="cuda")  # the position of the newest token
        self.token = torch.zeros(1, 1, device="cuda", dtype=torch.long)
        self.said = torch.zeros(ROOM, device="cuda", dtype=torch.long)
        self.graph = None

    def first_token(self):
        def attend(layer, q, k, v):
            self.cache[layer, 0, :, :, :PROMPT] = k
            self.cache[layer, 1, :, :, :PROMPT] = v
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        self.at.fill_(PROMPT)
        self.say(self.model(self.prompt, attend))

    def next_token(self):
        seen = torch.le(self.places, self.at).view(1, 1, 1, ROOM)

        def attend(layer, q, k, v):
            keys, values = self.cache[layer, 0], self.cache[layer, 1]
            keys.index_copy_(2, self.at, k)
            values.index_copy_(2, self.at, v)
            return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)

        x = self.model(self.token, attend)
        self.at.add_(1)
        self.say(x)

    def say(self, x):
        best = self.model.scores(x[:, -1]).argmax(-1)
        self.token.copy_(best.view(1, 1))
        self.said.index_copy_(0, self.at, best)

    def capture(self):
        for _ in range(3):
            self.first_token()
            self.next_token()
        self.stream.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.next_token()

    def request(self):
        """Returns when it began, and when each token was there."""
        times = [now()]
        self.first_token()
        self.stream.synchronize()
        times.append(now())
        for _ in range(TOKENS):
            self.graph.replay()
            self.stream.synchronize()
            times.append(now())
        return times


class Server:
    WARM_UP = 3  # requests before those that count
    APART_NS = 10_000_000  # the least time between the end of a request and the next one

    def __init__(self, _commands):
        self.chat = self.first = None

    def open(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.inference_mode():
            self.chat = Chat(stream)
            self.chat.capture()
            for _ in range(3):
                self.chat.request()
            self.first = self.chat.said.clone()
            stream.synchronize()
        answer(open=True, gpu=torch.cuda.get_device_name())

    def one(self, at, hint_ns):
        """Serves a request: returns its times, and whether it was announced."""
        heard = False
        if hint_ns >= 0:
            at = max(at, now() + hint_ns)
            wait_until(at - hint_ns)
            heard = gpreempt.arriving(within=hint_ns / 1e9)
        wait_until(at)
        times = self.chat.request()
        if hint_ns >= 0:
            gpreempt.over()
        return times, heard

    def serve(self, requests, per_s, seed, hint_us):
        """Requests come at random times, but not before the last one has ended."""
        draw, hint = random.Random(int(seed)), Hint(hint_us)
        all_times, announced = [], 0
        with torch.cuda.stream(self.chat.stream), torch.inference_mode():
            for _ in range(self.WARM_UP):
                self.one(now() + 5 * self.APART_NS, hint.lead_ns())
            begin = due = now()
            for _ in range(int(requests)):
                due += int(draw.expovariate(float(per_s)) * 1e9)
                times, heard = self.one(max(due, now() + self.APART_NS), hint.lead_ns())
                all_times.append(times)
                announced += heard
            end = now()
            right = bool(torch.equal(self.chat.said, self.first))
        answer(right=right, announced=announced, begin_ns=begin, end_ns=end, times_ns=all_times,
               lead_ns=hint.mean_ns())


class Trainer:
    def __init__(self, commands):
        self.commands = commands
        self.stream = self.model = self.optimizer = self.tokens = None

    def open(self):
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.model = Model()
            for weight in self.model.weights():
                weight.requires_grad_()
            self.optimizer = torch.optim.SGD(self.model.weights(), lr=1e-5)
            self.tokens = torch.randint(0, WORDS, (BATCH, LENGTH + 1), device="cuda")
            for _ in range(3):
                self.step()
            self.stream.synchronize()
        answer(open=True, gpu=torch.cuda.get_device_name())

    def step(self):
        def attend(_layer, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        scores = self.model.scores(self.model(self.tokens[:, :-1], attend))
        loss = F.cross_entropy(scores.view(-1, WORDS), self.tokens[:, 1:].reshape(-1))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def go(self):
        ended = []
        with torch.cuda.stream(self.stream):
            while not self.commands.waiting():
                self.step()
                self.stream.synchronize()
                ended.append(now())
        self.commands.next()
        answer(ended_ns=ended)


class Notebook:
    """Runs a cell now and then: some short kernels."""

    FROM_MS, TO_MS, KERNELS = 50, 400, 20

    def __init__(self, commands):
        self.commands = commands
        self.stream = self.x = None

    def open(self):
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.x = torch.randn(2048, 2048, device="cuda")
            self.cell()
        answer(open=True, gpu=torch.cuda.get_device_name())

    def cell(self):
        y = self.x
        for _ in range(self.KERNELS):
            y = torch.tanh(y @ self.x)
        self.stream.synchronize()

    def go(self):
        came, took, draw = [], [], random.Random(1)
        with torch.cuda.stream(self.stream):
            due = now()
            while not self.commands.waiting():
                if now() < due:
                    wait_until(min(due, now() + 10_000_000))
                    continue
                came.append(now())
                self.cell()
                took.append(now() - came[-1])
                due = now() + int(draw.uniform(self.FROM_MS, self.TO_MS) * 1e6)
        self.commands.next()
        answer(came_ns=came, took_ns=took)


def main():
    roles = {"serve": Server, "train": Trainer, "notebook": Notebook}
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("role", choices=roles)
    role = options.parse_args().role
    commands = Commands()
    # The GPU's name is read later, since that already uses the GPU.
    obey(roles[role](commands), commands, ready=role, torch=str(torch.__version__))


if __name__ == "__main__":
    main()
