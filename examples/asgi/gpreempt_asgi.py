# SPDX-License-Identifier: MIT
"""ASGI middleware that announces HTTP requests to gpreemptd.

    app = Announce(app, paths=("/v1/",))                        # any ASGI application
    app.add_middleware(Announce, paths=("/v1/",))               # Starlette, FastAPI

A request is announced when its header has been read. While the server reads the body and prepares the
input, less urgent programs are held; when it launches the first kernel, the GPU is free. The
announcement ends with the response, unless another request is being answered.

The kernels must be launched by the process that runs the application. Requests and responses are
passed on unchanged. If gpreempt is not there, so are they, and one line says so.
"""
import functools
import logging
import threading

try:
    import gpreempt
except ImportError:
    gpreempt = None

__all__ = ["Announce"]

log = logging.getLogger("gpreempt.asgi")


class Requests:
    """Counts the announced requests of this process, of all middlewares and event loops in it."""

    def __init__(self):
        # Also held during the calls: a request must not be called off by one that ended before it.
        self.lock = threading.Lock()
        self.running = 0

    def begin(self, within):
        with self.lock:
            self.running += 1
            gpreempt.arriving(within)

    def end(self):
        with self.lock:
            self.running -= 1
            if not self.running:
                gpreempt.over()


_requests = Requests()


@functools.cache
def _can_announce():
    """Whether requests can be announced. Says it once if not."""
    if gpreempt is None:
        log.warning("gpreempt: there is no Python module gpreempt; requests are not announced")
    elif not gpreempt.joined():
        log.warning("gpreempt: not started by 'gpreempt run'; requests are not announced")
    else:
        return True
    return False


class Announce:
    """The middleware.

    within: the usual time in seconds from the header of a request to its first kernel.
    paths: beginnings of the paths whose requests use the GPU. Announcing others does harm: if announced
    work does not arrive, the daemon ignores announcements for some milliseconds.
    """

    def __init__(self, app, within=0.001, paths=("/",)):
        if not 0 <= within <= 3600:
            raise ValueError("within=%r is not a number of seconds from 0 to 3600" % (within,))
        self.app = app
        self.within = within
        self.paths = paths if isinstance(paths, str) else tuple(paths)
        self.announces = _can_announce()

    async def __call__(self, scope, receive, send):
        if not self.announces or scope["type"] != "http" or not scope["path"].startswith(self.paths):
            await self.app(scope, receive, send)
            return
        running = True

        def end():
            nonlocal running
            if running:
                running = False
                _requests.end()

        async def send_and_see(message):
            # Before the last part is sent: a slow client is not GPU work.
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                end()
            await send(message)

        _requests.begin(self.within)
        try:
            await self.app(scope, receive, send_and_see)
        finally:
            end()
