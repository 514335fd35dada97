"""The page as one text: nothing is loaded from outside, and nothing is built."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

FILES = Path(__file__).parent / "static"
"""Style and program of the page."""

NOTEBOOKS = "http://127.0.0.1:* http://localhost:* vscode-webview: vscode-file:"
"""Where a notebook of this machine comes from: a Jupyter server, or VS Code."""


@cache
def part(name: str) -> str:
    """Return a file of the page."""
    return (FILES / name).read_text(encoding="utf-8")


@cache
def program() -> str:
    """Return the program of the page."""
    return part("view.js") + part("browser.js")


@cache
def policy(framed: bool = False) -> str:
    """Return what a browser may do with the page: run this program, use this style, ask here.

    Parameters
    ----------
    framed : bool
        Whether notebooks on this machine may hold the page in a frame.
    """
    frames = NOTEBOOKS if framed else "'none'"
    script, style = (_digest(text) for text in (program(), part("view.css")))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors {frames}"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def page(title: str) -> str:
    """Return the page of a view, in HTML.

    Parameters
    ----------
    title : str
        Of the window.
    """
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<link rel="icon" href="data:,"><title>{escape(title)} - neurodriver</title>'
        f"<style>{part('view.css')}</style></head>"
        f'<body><main id="view"></main><script type="module">{program()}</script></body></html>\n'
    )
