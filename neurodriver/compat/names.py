"""Everything that an old script finds: import paths, absent packages, dropped names."""

from __future__ import annotations

from . import aids, aliases
from .absent import finder


def install() -> None:
    """Give this process all that a script of the old library expects."""
    install_imports()
    aids.install()


def install_imports() -> None:
    """Make old modules and absent packages importable, and put the names of networkx back.

    A notebook gets no more than that: names of NumPy, h5py and Python stay as they are.
    """
    aliases.install()
    finder.install()
    aids.install_networkx()
