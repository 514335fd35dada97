"""What is no circuit file is refused in one paragraph, whatever it is."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.parsers.expat import ExpatError

import h5py
import pytest
from circuit_files import GOOD, gexf, refused, save
from support import AMPA, node

from neurodriver import Circuit, CircuitError
from neurodriver.io import gexf as gexf_module

Capture = pytest.CaptureFixture[str]
PAIR = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
WIRES = [("a", "s"), ("s", "b")]
TEXT = gexf(PAIR, WIRES)
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(10))


def test_the_file_these_are_made_from_is_good(tmp_path: Path) -> None:
    """Every refusal below is due to the one thing that is changed."""
    circuit = Circuit.from_file(save(tmp_path, TEXT), strict=True)
    assert (circuit.count, circuit.edges) == (3, 2)


def replaced(old: str, new: str) -> str:
    """Return the good text with one thing changed."""
    assert old in TEXT
    return TEXT.replace(old, new, 1)


FILES: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "empty file": (b"", ("not well-formed XML", "GEXF")),
    "no XML": ("dt,V\n1,2\n", ("not well-formed XML", "line 1")),
    "binary": (bytes(range(256)) * 9, ("not well-formed XML",)),
    "cut short": (TEXT[: len(TEXT) // 2], ("not well-formed XML",)),
    "other root": ("<graphml/>", ("not a GEXF file", "got <graphml>")),
    "no namespace": (
        TEXT.replace(' xmlns="http://www.gexf.net/1.2draft"', ""),
        ("namespace", "http://www.gexf.net/1.2draft", "got <gexf>"),
    ),
    "unknown version": (
        TEXT.replace("/1.2draft", "/9.9"), ("1.1 to 1.3", "'http://www.gexf.net/9.9'"),
    ),
    "no graph": ('<gexf xmlns="http://www.gexf.net/1.2draft"/>', ("no <graph>",)),
    "no nodes": (
        '<gexf xmlns="http://www.gexf.net/1.2draft"><graph defaultedgetype="directed"/></gexf>',
        ("the circuit is empty: no nodes",),
    ),
    "two graphs": (
        TEXT.replace("</gexf>", '<graph defaultedgetype="directed"/></gexf>'), ("second <graph>",),
    ),
    "bomb": (gexf(PAIR, WIRES, head=f"<!DOCTYPE gexf [{LAUGHS}]>"), ("XML entity 'l0'", "refused")),
    "external": (
        gexf(PAIR, head='<!DOCTYPE gexf [<!ENTITY x SYSTEM "file:secret.txt">]>'),
        ("XML entity 'x'", "refused"),
    ),
    "parameter": (
        gexf(PAIR, head='<!DOCTYPE gexf [<!ENTITY % p SYSTEM "http://localhost/p"> %p;]>'),
        ("XML entity 'p'", "refused"),
    ),
    "late bomb": (
        gexf(PAIR, head=f"<!--{'x' * 3_000_000}--><!DOCTYPE gexf [{LAUGHS}]>"), ("entity 'l0'",),
    ),
    "entity of another file": (
        replaced('"a"', '"&a;"').replace("<gexf", '<!DOCTYPE gexf SYSTEM "no.dtd"><gexf', 1),
        ("entity",),
    ),
    "undefined entity": (replaced('"a"', '"&a;"'), ("not well-formed XML", "undefined entity")),
    "undirected": (
        replaced('"directed"', '"undirected"'), ("'defaultedgetype'", "'directed'", "'undirected'"),
    ),
    "mutual": (replaced('"directed"', '"mutual"'), ("'defaultedgetype'", "'directed'", "'mutual'")),
    "no edge type": (replaced('defaultedgetype="directed"', ""), ("'defaultedgetype'", "got none")),
    "undirected edge": (
        replaced("<edge ", '<edge type="undirected" '),
        ("edge 'a' -> 's'", "'type'", "'directed'", "'undirected'"),
    ),
    "mutual edge": (
        replaced("<edge ", '<edge type="mutual" '), ("edge 'a' -> 's'", "'type'", "'mutual'"),
    ),
    "undeclared": (replaced('for="3"', 'for="77"'), ("node 'a'", "'77' is not declared")),
    "wrong type": (
        replaced('value="-70.0"', 'value="much"'),
        ("node 'a'", "'resting_potential'", "type 'double'", "'much'"),
    ),
    "no value": (replaced(' value="-70.0"', ""), ("node 'a'", "<attvalue> without 'value'")),
    "no for": (replaced('for="3"', 'id="3"'), ("node 'a'", "<attvalue> without 'for'")),
    "two values": (replaced('for="3"', 'for="1"'), ("node 'a'", "attribute '1' has two values")),
    "no boolean": (
        gexf({"a": {**GOOD["a"], "big": True}}).replace("True", "perhaps"),
        ("node 'a'", "'big'", "type 'boolean'", "'perhaps'"),
    ),
    "no integer": (
        gexf({"a": {**GOOD["a"], "n": 3}}).replace('"3"/></a', '"three"/></a'),
        ("node 'a'", "'n'", "type 'long'", "'three'"),
    ),
    "bad default": (
        gexf(GOOD, declared='<attributes class="node"><attribute id="x" title="n" type="double">'
             "<default>none</default></attribute></attributes>"),
        ("default of a node attribute", "'n'", "'double'", "'none'"),
    ),
    "unknown class": (replaced('class="edge"', 'class="link"'), ("'node' or 'edge'", "'link'")),
    "unknown type": (
        replaced('title="threshold" type="double"', 'title="threshold" type="real"'),
        ("node attribute 'threshold'", "unknown type 'real'", "'double'"),
    ),
    "no title": (replaced('title="threshold"', ""), ("node attribute '2'", "no 'title'")),
    "repeated title": (
        replaced('title="threshold"', 'title="resistance"'), ("attribute 'resistance'", "repeated"),
    ),
    "dynamic": (
        replaced('class="node"', 'class="node" mode="dynamic"'),
        ("'mode'", "'static'", "'dynamic'"),
    ),
    "no node id": (replaced('<node id="a"', "<node"), ("a node without 'id'",)),
    "no source": (replaced('source="a"', 'id="e1"'), ("edge 'e1'", "'source' is missing")),
    "no target": (replaced('target="s"', ""), ("edge ''", "'target' is missing")),
    "unknown encoding": (replaced("UTF-8", "KLINGON-8"), ("KLINGON-8",)),
    "wrong encoding": (
        replaced('"a"', '"é"').encode("latin-1"), ("not well-formed XML", "invalid token"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_refused(name: str, zipped: bool, tmp_path: Path, capsys: Capture) -> None:
    """Each is refused with its reason, plain or compressed, and quickly."""
    content, words = FILES[name]
    path = save(tmp_path, content, "c.gexf.gz" if zipped else "c.gexf", zipped)
    begin = time.process_time()
    refused(path, capsys, *words)
    assert time.process_time() - begin < 2


class Late:
    """A parser that looks at nothing before the end, as Expat may do with long tokens."""

    def __init__(self, parser: Any) -> None:
        self.__dict__.update(parser=parser, kept=b"")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["parser"], name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["parser"], name)

    def Parse(self, block: bytes, last: bool) -> None:
        self.__dict__["kept"] += block
        if last:
            self.__dict__["parser"].Parse(self.__dict__["kept"], True)


def test_entities_that_are_seen_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before anything is made of them, whenever the parser gets to them."""
    make = gexf_module.expat.ParserCreate
    stand_in = SimpleNamespace(ParserCreate=lambda **k: Late(make(**k)), ExpatError=ExpatError)
    monkeypatch.setattr(gexf_module, "expat", stand_in)
    assert Circuit.from_file(save(tmp_path, TEXT)).count == 3
    bomb = gexf(PAIR, head=f"<!DOCTYPE gexf [{LAUGHS}]>")
    with pytest.raises(CircuitError, match="declares the XML entity 'l0', which is refused"):
        Circuit.from_file(save(tmp_path, bomb))
    with pytest.raises(CircuitError, match="not well-formed XML"):
        Circuit.from_file(save(tmp_path, TEXT[: len(TEXT) // 2]))
    with pytest.raises(CircuitError, match="not well-formed XML"):
        Circuit.from_file(save(tmp_path, "<!-- nothing -->"))


@pytest.mark.parametrize("part", [3, 11, 0.2, 0.5, 0.9, -1, -5])
def test_gzip_cut_short(part: float, tmp_path: Path, capsys: Capture) -> None:
    """Wherever a compressed file ends too early, that is what is told."""
    data = gzip.compress(TEXT.encode())
    kept = data[: int(part * len(data)) if isinstance(part, float) else part]
    refused(save(tmp_path, kept, "c.gexf.gz"), capsys, "gzip data are damaged or cut short")


def test_gzip_damaged(tmp_path: Path, capsys: Capture) -> None:
    """A flipped byte in compressed data does not pass for a circuit."""
    data = bytearray(gzip.compress(TEXT.encode()))
    data[-6] ^= 0xFF
    refused(save(tmp_path, bytes(data)), capsys, "gzip data are damaged")


def test_other_files(tmp_path: Path, capsys: Capture) -> None:
    """Recordings, folders and missing files are told apart."""
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["V"] = 1
    refused(path, capsys, "this HDF5 file holds no circuit", "'V'", "Circuit.save")
    folder = tmp_path / "folder"
    folder.mkdir()
    refused(folder, capsys, "cannot be read", "directory")
    refused(tmp_path / "missing.gexf", capsys, "no such file")


@pytest.mark.needs("a common user")
def test_unreadable(tmp_path: Path, capsys: Capture) -> None:
    """A file without permission is told."""
    path = save(tmp_path, TEXT)
    path.chmod(0)
    refused(path, capsys, "cannot be read", "denied")


def test_deep_nesting(tmp_path: Path, capsys: Capture) -> None:
    """Nodes nested a hundred thousand deep are nodes like others."""
    depth = 100_000
    head, tail = gexf({}).split("<nodes></nodes>")
    deep = "".join(f'<nodes><node id="n{i}">' for i in range(depth))
    path = save(tmp_path, head + deep + "</node></nodes>" * depth + tail)
    refused(path, capsys, f"{depth} faults", "node 'n0' has no attribute 'class'")
