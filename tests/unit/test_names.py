"""Names and prose of the package: each class has its own name, and texts use standard terms."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import neurodriver

PACKAGE = Path(neurodriver.__file__).parent

FOLDERS = ("plan", "codegen", "backends", "native")
"""Folders whose texts are checked for words."""

BETWEEN_RANKS = ("parallel", "mpi")
"""What is checked for the words of post in addition."""

POST = ("mail", "mailbox", "letter", "letters")

WORDS = {
    "notes": "dirty bitmap, marked",
    "noted": "dirty bitmap, marked",
    "shelf": "shared-memory cache",
    "recall": "register cache",
    "recalls": "register cache",
    "at hand": "register cache",
    "under way": "in flight",
    "flight": "call in flight",
    "flights": "calls in flight",
    "landed": "completed",
    "placed": "offsets, layout",
    "mail": "spike delivery",
    "mailbox": "spike delivery",
    "letter": "outgoing connections, point-to-point message",
    "letters": "outgoing connections, point-to-point messages",
    "fan": "delivery",
    "fans": "deliveries",
    "deal": "deliver, distribute",
    "deals": "delivers, distributes",
    "dealt": "delivered, distributed",
    "dealing": "delivery",
    "dealers": "delivering warps",
    "meet": "synchronise, barrier",
    "meets": "synchronises, barrier",
    "meeting": "barrier",
    "meetings": "barriers",
    "laps": "timers",
    "told": "description, report, message",
    "tell": "report, return",
    "tells": "holds, returns",
    "kicks": "external input",
    "doubt": "warn, suspicious",
    "hung": "linked list of a target",
}
"""Word -> the standard term for it."""

ALLOWED = {
    "notes": ("notes -----",),
    "flight": ("in flight", "in_flight"),
    "fan": ("fan in", "fan out", "fan_in", "fan_out"),
}
"""Word -> ordinary uses: a section of a docstring, and standard terms that contain it."""


def sources(*folders: str) -> list[Path]:
    """Return the Python, C++ and CUDA files of folders of the package, without `compat`."""
    found = [
        path
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in (".py", ".h", ".cuh", ".cpp")
        and path.relative_to(PACKAGE).parts[0] != "compat"
        and (not folders or path.relative_to(PACKAGE).parts[0] in folders)
    ]
    assert len(found) > 10
    return found


def test_each_class_has_its_own_name() -> None:
    """No two classes of the package share a name, private and local ones included."""
    places = defaultdict(list)
    for path in sources():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert len(places) > 100
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert not shared, f"rename all but one of each: {shared}"


def words_of(text: str) -> str:
    """Return a text in small letters, whose identifiers are cut into their words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"\s+", " ", text.replace("_", " ")).lower()


@pytest.mark.parametrize(
    ("text", "word"),
    [("nd_mail", "mail"), ("class NoLaps:", "laps"), ("what is under\n    way", "under way")],
)
def test_words_are_found(text: str, word: str) -> None:
    """Identifiers are cut into words, and lines are joined."""
    assert re.search(rf"\b{word}\b", words_of(text))


@pytest.mark.parametrize("word", WORDS)
def test_texts_use_standard_terms(word: str) -> None:
    """No identifier, docstring or comment uses a word that has a standard term."""
    wrong = []
    for path in sources(*FOLDERS, *(BETWEEN_RANKS if word in POST else ())):
        text = words_of(path.read_text(encoding="utf-8"))
        for term in ALLOWED.get(word, ()):
            text = text.replace(term.replace("_", " "), "")
        for match in re.finditer(rf"\b{word}\b", text):
            around = text[max(match.start() - 40, 0) : match.end() + 40]
            wrong.append(f"{path.relative_to(PACKAGE)}: ...{around}...")
    assert not wrong, f"say '{WORDS[word]}' instead of '{word}':\n" + "\n".join(wrong)
