"""``lpu.show()``: the page of a view within a notebook, and a run that follows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from ..recorders import HDF5Recorder, MemoryRecorder, SynapseRecorder
from ..results import Recording, open_recording
from ..results.batch import single
from ..run.control import RunControl, switchable
from .answers import Viewer
from .server import ViewServer
from .watched import Watched

if TYPE_CHECKING:
    from ..run.lpu import LPU


class ShownLPU:
    """A page that shows an LPU, and pauses its runs.

    A notebook draws it in the output of a cell, in a frame that a server on this machine fills.
    ``LPU.show`` makes it.

    Parameters
    ----------
    paused : bool
        Whether the next run waits until the page starts it.
    copy : int or None
        Copy of a batch.
    port : int
        0 takes a free one.

    Attributes
    ----------
    address : str
        Of the page, for a browser on this machine.
    closed : bool
        Whether the page is served no more.
    """

    def __init__(self, lpu: LPU, paused: bool, copy: int | None, port: int) -> None:
        self._lpu, self._copy, self.closed = lpu, copy, False
        self._control = RunControl(None, paused)
        self._control.wait_for_run(lpu.step, switchable(lpu.inputs))
        name = lpu.circuit.name or "LPU"
        watched = [Watched(name, self._recording, lpu.circuit)]
        for one in lpu.recorders:
            if isinstance(one, SynapseRecorder):  # its columns are synapses, which have no place
                watched.append(Watched(one.connections, partial(self._synapses, one)))
        self._server = ViewServer(Viewer(name, watched, self._control), port, framed=True)
        self.address = self._server.address

    def _recording(self) -> Recording:
        """Return what has been recorded; a file is opened on its own, as a run may write to it."""
        kinds = MemoryRecorder | HDF5Recorder
        first = next((one for one in self._lpu.recorders if isinstance(one, kinds)), None)
        if isinstance(first, HDF5Recorder):
            return single(open_recording(first.path), self._copy)
        return single(self._lpu.recording, self._copy)

    def _synapses(self, recorder: SynapseRecorder) -> Recording:
        """Return what has been recorded of synapses."""
        if isinstance(recorder.store, HDF5Recorder):
            return single(open_recording(recorder.store.path), self._copy)
        return single(recorder.recording, self._copy)

    def begin(self, steps: int) -> Callable[[int], None]:
        """Take over a run of so many steps, and return what the run calls."""
        step = self._lpu.step
        self._control.steps = step + steps
        self._control.begin(step, switchable(self._lpu.inputs))
        return self._control

    def end(self) -> None:
        """The run has ended; the next one can be paused before it begins."""
        self._control.wait_for_run(self._lpu.step, switchable(self._lpu.inputs))

    def close(self) -> None:
        """Serve the page no more. What it has drawn stays, and a run that was paused goes on."""
        if not self.closed:
            self.closed = True
            self._control.act({"action": "start"})
            self._server.close()

    def __repr__(self) -> str:
        return "a view that is closed" if self.closed else f"view: {self.address}"

    def _repr_html_(self) -> str:
        if self.closed:
            return f"<p>{escape(repr(self))}</p>"
        style = "width: 100%; height: 900px; border: 0"
        address = escape(self.address)
        link = f'<a href="{address}" target="_blank" rel="noreferrer">in a window of its own</a>'
        return f'<iframe src="{address}" style="{style}"></iframe><p>{link}</p>'


class ViewAdapter:
    """Gives an LPU its view."""

    def show(self, lpu: LPU, paused: bool, copy: int | None, port: int) -> ShownLPU:
        """Return a view of an LPU."""
        return ShownLPU(lpu, paused, copy, port)
