"""The server of a view: it answers one person on this machine, and serves nothing else."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import neurodriver as nd
from neurodriver.errors import NeurodriverError
from neurodriver.view.answers import Viewer
from neurodriver.view.server import MOST_BYTES, ViewServer
from neurodriver.view.watched import Watched

JSON = "application/json"


@pytest.fixture(scope="module")
def recorder() -> nd.MemoryRecorder:
    """Return what a neuron has recorded."""
    out = nd.MemoryRecorder([("V", None)])
    with nd.LPU(nd.example("one_neuron"), 1e-4, recorders=[out]) as lpu:
        lpu.run(steps=100)
    return out


@pytest.fixture(scope="module")
def server(recorder: nd.MemoryRecorder) -> Iterator[ViewServer]:
    """Serve a view."""
    view = Viewer("<one> & all", [Watched("one", lambda: recorder.recording)])
    with ViewServer(view) as made:
        yield made


def asked(
    server: ViewServer, method: str, path: str, body: bytes = b"", **headers: str | None
) -> tuple[int, str, Any]:
    """Return status, text and headers of the answer to a request; None leaves a header out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    given = {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def question(server: ViewServer, given: Any, **headers: str | None) -> tuple[int, str, Any]:
    """Ask as the page does, but for some headers."""
    usual = {"Authorization": f"Bearer {server.token}", "Content_Type": JSON}
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    return asked(server, "POST", "/ask", body, **{**usual, **headers})


def test_the_page_is_whole(server: ViewServer) -> None:
    """It loads nothing, and browsers are told to allow nothing else."""
    status, text, headers = asked(server, "GET", f"/?token={server.token}")
    assert status == 200 and "<title>&lt;one&gt; &amp; all - neurodriver</title>" in text
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:|//|/)""", text)
    assert not re.search(r"\bimport\s*[({\"']|https?://", text)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert server.token not in text


def test_an_answer(server: ViewServer) -> None:
    """A question with the token is answered; localhost is the same machine."""
    status, text, _ = question(server, {"ask": "about"})
    assert status == 200 and json.loads(text)["parts"][0]["variables"][0]["name"] == "V"
    host = f"localhost:{server.port}"
    status, text, _ = question(server, {"ask": "x"}, Host=host, Origin=f"http://{host}")
    assert status == 200 and "ask must be one of" in json.loads(text)["error"]


def test_it_listens_on_loopback_alone(server: ViewServer) -> None:
    """The socket is bound to one address."""
    assert server._server.server_address[0] == "127.0.0.1"
    assert urlsplit(server.address).hostname == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "/view.js", "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/static/view.js", "//",
        "/etc/passwd", "/ask", "/.", "/%2e%2e/", "/index.html", "/?x=1/../", "http://a.example/",
    ],
)  # fmt: skip
def test_no_other_path(server: ViewServer, path: str) -> None:
    """No path leads to a file, with the token or without it."""
    mark = "&" if "?" in path else "?"
    status, text, _ = asked(server, "GET", f"{path}{mark}token={server.token}")
    page = asked(server, "GET", f"/?token={server.token}")[1]
    if path in ("/?x=1/../", "//"):
        assert (status, text) == (200, page)  # both are the page itself
    else:
        assert (status, text) == (404, "nothing else is served\n")
    assert asked(server, "GET", path)[0] == 403
    other = "/ask/../view.js" if path == "/ask" else path
    headers = {"Authorization": f"Bearer {server.token}", "Content_Type": JSON}
    status, text, _ = asked(server, "POST", other, b"{}", **headers)
    assert (status, text) == (404, "nothing else is served\n")


