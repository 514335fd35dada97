"""What a script on rank 0 uses, in a module of its own so that other ranks can import it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stepping import Counter, Echo

from neurodriver.mpi import world


class Writing(Echo):
    """Writes what it has seen, and on which rank."""

    def post_run(self) -> None:
        super().post_run()
        text = "\n".join(str(v) for v in self.seen)
        Path(f"{self.id}.txt").write_text(f"{world().rank} {os.getcwd()}\n{text}\n")


class Failing(Counter):
    """Fails at step 3."""

    def run_step(self) -> None:
        if self.steps == 3:
            raise ValueError("broken on purpose")
        super().run_step()


class Unmade(Counter):
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("cannot be made")
