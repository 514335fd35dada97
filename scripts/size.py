"""Count lines by folder and language, and check the size budget.

python scripts/size.py            what is over the budget; the status is 1 where something is
python scripts/size.py --table    lines of each folder, as text that can be compared
python scripts/size.py --aim      modules above the aim, the longest first

``--root DIR`` looks at another checkout. Files are those that git does not ignore.

The budget holds for all code but ``tests/`` and ``scripts/peers``. A docstring of a class or a
function does not count. Functions and classes of C++ and CUDA are found by their braces:

* Comments, strings and lines of the preprocessor are left out, so macros are not measured.
* A brace after ``)`` begins a function, unless it lies within one; one after ``struct``, ``class``,
  ``union`` or ``enum`` begins a class. All other braces are initial values, or are looked into.
* A part begins after the last empty line, comment or semicolon before its brace.
* Where ``#if`` chooses between two opening braces, both count, and the function seems longer.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MODULE, CLASS, FUNCTION, INIT = 450, 250, 60, 60
AIM = 300
"""Lines that a module should have at most."""

C_FILES = (".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh")
LANGUAGES = ("Python", "C++", "shell")
FREE = ("tests/", "scripts/peers/")
PACKAGE = "neurodriver"


@dataclass(frozen=True)
class File:
    """A file of code."""

    name: str
    language: str
    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @property
    def limit(self) -> int:
        """How many lines it may have."""
        return INIT if self.name.endswith("__init__.py") else MODULE

    @property
    def budgeted(self) -> bool:
        """Whether the budget holds for it."""
        return not self.name.startswith(FREE)

    @property
    def folder(self) -> str:
        """The row of the table that it belongs to."""
        first, *rest = self.name.split("/")
        if not rest:
            return "."
        return f"{first}/{rest[0]}" if first == PACKAGE and len(rest) > 1 else first


def files(root: Path) -> list[File]:
    """Return the files of code of a checkout."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    out = []
    for name in sorted(set(listed.split("\0")) - {""}):
        path = root / name
        if path.is_file() and not path.is_symlink() and (language := language_of(path)):
            out.append(File(name, language, path.read_text(encoding="utf-8")))
    return out


def language_of(path: Path) -> str:
    """Return the language of a file, empty where it is no code."""
    if path.suffix == ".py":
        return "Python"
    if path.suffix in C_FILES:
        return "C++"
    if path.suffix == ".sh":
        return "shell"
    if path.suffix:
        return ""
    with path.open("rb") as file:
        first = file.readline(200)
    if not first.startswith(b"#!"):
        return ""
    return "Python" if b"python" in first else "shell" if first.rstrip().endswith(b"sh") else ""


# ---- parts of a file ------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A class or a function."""

    name: str
    line: int
    lines: int
    limit: int


def parts(file: File) -> Iterator[Part]:
    """Return the classes and functions of a file."""
    if file.language == "Python":
        return python_parts(file.text)
    return c_parts(file.text) if file.language == "C++" else iter(())


def python_parts(text: str) -> Iterator[Part]:
    """Return classes and functions of Python, without the lines of their docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            limit = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            documentation = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            lines = (node.end_lineno or 0) - node.lineno + 1 - documentation
            yield Part(node.name, node.lineno, lines, limit)


NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
KIND = re.compile(r"\b(struct|class|union|enum)\b(?!.*\))", re.DOTALL)
CALLABLE = re.compile(r"\)\s*(?:\w+\s*)*(?:->[^{}]*)?(?::[^{}]*)?$")


def c_parts(text: str) -> Iterator[Part]:
    """Return classes and functions of C++ or CUDA, by their braces."""
    code = NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    begin = 0
    stack: list[tuple[str, int, int]] = []  # name, first line, limit; 0 for what is no part
    for place, character in enumerate(code):
        if character not in "{};":
            continue
        head = re.split(r"\n\s*\n", code[begin:place].rstrip())[-1]
        begin = place + 1
        if character == "{":
            within = any(limit == FUNCTION for *_, limit in stack)
            name, limit = ("", 0) if within else part_of(head)
            first = code.rindex(head.strip(), 0, place) if limit else place
            stack.append((name, code.count("\n", 0, first) + 1, limit))
        elif character == "}" and stack:
            name, line, limit = stack.pop()
            if limit:
                yield Part(name, line, code.count("\n", 0, place) + 2 - line, limit)
    for name, line, limit in stack:  # goes on in a text that follows this one
        if limit:
            yield Part(name, line, code.count("\n") + 1 - line, limit)


def part_of(head: str) -> tuple[str, int]:
    """Return name and limit of what a brace after this text begins; 0 where it is no part."""
    if found := KIND.search(head):
        words = re.findall(r"\w+", head[found.end() :].partition(":")[0])
        return words[0] if words else found.group(), CLASS
    if "=" in head.rpartition(")")[2] or not CALLABLE.search(head):
        return "", 0
    names = re.findall(r"([~\w]+)\s*\(", re.sub(r"__\w+__\s*\([^()]*\)", "", head))
    return names[0] if names else "function", FUNCTION


# ---- what is told ---------------------------------------------------------------------------


def faults(found: Iterable[File]) -> Iterator[str]:
    """Return what is over the budget."""
    for file in found:
        if not file.budgeted:
            continue
        if file.lines > file.limit:
            yield f"{file.name}: {file.lines} lines, {file.limit} are allowed"
        for part in parts(file):
            if part.lines > part.limit:
                where = f"{file.name}:{part.line} {part.name}"
                yield f"{where}: {part.lines} lines, {part.limit} are allowed"


def above_aim(found: Iterable[File]) -> list[File]:
    """Return the modules that are longer than they should be, the longest first."""
    long = [file for file in found if file.budgeted and file.lines > AIM]
    return sorted(long, key=lambda file: (-file.lines, file.name))


def table(found: list[File]) -> Iterator[str]:
    """Return lines of code by folder and language."""
    yield f"{'':<26}{'files':>7}" + "".join(f"{name:>9}" for name in (*LANGUAGES, "all"))

    def row(title: str, chosen: Iterable[File]) -> str:
        mine = list(chosen)
        counts = [sum(f.lines for f in mine if f.language == name) for name in LANGUAGES]
        numbers = "".join(f"{n:>9,}" for n in (*counts, sum(counts)))
        return f"{title:<26}{len(mine):>7,}{numbers}"

    def core(file: File) -> bool:
        return file.folder.startswith(PACKAGE) and file.folder != f"{PACKAGE}/compat"

    for folder in sorted({file.folder for file in found}):
        yield row(folder, (file for file in found if file.folder == folder))
    yield row("core: without compat", filter(core, found))
    yield row(f"{PACKAGE} in all", (f for f in found if f.folder.startswith(PACKAGE)))
    yield row("all", found)


def main(arguments: list[str] | None = None) -> int:
    """Do what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--table", action="store_true", help="lines by folder and language")
    parser.add_argument("--aim", action="store_true", help="modules above the aim")
    given = parser.parse_args(arguments)
    found = files(given.root)
    if given.table:
        print(*table(found), sep="\n")
        return 0
    long = above_aim(found)
    if given.aim:
        print(*(f"{file.lines:>5} {file.name}" for file in long), sep="\n")
        return 0
    told = list(faults(found))
    budgeted = [file for file in found if file.budgeted]
    print(*told, sep="\n", end="\n" if told else "")
    print(
        f"{len(budgeted)} files, {sum(file.lines for file in budgeted):,} lines; "
        f"{len(told)} over the budget, {len(long)} modules of more than {AIM} lines"
    )
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
