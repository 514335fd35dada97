"""What an experiment file names: files, functions, classes of inputs."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from ..errors import ExperimentError, SelectorError, near, quoted
from .schema import (
    BROKEN_LPU,
    BROKEN_PATTERN,
    LONGEST_RUN,
    RESERVED,
    SELECTED,
    ExperimentSection,
    FaultsOfFile,
    InputSection,
    LPUSection,
    PatternSection,
    is_selection,
    said,
)
from .source import KeyPath

PATTERN_FILES = (".gexf", ".gexf.gz", ".csv")
"""Endings of files of patterns."""


def file_of(name: str, folder: Path) -> Path:
    """Return the path of a file that is named relative to the experiment file."""
    return folder / Path(name).expanduser()


OWN = __name__.partition(".")[0]
"""This package."""


def module_of(text: str, folder: Path) -> tuple[str, str]:
    """Return module and name of ``module:name``; the module is not imported.

    Raises
    ------
    ExperimentError
        For another text, and for a module that is not beside the experiment, nor in this package.
    """
    module_name, mark, name = text.partition(":")
    if not (mark and name and module_name.replace(".", "").isidentifier()):
        raise ExperimentError(f"must be module:function, got {quoted(text)}")
    importlib.invalidate_caches()
    top = module_name.partition(".")[0]
    if top != OWN and PathFinder.find_spec(top, [str(folder)]) is None:
        say = f"there is no module '{top}' beside the experiment"
        raise ExperimentError(f"{say}; a function lies in a file of its folder, or in neurodriver")
    return module_name, name


def function_of(text: str, folder: Path) -> Callable[..., Any]:
    """Return the function ``module:name`` of a module beside the experiment, or of neurodriver."""
    module_name, name = module_of(text, folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
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
    there = str(getattr(found, "__module__", "")).partition(".")[0]
    if module_name.partition(".")[0] == OWN and there != OWN:
        raise ExperimentError(f"{quoted(name)} of module '{module_name}' is not its own function")
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


class Check:
    """Notes what sections, each good in itself, leave open or name wrongly.

    Parameters
    ----------
    found : ExperimentSection
    folder : Path
    faults : FaultsOfFile
    imports : bool
        Whether modules beside the experiment are imported. That runs them.

    Attributes
    ----------
    programs : list of str
        Functions and files of models that the experiment names, but for those of this package.
    """

    def __init__(
        self, found: ExperimentSection, folder: Path, faults: FaultsOfFile, imports: bool = True
    ) -> None:
        self.found, self.folder, self.note = found, folder, faults.at
        self.imports = imports
        self.programs: list[str] = []
        whole = not faults.count
        self.files(found.models, ("models",))
        for name, lpu in found.lpu.items():
            if lpu is not BROKEN_LPU:
                self.lpu(name, lpu, ("lpu", name))
        for i, pattern in enumerate(found.pattern):
            if pattern is not BROKEN_PATTERN:
                self.pattern(pattern, ("pattern", i))
        if whole:
            self.length()

    def length(self) -> None:
        """Check how long the experiment is."""
        duration, dt = self.found.duration, self.found.dt
        if (duration is None) == (self.found.steps is None):
            self.note((), "give either 'duration' (s) or 'steps'")
        elif duration is not None and not 1 <= duration / dt <= LONGEST_RUN:
            steps = f"{duration / dt:.3g} steps of {dt:g} s"
            self.note(("duration",), f"these are {steps}, allowed are 1 to {LONGEST_RUN:,}")

    def lpu(self, name: str, lpu: LPUSection, path: KeyPath) -> None:
        """Check an LPU and its inputs."""
        if name in RESERVED:
            taken = " and ".join(RESERVED)
            self.note(path, f"an LPU cannot be called so; {taken} are taken")
        if (lpu.circuit is None) == (lpu.function is None):
            self.note(path, "give either 'circuit' (a file) or 'function' (module:name)")
        if lpu.circuit is not None:
            self.file(lpu.circuit, (*path, "circuit"))
        self.files(lpu.models, (*path, "models"))
        self.called(lpu, path)
        for i, one in enumerate(lpu.input):
            self.input(one, (*path, "input", i))

    def pattern(self, pattern: PatternSection, path: KeyPath) -> None:
        """Check a pattern."""
        inline = pattern.from_ is not None or pattern.to is not None
        ways = (pattern.file is not None) + (pattern.function is not None) + inline
        if ways != 1 or (inline and (pattern.from_ is None or pattern.to is None)):
            self.note(path, "give one of 'file', 'function', and 'from' with 'to'")
        elif pattern.between is None and pattern.function is None:
            self.note(path, "'between' is missing: the names of two LPUs")
        if pattern.type is not None and not inline:
            self.note((*path, "type"), "belongs to 'from' and 'to', which are not given")
        if "interfaces" in pattern.model_fields_set and inline:
            self.note((*path, "interfaces"), "belong to a 'file' or 'function'")
        known = self.found.lpu
        for j, name in enumerate(pattern.between or []):
            if name not in known:
                message = f"there is no LPU {quoted(name)}{near(name, known)}; there are "
                self.note((*path, "between", j), message + ", ".join(known))
        if pattern.file is not None:
            self.file(pattern.file, (*path, "file"))
            if not pattern.file.lower().endswith(PATTERN_FILES):
                want = f"a pattern is a file {', '.join(PATTERN_FILES)}"
                self.note((*path, "file"), f"{want}, got {quoted(pattern.file)}")
        self.called(pattern, path)
        self.selector(pattern.from_, (*path, "from"))
        self.selector(pattern.to, (*path, "to"))

    def input(self, one: InputSection, path: KeyPath) -> None:
        """Check an input."""
        known, filled = input_classes(), ("dt", "circuit")
        if (one.class_ is None) == (one.function is None):
            self.note(path, "give either 'class' or 'function' (module:name)")
        elif one.function is not None:
            function = self.function(one.function, (*path, "function"))
            self.arguments(function, one.function, one.arguments, path, "function", filled)
        elif one.class_ not in known:
            message = f"no class of inputs {quoted(one.class_)}{near(str(one.class_), known)}"
            self.note((*path, "class"), f"{message}; there are {', '.join(known)}")
        else:
            kind = known[one.class_]
            self.arguments(kind, one.class_, one.arguments, path, "class", filled)
            for name, parameter in parameters_of(kind).items():
                self.value(one.arguments.get(name), parameter, (*path, name))

    def value(self, value: Any, parameter: inspect.Parameter, path: KeyPath) -> None:
        """Check an argument of an input, which may name a file, a function or components."""
        if isinstance(value, str) and takes_a(parameter, "Path"):
            self.file(value, path)
        elif isinstance(value, str) and takes_a(parameter, "Callable"):
            self.function(value, path)
        elif parameter.name == "uids" and isinstance(value, dict) and not is_selection(value):
            self.note(path, f"must be {SELECTED}, got {said(value)}")

    def file(self, name: str, path: KeyPath, folders: bool = False) -> None:
        """Check that a file is there."""
        found = file_of(name, self.folder)
        if not (found.is_file() or (folders and found.is_dir())):
            where = "" if Path(name).is_absolute() else f" (looked for in {self.folder})"
            alike = [f.name for f in self.folder.iterdir() if f.suffix == Path(name).suffix]
            self.note(path, f"no such file: {quoted(name)}{near(name, alike)}{where}")

    def files(self, names: list[str], path: KeyPath) -> None:
        """Check that files or folders of models are there."""
        for i, name in enumerate(names):
            self.file(name, (*path, i), folders=True)
            self.programs.append(name)

    def selector(self, text: str | None, path: KeyPath) -> None:
        """Check that a selector names ports."""
        from ..ports import Selector

        try:
            if text is not None and not len(Selector(text).ids):
                self.note(path, f"{quoted(text)} names no port")
        except SelectorError as error:
            self.note(path, str(error))

    def function(self, name: str, path: KeyPath) -> Callable[..., Any] | None:
        """Return a function that is named; None after noting that it is not there."""
        try:
            if module_of(name, self.folder)[0].partition(".")[0] != OWN:
                self.programs.append(name)
                if not self.imports:
                    return None
            return function_of(name, self.folder)
        except ExperimentError as error:
            self.note(path, str(error))
            return None

    def called(self, section: LPUSection | PatternSection, path: KeyPath) -> None:
        """Check the function of an LPU or a pattern, and what it is given."""
        name, given = section.function, section.arguments
        if name is not None:
            function = self.function(name, (*path, "function"))
            self.arguments(function, name, given, path, "function", ("dt",), ("arguments",))
        elif given:
            message = "belong to a 'function', which is not given"
            self.note((*path, "arguments"), message)

    def arguments(
        self,
        function: Callable[..., Any] | None,
        text: str,
        given: Mapping[str, Any],
        path: KeyPath,
        key: str,
        filled: Collection[str],
        under: KeyPath = (),
    ) -> None:
        """Check that a function or class, named by a key, takes what it is given."""
        if function is None:
            return
        known = parameters_of(function)
        names = [n for n, p in known.items() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        for name in given:
            if name not in names and len(names) == len(known):
                takes = f"{text} takes {', '.join(names) or 'nothing'}"
                self.note((*path, *under, name), f"unknown argument{near(name, names)}; {takes}")
        for name in names:
            needed = known[name].default is inspect.Parameter.empty
            if needed and name not in {*given, *filled}:
                self.note((*path, key), f"{text} needs the argument '{name}'")
