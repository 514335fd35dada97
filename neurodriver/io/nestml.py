"""Read the neurons of a NESTML file as models that are written as equations.

The language is that of NESTML 8 (Plotnikov et al. 2016, and https://nestml.readthedocs.io). What
maps to ``equations``, ``arrivals``, ``threshold``, ``reset`` and ``refractory`` is read; everything
else is refused by its name.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..arguments import checked_arguments, file_path, texts
from ..errors import Faults, ModelError, near, quoted
from ..model.component import Access, NDComponent, Parameter, State, Weighted
from ..model.kinds import SPIKES
from .nestml_text import Declared, Line, declared, lines_of
from .nestml_values import value_of

RENAMED = {"V_m": "V"}
"""State of NESTML -> its name here."""

CURRENT = "I"
"""Name here of what enters continuously."""

FUNCTIONS = {"ln": "log", "min": "fmin", "max": "fmax", "abs": "fabs", "pow": "pow"}
"""Function of NESTML -> its name here."""

LETTERS = {"s": "second", "V": "volt", "A": "ampere", "S": "siemens", "F": "farad", "m": "metre"}
"""Unit of one letter -> its name in equations, where a letter is no unit."""

E = "2.718281828459045"

_UNIT_BEHIND = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?)\s+(?=[A-Za-z])(?!and\b|or\b)")
_CONVOLVED = re.compile(r"convolve\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_SIFTED = re.compile(r"sift\(\s*(\w+)\s*,\s*([^()]+)\)")
_KERNEL = re.compile(r"kernel\s+(\w+)\s*=\s*(.+)")
_DERIVED = re.compile(r"(\w+)'\s*=\s*(.+)")
_SPIKE_PORT = re.compile(r"(\w+)\s*<-\s*(?:excitatory\s+|inhibitory\s+)?spike")
_CONTINUOUS = re.compile(r"(\w+)\s+(.+?)\s*<-\s*(?:continuous|current)")
_INTEGRATED = re.compile(r"integrate_odes\(([\w\s,]*)\)")
_TIMER = re.compile(r"(?:\s*and\s+)?\(?\b(\w+)\s*<=\s*0\s*\*?\s*ms\)?(?:\s+and\s+)?")
_RESTING = re.compile(r"if\s+(\w+)\s*>\s*0\s*\*?\s*ms:")


@checked_arguments(path=file_path, ignore=texts)
def read_nestml(path: str | Path, *, ignore: Iterable[str] = ()) -> dict[str, type[NDComponent]]:
    """Read the neurons of a NESTML file.

    Parameters
    ----------
    path : str or Path
    ignore : iterable of str
        Names of models that are left out.

    Returns
    -------
    dict of str to NDComponent subclass
        Name of a model -> its class. Parameters have the names and units of the file, and its
        values are their defaults. ``V_m`` is called V. The continuous input is I. Each port of
        spikes is a receptor.

    Raises
    ------
    CircuitError
        With all faults of the file: what cannot be written as equations, by its name and line.

    Examples
    --------
    >>> models = nd.read_nestml("neurons.nestml")  # doctest: +SKIP
    >>> nd.Population(models["iaf_psc_exp_neuron"], 100)  # doctest: +SKIP
    """
    faults, skipped = Faults(str(path)), frozenset(ignore)
    try:
        lines = lines_of(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        faults.add(f"{path}: cannot be read ({error})")
        lines = []
    found: dict[str, type[NDComponent]] = {}
    for line in lines:
        named = re.fullmatch(r"model\s+([A-Za-z_]\w*)\s*:", line.text)
        if named is None:
            say = "only neurons that are written as 'model <name>:' are read"
            faults.add(f"{path}, line {line.number}: {quoted(line.text)}: {say}")
        elif named[1] not in skipped:
            before = faults.count
            body = _Model(str(path), named[1], line, faults).body()
            if faults.count == before:
                try:
                    found[named[1]] = _class(named[1], body)
                except ModelError as error:
                    faults.add(f"{path}, model {named[1]}: {error}")
    if not lines and not faults.count:
        faults.add(f"{path}: has no models")
    faults.finish()
    return found


def _class(name: str, body: dict[str, Any]) -> type[NDComponent]:
    """Return the class of a model."""
    return types.new_class(name, (NDComponent,), exec_body=lambda names: names.update(body))


class _Model:
    """Turns the blocks of one model into the attributes of a class."""

    def __init__(self, path: str, name: str, line: Line, faults: Faults) -> None:
        self.path, self.name, self.faults = path, name, faults
        self.blocks: dict[str, list[Line]] = {}
        self.received: list[Line] = []
        self.conditions: list[Line] = []
        self.renamed = dict(RENAMED)
        self.ports: list[str] = []
        self.names: set[str] = set()
        self.equations: list[str] = []
        self.arrivals: list[str] = []
        for block in line.inner:
            word = re.match(r"\w+", block.text)
            kind = word.group() if word else ""
            if kind == "onReceive":
                self.received.append(block)
            elif kind == "onCondition":
                self.conditions.append(block)
            elif kind in ("state", "equations", "parameters", "internals", "input", "output",
                          "update"):  # fmt: skip
                self.blocks.setdefault(kind, []).extend(block.inner)
            else:
                self.refuse(block, "this block cannot be written as equations")

    def refuse(self, line: Line | Declared, say: str) -> None:
        """Note a fault of a line."""
        text = f": {quoted(line.text)}" if isinstance(line, Line) else f": {quoted(line.name)}"
        self.faults.add(f"{self.path}, line {line.number}, model {self.name}{text}: {say}")

    def declarations(self, kind: str) -> list[Declared]:
        """Return what the lines of a block declare."""
        out: list[Declared] = []
        for line in self.blocks.get(kind, ()):
            found = declared(line)
            if found is None:
                self.refuse(line, "a name, a unit and a value are expected")
            out += found or ()
        return out

    def body(self) -> dict[str, Any]:
        """Return the attributes of the class."""
        states = {one.name: one for one in self.declarations("state")}
        params = {one.name: one for one in self.declarations("parameters")}
        internals = self.declarations("internals")
        self.names = {*states, *params, *(one.name for one in internals)}
        self._inputs()
        for one in internals:
            self.equations.append(f"{self.new(one.name)} = {self.text(one.value)} : {one.unit}")
        timer, threshold, reset, refractory = self._spikes()
        resting = self._resting(states, timer)
        self._lines(states, resting, timer)
        self._receive()
        known = {name: (one.value, one.unit) for name, one in params.items()}
        known |= {one.name: (one.value, one.unit) for one in internals}
        values: dict[str, Any] = {}
        for one in (*params.values(), *states.values()):
            try:
                values[one.name] = value_of(one.value or "0", one.unit, known)
            except ValueError as error:
                self.refuse(one, f"its value {quoted(one.value)} is no constant ({error})")
                values[one.name] = 0.0
        starts = {
            self.new(name): State(one.unit, one.value if one.value in params else values[name])
            for name, one in states.items()
            if name != timer
        }
        accesses: list[Any] = [Weighted(SPIKES, port) for port in self.ports]
        if CURRENT in self.renamed.values():
            accesses.insert(0, Access(CURRENT))
        outputs = [name for name in ("V",) if name in starts]
        if not outputs:
            self.faults.add(f"{self.path}, model {self.name}: it has no state V_m")
        return {
            "__module__": __name__,
            "__doc__": f"The model {quoted(self.name)} of a NESTML file.",
            "accesses": tuple(accesses),
            "updates": (*((SPIKES,) if threshold else ()), *outputs),
            "params": {
                self.new(n): Parameter(p.unit, default=values[n]) for n, p in params.items()
            },
            "states": starts,
            "equations": "\n".join(self.equations),
            "arrivals": "; ".join(self.arrivals),
            "threshold": threshold,
            "reset": reset,
            "refractory": refractory,
        }

    def new(self, name: str) -> str:
        """Return the name here of a name there."""
        return self.renamed.get(name, name)

    def text(self, said: str) -> str:
        """Return an expression as it is written here."""
        out = _SIFTED.sub(r"(\1 * (\2))", said)
        out = _UNIT_BEHIND.sub(r"\1*", out)
        out = _CONVOLVED.sub(lambda m: f"{m[1]}_{m[2]}", out)
        letters = {one: unit for one, unit in LETTERS.items() if one not in self.names}
        names = {**letters, **FUNCTIONS, "e": E, **self.renamed}
        return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda m: names.get(m.group(), m.group()), out)

    def _inputs(self) -> None:
        """Take ports of spikes as receptors, and a continuous one as the current."""
        for line in self.blocks.get("input", ()):
            if found := _SPIKE_PORT.fullmatch(line.text):
                self.ports.append(found[1])
            elif (found := _CONTINUOUS.fullmatch(line.text)) and CURRENT not in (
                self.renamed.values()
            ):
                self.renamed[found[1]] = CURRENT
                self.equations.append(f"{CURRENT} : {found[2]}")
            else:
                self.refuse(line, "ports of spikes and one continuous port are read")
        for line in self.blocks.get("output", ()):
            if line.text != "spike":
                self.refuse(line, "only spikes can be sent")

    def _spikes(self) -> tuple[str, str, str, str]:
        """Return timer, threshold, reset and refractory time."""
        timer = threshold = refractory = ""
        reset: list[str] = []
        if len(self.conditions) > 1:
            self.refuse(self.conditions[1], "one condition, which emits a spike, is read")
        for block in self.conditions[:1]:
            said = block.text.removeprefix("onCondition(").removesuffix(":").strip()
            condition = said.removesuffix(")")
            if found := _TIMER.search(self.text(condition)):
                timer = found[1]
            threshold = self.text(condition)
            if timer:
                threshold = _TIMER.sub("", threshold)
            emits = False
            for line in block.inner:
                assigned = re.fullmatch(rf"{timer}\s*=\s*(.+)", line.text) if timer else None
                if line.text == "emit_spike()":
                    emits = True
                elif assigned:
                    refractory = self.text(assigned[1])
                elif line.text.endswith(":") or "(" in line.text.partition("=")[0]:
                    self.refuse(line, "only assignments and emit_spike() are read")
                else:
                    reset.append(self.text(line.text))
            if not emits:
                self.refuse(block, "a condition without emit_spike() is not read")
        return timer, threshold, "; ".join(reset), refractory

    def _resting(self, states: dict[str, Declared], timer: str) -> set[str]:
        """Return the states that rest while the timer runs, from the block ``update``."""
        lines = self.blocks.get("update", [])
        every = set(states) - {timer}
        if len(lines) == 1 and _INTEGRATED.fullmatch(lines[0].text):
            return set()
        pair = [one for one in lines if not _INTEGRATED.fullmatch(one.text)]
        condition = _RESTING.fullmatch(pair[0].text) if pair else None
        good = (
            len(lines) == len(pair) == 2
            and condition is not None
            and condition[1] == timer
            and pair[1].text == "else:"
            and all(len(one.inner) == 1 for one in pair)
        )
        calls = [_INTEGRATED.fullmatch(one.inner[0].text) if good else None for one in pair]
        if not good or None in calls:
            say = "integrate_odes(...), or a choice between two of them by the refractory timer"
            where: Any = pair[0] if pair else Line(0, "update")
            self.refuse(where, f"{say}, is read")
            return set()
        during, outside = (
            {name.strip() for name in call[1].split(",") if name.strip()} or every
            for call in calls
            if call is not None
        )
        return outside - during - {timer}

    def _lines(self, states: dict[str, Declared], resting: set[str], timer: str) -> None:
        """Write the block ``equations``."""
        used = set(
            _CONVOLVED.findall("\n".join(line.text for line in self.blocks.get("equations", ())))
        )
        for line in self.blocks.get("equations", ()):
            derived, kernel = _DERIVED.fullmatch(line.text), _KERNEL.fullmatch(line.text)
            if kernel:
                for name, port in sorted(used):
                    if name == kernel[1]:
                        self._kernel(line, f"{name}_{port}", port, kernel[2])
            elif derived and derived[1] == timer:
                continue
            elif derived and derived[1] in states:
                rests = " (unless refractory)" if derived[1] in resting else ""
                unit = states[derived[1]].unit
                value = self.text(derived[2])
                self.equations.append(f"d{self.new(derived[1])}/dt = {value} : {unit}{rests}")
            elif line.text.startswith("inline ") and (found := declared(line)):
                one = found[0]
                self.equations.append(f"{self.new(one.name)} = {self.text(one.value)} : {one.unit}")
            else:
                known = near(derived[1], states) if derived else ""
                self.refuse(line, f"equations x' = ..., inline and kernel are read{known}")
        moved = {m[1] for line in self.blocks.get("equations", ())
                 if (m := _DERIVED.fullmatch(line.text))}  # fmt: skip
        for name in states:
            if name not in moved and name != timer:
                self.refuse(states[name], "a state needs an equation")

    def _kernel(self, line: Line, state: str, port: str, said: str) -> None:
        """Write an exponential kernel, or an alpha function, as equations of its own."""
        if port not in self.ports:
            self.refuse(line, f"there is no port {quoted(port)} of spikes{near(port, self.ports)}")
            return
        plain = re.sub(r"\s+", "", said)
        decay = re.fullmatch(r"exp\(-t/(\w+)\)", plain)
        alpha = re.fullmatch(r"\(?e/(\w+)\)?\*t\*exp\(-t/\1\)", plain)
        if decay:
            self.equations.append(f"d{state}/dt = -{state} / {decay[1]} : 1")
            self.arrivals.append(f"{state} += {port}")
        elif alpha:
            rise = f"{state}_rise"
            self.equations.append(f"d{state}/dt = {rise} - {state} / {alpha[1]} : 1")
            self.equations.append(f"d{rise}/dt = -{rise} / {alpha[1]} : 1/ms")
            self.arrivals.append(f"{rise} += {E} / {alpha[1]} * {port}")
        else:
            self.refuse(line, "exponential kernels and alpha functions are read")

    def _receive(self) -> None:
        """Write what a port does when spikes arrive."""
        for block in self.received:
            named = re.fullmatch(r"onReceive\(\s*(\w+)\s*\)\s*:", block.text)
            if named is None or named[1] not in self.ports:
                self.refuse(block, f"a port of spikes is expected: {', '.join(self.ports)}")
                continue
            if any(re.search(r"\bs\b", line.text) for line in block.inner):
                self.equations.append(f"{named[1]} : 1/s")
            for line in block.inner:
                if line.inner or not re.match(r"\w+\s*[-+]?=[^=]", line.text):
                    self.refuse(line, "only assignments are read; give each sign a port")
                else:
                    self.arrivals.append(self.text(line.text))
