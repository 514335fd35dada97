"""Files into circuits, and circuits into files."""

from . import files as files
