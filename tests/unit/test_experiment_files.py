"""Experiment files, good and bad: what is wrong is told with its line, all of it at once."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from experiment_files import WHOLE, circuits, write
from hypothesis import given, settings
from hypothesis import strategies as st

from neurodriver import load_experiment
from neurodriver.__main__ import main
from neurodriver.errors import ExperimentError
from neurodriver.experiment.references import input_classes
from neurodriver.experiment.source import parse_yaml, toml_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the circuits."""
    made = tmp_path_factory.mktemp("experiment")
    circuits(made)
    return made


def refused(folder: Path, text: str | bytes, name: str = "e.toml") -> str:
    """Return what is said of a file; empty when it is good."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    try:
        load_experiment(path)
    except ExperimentError as error:
        said = str(error)
        assert said.startswith(str(path)), said
        return said
    return ""


def faults(said: str) -> list[tuple[int, str]]:
    """Return the faults of a message as (line, text)."""
    return [(int(n), text) for n, text in re.findall(r"line (\d+): (.*)", said)]


def test_good(folder: Path) -> None:
    """A good file is read, with defaults for what it does not say."""
    assert refused(folder, WHOLE) == ""
    experiment = load_experiment(folder / "e.toml")
    assert experiment.steps == 300 and experiment.section.dtype == "float64"
    assert list(experiment.section.lpu) == ["left", "right"]
    assert experiment.recording_of("right") == folder / "e.right.h5"
    assert load_experiment(folder / "e.toml", "x/../o.h5").output == Path.cwd() / "o.h5"


ONE_FAULT: dict[str, tuple[str, str, int, str]] = {
    "unknown key": ("seed = 5", "sed = 5", 3, "sed: unknown key (did you mean 'seed'?); allowed"),
    "value": ("dt = 1e-4", "dt = 0.0", 1, "dt: must be above 0, got 0.0"),
    "infinite": ("dt = 1e-4", "dt = inf", 1, "dt: must be a finite number, got inf"),
    "text": ("dt = 1e-4", 'dt = "1e-4"', 1, "dt: must be a number, got '1e-4'"),
    "truth": ("seed = 5", "seed = true", 3, "seed: must be a whole number, got true"),
    "fraction": ("seed = 5", "seed = 5.5", 3, "seed: must be a whole number, got 5.5"),
    "negative": ("seed = 5", "seed = -1", 3, "seed: must be at least 0, got -1"),
    "choice": ("seed = 5", 'dtype = "float23"', 3, "dtype: must be 'float64' or 'float32', got "
               "'float23' (did you mean 'float32'?)"),
    "two lengths": ("seed = 5", "steps = 5", 1, "give either 'duration' (s) or 'steps'"),
    "too short": ("duration = 0.03", "duration = 1e-6", 2, "duration: these are 0.01 steps of"),
    "no file": ('"left.gexf"', '"lift.gexf"', 6, "lpu.left.circuit: no such file: 'lift.gexf' "
                "(did you mean 'left.gexf'?)"),
    "no class": ('"StepInput"', '"StpInput"', 9, "lpu.left.input[0].class: no class of inputs "
                 "'StpInput' (did you mean 'StepInput'?); there are ArrayInput"),
    "no argument": ("start = 2e-3", "strt = 2e-3", 13, "lpu.left.input[0].strt: unknown argument "
                    "(did you mean 'start'?); StepInput takes variable, uids, value, start, stop"),
    "missing": ("value = 10.0", "", 9, "lpu.left.input[0].class: StepInput needs the argument "
                "'value'"),
    "record": ('V = "all"', 'V = "al"', 18, "lpu.right.record.V: must be \"all\", a list of uids"),
    "no lpu": ('["left", "right"]', '["left", "rihgt"]', 21, "pattern[0].between[1]: there is no "
               "LPU 'rihgt' (did you mean 'right'?); there are left, right"),
    "one lpu": ('["left", "right"]', '["left"]', 21, "pattern[0].between: needs at least 2, got"),
    "selector": ('"/left/v[0:3]"', '"/left/v[0:"', 22, "pattern[0].from: invalid selector"),
    "no port": ('"/left/v[0:3]"', '""', 22, "pattern[0].from: '' names no port"),
    "half": ('to = "/right/v[0:3]"', "", 20, "pattern[0]: give one of 'file', 'function', and"),
    "delay": ("delay = 2e-4", "delay = -1", 25, "pattern[0].delay: must be at least 0, got -1"),
    "type": ('type = "gpot"', 'type = "gptt"', 24, "pattern[0].type: must be 'gpot' or 'spike'"),
    "both": ('circuit = "right.gexf"', 'circuit = "right.gexf"\nfunction = "a:b"', 16,
             "lpu.right: give either 'circuit' (a file) or 'function'"),
    "name": ("[lpu.right]", '[lpu."right/2"]', 16, "lpu.right/2: a name of letters, digits"),
    "taken": ("[lpu.right]", "[lpu.metadata]", 16, "lpu.metadata: an LPU cannot be called so"),
    "module": ('circuit = "left.gexf"', 'function = "no_such_module:f"', 6,
               "lpu.left.function: there is no module 'no_such_module' beside the experiment"),
    "elsewhere": ('circuit = "left.gexf"', 'function = "subprocess:getoutput"', 6,
                  "lpu.left.function: there is no module 'subprocess' beside the experiment"),
    "within": ('circuit = "left.gexf"', 'function = "neurodriver.settings:os.system"', 6,
               "lpu.left.function: 'os.system' of module 'neurodriver.settings' is not its own"),
    "function": ('circuit = "left.gexf"', 'function = "neurodriver.circuits.motion:edge_inptu"', 6,
                 "lpu.left.function: module 'neurodriver.circuits.motion' has no function"),
    "form": ('circuit = "left.gexf"', 'function = "os.path.join"', 6,
             "lpu.left.function: must be module:function, got 'os.path.join'"),
    "sampling": ('circuit = "right.gexf"', 'circuit = "right.gexf"\nsample_interval = 301', 18,
                 "lpu.right.sample_interval: must be at most the 300 steps of the run, got 301"),
    "folder": ("seed = 5", 'output = "no/out.h5"', 3, "output: there is no folder"),
    "models": ("seed = 5", 'models = ["mine.py"]', 3, "models[0]: no such file: 'mine.py'"),
    "overwrites": ("seed = 5", 'output = "left.gexf"', 3, "output: the recording left.gexf would"),
    "not a section": ("[lpu.right]", "[[lpu.right]]", 16, "lpu.right: must be a section with keys"),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_FAULT)
def test_one_fault(folder: Path, case: str) -> None:
    """Every kind of fault names its line, its key, what was got and what is allowed."""
    old, new, line, text = ONE_FAULT[case]
    assert WHOLE.count(old) == 1
    found = faults(refused(folder, WHOLE.replace(old, new)))
    assert any(at == line and said.startswith(text) for at, said in found), found


def test_all_at_once(folder: Path) -> None:
    """Faults of form and of names are told together, in the order of the file."""
    text = WHOLE
    some = ["unknown key", "value", "no file", "no argument", "record", "no lpu", "selector"]
    for case in some:
        old, new, *_ = ONE_FAULT[case]
        text = text.replace(old, new)
    said = refused(folder, text)
    found = faults(said)
    lines = sorted(ONE_FAULT[case][2] for case in some)
    assert [line for line, _ in found] == lines
    assert f"e.toml: {len(lines)} faults\n" in said


def test_not_toml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no TOML is refused with the line, one that is not there by its name."""
    said = refused(folder, WHOLE.replace("[lpu.left]", "[lpu.left"))
    assert "is no valid TOML" in said and "line 5" in said
    assert "is not UTF-8" in refused(folder, b"dt = '\xff'")
    assert "an experiment is a file .toml" in refused(folder, "", "e.json")
    assert "'dt' is missing" in refused(folder, "")
    assert main(["run", str(folder / "gone.toml")]) == 1
    assert capsys.readouterr().err == f"error: {folder / 'gone.toml'}: no such file\n"


