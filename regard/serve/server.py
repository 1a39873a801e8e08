"""The server: a socket, uvicorn on it, and what it says when it begins and ends."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from regard.errors import RegardError
from regard.serve.app import Application
from regard.serve.patient_log import PatientFormatter, PatientHandler
from regard.serve.protocol import bounded_protocol
from regard.serve.settings import ServeSettings

BACKLOG = 2048


def listen(settings: ServeSettings) -> socket.socket:
    """A socket on the address of the settings; where it is taken, or not ours, the error says so."""
    host, port = settings.host, settings.port
    try:
        [*_, (family, *_, address)] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise RegardError(f"--host {host}: no such address; 127.0.0.1 is this machine alone, 0.0.0.0 all") from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise RegardError(_why_not(error, host, port)) from None
    return listening


def address_of(listening: socket.socket) -> str:
    """The address of a socket, as one types it into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: Application, settings: ServeSettings, ready: Callable[[], None]) -> uvicorn.Server:
    """A server that waits to be run; `ready` is called when the first request can be answered."""
    lane = None if settings.proxies else app.lane  # what a proxy says of its clients, the application reads
    config = uvicorn.Config(
        app,
        http=bounded_protocol(settings, app.guard, lane),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies) or None,
        server_header=False,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        backlog=BACKLOG,
    )
    return _Server(config, ready)


def run_server(server: uvicorn.Server, settings: ServeSettings, listening: socket.socket) -> None:
    """Serve until somebody asks to stop (SIGTERM, Ctrl-C); what has begun is finished first."""
    _start_log(settings)
    restore = _quiet_signals()
    try:
        server.run(sockets=[listening])
    except SystemExit:
        raise RegardError("the server could not start; the log above says why") from None
    finally:
        restore()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            await asyncio.to_thread(self._ready)


def _quiet_signals() -> Callable[[], None]:
    """uvicorn raises the signals again that have stopped it; then they have done their work, and end nothing more."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def done(number: int, frame: FrameType | None) -> None:
        del number, frame

    before = {number: signal.signal(number, done) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def _start_log(settings: ServeSettings) -> None:
    """Lines on standard error; uvicorn's own only where something is amiss."""
    handler = PatientHandler()
    handler.setFormatter(PatientFormatter())
    for name, level in (("regard.serve", settings.log_level.upper()), ("uvicorn", "WARNING")):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
        logger.propagate = False


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; stop what listens there, or choose another with --port (0: any)"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} may not be used; choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host}: is no address of this machine; 127.0.0.1 is this machine alone, 0.0.0.0 all"
    return f"{host}:{port}: cannot listen there ({error.strerror or error})"
