"""The page of a view in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.run.control import RunControl, switchable
from neurodriver.view.answers import Viewer
from neurodriver.view.server import ViewServer
from neurodriver.view.watched import Watched, watched_file

playwright = pytest.importorskip(
    "playwright.sync_api", reason="a browser is driven by playwright, of the extra 'test'"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium; apt-get install chromium")

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""Options without which it asks for hosts of its maker."""

SECONDS = 30_000
"""Time that the page may take on a busy machine, ms."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start a browser without a window."""
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET), timeout=SECONDS)
        yield made
        made.close()


class Opened:
    """A page, what it has asked for, and what went wrong in it."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page(viewport={"width": 1100, "height": 900})
        self.page.set_default_timeout(SECONDS)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self.heard)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("main[data-drawn]")

    def heard(self, said: Any) -> None:
        """Take what the page prints for a fault if it is an error."""
        if said.type == "error":
            self.faults.append(said.text)

    def drawn_after(self, act: Any) -> None:
        """Do something, and wait until the page has been drawn again."""
        before = self.page.get_attribute("main", "data-drawn")
        act()
        self.page.wait_for_function(
            "before => document.querySelector('main').dataset.drawn !== before", arg=before
        )

    def typed(self, uids: str) -> None:
        """Type uids into the field of the values."""
        self.page.fill("[placeholder^=uids]", uids)
        self.page.press("[placeholder^=uids]", "Enter")

    def ink(self, figure: str) -> int:
        """Return how many dark pixels the middle of a figure has, or bright ones of colour."""
        return int(self.page.eval_on_selector(f"[data-figure={figure}] canvas", INK))

    def note(self, figure: str) -> str:
        """Return the text below a figure."""
        return str(self.page.inner_text(f"[data-figure={figure}]"))


INK = """canvas => {
  const pen = canvas.getContext("2d"), w = canvas.width, h = canvas.height;
  const data = pen.getImageData(w * 0.2, h * 0.1, w * 0.6, h * 0.7).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && data[i] + data[i + 1] + data[i + 2] < 600) count += 1;
  }
  return count;
}"""


def layer() -> tuple[nd.Circuit, nd.StepInput]:
    """Return a layer of neurons, and a current that lets those on the right fire more often."""
    cells = nd.Population(
        "LeakyIAF", name="sheet", axes={"y": 6, "x": 8}, resting_potential=-70.0,
        reset_potential=-70.0, threshold=-45.0, capacitance=2.0, resistance=10.0, initV=-70.0,
    )  # fmt: skip
    current = np.tile(np.linspace(2.0, 6.0, 8), 6)
    return nd.Circuit([cells]), nd.StepInput("I", cells, current)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of the layer."""
    path = tmp_path_factory.mktemp("view") / "sheet.h5"
    circuit, current = layer()
    recorder = nd.HDF5Recorder(path, [("V", None), ("spike_state", None)])
    with nd.LPU(circuit, 1e-4, current, [recorder]) as lpu:
        lpu.run(duration=0.2)
    return path


