#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An image classifier behind HTTP, in PyTorch, that announces its work to gpreemptd.

    gpreempt run -c offline -- python3 train.py
    gpreempt run -c online -- python3 torch_server.py --port 8080

The server announces a request when it has read the header. While it reads the body and makes a tensor
of it, the training is held; when it launches the first kernel, the GPU is free. Without `gpreempt run`,
the announcements do nothing.

POST 150,528 bytes, three planes of 224x224 pixels; the answer is {"class": N, "ms": T}. --self-test N
sends N requests of random pixels, prints their times, and ends.
"""
import argparse
import http.client
import http.server
import json
import os
import sys
import threading
import time

import torch
import torchvision

import gpreempt

SHAPE = (1, 3, 224, 224)
BYTES = 3 * 224 * 224


class Model:
    """ResNet-50 for one image at a time, as a CUDA graph."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.lock = threading.Lock()
        with torch.cuda.stream(self.stream), torch.inference_mode():
            net = torchvision.models.resnet50(weights=None).cuda().eval().bfloat16()
            self.image = torch.zeros(SHAPE, device="cuda", dtype=torch.bfloat16)
            for _ in range(3):
                net(self.image)
            self.stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.scores = net(self.image)

    def classify(self, pixels):
        image = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(SHAPE) / 255
        with self.lock, torch.cuda.stream(self.stream), torch.inference_mode():
            self.image.copy_(image)
            self.graph.replay()
            best = self.scores.argmax()
            self.stream.synchronize()
            return int(best.item())


class Handler(http.server.BaseHTTPRequestHandler):
    model = None  # set by main()

    def do_POST(self):
        begin = time.perf_counter()
        with gpreempt.request(within=0.001):
            length = int(self.headers.get("Content-Length", 0))
            if length != BYTES:
                self.send_error(400, f"an image has {BYTES} bytes, not {length}")
                return
            best = self.model.classify(self.rfile.read(length))
        answer = json.dumps({"class": best, "ms": (time.perf_counter() - begin) * 1e3}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


def self_test(port, count):
    times = []
    for _ in range(count):
        link = http.client.HTTPConnection("127.0.0.1", port)
        link.request("POST", "/", os.urandom(BYTES))
        times.append(json.load(link.getresponse())["ms"])
        link.close()
        time.sleep(0.01)
    times.sort()
    print(f"{count} requests, median {times[count // 2]:.2f} ms, slowest {times[-1]:.2f} ms")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--port", type=int, default=8080, help="0: any that is free")
    options.add_argument("--self-test", type=int, metavar="N", default=0)
    options = options.parse_args()
    if not gpreempt.joined():
        print("not started by 'gpreempt run': requests are not announced", file=sys.stderr)
    Handler.model = Model()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    if not options.self_test:
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    self_test(server.server_address[1], options.self_test)
    server.shutdown()


if __name__ == "__main__":
    main()