@pytest.mark.parametrize("token", ["", "x", None, "\xe9"])
def test_the_token_is_needed(server: ViewServer, token: str | None) -> None:
    """Without it, or with another one, there is a sentence and nothing else."""
    query = "" if token is None else f"?token={token}"
    for status, text, _ in (
        asked(server, "GET", quote(f"/{query}", safe="/?=")),
        asked(server, "GET", f"/?token={server.token[:-1]}"),
        question(
            server, {"ask": "about"}, Authorization=None if token is None else f"Bearer {token}"
        ),
        question(server, {"ask": "about"}, Authorization=f"Basic {server.token}"),
        question(server, {"ask": "about"}, Authorization=f"Bearer {server.token}x"),
    ):
        assert status == 403 and text.startswith("the token is missing or wrong")


@pytest.mark.parametrize(
    "host", ["a.example", "a.example:{port}", "127.0.0.1", None, "[::1]:{port}"]
)
def test_other_hosts(server: ViewServer, host: str | None) -> None:
    """A name that somebody else let lead to this machine is refused."""
    said = None if host is None else host.format(port=server.port)
    assert asked(server, "GET", f"/?token={server.token}", Host=said)[0] == 403
    assert question(server, {"ask": "about"}, Host=said)[0] == 403


@pytest.mark.parametrize("origin", ["http://a.example", "null", "https://127.0.0.1:{port}", ""])
def test_other_origins(server: ViewServer, origin: str) -> None:
    """A page from elsewhere gets no answer, even with the token."""
    said = origin.format(port=server.port)
    assert question(server, {"ask": "about"}, Origin=said)[0] == 403
    assert asked(server, "GET", f"/?token={server.token}", Origin=said)[0] == 403


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[" * 5000, {}, 400),
        (b"\xff", {}, 400),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"", {"Content_Length": None}, 411),
        (b"", {"Content_Length": "-1"}, 411),
        (b"", {"Content_Length": str(MOST_BYTES + 1)}, 413),
        (b"", {"Content_Length": "9" * 30}, 413),
    ],
)
def test_malformed_questions(
    server: ViewServer, body: bytes, headers: dict[str, str | None], status: int
) -> None:
    """They are refused, and the next one is answered."""
    assert question(server, body, **headers)[0] == status
    assert question(server, {"ask": "about"})[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods(server: ViewServer, method: str) -> None:
    """There are two methods."""
    assert asked(server, method, f"/?token={server.token}")[0] == 501


def test_a_port_that_is_taken(server: ViewServer) -> None:
    """The message names it."""
    with pytest.raises(NeurodriverError, match=f"port {server.port}: .*choose another --port"):
        ViewServer(server.view, server.port)


COMMAND = [sys.executable, "-m", "neurodriver", "view"]


def test_the_command(tmp_path: Path) -> None:
    """It prints the address, answers, and Ctrl-C ends it with a sentence."""
    path = tmp_path / "one.h5"
    recorder = nd.HDF5Recorder(path, [("V", None)])
    with nd.LPU(nd.example("one_neuron"), 1e-4, recorders=[recorder]) as lpu:
        lpu.run(steps=50)
    child = subprocess.Popen([*COMMAND, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        found = re.fullmatch(
            r"view: http://127\.0\.0\.1:(\d+)/\?token=(\S+)\n", child.stdout.readline()
        )
        assert found and len(found[2]) == 32
        assert child.stdout.readline() == "Ctrl-C ends the view\n"
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
        headers = {"Authorization": f"Bearer {found[2]}", "Content-Type": JSON}
        connection.request("POST", "/ask", json.dumps({"ask": "about"}), headers)
        about = json.loads(connection.getresponse().read())
        connection.close()
        assert about["title"] == "one.h5" and about["durations"][0]["duration"] == pytest.approx(
            5e-3
        )
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=30)
        assert (child.returncode, said) == (0, "the view has ended\n")
    finally:
        child.kill()
        child.wait()


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no recording is refused before anything is served."""
    from neurodriver.__main__ import main

    wrong = tmp_path / "wrong.h5"
    wrong.write_text("text")
    for words in ([str(wrong)], [str(tmp_path / "none.h5")]):
        assert main(["view", *words]) == 1
        said = capsys.readouterr()
        assert said.err.startswith("error: ") and said.err.count("\n") == 1 and not said.out
