"""Wrong types and values for what circuits, learning, sweeps, results and other packages offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seeds
from api_cases import ODD
from isolated import CLEAR, LEGAL, WARNED, Case

import neurodriver as nd
from neurodriver import error_driven
from neurodriver.results import train_measures

Run = Callable[[Path, dict[str, Any]], object]
"""Does something with arguments, in an empty folder."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class: one argument at a time is replaced by a value that is odd."""
    for name, (run, good) in FEATURES.items():
        yield Case(name, _with(run, good), (CLEAR,) if name in ABSENT else (LEGAL, WARNED))
        for argument in good:
            legal = LEGAL_VALUES.get(f"{name}.{argument}", "").split("|")
            for what, value in ODD.items():
                allowed = (CLEAR, LEGAL, WARNED) if what in legal else (CLEAR,)
                given = _with(run, {**good, argument: value})
                yield Case(f"{name}: {argument}={what}", given, allowed)


def _with(run: Run, given: Mapping[str, Any]) -> Callable[[Path], object]:
    def with_large(folder: Path) -> None:
        run(folder, {name: LARGE.get(name, _same)(value) for name, value in given.items()})

    return with_large


def _same(value: Any) -> Any:
    return value


@cache
def _run() -> nd.Recording:
    circuit = seeds.populations()
    circuit = circuit.stimulate("cells", rate=200.0)
    return nd.LPU(circuit, 1e-4).run(duration=0.02, record=["V", "spike_state"]).recording


def _recorded(value: Any) -> Any:
    return _run() if value is ... else value


def _compared(value: Any) -> Any:
    return {"a": _run(), "b": _run()} if value is ... else value


def _held(value: Any) -> Any:
    return nd.LPU(seeds.populations(), 1e-4).state() if value is ... else value


LARGE = {"recording": _recorded, "runs": _compared, "state": _held}
"""Arguments whose good value is made for each case."""


def _network() -> error_driven.Network:
    network = error_driven.Network(minus=20, plus=10, seed=1)
    network.layer("in", "input", (2, 2))
    network.layer("out", "target", (2, 2))
    network.connect("in", "out")
    return network


def _cells(**more: Any) -> nd.Population:
    return nd.Population("LeakyIAFShiu", 6, name="cells", **more)


# -- what is tried -------------------------------------------------------------------------------


def _parts(folder: Path, given: dict[str, Any]) -> None:
    nd.LPU(seeds.populations(), 1e-4, **given).close()


def _batch(folder: Path, given: dict[str, Any]) -> None:
    copies = given.pop("copies")
    nd.LPU(seeds.populations(), 1e-4, batch=nd.Batch(copies, **given)).close()


def _built(seed: int) -> nd.LPU:
    circuit = seeds.populations()
    return nd.LPU(circuit, 1e-4, recorders=nd.MemoryRecorder([("V", None)]), seed=seed)


def _sweep(folder: Path, given: dict[str, Any]) -> None:
    given = {"build": _built, "axes": {"seed": [1, 2]}, **given}
    nd.sweep(given.pop("build"), given.pop("axes"), **given)


def _learning(folder: Path, given: dict[str, Any]) -> None:
    cells = _cells()
    rule = nd.PairSTDP(**given)
    link = nd.Projection(cells, cells, nd.AllToAll(), receptor="syn", weight=0.5, delay=1e-3,
                         plasticity=rule)  # fmt: skip
    nd.LPU(nd.Circuit([cells], [link]), 1e-4).close()


def _synapses(folder: Path, given: dict[str, Any]) -> None:
    cells = _cells()
    link = nd.Projection(cells, cells, nd.AllToAll(), receptor="syn", weight=0.5, delay=1e-3,
                         plasticity=nd.PairSTDP(), name="learned")  # fmt: skip
    circuit = nd.Circuit([cells], [link])
    given = {"filename": folder / "w.h5", "connections": "learned", **given}
    recorder = nd.SynapseRecorder(given.pop("filename"), given.pop("connections"), **given)
    with nd.LPU(circuit, 1e-4, recorders=recorder) as lpu:
        lpu.run(10)


