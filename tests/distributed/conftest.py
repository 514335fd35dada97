"""Folders named by a number hold tests that run under ``mpiexec`` with so many ranks."""

import os
from pathlib import Path

_LAUNCHED = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "0"))

collect_ignore = [
    folder.name
    for folder in Path(__file__).parent.iterdir()
    if folder.name.isdigit() and int(folder.name) != _LAUNCHED
]