def test_yaml_faults(folder: Path) -> None:
    """YAML is checked likewise; a key that stands twice is a fault."""
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(tomllib.loads(WHOLE), sort_keys=False)
    assert refused(folder, text, "e.yaml") == ""
    line = text[: text.index("start:")].count("\n") + 1
    said = refused(folder, text.replace("start:", "strt:"), "e.yaml")
    assert (line, "lpu.left.input[0].strt: unknown argument (did you mean 'start'?); StepInput "
            "takes variable, uids, value, start, stop, duration") in faults(said)  # fmt: skip
    said = refused(folder, text + "seed: 6\n", "e.yml")
    assert "'seed' stands on line 3, too" in said
    assert "is no valid YAML" in refused(folder, "a: [", "e.yaml")
    assert "keys with values are needed" in refused(folder, "- 1", "e.yaml")
    bomb = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 20)}]\n"
                                   for a, b in zip("abcdef", "bcdefg", strict=True))  # fmt: skip
    assert "more than a million" in refused(folder, bomb, "e.yaml")


def test_yaml_numbers(folder: Path) -> None:
    """Numbers and truths are those of YAML 1.2: 1e-4 is a number, ``on`` a text."""
    pytest.importorskip("yaml")
    text = "a: 1e-4\nb: on\nc: [1, -2.5, .5, 1., 1.e3, 017, true, no, 1_000]\n"
    data, lines = parse_yaml(text, folder / "x.yaml")
    expected = {"a": 1e-4, "b": "on", "c": [1, -2.5, 0.5, 1.0, 1e3, 17.0, True, "no", "1_000"]}
    assert data == expected
    assert lines["c", 3] == 3 and lines["b",] == 2


