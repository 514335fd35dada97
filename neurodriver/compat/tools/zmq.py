"""Two aids for sockets of ZeroMQ; the module itself needs no ZeroMQ."""

from __future__ import annotations

import random
import socket
from typing import Any

from ...errors import NeurodriverError

POLLIN = 1
"""As in pyzmq."""


def is_poll_in(sock: Any, poller: Any, timeout: float = 100) -> bool:
    """Tell whether a poller sees data for a socket within some milliseconds."""
    return dict(poller.poll(timeout)).get(sock) == POLLIN


def get_random_port(min_port: int = 49152, max_port: int = 65536, max_tries: int = 100) -> int:
    """Return a free TCP port from ``min_port`` to before ``max_port``.

    Raises
    ------
    NeurodriverError
        When none was found.
    """
    for _ in range(max_tries):
        port = random.randrange(min_port, max_port)
        with socket.socket() as one:
            try:
                one.bind(("", port))
            except OSError:
                continue
            return port
    raise NeurodriverError(f"no free port from {min_port} to {max_port} in {max_tries} tries")
