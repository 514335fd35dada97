"""Python runs this when it starts: a process of an old script gets the names that the script has.

The folder is on the path of such processes; see `neurodriver.compat.children`.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

_HERE = Path(__file__).parent


def _install() -> None:
    """Put the old names back; nothing happens where this library does not run."""
    if PathFinder.find_spec("neurodriver") is None:
        sys.path.append(str(_HERE.parents[2]))
    try:
        from neurodriver.compat import names
    except ImportError:
        return  # another Python, without what this library needs
    names.install()


def _pass_on() -> None:
    """Run the module of this name that this one hides."""
    sys.path[:] = [folder for folder in sys.path if Path(folder) != _HERE]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _install()
    _pass_on()
