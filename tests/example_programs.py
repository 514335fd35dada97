"""How each example is run on a GPU, and beside it on a CPU."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from run_examples import SMALL  # noqa: E402

EXAMPLES = ROOT / "examples"
CIRCUITS = ROOT / "data" / "circuits"

OLD = ("-m", "neurodriver.compat")
CIRCUIT = ("-m", "neurodriver", "run")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "01_one_neuron.py": (),
    "04_movie.py": (),
    "05_voltage_clamp.py": (),
    "07_equations.py": (),
    "10_connectome.py": (),
    "17_silencing.py": (),
    "15_two_lpus.py": (),
    "16_photoreceptor.py": (),
    "18_reward_prediction.py": (),
    "old_style/custom_model.py": OLD,
    "old_style/generic.py": (*OLD, "-s", "500"),
    "old_style/hh_alpha.py": (*OLD, "-s", "2000"),
    "old_style/two_lpus.py": (*OLD, "-s", "500"),
    "papers/izhikevich_2003.py": ("--neurons", "4000", "--seconds", "0.3"),
    "papers/lappalainen_2024.py": (),
    **{
        name if (EXAMPLES / name).exists() else f"papers/{name}": tuple(given)
        for name, given in SMALL.items()
        if name not in ("13_reber_grammar.py", "morrison_2007.py")
    },
    "optic_lobe/experiment.toml": CIRCUIT,
    "optic_lobe_extent3.gexf.gz": (*CIRCUIT, "--dt", "5e-3", "--duration", "1.0"),
}
"""Name -> arguments."""

BATCHES = {"10_connectome.py", "17_silencing.py"}
"""What runs copies of a circuit."""

ELSEWHERE = {
    "one_neuron.gexf", "02_moving_edge.py", "03_lamina.py", "08_step_by_step.py",
    "11_random_associator.py", "13_reber_grammar.py", "14_sweep.py", "papers/morrison_2007.py",
    "papers/serre_2007.py", "papers/serre_2007_shapes.py",
}  # fmt: skip
"""What the first example runs; what writes an input and reads a recording, and runs nothing; what
needs a file that the project does not ship; what shares memory with NumPy; a sweep, which records
in other processes; five that record nothing.
"""
