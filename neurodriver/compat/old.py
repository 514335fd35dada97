"""``import neurodriver.compat.old`` makes the old import paths importable."""

from .aliases import install

install()
