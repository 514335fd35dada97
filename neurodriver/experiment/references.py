"""What an experiment file names: files, functions, classes of inputs."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ExperimentError, near, quoted
from .positions import Path as KeyPath
from .schema import ExperimentSection, FaultsOfFile, InputSection

KNOWN_TO_INPUTS = ("dt", "circuit")
"""Arguments of inputs that need not be given."""

PATTERN_FILES = (".gexf", ".gexf.gz", ".csv")
"""Endings of files of patterns."""


def file_of(name: str, folder: Path) -> Path:
    """Return the path of a file that is named relative to the experiment file."""
    return folder / Path(name).expanduser()


def function_of(text: str, folder: Path) -> Callable[..., Any]:
    """Return the function ``module:name``; the folder of the experiment is searched first.

    Raises
    ------
    ExperimentError
        When there is none.
    """
    module_name, mark, name = text.partition(":")
    if not (mark and name and module_name.replace(".", "").isidentifier()):
        raise ExperimentError(f"must be module:function, got {quoted(text)}")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ExperimentError(f"module '{module_name}' cannot be imported: {error!r}") from None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        hint = near(name, [n for n, item in vars(module).items() if callable(item)])
        raise ExperimentError(f"module '{module_name}' has no function {quoted(name)}{hint}")
    function: Callable[..., Any] = found
    return function


def input_classes() -> dict[str, type[Any]]:
    """Return the classes of `neurodriver.inputs` that a file can name."""
    from .. import inputs

    return {
        name: item
        for name, item in vars(inputs).items()
        if inspect.isclass(item) and issubclass(item, inputs.Input) and _nameable(item)
    }


def _nameable(item: type[Any]) -> bool:
    """Whether a file can give what a class needs; another input, for instance, it cannot."""
    return not inspect.isabstract(item) and all(
        parameter.annotation != "Input" for parameter in parameters_of(item).values()
    )


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function or class that can be given by name."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    fixed = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL
    return {name: one for name, one in found.items() if one.kind not in fixed}


def takes_a(parameter: inspect.Parameter, kind: str) -> bool:
    """Whether the annotation of a parameter names a type, ``Path`` for instance."""
    return kind in str(parameter.annotation)


def completed(
    function: Callable[..., Any], arguments: Mapping[str, Any], **known: Any
) -> dict[str, Any]:
    """Return arguments with what is known (dt, the circuit) where a function takes it."""
    taken = parameters_of(function)
    return {**{name: value for name, value in known.items() if name in taken}, **arguments}


def check_references(found: ExperimentSection, folder: Path, faults: FaultsOfFile) -> None:
    """Note what a file names and is not there, or does not take what it is given."""
    check = _Check(found, folder, faults)
    check.models(found.models, ("models",))
    for name, lpu in found.lpu.items():
        path: KeyPath = ("lpu", name)
        check.models(lpu.models, (*path, "models"))
        if lpu.circuit is not None:
            check.file(lpu.circuit, (*path, "circuit"))
        if lpu.function is not None:
            check.function(lpu.function, lpu.arguments, path)
        for i, one in enumerate(lpu.input):
            check.input(one, (*path, "input", i))
    for i, pattern in enumerate(found.pattern):
        path = ("pattern", i)
        for j, name in enumerate(pattern.between or []):
            if name not in found.lpu:
                message = f"there is no LPU {quoted(name)}{near(name, found.lpu)}; "
                faults.at((*path, "between", j), f"{message}there are {', '.join(found.lpu)}")
        if pattern.file is not None:
            check.file(pattern.file, (*path, "file"))
            if not pattern.file.lower().endswith(PATTERN_FILES):
                want = f"a pattern is a file {', '.join(PATTERN_FILES)}"
                faults.at((*path, "file"), f"{want}, got {quoted(pattern.file)}")
        if pattern.function is not None:
            check.function(pattern.function, pattern.arguments, path)
        for key, selector in (("from", pattern.from_), ("to", pattern.to)):
            if selector is not None:
                check.selector(selector, (*path, key))


class _Check:
    """Checks of single keys."""

    def __init__(self, found: ExperimentSection, folder: Path, faults: FaultsOfFile) -> None:
        self.found, self.folder, self.faults = found, folder, faults

    def file(self, name: str, path: KeyPath, folders: bool = False) -> None:
        found = file_of(name, self.folder)
        if not (found.is_file() or (folders and found.is_dir())):
            where = "" if Path(name).is_absolute() else f" (looked for in {self.folder})"
            alike = [f.name for f in self.folder.iterdir() if f.suffix == Path(name).suffix]
            hint = near(name, alike)
            self.faults.at(path, f"no such file: {quoted(name)}{hint}{where}")

    def models(self, names: list[str], path: KeyPath) -> None:
        for i, name in enumerate(names):
            self.file(name, (*path, i), folders=True)

    def selector(self, text: str, path: KeyPath) -> None:
        from ..errors import SelectorError
        from ..ports import Selector

        try:
            if not len(Selector(text).ids):
                self.faults.at(path, f"{quoted(text)} names no port")
        except SelectorError as error:
            self.faults.at(path, str(error))

    def function(self, text: str, arguments: Mapping[str, Any], path: KeyPath) -> None:
        try:
            function = function_of(text, self.folder)
        except ExperimentError as error:
            self.faults.at((*path, "function"), str(error))
            return
        at = lambda name: (*path, "arguments", name)  # noqa: E731
        self.arguments(text, function, arguments, (*path, "function"), at)

    def input(self, one: InputSection, path: KeyPath) -> None:
        at = lambda name: (*path, name)  # noqa: E731
        if one.function is not None:
            try:
                function = function_of(one.function, self.folder)
            except ExperimentError as error:
                self.faults.at((*path, "function"), str(error))
                return
            own = one.arguments
            self.arguments(one.function, function, own, (*path, "function"), at, KNOWN_TO_INPUTS)
        elif one.class_ is not None:
            known = input_classes()
            if one.class_ not in known:
                hint = near(one.class_, known)
                message = f"no class of inputs {quoted(one.class_)}{hint}; there are "
                self.faults.at((*path, "class"), message + ", ".join(known))
                return
            kind, own = known[one.class_], one.arguments
            self.arguments(one.class_, kind, own, (*path, "class"), at, KNOWN_TO_INPUTS)
            self.values(kind, own, path)

    def values(self, function: Callable[..., Any], given: Mapping[str, Any], path: KeyPath) -> None:
        """Check arguments that name files, functions and components."""
        from .schema import Selection, said

        for name, parameter in parameters_of(function).items():
            value = given.get(name)
            if isinstance(value, str) and takes_a(parameter, "Path"):
                self.file(value, (*path, name))
            elif isinstance(value, str) and takes_a(parameter, "Callable"):
                try:
                    function_of(value, self.folder)
                except ExperimentError as error:
                    self.faults.at((*path, name), str(error))
            elif name == "uids" and isinstance(value, dict):
                keys = set(Selection.model_fields)
                texts = all(isinstance(item, str) for item in value.values())
                if not value or set(value) - keys or not texts:
                    want = 'must be a list of uids, {model = "..."} or {match = "R?/*"}'
                    self.faults.at((*path, name), f"{want}, got {said(value)}")

    def arguments(
        self,
        text: str,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        path: KeyPath,
        at: Callable[[str], KeyPath],
        filled: Sequence[str] = ("dt",),
    ) -> None:
        """Check that a function takes what it is given."""
        known = parameters_of(function)
        any_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
        names = [n for n, p in known.items() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        for name in given:
            if name not in names and not any_name:
                takes = f"{text} takes {', '.join(names) or 'nothing'}"
                self.faults.at(at(name), f"unknown argument{near(name, names)}; {takes}")
        empty = inspect.Parameter.empty
        for name in names:
            if known[name].default is empty and name not in {*given, *filled}:
                self.faults.at(path, f"{text} needs the argument '{name}'")
