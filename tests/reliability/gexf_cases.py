"""Odd and bad GEXF files, and an oracle that counts what a file holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from circuit_files import NAMESPACE, gexf, save
from isolated import CLEAR, LEGAL, WARNED, Case
from support import ALPHA, IAF, node

from neurodriver import Circuit
from neurodriver.io.gexf import read_gexf

NODES = {
    "a": node("LeakyIAF", IAF),
    "s": node("AlphaSynapse", ALPHA, reverse=0.0),
    "b": node("LeakyIAF", IAF),
}
TEXT = gexf(
    NODES,
    [("a", "s", {"variable": "spike_state", "delay": 0.001}), ("s", "b", {"variable": "g"})],
)
LISTS = "graph", "attributes", "attribute", "nodes", "node", "edges", "edge", "attvalues"
LISTS = *LISTS, "attvalue"


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    yield Case("the good file", _holds(TEXT, 3, 2), (LEGAL,))
    yield from _structure()
    yield from _attributes()
    yield from _values()
    yield from _ports()
    yield from _bytes()
    for seed in range(100):
        yield Case(f"rearranged {seed}", rearranged(seed), (CLEAR, WARNED, LEGAL))


def _read(text: str | bytes, **more: Any) -> Callable[[Path], object]:
    return lambda folder: Circuit.from_file(save(folder, text), **more)


def _holds(text: str, nodes: int, edges: int) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        circuit = Circuit.from_file(save(folder, text))
        found = circuit.count, sum(map(len, circuit.connections))
        assert found == (nodes, edges), found

    return run


def _structure() -> Iterator[Case]:
    """Elements that are repeated, misspelt or stand in a wrong place."""
    halves = TEXT.replace('</edge><edge source="s"', '</edge></edges><edges><edge source="s"')
    yield Case("a second <edges>", _holds(halves, 3, 2), (LEGAL,))
    halves = TEXT.replace('<node id="b">', '</nodes><nodes><node id="b">')
    yield Case("a second <nodes>", _holds(halves, 3, 2), (LEGAL,))
    halves = TEXT.replace('<attvalue for="1"', '</attvalues><attvalues><attvalue for="1"')
    yield Case("a second <attvalues>", _holds(halves, 3, 2), (LEGAL,))
    nested = TEXT.replace('<node id="b">', '<node id="c"><nodes><node id="b">').replace(
        "</node></nodes>", "</node></nodes></node></nodes>"
    )
    yield Case("nodes in a node", _read(nested), (WARNED, CLEAR))
    for name in LISTS:
        for wrong in (name.upper(), f"{name[0]}x{name[1:]}", f"{name}s", "data"):
            if f"<{wrong}" in TEXT:
                continue
            changed = TEXT.replace(f"<{name} ", f"<{wrong} ").replace(f"<{name}>", f"<{wrong}>")
            changed = changed.replace(f"</{name}>", f"</{wrong}>")
            yield Case(f"<{wrong}> for <{name}>", _read(changed))
        one = TEXT.replace(f"<{name} ", f"<{name}x/><{name} ", 1)
        one = one if one != TEXT else TEXT.replace(f"<{name}>", f"<{name}x/><{name}>", 1)
        yield Case(f"<{name}x> beside <{name}>", _read(one), words=(f"<{name}x>",))
    for name in LISTS[1:]:
        for other in LISTS:
            given = f"<{name}/>"
            one = TEXT.replace(f"</{other}>", f"{given}</{other}>", 1)
            if one != TEXT:
                allowed = (CLEAR, WARNED, LEGAL) if name.endswith("s") else (CLEAR,)
                yield Case(f"{given} at the end of <{other}>", _read(one), allowed)
    for element in ("spells", "parents", "slices"):
        text = TEXT.replace("</attvalues></node>", f"</attvalues><{element}/></node>", 1)
        yield Case(f"<{element}>", _read(text), (WARNED, CLEAR), (f"<{element}>",))
    viz = '<v:size xmlns:v="http://www.gexf.net/1.2draft/viz" value="2"/></node>'
    yield Case("viz", _read(TEXT.replace("</node>", viz, 1)), (WARNED,), ("viz",))
    other = '<v:size xmlns:v="http://example.org/" value="2"/></node>'
    yield Case("another namespace", _read(TEXT.replace("</node>", other, 1)), (WARNED,))
    for text in ("weight=3", "0.5"):
        for name in ("node", "nodes", "edge", "graph"):
            one = TEXT.replace(f"</{name}>", f"{text}</{name}>", 1)
            yield Case(f"text {text} in <{name}>", _read(one), words=(text,))
    yield Case(
        "meta", _read(TEXT.replace("<graph", "<meta><creator>I</creator></meta><graph")), (LEGAL,)
    )
    yield Case("text in gexf", _read(TEXT.replace("<graph", "hello<graph")))
    options = TEXT.replace(
        'title="class" type="string"/>',
        'title="class" type="string"><options>a|b</options></attribute>',
    )
    yield Case("options", _read(options), (WARNED,), ("<options>",))


def _attributes() -> Iterator[Case]:
    """Attributes of elements that nobody reads."""
    heads = {
        "graph": "<graph ", "attributes": "<attributes ", "attribute": "<attribute ",
        "node": "<node ", "edge": "<edge ", "attvalue": "<attvalue ",
    }  # fmt: skip
    for name, head in heads.items():
        for extra in ('wieght="3"', 'Class="x"', 'start="1"', 'pid="a"', 'foo=""', 'Id="3"'):
            one = TEXT.replace(head, f"{head}{extra} ", 1)
            yield Case(f"{extra} of <{name}>", _read(one), (WARNED, CLEAR), (extra.split("=")[0],))
            if name != "attvalue" or "start" not in extra:
                yield Case(f"{extra} of <{name}>, strict", _read(one, strict=True))
    for count, allowed in (("3", (LEGAL,)), ("4", (WARNED,)), ("x", (WARNED,))):
        one = TEXT.replace("<nodes>", f'<nodes count="{count}">')
        yield Case(f"count {count}", _read(one), allowed)
    yield Case("edges count", _read(TEXT.replace("<edges>", '<edges count="1">')), (WARNED,))
    dynamic = TEXT.replace("<graph ", '<graph mode="dynamic" ')
    yield Case("a dynamic graph", _read(dynamic), (WARNED,), ("dynamic",))


def _values() -> Iterator[Case]:
    """Numbers that are none, or too large."""
    for text in (
        "nan",
        "inf",
        "-inf",
        "1e400",
        "0x10",
        "",
        " ",
        "1,5",
        "1_0",
        "٣",
        "--1",
        "1e",
        "true",
    ):
        nodes = {**NODES, "a": node("LeakyIAF", IAF)}
        one = gexf(nodes, []).replace('value="-45.0"', f'value="{text}"', 1)
        allowed = (CLEAR, LEGAL) if text in ("٣",) else (CLEAR,)
        yield Case(f"threshold {text!r}", _read(one), allowed)
    for key, value in {"delay": "-1", "reverse": "inf", "weight": "x"}.items():
        one = TEXT.replace('value="0.001"', f'value="{value}"') if key == "delay" else TEXT
        one = one.replace('source="s"', f'weight="{value}" source="s"') if key == "weight" else one
        if one != TEXT:
            yield Case(f"{key} {value}", _read(one))
    for kind in ("liststring", "integer", "boolean", "anyURI", "date", "colour", ""):
        one = TEXT.replace('title="threshold" type="double"', f'title="threshold" type="{kind}"')
        yield Case(f"threshold of type {kind}", _read(one), (CLEAR, LEGAL))
    unused = TEXT.replace('source="s"', 'weight="2" source="s"')
    yield Case("weight that nothing uses", _read(unused), (WARNED,), ("weight",))
    yield Case("weight that nothing uses, strict", _read(unused, strict=True), words=("weight",))


def _ports() -> Iterator[Case]:
    """Selectors of ports."""
    for selector in (
        "a[[0",
        "/l[0:2]",
        "/*",
        "/l/0,/l/1",
        "",
        "/",
        "l",
        "/l[",
        "/l+",
        "/l.+/b",
        " ",
        "/l[0:1]",
        "/l[2:1]",
    ):
        nodes = {
            **NODES,
            "p": {"class": "Port", "selector": selector, "port_type": "spike", "port_io": "out"},
        }
        one = gexf(nodes, [("a", "p", {"variable": "spike_state"})])
        allowed = (LEGAL,) if selector in ("/l[0:1]", "/l.+/b") else (CLEAR,)
        yield Case(f"selector {selector!r}", _read(one), allowed)
    both = {
        **NODES,
        "p": {"class": "Port", "selector": "/l/0", "port_type": "spike", "port_io": "out"},
        "q": {"class": "Port", "selector": "/l[0]", "port_type": "spike", "port_io": "out"},
    }
    links = [("a", "p", {"variable": "spike_state"}), ("a", "q", {"variable": "spike_state"})]
    yield Case("one port, two spellings", _read(gexf(both, links)))


def _bytes() -> Iterator[Case]:
    """Files cut short, and other contents."""
    for cut in range(0, len(TEXT), 97):
        yield Case(f"cut at {cut}", _read(TEXT[:cut]))
    yield Case("UTF-16", _read(TEXT.replace("UTF-8", "UTF-16").encode("utf-16")), (LEGAL, CLEAR))
    yield Case("latin", _read(TEXT.replace('id="a"', 'id="\xe9"').encode("latin-1")))
    yield Case("a directory", lambda folder: Circuit.from_file(folder))
    yield Case("nothing there", lambda folder: Circuit.from_file(folder / "no.gexf"))
    yield Case("an entity", _read(TEXT.replace("<gexf", '<!DOCTYPE g [<!ENTITY a "b">]><gexf', 1)))
    deep = TEXT.replace("<graph", "<meta>" * 100_000 + "<graph", 1)
    yield Case("deep nesting", _read(deep))


def rearranged(seed: int) -> Callable[[Path], object]:
    """Return a case: a file with elements and attributes moved, renamed, doubled and dropped.

    A file that is read without a word has to hold what an oracle counts.
    """

    def run(folder: Path) -> None:
        draw = random.Random(seed)
        root = ElementTree.fromstring(TEXT)
        for _ in range(draw.choice((1, 1, 2, 3))):
            _rearrange(root, draw)
        text = ElementTree.tostring(root, encoding="unicode")
        path = save(folder, text)
        records = read_gexf(path)
        said = records.faults.count or records.faults.warnings
        Circuit.from_file(path)
        assert said or _counted(root) == (
            len(records.nodes), len(records.edges), sum(map(len, [*records.nodes, *records.edges]))
        ), text  # fmt: skip

    return run


_SPACE = f"{{{NAMESPACE}}}"


def _counted(root: Any) -> tuple[int, int, int]:
    """Return how many nodes, edges and values a file holds, wherever they stand.

    What is not a known attribute counts, too, so that a file that says more is not equal.
    """
    count = dict.fromkeys(("node", "edge", "attvalue"), 0)
    more = 0
    plain = {
        "gexf": {"version"}, "graph": {"defaultedgetype"}, "attributes": {"class"},
        "attribute": {"id", "title", "type"}, "nodes": set(), "edges": set(), "node": {"id"},
        "edge": {"source", "target", "id"}, "attvalues": set(), "attvalue": {"for", "value"},
    }  # fmt: skip
    for element in root.iter():
        name = element.tag.removeprefix(_SPACE)
        more += len(element.attrib.keys() - plain.get(name, element.attrib.keys()))
        more += 0 if name in plain else 1000
        if name in count:
            count[name] += 1
    return count["node"], count["edge"], count["attvalue"] + more


def _rearrange(root: Any, draw: random.Random) -> None:
    parents = [(parent, child) for parent in root.iter() for child in parent]
    parent, child = draw.choice(parents)
    everywhere = [element for element in root.iter() if element is not child]
    what = draw.randrange(5)
    if what == 0:  # doubled
        parent.append(ElementTree.fromstring(ElementTree.tostring(child)))
    elif what == 1:  # misspelt
        name = child.tag.removeprefix(_SPACE)
        child.tag = _SPACE + draw.choice((name[:-1] or "x", name + "s", name.title(), "other"))
    elif what == 2:  # moved
        goal = draw.choice([one for one in everywhere if one not in {*child.iter()}] or [parent])
        parent.remove(child)
        goal.append(child)
    elif what == 3:  # an attribute more
        child.set(draw.choice(("label", "weight", "type", "x", "id2", "pid", "start")), "directed")
    else:  # an attribute lost, or misspelt
        if child.attrib:
            key = draw.choice(sorted(child.attrib))
            value = child.attrib.pop(key)
            if draw.random() < 0.5:
                child.set(key + "x", value)