LINES = WHOLE.split("\n")


@given(at=st.integers(0, len(LINES) - 1), yaml=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_line_of_an_unknown_key(folder: Path, at: int, yaml: bool) -> None:
    """Wherever an unknown key is put, the fault names that line."""
    lines, name = LINES, "e.toml"
    key = "zzz = 1"
    if yaml:
        dumped = pytest.importorskip("yaml").safe_dump(tomllib.loads(WHOLE), sort_keys=False)
        lines = dumped.split("\n")[:-1]
        at, name = at % len(lines), "e.yaml"
        if lines[at].lstrip().startswith("-"):
            return  # between the items of a list there are no keys
        key = re.match(" *", lines[at])[0] + "zzz: 1"  # type: ignore[index]
    text = "\n".join([*lines[:at], key, *lines[at:]])
    found = faults(refused(folder, text, name))
    assert [line for line, said in found if "zzz" in said] == [at + 1], text


KEYS = st.sampled_from(
    "dt duration steps dtype seed threads output models lpu pattern left right circuit function "
    "arguments rank random_namespace input record sample_interval class variable uids value start "
    "between file interfaces from to type delay V g model match filename zzz".split()
)
SCALARS = st.one_of(
    st.sampled_from(["left.gexf", "right.gexf", "StepInput", "FileInput", "all", "gpot", "left",
                     "os:getcwd", "/left/v[0:3]", "", "e.toml", "[", ":", "."]),
    st.integers(-3, 2**70), st.floats(), st.booleans(), st.text(max_size=5),
)  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def toml(data: dict[str, Any]) -> str:
    """Return data as TOML, one key a line."""
    return "".join(f"{json.dumps(key)} = {_toml(item)}\n" for key, item in data.items())


def _toml(item: Any) -> str:
    if isinstance(item, dict):
        body = ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in item.items())
        return f"{{ {body} }}"
    if isinstance(item, list):
        return f"[{', '.join(map(_toml, item))}]"
    if isinstance(item, str):
        return json.dumps(item).replace("\x7f", "\\u007f")
    if isinstance(item, float):
        return repr(item)
    return str(item).lower()


