"""Lines of C text: blocks and their indentation."""

from __future__ import annotations


def indent(lines: list[str], depth: int = 1) -> list[str]:
    """Return the lines with ``depth`` levels of indentation."""
    return [("    " * depth + line) if line else line for line in lines]


def block(head: str, body: list[str]) -> list[str]:
    """Return ``head { body }``."""
    return [f"{head} {{", *indent(body), "}"]
