"""PRINT and ERROR in the mathematics of models: lines in order under debug, nothing otherwise."""

import re

import numpy as np
import pytest

from neurodriver import LPU, Circuit, Connections, NDComponent, Parameter, State
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import device_text
from neurodriver.codegen.source import source
from neurodriver.errors import LPUExecutionError, ModelError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.diagnostics import MOST_RECORDS, Diagnostics
from neurodriver.plan.target import TARGETS

DT = 1e-4

PLAIN = """
    real more = 2 * step_size;
    V = V + more;
"""
SAYING = """
    real more = 2 * step_size;
    PRINT("V %f, more %g%%", V, fmax(more, 1)); // of the old V
    V = V + more;
    if (V >= limit) ERROR("V is %g, sub-step %d", V, substep);
"""
PARAMS = {"step_size": Parameter("mV"), "limit": Parameter("mV", default=1e9)}


class Speaking(NDComponent):
    """Grows by twice its step size."""

    updates = ("V",)
    params = PARAMS
    states = {"V": State("mV", -61.25)}
    update = SAYING


class Silent(NDComponent):
    """The same without a word."""

    updates = ("V",)
    params = PARAMS
    states = {"V": State("mV", -61.25)}
    update = PLAIN


class Halves(Speaking):
    """Two sub-steps a step."""

    maximum_dt = DT / 2


class Reading(NDComponent):
    """Speaks of what arrives."""

    accesses = ("V",)
    updates = {"r": "1"}
    update = 'r = V; if (V > 0) PRINT("arrives"); else PRINT("%f", V);'


def circuit(model=Speaking, count=5, **params):
    given = {"step_size": np.arange(count, dtype=float), **params}
    return Circuit.from_arrays([(model, count, given, None)], [])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lines_are_ordered_by_step_and_component(capsys, threads, dtype):
    with LPU(circuit(), DT, debug=True, threads=threads, dtype=dtype) as lpu:
        lpu.run(3)
    lines = capsys.readouterr().out.splitlines()
    expected = [
        f"Speaking/{n}, step {step}: V {-61.25 + 2 * n * (step - 1):f}, more {max(2 * n, 1)}%"
        for step in (1, 2, 3)
        for n in range(5)
    ]
    assert lines == expected


def test_sub_steps_come_in_order(capsys):
    with LPU(circuit(Halves, 2), DT, debug=True) as lpu:
        lpu.run(2)
    lines = capsys.readouterr().out.splitlines()
    assert [float(re.search(r"V (\S+),", line)[1]) for line in lines] == [
        -61.25, -61.25, -61.25, -59.25, -61.25, -61.25, -57.25, -55.25,
    ]  # fmt: skip


def test_branches_and_connections(capsys):
    groups = [
        (Reading, 40, {}, None),
        (Silent, 3, {"step_size": np.array([0.0, 40.0, 0.0])}, None),
    ]
    ends = np.array([41, 40], dtype=np.int32), np.array([39, 2], dtype=np.int32)
    joined = [Connections("V", "V", *ends, DT)]
    with LPU(Circuit.from_arrays(groups, joined), DT, debug=True) as lpu:
        lpu.run(2)
    lines = [one for one in capsys.readouterr().out.splitlines() if "step 2" in one]
    assert len(lines) == 40
    assert "Reading/39, step 2: arrives" in lines
    assert "Reading/2, step 2: -61.250000" in lines and "Reading/3, step 2: 0.000000" in lines


def test_error_ends_the_run_at_its_first_component(capsys):
    with LPU(circuit(limit=-50.0), DT, debug=True, threads=2) as lpu:
        with pytest.raises(LPUExecutionError) as caught:
            lpu.run(100)
    assert str(caught.value) == "Speaking/3, step 2: V is -49.25, sub-step 0"
    assert caught.value.step == 2
    assert capsys.readouterr().out.splitlines()[-1].startswith("Speaking/4, step 2: ")


def test_ensure_is_an_error_where_it_does_not_hold(capsys):
    class Sure(Speaking):
        update = PLAIN + 'ENSURE(V < limit, "V is %g, sub-step %d", V, substep);'

    texts = []
    for model, debug in ((Sure, True), (Sure, False)):
        with LPU(circuit(model, limit=-50.0), DT, debug=debug, threads=2) as lpu:
            if debug:
                with pytest.raises(LPUExecutionError) as caught:
                    lpu.run(100)
            else:
                lpu.run(100)
            texts.append(lpu.backend.generated.tasks[0].kernel.text)
    assert str(caught.value) == "Sure/3, step 2: V is -49.25, sub-step 0"
    assert "nd_error" in texts[0] and "nd_error" not in texts[1]
    assert capsys.readouterr().out == ""


