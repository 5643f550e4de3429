# SPDX-License-Identifier: MIT
"""examples/asgi, with stand-ins for the server and the preload; tests/e2e/servers.bats has real ones."""
import asyncio
import importlib
import sys
import unittest
from unittest import mock

import gpreempt
import gpreempt_asgi

NOW = 5_000_000_000


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.said, self.sent = [], []
        self.patch(mock.patch.object(gpreempt, "_call", self.call))
        self.patch(mock.patch.object(gpreempt.time, "monotonic_ns", return_value=NOW))
        importlib.reload(gpreempt_asgi)

    def patch(self, patch):
        patch.start()
        self.addCleanup(patch.stop)

    def call(self, when_ns):
        self.said.append((when_ns - NOW) / 1e9 if when_ns else "over")
        return 0

    async def send(self, message):
        self.sent.append((len(self.said), message))

    async def serve(self, app, path="/", kind="http"):
        """The stand-in for a server: one request without a body."""
        async def receive():
            return {"type": "http.request"}

        await app({"type": kind, "path": path}, receive, self.send)


async def answer(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"a", "more_body": True})
    await send({"type": "http.response.body", "body": b"b"})


class Announces(Case):
    async def test_a_request_until_its_last_part(self):
        await self.serve(gpreempt_asgi.Announce(answer, within=2))
        self.assertEqual(self.said, [2, "over"])
        # It is over before the last part is sent, which may wait for the client.
        self.assertEqual([said for said, _ in self.sent], [1, 1, 2])

    async def test_messages_are_passed_on(self):
        await self.serve(gpreempt_asgi.Announce(answer))
        self.assertEqual([message.get("body") for _, message in self.sent], [None, b"a", b"b"])

    async def test_a_request_that_fails_is_over(self):
        async def fail(_scope, _receive, _send):
            raise KeyError

        with self.assertRaises(KeyError):
            await self.serve(gpreempt_asgi.Announce(fail))
        self.assertEqual(self.said, [0.001, "over"])

    async def test_a_cancelled_request_is_over(self):
        async def wait(_scope, _receive, _send):
            await asyncio.sleep(3600)

        task = asyncio.create_task(self.serve(gpreempt_asgi.Announce(wait)))
        await asyncio.sleep(0)
        self.assertEqual(self.said, [0.001])
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.said, [0.001, "over"])

    async def test_the_last_of_several_requests_ends_it(self):
        gate = asyncio.Event()

        async def late(scope, receive, send):
            await gate.wait()
            await answer(scope, receive, send)

        task = asyncio.create_task(self.serve(gpreempt_asgi.Announce(late)))
        await asyncio.sleep(0)
        await self.serve(gpreempt_asgi.Announce(answer))
        self.assertEqual(self.said, [0.001, 0.001])
        gate.set()
        await task
        self.assertEqual(self.said[2:], ["over"])

    async def test_only_the_paths_that_use_the_gpu(self):
        for paths in ("/v1/", ["/v1/", "/v2/"]):
            app = gpreempt_asgi.Announce(answer, paths=paths)
            self.said.clear()
            await self.serve(app, "/health")
            self.assertEqual(self.said, [])
            await self.serve(app, "/v1/completions")
            self.assertEqual(self.said, [0.001, "over"])

    async def test_other_scopes_are_passed_on(self):
        for kind in ("lifespan", "websocket"):
            await self.serve(gpreempt_asgi.Announce(answer), kind=kind)
        self.assertEqual(len(self.sent), 6)
        self.assertEqual(self.said, [])

    def test_invalid_times_are_refused_at_the_start(self):
        for within in (-1, 3601, float("nan")):
            with self.assertRaises(ValueError):
                gpreempt_asgi.Announce(answer, within=within)


class StepsAside(Case):
    """Requests are answered as without the middleware, and one line says so."""

    async def says(self, words):
        with self.assertLogs("gpreempt.asgi") as logs:
            apps = [gpreempt_asgi.Announce(answer), gpreempt_asgi.Announce(answer)]
        self.assertEqual(len(logs.output), 1)
        self.assertIn(words, logs.output[0])
        for app in apps:
            await self.serve(app)
        self.assertEqual(len(self.sent), 6)
        self.assertEqual(self.said, [])

    async def test_without_the_module(self):
        self.patch(mock.patch.dict(sys.modules, gpreempt=None))
        importlib.reload(gpreempt_asgi)
        await self.says("there is no Python module gpreempt; requests are not announced")

    async def test_without_gpreempt_run(self):
        self.patch(mock.patch.object(gpreempt, "_call", None))
        await self.says("not started by 'gpreempt run'")


if __name__ == "__main__":
    unittest.main()