def _living(folder: Path, given: dict[str, Any]) -> None:
    with nd.LPU(seeds.populations(), 1e-4) as lpu:
        if "values" in given:
            lpu.set(given.get("name", "V"), given["values"])
        else:
            lpu.get(given["name"])


def _fired(folder: Path, given: dict[str, Any]) -> None:
    with nd.LPU(seeds.populations(), 1e-4) as lpu:
        lpu["cells"].events(**given)


def _taken_back(folder: Path, given: dict[str, Any]) -> None:
    with nd.LPU(seeds.populations(), 1e-4) as lpu:
        lpu.restore_state(**given)


def _runs(folder: Path, given: dict[str, Any]) -> None:
    with nd.LPU(seeds.populations(), 1e-4) as lpu:
        lpu.run(10, **given)


def _circuit(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        _ = getattr(seeds.populations(), name)(**given).count

    return run


def _place(kind: Any) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        sheet = nd.Population("LeakyIAFShiu", axes=SHEET, name="sheet")
        first = [given.pop(name) for name in ("n", "r", "offsets") if name in given]
        rule = kind(*first, **given)
        link = nd.Projection(sheet, sheet, rule, receptor="syn", weight=0.5, delay=1e-3)
        _ = nd.Circuit([sheet], [link]).connections[0].source

    return run


def _axis(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        axis = getattr(nd.Axis, name)(**given)
        _ = nd.Population("LeakyIAFShiu", axes={"x": axis}, name="line").uids

    return run


def _drawn(kind: Any) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        cells = _cells()
        link = nd.Projection(cells, cells, nd.AllToAll(), receptor="syn", weight=kind(**given),
                             delay=1e-3)  # fmt: skip
        _ = nd.Circuit([cells], [link]).connections[0].data

    return run


def _input(kind: Any, variable: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        given = {"variable": variable, "uids": ["a" if variable == "I" else "s"], **given}
        with nd.LPU(seeds.circuit(), 1e-4, kind(**given)) as lpu:
            lpu.run(5)

    return run


def _recorder(kind: Any, made: Callable[[], nd.Circuit] = seeds.circuit) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        if kind is nd.HDF5Recorder:
            given = {"filename": folder / "out.h5", **given}
        with nd.LPU(made(), 1e-4, recorders=kind(**given)) as lpu:
            lpu.run(5)

    return run


def _plot(folder: Path, given: dict[str, Any]) -> None:
    try:
        nd.plot_recording(given.pop("recording"), **given)
    finally:
        plt.close("all")


def _compare(folder: Path, given: dict[str, Any]) -> None:
    nd.compare(given.pop("runs"), **given)


def _result(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        _ = getattr(_run(), name)(**given)

    return run


def _written(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        path = folder / "run.h5"
        with nd.LPU(seeds.circuit(), 1e-4, recorders=nd.HDF5Recorder(path, [("V", None)])) as lpu:
            lpu.run(5)
        with nd.open(path) as recording:
            _ = getattr(recording, name)(**given)

    return run


def _movie(folder: Path, given: dict[str, Any]) -> None:
    try:
        movie = nd.Movie(**given)
        movie.add(_run().data("V"))
        movie.save_frame(folder / "a.png", dpi=30.0)
    finally:
        plt.close("all")


def _frame(folder: Path, given: dict[str, Any]) -> None:
    try:
        movie = nd.Movie()
        movie.add(_run().data("V"))
        movie.save_frame(**given)
    finally:
        plt.close("all")


def _exp(folder: Path, given: dict[str, Any]) -> None:
    from neurodriver.published.shiu_2024 import default_params, run_exp

    if isinstance(given["params"], dict) and not given["params"]:
        given["params"] = default_params
    run_exp(**given)


def _file(folder: Path, given: dict[str, Any]) -> None:
    path = folder / "run.h5"
    with nd.LPU(seeds.circuit(), 1e-4, recorders=nd.HDF5Recorder(path, [("V", None)])) as lpu:
        lpu.run(5)
    nd.open(given.pop("path"), **given).close()


def _read(reader: Callable[..., object]) -> Run:
    return lambda folder, given: reader(**given)


def _networks(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        if name == "Network":
            error_driven.circuit_of(_filled(error_driven.Network(**given)))
        elif name == "layer":
            network = error_driven.Network(minus=20, plus=10)
            network.layer(**given)
            error_driven.circuit_of(network)
        elif name == "connect":
            network = _network()
            network.connect(**given)
            error_driven.circuit_of(network)
        else:
            error_driven.Trainer(_network(), **given).close()

    return run


def _filled(network: error_driven.Network) -> error_driven.Network:
    network.layer("in", "input", (2, 2))
    network.layer("out", "target", (2, 2))
    network.connect("in", "out")
    return network


def _trainer(name: str) -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        trainer = error_driven.Trainer(_network())
        try:
            getattr(trainer, name)(**given)
        finally:
            trainer.close()

    return run


SHEET = {name: nd.Axis.regular(4, 0.0, 1.0) for name in ("y", "x")}
STEPS = [(0, 1), (1, 0)]
SHOWN = {"in": np.ones((2, 2)), "out": np.zeros((2, 2))}

FEATURES: dict[str, tuple[Run, dict[str, Any]]] = {
    "parts": (_parts, {"parts": 2}),
    "keep": (_parts, {"keep": ["cells.V"]}),
    "events of cells": (_fired, {"name": "spike_state"}),
    "restore_state": (_taken_back, {"state": ...}),
    "nonfinite": (_parts, {"nonfinite": "warn", "debug": False}),
    "Batch": (_batch, {"copies": 2, "seeds": [1, 2], "parameters": {}, "weight_scale": [1.0, 2.0],
                       "inputs": None}),
    "sweep": (_sweep, {"axes": {"seed": [1, 2]}, "steps": 5, "path": None, "errors": "raise",
                       "progress": False, "executor": None}),
    "PairSTDP": (_learning, {"tau_plus": 20.0, "tau_minus": 20.0, "A_plus": 0.01,
                             "ratio": 1.0, "w_max": 2.0}),
    "SynapseRecorder": (_synapses, {"connections": "learned", "variables": ["weight"],
                                    "synapses": [0, 1], "interval": 1e-4, "overwrite": False}),
    "SynapseRecorder.count": (_synapses, {"count": 3, "interval": 1e-4, "seed": 0}),
    "SynapseRecorder.bins": (_synapses, {"bins": 4, "interval": 1e-4}),
    "lpu.set": (_living, {"name": "V", "values": -52.0}),
    "lpu.get": (_living, {"name": "V"}),
    "lpu.run": (_runs, {"progress": False, "record": ["V"], "inputs": None}),
    "stimulate": (_circuit("stimulate"), {"who": "cells", "rate": 20.0, "weight": 1.0,
                                          "receptor": "syn", "delay": 1e-3, "name": "s"}),
    "silence": (_circuit("silence"), {"who": "cells", "which": "outgoing"}),
    "copy": (_circuit("copy"), {"name": "c", "params": {}, "weight_scale": 2.0}),
    "Near": (_place(nd.Near), {"n": None, "autapses": True, "axes": {"y": 2, "x": 2}}),
    "Within": (_place(nd.Within), {"r": 1.5, "autapses": True, "axes": None}),
    "Offsets": (_place(nd.Offsets), {"offsets": STEPS, "weights": 1.0, "autapses": True}),
    "Axis.regular": (_axis("regular"), {"count": 5, "start": 0.0, "step": 1.0, "period": None}),
    "Axis.span": (_axis("span"), {"count": 5, "low": 0.0, "high": 1.0, "period": None}),
    "Axis.at": (_axis("at"), {"positions": [0.0, 1.0, 2.5], "period": None}),
    "Uniform": (_drawn(nd.Uniform), {"low": 0.0, "high": 1.0}),
    "Normal": (_drawn(nd.Normal), {"mean": 0.0, "sd": 1.0, "low": -5.0, "high": 5.0,
                                   "outside": "redraw", "multiple_of": 0.5}),
    "LogNormal": (_drawn(nd.LogNormal), {"mu": 0.0, "sigma": 1.0, "factor": 2.0}),
    "Exponential": (_drawn(nd.Exponential), {"mean": 1.0, "factor": 2.0}),
    "PulseInput": (_input(nd.PulseInput, "I"), {"starts": [0.0], "stops": [1e-3], "values": [2.0]}),
    "RampInput": (_input(nd.RampInput, "I"), {"start": 0.0, "duration": 1e-3, "start_value": 0.0,
                                              "stop_value": 2.0}),
    "NoiseInput": (_input(nd.NoiseInput, "I"), {"mean": 0.0, "sigma": 1.0, "start": 0.0, "seed": 0,
                                                "distribution": "normal", "tau": None}),
    "BernoulliInput": (_input(nd.BernoulliInput, "spike_state"), {"p": 0.1, "start": 0.0,
                                                                  "seed": 0}),
    "HDF5Recorder": (_recorder(nd.HDF5Recorder), {"record": [("V", None)], "sample_interval": 1,
                                                  "overwrite": False}),
    "MemoryRecorder": (_recorder(nd.MemoryRecorder), {"record": [("V", None)],
                                                      "sample_interval": 1}),
    "MemoryRecorder of cells": (
        _recorder(nd.MemoryRecorder, seeds.populations), {"record": [("cells.V", None)]}
    ),
    "plot_recording": (_plot, {"recording": ..., "variables": ["V"], "uids": None, "title": None,
                               "start": None, "stop": None, "ax": None}),
    "compare": (_compare, {"runs": ..., "by": "population", "start": 0.0, "stop": None,
                           "circuit": None}),
    "events": (_result("events"), {"variable": "spike_state"}),
    "data": (_result("data"), {"variable": "V", "uids": None}),
    "to_pandas": (_result("to_pandas"), {"variable": "V", "uids": None}),
    "to_xarray": (_result("to_xarray"), {"variables": None}),
    "to_neo": (_result("to_neo"), {"variables": None}),
    "open": (_file, {"path": "run.h5", "group": "/", "dt": None, "sample_interval": None,
                     "start_time": None}),
    "to_nwb": (_written("to_nwb"), {"path": "a.nwb", "variables": None, "circuit": None,
                                    "overwrite": False}),
    "to_sonata": (_written("to_sonata"), {"folder": "a", "variables": None, "circuit": None,
                                          "overwrite": False}),
    "Movie": (_movie, {"rows": None, "cols": None, "figsize": (9.0, 5.0), "fontsize": 10.0,
                       "title": None, "clock": True}),
    "Movie.save_frame": (_frame, {"path": "a.png", "time": None, "dpi": 50.0}),
    "run_exp": (_exp, {"exp_name": "a", "neu_exc": [1], "path_res": ".", "path_comp": "no.csv",
                       "path_con": "no.parquet", "params": {}, "neu_slnc": [], "n_proc": 1,
                       "force_overwrite": False}),
    "read_neuroml": (_read(nd.read_neuroml), {"path": "no.nml", "ignore": ()}),
    "read_nestml": (_read(nd.read_nestml), {"path": "no.nestml", "ignore": ()}),
    "read_sonata_simulation": (_read(nd.read_sonata_simulation), {
        "config": "no.json", "models": None, "ignore": (), "strict": False}),
    "train_measures": (_read(train_measures), {
        "time": [0.1, 0.2], "index": [0, 0], "populations": {"a": [0]}, "stop": 1.0, "start": 0.0,
        "measures": "rate"}),
    "from_nir": (_read(nd.Circuit.from_nir), {"source": "no.nir", "strict": False}),
    "from_sonata": (_read(nd.Circuit.from_sonata), {"config": "no.json", "models": None}),
    "Network": (_networks("Network"), {"minus": 20, "plus": 10, "seed": 1}),
    "layer": (_networks("layer"), {"name": "a", "kind": "super", "shape": (2, 2), "driver": None,
                                   "modulators": None}),
    "connect": (_networks("connect"), {"sender": "out", "receiver": "in", "pattern": None,
                                       "kind": "back"}),
    "Trainer": (_networks("Trainer"), {"items": None, "slow_interval": 100,
                                       "inhibition_interval": 1000, "communicator": None}),
    "trial": (_trainer("trial"), {"shown": SHOWN, "learn": True}),
    "train": (_trainer("train"), {"environment": [SHOWN], "epochs": 1, "trials": 1, "stop": None}),
    "Trainer.get": (_trainer("get"), {"layer": "out", "name": "Act"}),
}  # fmt: skip
"""Feature -> how it is tried, and good values of its arguments."""

ABSENT = (
    "read_neuroml", "read_nestml", "read_sonata_simulation", "from_nir", "from_sonata", "run_exp",
    "to_sonata",
)  # fmt: skip
"""Features whose file is not there."""

MAY_BE = {
    "None|2**70": "Axis.at.period Axis.regular.period",
    "list": "Axis.at.positions train_measures.index train_measures.time",
    "1.5|-1": "Axis.regular.start LogNormal.mu Normal.low Normal.mean copy.weight_scale",
    "set": "layer.shape",
    "1.5|2**70": """
        train_measures.stop
        Within.r Axis.regular.step Axis.span.high Exponential.mean Normal.multiple_of
        RampInput.duration Uniform.high
    """,
    "-1": "Axis.span.low Uniform.low train_measures.start",
    "1.5|None|2**70": """
        Axis.span.period NoiseInput.tau open.dt plot_recording.stop stimulate.delay
    """,
    "None": """
        Movie.cols Movie.rows to_nwb.circuit to_nwb.variables
        Batch.inputs Batch.parameters Batch.weight_scale Near.n SynapseRecorder.count.count
        Trainer.communicator Trainer.items Within.axes compare.circuit compare.stop
        connect.pattern copy.params data.uids layer.driver lpu.run.inputs lpu.run.record
        open.sample_interval parts.parts plot_recording.ax plot_recording.uids
        plot_recording.variables silence.who stimulate.receptor stimulate.who sweep.executor
        to_neo.variables to_pandas.uids to_xarray.variables
    """,
    "None|list": """
        Batch.seeds SynapseRecorder.bins.bins SynapseRecorder.synapses
    """,
    "True": """
        BernoulliInput.p HDF5Recorder.overwrite Offsets.autapses SynapseRecorder.overwrite
        Movie.clock to_nwb.overwrite Near.autapses Within.autapses nonfinite.debug sweep.progress
        trial.learn
    """,
    "1.5|-1|inf|True|2**70": "BernoulliInput.start NoiseInput.start",
    "1.5|-1|2**70": "Exponential.factor LogNormal.factor",
    "1.5": """
        Movie.fontsize LogNormal.sigma Normal.sd SynapseRecorder.bins.interval
        SynapseRecorder.count.interval SynapseRecorder.interval
    """,
    "1.5|-1|True|2**70": """
        NoiseInput.mean PairSTDP.A_plus PairSTDP.ratio PulseInput.values RampInput.start_value
        RampInput.stop_value lpu.set.values
    """,
    "1.5|True|2**70": """
        NoiseInput.sigma PairSTDP.tau_minus PairSTDP.tau_plus PairSTDP.w_max stimulate.rate
    """,
    "1.5|-1|inf|2**70": "Normal.high",
    "1.5|-1|list|True|2**70": "Offsets.weights",
    "1.5|-1|None|2**70": "Movie.save_frame.time RampInput.start open.start_time",
    "text|empty text|None": "Movie.title copy.name plot_recording.title",
    "text": "Movie.save_frame.path layer.name",
    "None|True|class|function": "lpu.run.progress",
    "-1|None": "plot_recording.start",
    "text|empty text": "stimulate.name",
    "1.5|-1|None|True|2**70": "stimulate.weight",
    "text|None": "sweep.path",
    "None|function": "train.stop",
}
"""Odd values, joined by bars -> features and arguments that may have them."""

LEGAL_VALUES = {name: values for values, names in MAY_BE.items() for name in names.split()}
LEGAL_VALUES["events of cells.name"] = "None"
