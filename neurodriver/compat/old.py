"""``import neurodriver.compat.old`` makes the old import paths importable."""

from .names import install_imports

install_imports()