def test_a_file(browser: Any, file: Path) -> None:
    """Raster, rates, values and a map are drawn; the slider chooses the time."""
    with ViewServer(Viewer(file.name, watched_file(file))) as server:
        opened = Opened(browser, server.address)
        page = opened.page
        spikes = len(nd.open(file).spikes.time)
        assert page.title() == "sheet.h5 - neurodriver"
        assert f"{spikes} events of 48 components" in opened.note("raster")
        assert "sheet (48)" in opened.note("rates") and "V (mV)" in opened.note("rows")
        assert all(opened.ink(one) > 40 for one in ("raster", "rates", "rows", "map"))
        opened.drawn_after(
            lambda: page.select_option("[aria-label='length of the window']", "0.01")
        )
        assert "0.19 s to 0.2 s of 0.2 s" in page.inner_text(".nd-window")
        some = opened.ink("raster")
        opened.drawn_after(lambda: page.locator("[type=range]").fill("5"))  # before any spike
        assert "0 s to 0.01 s of 0.2 s" in page.inner_text(".nd-window")
        assert "0 events of 48" in opened.note("raster") and opened.ink("raster") < some
        opened.drawn_after(
            lambda: page.select_option("[aria-label='population of the map']", "sheet")
        )
        assert "positions along x and y" in opened.note("map")
        opened.drawn_after(lambda: opened.typed("sheet/7, sheet/0"))
        assert "sheet/7 sheet/0" in opened.note("rows")
        opened.drawn_after(lambda: opened.typed("sheet/99"))
        assert "no column 'sheet/99'" in page.inner_text("[role=alert]")
        assert opened.faults == []
        own = f"http://127.0.0.1:{server.port}/"
        assert opened.asked and all(one.startswith((own, "data:")) for one in opened.asked)
        page.close()


class SlowViewer(Viewer):
    """Looks at the run at once, and answers a while later."""

    def answer(self, question: Any) -> Any:
        found = super().answer(question)
        if question.get("ask") == "state":
            time.sleep(0.24)  # the page asks each 0.25 s, so an answer is nearly always under way
        return found


@pytest.mark.parametrize("viewer", [Viewer, SlowViewer])
def test_a_run(browser: Any, viewer: type[Viewer]) -> None:
    """The page starts and pauses a run, and switches its input; late answers undo nothing."""
    circuit, current = layer()
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    control = RunControl(None, paused=True)
    stop = threading.Event()

    def progress(done: int) -> None:
        control(done)
        time.sleep(0.005)  # not too long a recording
        if stop.is_set():
            raise KeyboardInterrupt

    with nd.LPU(circuit, 1e-4, current, [recorder]) as lpu:

        def work() -> None:
            control.begin(0, switchable(lpu.inputs), stop.is_set)
            with contextlib.suppress(KeyboardInterrupt):
                lpu.run(steps=10**6, progress=progress)
            control.end()

        lpu.simulation.length.fixed = 20
        watched = Watched("layer", lambda: recorder.recording, circuit)
        run = threading.Thread(target=work)
        run.start()
        try:
            with ViewServer(viewer("layer", [watched], control)) as server:
                use(Opened(browser, server.address), lpu)
        finally:
            stop.set()
            run.join(60)


def eventually(reached: Callable[[], bool]) -> None:
    """Wait until the run has done what was asked for."""
    until = time.monotonic() + SECONDS / 1000
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.01)


STATUS = "word => document.querySelector('.nd-status').innerText.startsWith(word)"
SOME = """() => /^[1-9][0-9,]* events of 48/.test(
  document.querySelector('[data-figure=raster] .nd-note:last-child').innerText)"""
STAYS = """async wanted => {
  const box = document.querySelector(".nd-inputs input"), until = Date.now() + 600;
  while (Date.now() < until) {
    if (box.checked !== wanted) return false;
    await new Promise((later) => setTimeout(later, 5));
  }
  return true;
}"""


def use(opened: Opened, lpu: nd.LPU) -> None:
    """Press the buttons of a run."""
    page = opened.page
    page.wait_for_function(STATUS, arg="paused, step 0")
    page.click("text=Start")
    page.wait_for_function(SOME)
    eventually(lambda: opened.ink("raster") > 40)
    page.click("label:has-text('StepInput I') input")
    assert page.evaluate(STAYS, False)
    page.wait_for_function(STATUS, arg="running")
    page.click("text=Pause")
    page.wait_for_function(STATUS, arg="paused")
    eventually(lambda: not lpu.inputs[0].on)
    page.click("label:has-text('StepInput I') input")
    assert page.evaluate(STAYS, True)
    page.click("text=Start")
    page.wait_for_function(STATUS, arg="running")
    eventually(lambda: lpu.inputs[0].on)
    assert opened.faults == []
    page.close()


