"""One page and one address for its questions, for this machine alone."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from ..errors import NeurodriverError
from .answers import Viewer
from .page import page, policy

HOST = "127.0.0.1"
"""Where it listens: nothing from another machine reaches it."""

MOST_BYTES = 1 << 16
"""Size of a question at most."""

MOST_SECONDS = 30.0
"""Time in which a question must arrive."""

ASK = "/ask"
"""Where questions go."""


class ViewServer:
    """Serves the page of a view on the loopback address of this machine.

    The page is at ``/?token=...``, and its questions go to ``/ask``. Both need the token, which is
    new for each server. There is nothing else: no path names a file.

    Parameters
    ----------
    port : int
        0 takes a free one.
    framed : bool
        Whether notebooks on this machine may hold the page in a frame.

    Attributes
    ----------
    address : str
        Of the page, with the token.

    Raises
    ------
    NeurodriverError
        If the port is taken, or not allowed.
    """

    def __init__(self, view: Viewer, port: int = 0, framed: bool = False) -> None:
        self.view, self.token = view, secrets.token_urlsafe(24)
        self.policy = policy(framed)
        try:
            self._server = _ViewHTTPServer((HOST, port), _ViewRequest)
        except OSError as error:
            say = f"port {port}: {error.strerror or error}"
            raise NeurodriverError(f"{say}; choose another --port, or leave it out") from None
        self._server.owner = self
        self.port = int(self._server.server_address[1])
        self.address = f"http://{HOST}:{self.port}/?token={self.token}"
        self.hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="neurodriver-view", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _ViewHTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    owner: ViewServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave a connection that broke; a browser closes some at any time."""


class _RequestRefused(Exception):
    """A request that gets no answer but a status and a sentence."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _ViewRequest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "neurodriver", ""
    timeout = MOST_SECONDS
    server: _ViewHTTPServer

    def do_GET(self) -> None:
        """Send the page."""
        self._reply("GET", "/", lambda: (page(self.server.owner.view.title), "text/html"))

    def do_POST(self) -> None:
        """Answer a question."""
        self._reply("POST", ASK, lambda: (self._answer(), "application/json"))

    def _reply(self, method: str, path: str, make: Any) -> None:
        try:
            self._check(method, path)
            text, kind = make()
            self._send(HTTPStatus.OK, text, kind)
        except _RequestRefused as refused:
            self.close_connection = True
            self._send(refused.status, f"{refused}\n", "text/plain")

    def _check(self, method: str, path: str) -> None:
        """Refuse what does not come from the page, or not from a person with the address."""
        owner, asked = self.server.owner, urlsplit(self.path)
        host = self.headers.get("Host", "")
        if host not in owner.hosts:  # a name that leads here is not enough
            raise _RequestRefused(HTTPStatus.FORBIDDEN, "this host is not served")
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            raise _RequestRefused(HTTPStatus.FORBIDDEN, "this origin is not served")
        if method == "GET":
            token = (parse_qs(asked.query).get("token") or [""])[-1]
        else:
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            token = token if kind == "Bearer" else ""
        if not hmac.compare_digest(token.encode(), owner.token.encode()):
            say = "the token is missing or wrong; open the address that neurodriver printed"
            raise _RequestRefused(HTTPStatus.FORBIDDEN, say)
        if asked.netloc or asked.path != path:
            raise _RequestRefused(HTTPStatus.NOT_FOUND, "nothing else is served")

    def _answer(self) -> str:
        said = self.headers.get("Content-Length", "")
        if not said.isdigit():
            raise _RequestRefused(
                HTTPStatus.LENGTH_REQUIRED, "the length of the question is needed"
            )
        if len(said) > 9 or int(said) > MOST_BYTES:
            raise _RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the question is too long")
        if self.headers.get_content_type() != "application/json":
            raise _RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a question must be JSON")
        try:
            question = json.loads(self.rfile.read(int(said)))
        except (ValueError, RecursionError):
            raise _RequestRefused(HTTPStatus.BAD_REQUEST, "the question is no JSON") from None
        return json.dumps(self.server.owner.view.answer(question), allow_nan=False)

    def _send(self, status: HTTPStatus, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": self.server.owner.policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the address with its token stays out of logs."""
