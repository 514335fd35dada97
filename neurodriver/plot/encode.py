"""Frames of a figure -> a movie file, with ffmpeg, or with Pillow for GIF."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NeurodriverError, near
from .style import matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

H264 = ("libx264", "libopenh264", "h264", "mpeg4")
CODECS = {
    ".mp4": H264,
    ".m4v": H264,
    ".mov": H264,
    ".mkv": (*H264, "libtheora", "libvpx-vp9"),
    ".avi": ("mpeg4", "libxvid", "libx264", "msmpeg4", "mjpeg"),
    ".webm": ("libvpx-vp9", "libvpx", "libaom-av1", "libsvtav1"),
    ".ogv": ("libtheora",),
    ".ogg": ("libtheora",),
    ".gif": ("gif",),
}
"""Encoders that fit a kind of file, the preferred ones first."""

SAID = 12
"""Lines of ffmpeg that an error shows."""


def find_ffmpeg() -> str | None:
    """Return the path of ffmpeg: matplotlib's setting, or that of imageio-ffmpeg; or None."""
    named: str | None = shutil.which(matplotlib().rcParams["animation.ffmpeg_path"])
    if named:
        return named
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


def encoders(ffmpeg: str) -> set[str]:
    """Return the names of the video encoders of an ffmpeg."""
    words = [ffmpeg, "-hide_banner", "-encoders"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise NeurodriverError(f"{ffmpeg}: does not answer: {error}") from error
    return set(re.findall(r"^ V\S{5} (\S+)", said.stdout, re.M))


def choose_codec(path: Path, wanted: str | None, available: set[str]) -> str:
    """Return the encoder for a file: the one wanted, or the best that ffmpeg has.

    Raises
    ------
    NeurodriverError
        When ffmpeg has none for this kind of file.
    """
    kind = path.suffix.lower()
    if kind not in CODECS:
        known = ", ".join(CODECS)
        raise NeurodriverError(f"{path}: '{kind}' is no movie{near(kind, CODECS)}; known: {known}")
    if wanted == "h264":  # the name of the standard; encoders have others
        wanted = None if CODECS[kind][0] == "libx264" else "libx264"
    fitting = CODECS[kind]
    known_codecs = {name for names in CODECS.values() for name in names}
    # An encoder that no table names is the user's own choice.
    if wanted in available and (wanted in fitting or wanted not in known_codecs):
        return str(wanted)
    found = next((name for name in fitting if name in available), None)
    if found is None:
        raise NeurodriverError(
            f"{path}: this ffmpeg has no encoder for '{kind}' (needed: {', '.join(fitting)}); "
            "choose another kind of file, '.gif' for instance"
        )
    if wanted is not None:
        why = "does not go into this kind of file" if wanted in available else "is not in ffmpeg"
        warnings.warn(f"{path}: codec '{wanted}' {why}; used: '{found}'", stacklevel=2)
    return found


def write_movie(
    path: str | os.PathLike[str],
    figure: Figure,
    frames: Iterable[Any],
    fps: float,
    dpi: float,
    codec: str | None = None,
) -> int:
    """Write a movie; ``figure`` is taken after each item of ``frames``. Return their number.

    Parameters
    ----------
    path : path
        Its ending chooses the kind of file.
    figure : Figure
    frames : iterable
        Changes the figure as it is gone through.
    fps : float
        Frames a second.
    dpi : float
    codec : str, optional
        Name of an encoder of ffmpeg; by default one that fits the kind of file.

    Raises
    ------
    NeurodriverError
        When no writer can make this kind of file, or writing fails.
    """
    target = Path(path)
    ffmpeg = find_ffmpeg()
    if target.suffix.lower() == ".gif":
        return _write_gif(target, figure, frames, fps, dpi)
    if ffmpeg is None:
        raise NeurodriverError(
            f"{target}: ffmpeg is not found, and without it only '.gif' can be written; "
            'name a .gif, install ffmpeg, or pip install "neurodriver[movie]"'
        )
    name = choose_codec(target, codec, encoders(ffmpeg))
    return _write_ffmpeg(target, figure, frames, fps, dpi, name, ffmpeg)


def _write_ffmpeg(
    target: Path,
    figure: Figure,
    frames: Iterable[Any],
    fps: float,
    dpi: float,
    codec: str,
    ffmpeg: str,
) -> int:
    """Send each frame to ffmpeg; none is kept."""
    from matplotlib.animation import FFMpegWriter

    count = 0
    # Two colours share a value in most players: sizes have to be even.
    pixels = np.maximum(2, 2 * np.ceil(figure.get_size_inches() * dpi / 2 - 1e-6))
    figure.set_size_inches(*(pixels / dpi))
    extra = ["-pix_fmt", "yuv420p"] if codec != "mjpeg" else ["-pix_fmt", "yuvj420p"]
    with matplotlib().rc_context({"animation.ffmpeg_path": ffmpeg}), _told(target):
        writer = FFMpegWriter(fps=fps, codec=codec, extra_args=extra)  # type: ignore[arg-type]
        with writer.saving(figure, str(target), dpi):
            for _ in frames:
                writer.grab_frame()
                count += 1
    return count


def _write_gif(target: Path, figure: Figure, frames: Iterable[Any], fps: float, dpi: float) -> int:
    """Write a GIF with Pillow, which keeps a byte per pixel of each frame until the end."""
    try:
        from PIL import Image
    except ImportError as error:
        raise NeurodriverError('GIF needs pip install "neurodriver[plot]"') from error
    count = 0

    def images() -> Iterator[Any]:
        nonlocal count
        canvas: Any = figure.canvas
        for _ in frames:
            canvas.draw()
            count += 1
            picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
            yield picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)

    figure.set_dpi(dpi)
    taken = images()
    with _told(target):
        first = next(taken)
        # A frame's duration is a whole number of hundredths.
        duration = max(10 * round(100 / fps), 10)
        first.save(
            target, save_all=True, append_images=taken, duration=duration, loop=0, optimize=False
        )
    return count


@contextlib.contextmanager
def _told(target: Path) -> Iterator[None]:
    """Turn what writers raise into an error that names the file."""
    try:
        yield
    except subprocess.CalledProcessError as error:
        said = error.stderr or error.output or b""
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        lines = "\n".join(text.strip().splitlines()[-SAID:])
        raise NeurodriverError(f"{target}: ffmpeg failed:\n{lines}") from error
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, NeurodriverError):
            raise
        raise NeurodriverError(f"{target}: cannot be written: {error}") from error
