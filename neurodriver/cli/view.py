"""``neurodriver view``: a recording in, a page in a browser out."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from ..circuit import Circuit
from ..model.loading import load_classes
from ..run.control import RunControl, goes_on

if TYPE_CHECKING:
    from ..inputs.base import Input
    from ..view.answers import Viewer
    from ..view.server import ViewServer
    from ..view.watched import Watched

port_option = click.option("--port", type=click.IntRange(0, 65535), default=0,
                           help="Port of the view; a free one by default.")  # fmt: skip


@click.command("view")
@click.argument("recording", type=click.Path(path_type=Path))
@click.option("-c", "--circuit", "circuits", multiple=True, metavar="[LPU=]FILE",
              help="Circuit, which tells where components are; may be repeated.")  # fmt: skip
@click.option("--copy", type=int, default=None, help="Copy of a batch to look at.")
@click.option("--models", "model_files", multiple=True, type=click.Path(path_type=Path),
              help="Python file or folder with models of the circuit.")  # fmt: skip
@port_option
def command(
    recording: Path,
    circuits: tuple[str, ...],
    copy: int | None,
    model_files: tuple[Path, ...],
    port: int,
) -> int:
    """Show RECORDING in a browser on this machine, until Ctrl-C.

    The command prints the address of the page. A recording that still grows is followed.
    """
    from ..view.answers import Viewer
    from ..view.watched import watched_file

    models = load_classes(model_files)
    given = {}
    for text in circuits:
        lpu, mark, file = text.partition("=")
        given[lpu if mark else ""] = Circuit.from_file(file if mark else text, models)
    view = Viewer(recording.name, watched_file(recording, copy, given))
    with served(view, port):
        stay()
    return 0


class ViewedRun:
    """What ``neurodriver run --view`` does: a page shows the run, and pauses it.

    Parameters
    ----------
    paused : bool
        Whether the page starts the run.
    """

    def __init__(self, title: str, steps: int, paused: bool, port: int) -> None:
        self.control = RunControl(steps, paused, click.echo)
        self._title, self._port = title, port
        self._server = contextlib.ExitStack()

    def begin(
        self,
        parts: Sequence[Watched],
        step: int,
        inputs: Sequence[tuple[str, Input]],
        stopping: Callable[[], bool] = goes_on,
    ) -> None:
        """Serve the page, and wait for its start if the run begins paused."""
        from ..view.answers import Viewer

        view = Viewer(self._title, parts, self.control)
        self._server.enter_context(served(view, self._port))
        if self.control.paused:
            click.echo("the run begins when it is started in the view")
        self.control.begin(step, inputs, stopping)

    def end(self) -> None:
        """Show the whole run until Ctrl-C."""
        self.control.end()
        stay()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.close()


@contextlib.contextmanager
def served(view: Viewer, port: int) -> Iterator[ViewServer]:
    """Serve a view, and print its address."""
    from ..view.server import ViewServer

    with ViewServer(view, port) as server:
        click.echo(f"view: {server.address}")
        yield server


def stay() -> None:
    """Wait for Ctrl-C, which ends the view."""
    click.echo("Ctrl-C ends the view")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    click.echo("the view has ended")
