# SPDX-License-Identifier: MIT
"""An ASGI application under uvicorn whose requests use an AMD GPU, and a client that sends N of them.

With --bare, the application is served without a GPU.
"""
import argparse
import asyncio
import http.client
import socket
import threading
import time

import uvicorn

import gpreempt_asgi

PREPARE_S = 0.02  # from the header of a request to its first kernel


class App:
    def __init__(self, queue):
        self.queue = queue

    async def __call__(self, scope, receive, send):
        assert scope["type"] == "http"
        body = (await receive())["body"]
        if self.queue and scope["path"] == "/v1/double":
            await asyncio.sleep(PREPARE_S)
            await asyncio.get_running_loop().run_in_executor(None, self.queue.work)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": body})


def join():
    """Makes a queue and waits until the daemon knows it; over() announces nothing."""
    import gpreempt
    import hsa_queue

    queue = hsa_queue.Queue()
    end = time.monotonic() + 20
    while not gpreempt.over() and time.monotonic() < end:
        time.sleep(0.01)
    return queue


def send_requests(port, count):
    for i in range(count):
        link = http.client.HTTPConnection("127.0.0.1", port)
        link.request("POST", "/v1/double", b"%d," % i)
        assert link.getresponse().read() == b"%d,%d," % (i, i)
        link.request("GET", "/health")
        assert link.getresponse().status == 200
        link.close()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--requests", type=int, default=3)
    options.add_argument("--bare", action="store_true")
    options = options.parse_args()
    queue = None if options.bare else join()
    app = gpreempt_asgi.Announce(App(queue), within=PREPARE_S, paths=("/v1/",))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        serving.start()
        try:
            send_requests(listener.getsockname()[1], options.requests)
        finally:
            server.should_exit = True
            serving.join()
    print(f"{options.requests} requests, each answered right")


if __name__ == "__main__":
    main()
