"""The circuits of the README and of the examples, which are shipped with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from neurodriver.circuit import Circuit
from neurodriver.errors import CircuitError, near

_ENDINGS = (".gexf", ".gexf.gz")


def data_folder(name: str) -> Path:
    """Return a folder of shipped data: the checkout's own, else the installed copy.

    Parameters
    ----------
    name : str
        ``circuits`` or ``optic_lobe``.

    Raises
    ------
    FileNotFoundError
        If there is neither.
    """
    checkout = Path(__file__).resolve().parents[2] / "data" / name
    installed = Path(str(resources.files(__package__))) / "data" / name
    for folder in (checkout, installed):
        if folder.is_dir() and any(folder.iterdir()):
            return folder
    raise FileNotFoundError(
        f"the shipped data are neither in {checkout} nor in {installed}; install neurodriver again"
    )


def example(name: str) -> Circuit:
    """Return a circuit of the examples.

    Parameters
    ----------
    name : str
        ``one_neuron``, a leaky integrate-and-fire neuron called ``neuron``, or
        ``optic_lobe_extent3``, 37 columns of the fly's optic lobe.

    Raises
    ------
    CircuitError
        When there is none of this name.

    Examples
    --------
    >>> neurodriver.example("one_neuron").uids.tolist()
    ['neuron']
    """
    folder = data_folder("circuits")
    files = {path.name.partition(".")[0]: path for path in sorted(folder.iterdir())}
    files = {stem: path for stem, path in files.items() if path.name.endswith(_ENDINGS)}
    if name not in files:
        known = ", ".join(files)
        raise CircuitError(f"no example '{name}'{near(name, files)}; there are {known}")
    return Circuit.from_file(files[name])
