"""The examples that have cells -> a gallery.

An example is plain Python: a docstring whose first line is its title, and cells that begin with
``# %%`` and a comment. Here it gets the marks that sphinx-gallery wants. Its figures are the
pictures that it writes into the folder ``out``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

CELL = "# %%"

HIDDEN = """# sphinx_gallery_start_ignore
__file__, __doc__ = "examples/example.py", {doc!r}
# sphinx_gallery_end_ignore

"""
"""What Python sets and sphinx-gallery does not."""

HEADS = {
    "": ("Gallery", "Examples in the order in which they build on each other."),
    "papers": ("Published models", "Networks and models of papers, with their figures."),
}
"""Folder of the gallery -> its title and first sentence."""

ARGUMENTS: dict[str, list[str]] = {
    "izhikevich_2007.py": ["--seconds", "600"],
    "izhikevich_2007_conditioning.py": ["--seconds", "3600"],
    "potjans_diesmann_2014.py": ["--scale", "0.1", "--seconds", "0.6"],
    "song_miller_abbott_2000.py": ["--seconds", "300"],
    "vogels_sprekeler_2011.py": ["--neurons", "5000", "--seconds", "15"],
}
"""Example -> arguments with which the gallery runs it; the others run as they are."""


def with_cells(folder: Path) -> list[Path]:
    """Return the examples of a folder that the gallery shows."""
    return [p for p in sorted(folder.glob("*.py")) if CELL in p.read_text(encoding="utf-8")]


def marked(text: str) -> str:
    """Return an example whose docstring is reStructuredText: a title, and blocks as they are."""
    found = re.match(r'"""(.*?)"""', text, re.S)
    if not found:
        raise ValueError("an example begins with a docstring")
    title, *rest = found.group(1).rstrip().split("\n")
    title = title.rstrip(".")
    lines = [title, "=" * len(title)]
    for i, line in enumerate(rest):
        before = lines[-1]
        indented = line.startswith("    ") and (i == 0 or not rest[i - 1].startswith("    "))
        if indented and not before.strip():
            lines += ["::", ""]
        elif line.startswith("python "):
            line = "    " + line
            lines += ["::", ""]
        lines.append(line)
    body = "\n".join(lines)
    code = text[found.end() :].replace(CELL, HIDDEN.format(doc=found.group(1)) + CELL, 1)
    return f'"""\n{body}\n"""' + code


def copy_examples(examples: Path, target: Path) -> int:
    """Copy the examples with cells, as sphinx-gallery wants them; return their number."""
    shutil.rmtree(target, ignore_errors=True)
    number = 0
    for name, (title, text) in HEADS.items():
        folder = target / name
        (folder / "out").mkdir(parents=True)
        head = f"{title}\n{'=' * len(title)}\n\n{text}\n"
        (folder / "GALLERY_HEADER.rst").write_text(head, encoding="utf-8")
        for path in with_cells(examples / name):
            copy = folder / path.name
            copy.write_text(marked(path.read_text(encoding="utf-8")), encoding="utf-8")
            number += 1
    return number


def arguments(gallery_conf: dict[str, Any], script: dict[str, Any]) -> list[str]:
    """Return the arguments of an example: those of `ARGUMENTS`, and where its figure goes."""
    path = Path(script["src_file"])
    figure = ["-o", f"out/{path.stem}.png"] if path.parent.name == "papers" else []
    return [*ARGUMENTS.get(path.name, []), *figure]


def pictures(block: Any, values: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Take the pictures that a cell has written; return the text that shows them."""
    from sphinx_gallery.scrapers import figure_rst

    folder = Path(values["src_file"]).parent / "out"
    taken = []
    for picture in sorted(folder.glob("*.png"), key=lambda path: path.stat().st_mtime_ns):
        target = Path(next(values["image_path_iterator"]))
        shutil.move(picture, target)
        taken.append(str(target))
    return str(figure_rst(taken, gallery_conf["src_dir"]))


def settings(examples: Path) -> dict[str, Any]:
    """Return the settings of sphinx-gallery."""
    return {
        "examples_dirs": [str(examples)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"\.py$",
        "within_subsection_order": "FileNameSortKey",
        "image_scrapers": ("gallery.pictures",),
        "reset_argv": "gallery.arguments",
        "reset_modules": (),
        "capture_repr": (),
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "write_computation_times": False,
        "min_reported_time": 1e9,
    }
