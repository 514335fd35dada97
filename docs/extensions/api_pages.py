"""Public names -> the reference of the API, a page for each part of the package.

Every public name of the package is on exactly one page, by the folder of its module. The commands
come from the command line itself.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import neurodriver

PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "circuits": ("Circuits", ("circuit", "circuits", "io")),
    "models": ("Models", ("model",)),
    "rules": ("Rules of plasticity", ("components",)),
    "inputs": ("Inputs", ("inputs", "compat")),
    "runs": ("Runs", ("run", "parallel", "native", "profiling")),
    "recordings": ("Recorders and recordings", ("recorders", "results")),
    "figures": ("Figures and movies", ("plot",)),
    "ports": ("Ports", ("ports",)),
    "experiments": ("Experiments and sweeps", ("experiment", "sweeps", "published")),
    "errors": ("Errors", ("errors",)),
}
"""Page -> title, and folders of the package."""

MORE: dict[str, tuple[str, ...]] = {
    "neurodriver.results": ("activity", "described"),
    "neurodriver.plot": ("plot_learning", "plot_receptive_fields"),
    "neurodriver.recorders.base": ("Recorder",),
    "neurodriver.circuits.synthetic_connectome": ("write_tables",),
    "neurodriver.model.library": ("shipped", "shipped_rules"),
    "neurodriver.published.shiu_2024": ("run_exp",),
}
"""Module -> public names that the package itself does not have."""

LEARNING = "neurodriver.error_driven"
COMMAND = "neurodriver"


def names() -> dict[str, list[tuple[str, str]]]:
    """Return module and name of each public object, by page."""
    pages: dict[str, list[tuple[str, str]]] = {page: [] for page in PARTS}
    folders = {folder: page for page, (_, some) in PARTS.items() for folder in some}
    public = [("neurodriver", name) for name in neurodriver.__all__]
    public += [(module, name) for module, some in MORE.items() for name in some]
    for module, name in public:
        value = getattr(import_module(module), name)
        if isinstance(value, ModuleType) or name.startswith("__"):
            continue
        home = value.__module__.split(".")[1]
        if home not in folders:
            raise KeyError(f"api_pages: no page for {name} of {value.__module__}")
        pages[folders[home]].append((module, name))
    learning = vars(import_module(LEARNING)).items()
    pages["learning"] = [
        (LEARNING, name)
        for name, value in learning
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]
    return {page: sorted(found, key=lambda pair: pair[1].lower()) for page, found in pages.items()}


def page_of(title: str, found: list[tuple[str, str]]) -> str:
    """Return a page of the reference."""
    lines = [title, "=" * len(title), ""]
    for module, name in found:
        value = getattr(import_module(module), name)
        kind = "class" if inspect.isclass(value) else "function"
        lines += [name, "-" * len(name), "", f".. auto{kind}:: {module}.{name}", ""]
    return "\n".join(lines)


def commands() -> str:
    """Return the help of every command."""
    import click

    from neurodriver.__main__ import cli

    lines = ["The command line", "================", ""]
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        options = {"max_content_width": 90, **cli.context_settings}
        context = click.Context(command, info_name=f"{COMMAND} {name}", **options)
        text = command.get_help(context).splitlines()
        lines += [f"{COMMAND} {name}", "-" * (len(COMMAND) + 1 + len(name)), "", "::", ""]
        lines += ["    " + line for line in text] + [""]
    return "\n".join(lines)


def environment() -> str:
    """Return the environment variables with their defaults, as a list of definitions."""
    from neurodriver.settings import TABLE

    head = "Environment variables"
    lines = [head, "=" * len(head), ""]
    for name, (default, meaning) in TABLE.items():
        first = f"``{default}``" if default else "empty"
        lines += [f"``{name}``", f"   {meaning}. Default: {first}."]
    return "\n".join(lines) + "\n"


def write(app: Any) -> None:
    """Write the pages into the source of the site."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    titles = {page: title for page, (title, _) in PARTS.items()}
    titles["learning"] = "Error-driven learning"
    texts = {page: page_of(titles[page], found) for page, found in names().items()}
    texts["command-line"] = commands()
    texts["environment"] = environment()
    head = "API reference"
    order = "".join(f"   {page}\n" for page in texts)
    texts["index"] = f"{head}\n{'=' * len(head)}\n\n.. toctree::\n   :maxdepth: 2\n\n{order}"
    for page, text in texts.items():
        file = folder / f"{page}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
