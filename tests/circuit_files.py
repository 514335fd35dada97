"""Writes GEXF files, good and bad, and shows how they are refused."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from support import IAF, node

from neurodriver import LPU, Circuit, CircuitError
from neurodriver.__main__ import main

NAMESPACE = "http://www.gexf.net/1.2draft"
TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}

Nodes = Mapping[str, Mapping[str, Any]] | Iterable[tuple[str, Mapping[str, Any]]]

GOOD: dict[str, dict[str, Any]] = {"a": node("LeakyIAF", IAF), "b": node("LeakyIAF", IAF)}


def gexf(
    nodes: Nodes,
    edges: Iterable[tuple[Any, ...]] = (),
    *,
    namespace: str = NAMESPACE,
    head: str = "",
    graph: str = 'defaultedgetype="directed"',
    declared: str = "",
    tail: str = "",
) -> str:
    """Return the text of a GEXF file; ``edges`` are (source, target[, values[, XML attributes]]).

    An attribute has the type of its first value.
    """
    ids: dict[tuple[str, str], tuple[int, str]] = {}

    def values(kind: str, data: Mapping[str, Any]) -> str:
        out = ""
        for key, value in data.items():
            number, _ = ids.setdefault((kind, key), (len(ids), TYPES[type(value)]))
            out += f'<attvalue for="{number}" value={quoteattr(str(value), _ESCAPES)}/>'
        return f"<attvalues>{out}</attvalues>"

    pairs = nodes.items() if isinstance(nodes, Mapping) else nodes
    body = "".join(
        f"<node id={quoteattr(uid, _ESCAPES)}>{values('node', data)}</node>" for uid, data in pairs
    )
    links = ""
    for source, target, *more in edges:
        data, extra = (*more, {}, "")[:2] if len(more) < 2 else more
        ends = f"source={quoteattr(source, _ESCAPES)} target={quoteattr(target, _ESCAPES)}"
        links += f"<edge {ends} {extra or ''}>{values('edge', data)}</edge>"
    listed = dict.fromkeys(("node", "edge"), "")
    for (kind, title), (number, type_) in ids.items():
        listed[kind] += f'<attribute id="{number}" title={quoteattr(title)} type="{type_}"/>'
    parts = "".join(
        f'<attributes class="{kind}">{text}</attributes>' for kind, text in listed.items()
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}<gexf xmlns="{namespace}"><graph {graph}>'
        f"{parts}{declared}<nodes>{body}</nodes><edges>{links}</edges>{tail}</graph></gexf>"
    )


_ESCAPES = {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}


def save(
    folder: Path, content: str | bytes, name: str = "circuit.gexf", zipped: bool = False
) -> Path:
    """Write a file and return its path."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(gzip.compress(data) if zipped else data)
    return path


def refused(
    path: Path, capsys: pytest.CaptureFixture[str], *words: str, strict: bool = False
) -> str:
    """Show that the file is refused from Python and by the command line alike; return the text.

    The message is one paragraph that names the file and holds all ``words``; nothing is written.
    """
    before = sorted(path.parent.iterdir())
    with pytest.raises(CircuitError) as caught:
        LPU(Circuit.from_file(path, strict=strict), 1e-4).close()
    message = str(caught.value)
    output = path.parent / "out.h5"
    flags = ["--strict"] if strict else []
    capsys.readouterr()
    for command in (
        ["run", "--dt", "1e-4", "--duration", "0.01", "-o", str(output)],
        ["check", "--dt", "1e-4"],
    ):
        assert main([*command, *flags, str(path)]) == 1
        shown = capsys.readouterr()
        assert f"error: {message}\n" in shown.err
        assert "Traceback" not in shown.err + shown.out
    assert sorted(path.parent.iterdir()) == before
    assert message.startswith(f"{path}: ")
    assert "\n\n" not in message and len(message) < 4000
    for word in words:
        assert word in message, f"{word!r} not in {message!r}"
    return message
