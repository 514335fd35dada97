"""What an experiment file may hold; all that is wrong is told at once, with its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from ..errors import Faults, near, quoted
from .source import KeyPath, SourceFile

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

RESERVED = ("metadata", "experiment")
"""What files of recordings hold beside the LPUs."""

LONGEST_RUN = 2**53
"""Steps whose times are exact."""


class Section(BaseModel):
    """Keys that are known, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class SelectionSection(Section):
    """Components by model, population, and a pattern of uids (``R?/*``, as for file names)."""

    model: str = "*"
    population: str = "*"
    match: str = "*"


SELECTED = 'a list of uids, {model = "..."}, {population = "..."} or {match = "R?/*"}'


def is_selection(value: Any) -> bool:
    """Whether a value says what a `SelectionSection` does."""
    known = isinstance(value, dict) and value and not set(value) - {*SelectionSection.model_fields}
    return bool(known) and all(isinstance(item, str) for item in value.values())


def _recorded(value: Any) -> Any:
    """Return which components are meant; None for all."""
    if is_selection(value):
        return SelectionSection(**value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    if value != "all":
        raise ValueError(f'must be "all", {SELECTED}')
    return None


Recorded = Annotated[tuple[str, ...] | SelectionSection | None, PlainValidator(_recorded)]


class InputSection(BaseModel):
    """An input: a class of `neurodriver.inputs`, or a function that returns one.

    The other keys are the arguments of the class. Its ``uids`` may be a `SelectionSection`.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    class_: str | None = Field(default=None, alias="class")
    function: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the class or the function is called with."""
        return dict(self.model_extra or {})


class LPUSection(Section):
    """One LPU: a circuit from a file or a function, what enters it, what is recorded."""

    circuit: str | None = None
    function: str | None = None
    arguments: dict[str, Any] = {}
    models: list[str] = []
    random_namespace: str | None = None
    rank: Annotated[int, Field(ge=0)] | None = None
    input: list[InputSection] = []
    record: dict[str, Recorded] | None = None
    sample_interval: Annotated[int, Field(ge=1)] = 1


class PatternSection(Section):
    """Connections between the ports of LPUs."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None
    file: str | None = None
    function: str | None = None
    arguments: dict[str, Any] = {}
    interfaces: Annotated[list[int], Field(min_length=2, max_length=2)] = [0, 1]
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    type: Literal["gpot", "spike"] | None = None
    delay: Seconds = 0.0


class ExperimentSection(Section):
    """The whole file."""

    dt: Positive
    duration: Positive | None = None
    steps: Annotated[int, Field(ge=1, le=LONGEST_RUN)] | None = None
    dtype: Literal["float64", "float32"] = "float64"
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = 0
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    merge: bool = True
    nonfinite: Literal["raise", "warn", "off"] = "raise"
    debug: bool = False
    backend: Literal["cpu", "cuda"] | None = None
    device: Annotated[int, Field(ge=0)] | None = None
    executor: Literal["resident", "stepwise"] | None = None
    output: str | None = None
    overwrite: bool = False
    models: list[str] = []
    lpu: Annotated[dict[Name, LPUSection], Field(min_length=1)]
    pattern: list[PatternSection] = []


BROKEN_LPU, BROKEN_PATTERN = LPUSection.model_construct(), PatternSection.model_construct()
"""Stand for sections that are wrong in themselves, while the others are looked at."""

SHOWN = 50
"""How many faults of a file are told in full."""


class FaultsOfFile(Faults):
    """Faults with the lines and the keys that they are about, told in the order of the file."""

    def __init__(self, source: SourceFile) -> None:
        super().__init__(str(source.path))
        self._source = source
        self._found: list[tuple[int, str]] = []

    def at(self, path: KeyPath, message: str) -> None:
        """Note a fault of a key."""
        line = self._source.line(path)
        self._found.append((line, f"line {line}: {key_of(path)}{message}"))
        self.count = len(self._found)
        self.messages = [text for _, text in sorted(self._found, key=lambda f: f[0])][:SHOWN]


def validate(source: SourceFile, faults: FaultsOfFile) -> ExperimentSection:
    """Return the contents of a file; where faults are noted, only what is good in itself."""
    try:
        return ExperimentSection.model_validate(source.data)
    except pydantic.ValidationError as error:
        for one in error.errors(include_url=False):
            _report(one, faults)
    lpus, patterns = source.data.get("lpu"), source.data.get("pattern")
    return ExperimentSection.model_construct(
        lpu={k: _good(v, BROKEN_LPU) for k, v in (lpus if isinstance(lpus, dict) else {}).items()},
        pattern=[
            _good(v, BROKEN_PATTERN) for v in (patterns if isinstance(patterns, list) else [])
        ],
    )


def _good(data: Any, broken: Section) -> Section:
    try:
        return type(broken).model_validate(data)
    except pydantic.ValidationError:
        return broken


def key_of(path: KeyPath) -> str:
    """Return a path as messages show it: ``lpu.retina.input[0].class: ``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return f"{text}: " if text else ""


def _report(error: Any, faults: FaultsOfFile) -> None:
    """Note what the schema found, in our words."""
    path: KeyPath = tuple(p for p in error["loc"] if p != "[key]")
    kind, got = error["type"], error.get("input")
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "extra_forbidden":
        known = keys_of(path[:-1])
        hint = near(str(path[-1]), known)
        faults.at(path, f"unknown key{hint}; allowed are {', '.join(known)}")
    elif kind == "missing":
        faults.at(path[:-1], f"'{path[-1]}' is missing")
    elif error["loc"] and error["loc"][-1] == "[key]":
        want = "a name of letters, digits, '_' and '-' that begins with a letter"
        faults.at(path, f"{want} is needed, got {quoted(got)}")
    else:
        want = _WANTED[kind].format(**context) if kind in _WANTED else error["msg"]
        among = str(context.get("expected", "")).replace("'", "").split(" or ")
        hint = near(got, among) if kind == "literal_error" and isinstance(got, str) else ""
        faults.at(path, f"{want}, got {said(got)}{hint}")


_WANTED = {
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "dict_type": "must be a section with keys",
    "model_type": "must be a section with keys",
    "model_attributes_type": "must be a section with keys",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:,}",
    "too_short": "needs at least {min_length}",
    "too_long": "takes at most {max_length}",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def said(value: Any) -> str:
    """Return a value of a file as messages show it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"a section with {', '.join(map(quoted, list(value)[:5]))}" if value else "{}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def keys_of(path: KeyPath) -> list[str]:
    """Return the keys that a section may have."""
    models: dict[Any, type[BaseModel]] = {"lpu": LPUSection, "pattern": PatternSection}
    model = models[path[0]] if len(path) == 2 else ExperimentSection
    return [field.alias or name for name, field in model.model_fields.items()]