def test_without_debug_the_kernel_is_that_of_a_text_without_them(capsys):
    texts = []
    for model in (Speaking, Silent):
        program = compile_circuit(circuit(model), DT)
        (task,) = generate(program).tasks
        texts.append(task.kernel.text.replace(model.__name__, ""))
    assert texts[0].replace("    if (V >= limit) {}\n", "") != ""
    assert "nd_print" not in texts[0] and "PRINT" not in texts[0]

    class Alone(Silent):
        update = PLAIN + '    PRINT("V %f", V);\n'

    (task,) = generate(compile_circuit(circuit(Alone), DT)).tasks
    assert task.kernel.text == texts[1]
    with LPU(circuit(limit=-50.0), DT) as lpu:
        lpu.run(100)
    assert capsys.readouterr().out == ""


def test_states_are_the_same_with_and_without(capsys):
    values = []
    for debug in (False, True):
        with LPU(circuit(), DT, debug=debug) as lpu:
            lpu.start(7)
            lpu.advance(7)
            values.append(lpu.get("V"))
    np.testing.assert_array_equal(*values)
    assert capsys.readouterr().out.count("\n") == 35


def test_too_much_is_counted(capsys, monkeypatch):
    monkeypatch.setattr("neurodriver.run.printed.LINES", 12)
    with LPU(circuit(), DT, debug=True) as lpu:
        lpu.run(1000)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert lines[-1] == "... and 4,988 more lines of PRINT"


def test_room_is_bounded(capsys, monkeypatch):
    class Chatty(Silent):
        update = PLAIN + f'for (int i = 0; i < {MOST_RECORDS // 64}; ++i) PRINT("%d", i);'

    with LPU(circuit(Chatty, 128), DT, debug=True) as lpu:
        lpu.run(2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10_001
    assert lines[-1] == f"... and {2 * 128 * (MOST_RECORDS // 64) - 10_000:,} more lines of PRINT"


@pytest.mark.parametrize(
    "text, said",
    [
        ('PRINT("V %f");', "1 values, 0 are given"),
        ('PRINT("V", V);', "0 values, 1 are given"),
        ('PRINT("V %s", V);', "'%s' is unknown"),
        ('PRINT("V %ld", V);', "'%l' is unknown"),
        ('PRINT("100 %", V);', "'%' is unknown"),
        ("PRINT(V);", "needs a text in quotes"),
        ('PRINT "V";', "needs a text in quotes"),
        ('ERROR("V"', "a closing bracket and a semicolon"),
        ('PRINT("V")', "a closing bracket and a semicolon"),
        ('PRINT("%f", normal());', "draws a random number"),
        ('PRINT("%f %f", V, );', "a value is missing"),
        ('PRINT("%f" V);', "a comma has to follow"),
        ('ENSURE("%f", V);', "needs a condition"),
        ("ENSURE(V < 1);", "ENSURE needs a condition, a comma and a text"),
        ('ENSURE(V < 1, "V %f");', "1 values, 0 are given"),
    ],
)
def test_mistakes_are_told_with_class_and_place(text, said):
    with pytest.raises(ModelError) as caught:
        type("Wrong", (Silent,), {"update": f"V = V + 1;\n  {text}"})
    assert said in str(caught.value)
    assert str(caught.value).startswith("Wrong.update, line 2, column ")


def test_unknown_names_are_refused_under_debug():
    model = type("Unknown", (Silent,), {"update": 'V = V + step_size; PRINT("%f", W);'})
    with pytest.raises(ModelError, match="unknown name 'W'"):
        LPU(circuit(model), DT, debug=True)


def test_expressions_cannot_print():
    with pytest.raises(ModelError, match="PRINT is for statements, in 'update'"):
        type("Wrong", (Silent,), {"terms": {"a": 'PRINT("x")'}})


def test_text_for_a_gpu():
    """A thread without a component of its own is silent, and the record has the component."""
    program = compile_circuit(
        circuit(), DT, target=TARGETS["cuda"], watch=Diagnostics(finite=True, debug=True)
    )
    (task,) = generate(program).tasks
    (call,) = re.findall(r"nd_print\(.*\);", task.kernel.text)
    assert "nd_live[nd_i] ? " in call and "-1" in call
    assert len(re.findall(r"nd_error\(", task.kernel.text)) == 1
    assert "nd_record_first(" in task.kernel.text
    assert device_text and source