def test_a_wrong_token(browser: Any, file: Path) -> None:
    """There is a sentence instead of the page."""
    with ViewServer(Viewer(file.name, watched_file(file))) as server:
        page = browser.new_page()
        page.goto(server.address.replace(server.token, "x"), timeout=SECONDS)
        assert page.inner_text("body").startswith("the token is missing or wrong")
        page.close()


@contextlib.contextmanager
def served(body: str) -> Iterator[str]:
    """Serve a text of HTML, as a notebook serves the output of a cell; yield its address."""

    class Host(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as host:
        threading.Thread(target=host.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://localhost:{host.server_address[1]}/"
        host.shutdown()


def framed(browser: Any, address: str) -> tuple[Any, Any]:
    """Return a page and the frame in it, which waits for a run."""
    page = browser.new_page(viewport={"width": 1100, "height": 1000})
    page.set_default_timeout(SECONDS)
    page.goto(address)
    frame = page.frame_locator("iframe")
    frame.locator(".nd-status:has-text('paused, step 0')").wait_for()
    return page, frame


def seen(frame: Any, spikes: int) -> None:
    """Wait until a frame shows the end of a run of 1,000 steps, and its spikes."""
    frame.locator(".nd-status:has-text('no run now, step 1,000')").wait_for()
    frame.locator(f"[data-figure=raster]:has-text('{spikes} events of 48')").wait_for()
    assert spikes > 0


def test_a_frame(browser: Any) -> None:
    """A frame in a page that this machine serves shows a run, and starts it."""
    circuit, current = layer()
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(circuit, 1e-4, current, [recorder]) as lpu:
        view = lpu.show(paused=True)
        with served(view._repr_html_()) as address:
            page, frame = framed(browser, address)
            run = threading.Thread(target=lpu.run, kwargs={"steps": 1000})
            run.start()
            frame.locator("button:has-text('Start')").click()
            run.join(60)
            seen(frame, len(lpu.recording.spikes.time))
            page.close()
        view.close()


CELLS = (
    f"import numpy as np\nimport neurodriver as nd\n{inspect.getsource(layer)}\n"
    "circuit, current = layer()\n"
    'recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])\n'
    "lpu = nd.LPU(circuit, 1e-4, current, [recorder])",
    "lpu.show(paused=True)",
    "lpu.run(steps=1000)\nprint(len(lpu.recording.spikes.time))",
    "lpu.close()",
)
"""A notebook that shows an LPU: the frame is the output of the second cell."""


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Callable[[int], Any]]:
    """Yield what begins a cell in a kernel, and returns the future of the cell after it."""
    nbclient = pytest.importorskip("nbclient", reason="of the extra 'test'")
    nbformat = pytest.importorskip("nbformat", reason="of the extra 'test'")
    pytest.importorskip("ipykernel", reason="of the extra 'test'")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS])
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=resources)
    environment = {**os.environ, "PYTHONPATH": str(Path(nd.__file__).parents[1])}
    with ThreadPoolExecutor(1) as thread, contextlib.ExitStack() as kernel:
        start = client.setup_kernel(env=environment)
        thread.submit(kernel.enter_context, start).result()
        try:
            yield lambda number: thread.submit(client.execute_cell, book.cells[number], number)
        finally:
            thread.submit(kernel.close).result()


def test_a_notebook(browser: Any, notebook: Callable[[int], Any]) -> None:
    """Cells run in a kernel; the output of one is a frame, which starts the run of the next."""
    notebook(0).result(60)
    (shown,) = notebook(1).result(60).outputs
    with served(shown["data"]["text/html"]) as address:
        page, frame = framed(browser, address)
        run = notebook(2)
        frame.locator("button:has-text('Start')").click()
        seen(frame, int(run.result(60).outputs[0]["text"]))
        page.close()
    notebook(3).result(60)