@given(
    changed=st.dictionaries(KEYS, TREES, max_size=4),
    deep=st.dictionaries(KEYS, TREES, max_size=3),
    section=st.sampled_from(["lpu.left", "lpu.right", "lpu.left.input", "pattern", "lpu", ""]),
)
@settings(max_examples=300, deadline=None)
def test_malformed_files(
    folder: Path, changed: dict[str, Any], deep: dict[str, Any], section: str
) -> None:
    """Whatever stands under the known keys: it is taken, or refused with lines that exist."""
    data = tomllib.loads(WHOLE)
    data.update(changed)
    node: Any = data
    for key in filter(None, section.split(".")):
        node = node.get(key) if isinstance(node, dict) else None
    node = node[0] if isinstance(node, list) and node else node
    if isinstance(node, dict):
        node.update(deep)
    try:
        text = toml(data)
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeEncodeError):
        return  # lone surrogates
    said = refused(folder, text)
    if said:
        found = faults(said)
        assert found and "Traceback" not in said, said
        rows = text.split("\n")
        for line, fault in found:
            assert 1 <= line <= len(rows)
            top = re.match(r"(\w+)[.\[:]", fault)
            if top and top[1] in data:  # one key a line
                assert rows[line - 1].startswith(f'"{top[1]}" = '), said


@given(at=st.integers(0, len(WHOLE)), length=st.integers(0, 30), put=st.text(max_size=6) | SCALARS)
@settings(max_examples=200, deadline=None)
def test_damaged_files(folder: Path, at: int, length: int, put: Any) -> None:
    """A file with a piece cut out and something else put in is taken, or refused with a line."""
    text = (WHOLE[:at] + str(put) + WHOLE[at + length :]).encode(errors="replace")
    said = refused(folder, text)
    assert not said or "line " in said or "end of document" in said or "is missing" in said, said


@given(data=st.binary(max_size=200), yaml=st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_bytes(folder: Path, data: bytes, yaml: bool) -> None:
    """No bytes bring anything but an ExperimentError."""
    assert refused(folder, data, "e.yaml" if yaml else "e.toml")


def test_lines_of_toml() -> None:
    """Headers, arrays of sections, dotted keys, and statements of several lines have their line."""
    text = '''# comment
a.b = 1
c = [
  1,  # [
  { d = 2 },
]

[[lpu.x.input]]
e = """
[no.header]
f = 1
"""
[[lpu.x.input]]
g = { h = 1 }
[lpu.x.input.deep]
i = 1
["q.r".s]
t = 'x'
'''
    tomllib.loads(text)
    lines = toml_lines(text)
    expected: dict[tuple[str | int, ...], int] = {
        ("a", "b"): 2, ("c",): 3, ("c", 1, "d"): 3, ("lpu", "x", "input", 0): 8,
        ("lpu", "x", "input", 0, "e"): 9, ("lpu", "x", "input", 1, "g", "h"): 14,
        ("lpu", "x", "input", 1, "deep", "i"): 16, ("q.r", "s", "t"): 18,
    }  # fmt: skip
    assert {path: lines[path] for path in expected} == expected
    assert ("no",) not in lines


def test_every_input_class_can_be_named() -> None:
    """Classes of inputs are found by themselves, but for those that need another input."""
    import inspect

    from neurodriver import inputs

    public = {n for n, c in vars(inputs).items()
              if inspect.isclass(c) and issubclass(c, inputs.Input)}  # fmt: skip
    assert {"StepInput", "RampInput", "FileInput", "ArrayInput"} <= set(input_classes())
    abstract = {n for n in public if inspect.isabstract(vars(inputs)[n])}
    assert set(input_classes()) == public - abstract - {"RecordedInput"}


def test_yaml_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyYAML, a file in YAML says what to install."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = write(tmp_path, "dt: 1", "e.yaml")
    with pytest.raises(Exception, match=r"YAML needs PyYAML: pip install 'neurodriver\[yaml\]'"):
        load_experiment(path)
