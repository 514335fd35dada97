"""``neurodriver`` on the command line."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import click

from . import __version__, importing
from .errors import CircuitWarning, NeurodriverError, RunInterrupted
from .settings import launched
from .system import interrupt_main_thread


class _Lazy(click.Group):
    """Imports a command's module when the command is called: the others stay cheap."""

    names = ("run", "check", "convert", "models", "rules", "info", "plot", "view")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.names:
            return None
        from importlib import import_module

        module = import_module(f"neurodriver.cli.{cmd_name}")
        command: click.Command = module.command
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neurodriver")
def cli() -> None:
    """Simulate neural circuits given as graphs."""


def _show_warning(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
    if issubclass(category, CircuitWarning):
        click.echo(f"warning: {message}", err=True)


AGAIN = 0.02  # s until an interrupt that was lost is raised again


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Keep an interrupt that comes inside a callback or a destructor, where Python drops it."""
    hook, handler = sys.unraisablehook, signal.getsignal(signal.SIGINT)
    sys.unraisablehook = _raise_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise a lost interrupt again a little later, in the main thread."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        # A shell ignores SIGINT in the background. SIGTERM interrupts a rank there, too.
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        if ignored and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(AGAIN, interrupt_main_thread)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(lost)


class _Ended:
    """Lets SIGTERM end a run as Ctrl-C does: at the end of a step, with whole files.

    Ranks of a job have a handler of their own, and another program's handler stays.

    Attributes
    ----------
    code : int
        128 and the signal, as shells say it.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT
        self._ours = False

    def __enter__(self) -> None:
        main_thread = threading.current_thread() is threading.main_thread()
        if main_thread and not launched() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._interrupt)
            self._ours = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _interrupt(self, number: int, frame: Any) -> None:
        self.code = 128 + number
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends at once
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)


def _show_every_character() -> None:
    """Print characters that an output cannot show as their codes, such as ``\\u03c4``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0: done; 1: the circuit or the run is at fault; 2: wrong usage; 130: ended by Ctrl-C; 143: by
    SIGTERM.
    """
    ended = _Ended()
    try:
        importing.end()
        _show_every_character()
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", CircuitWarning)
        with _no_interrupt_lost(), ended:
            return _main(arguments)
    except RunInterrupted as error:
        click.echo(f"error: {error}", err=True)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("error: interrupted", err=True)
    return ended.code


def _main(arguments: list[str] | None) -> int:
    try:
        said = ["neurodriver", *(sys.argv[1:] if arguments is None else arguments)]
        result = cli.main(arguments, prog_name="neurodriver", standalone_mode=False, obj=said)
        return int(result or 0)
    except RunInterrupted:
        raise
    except NeurodriverError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    except click.exceptions.Abort:
        raise
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        return 1
    except OSError as error:
        if not error.filename:
            raise
        click.echo(f"error: {error.filename!s:.200}: {error.strerror}", err=True)
        return 1
    except MemoryError:
        click.echo("error: out of memory; see `neurodriver check` for what is needed", err=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
