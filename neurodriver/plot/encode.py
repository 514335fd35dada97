"""Frames of a figure -> a movie file, with ffmpeg, or with Pillow for GIF."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NeurodriverError, near
from .style import matplotlib, writing

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
        answer = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise NeurodriverError(f"{ffmpeg}: does not answer: {error}") from error
    return set(re.findall(r"^ V\S{5} (\S+)", answer.stdout, re.M))


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
    best = next((name for name in fitting if name in available), None)
    if best is None:
        raise NeurodriverError(
            f"{path}: this ffmpeg has no encoder for '{kind}' (needed: {', '.join(fitting)}); "
            "choose another kind of file, '.gif' for instance"
        )
    if wanted is not None:
        why = "does not go into this kind of file" if wanted in available else "is not in ffmpeg"
        warnings.warn(f"{path}: codec '{wanted}' {why}; used: '{best}'", stacklevel=2)
    return best


def write_movie(
    path: str | os.PathLike[str],
    figure: Any,
    frames: Iterable[Any],
    fps: float,
    dpi: float,
    codec: str | None = None,
) -> int:
    """Write a movie; ``figure`` is taken after each item of ``frames``. Return their number.

    Raises
    ------
    NeurodriverError
        When no writer can make this kind of file, or writing fails.
    """
    target = Path(path)
    if target.suffix.lower() == ".gif":
        return _write_gif(target, figure, frames, fps, dpi)
    ffmpeg = find_ffmpeg()
    if ffmpeg is None:
        raise NeurodriverError(
            f"{target}: ffmpeg is not found, and without it only '.gif' can be written; "
            'name a .gif, install ffmpeg, or pip install "neurodriver[movie]"'
        )
    name = choose_codec(target, codec, encoders(ffmpeg))
    from matplotlib.animation import FFMpegWriter

    count = 0
    # Two colours share a value in most players: sizes have to be even.
    pixels = np.maximum(2, 2 * np.ceil(figure.get_size_inches() * dpi / 2 - 1e-6))
    figure.set_size_inches(*(pixels / dpi))
    extra = ["-pix_fmt", "yuvj420p" if name == "mjpeg" else "yuv420p"]
    with matplotlib().rc_context({"animation.ffmpeg_path": ffmpeg}), writing(target):
        writer = FFMpegWriter(fps=fps, codec=name, extra_args=extra)  # type: ignore[arg-type]
        with writer.saving(figure, str(target), dpi):
            for _ in frames:
                writer.grab_frame()
                count += 1
    return count


def _write_gif(target: Path, figure: Any, frames: Iterable[Any], fps: float, dpi: float) -> int:
    """Write a GIF with Pillow, which keeps a byte per pixel of each frame until the end."""
    try:
        from PIL import Image
    except ImportError as error:
        raise NeurodriverError('GIF needs pip install "neurodriver[plot]"') from error
    count = 0

    def images() -> Iterator[Any]:
        nonlocal count
        for _ in frames:
            figure.canvas.draw()
            count += 1
            picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3].copy())
            yield picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)

    figure.set_dpi(dpi)
    pictures = images()
    with writing(target):
        first = next(pictures)
        # A frame's duration is a whole number of hundredths.
        options = {"duration": max(10 * round(100 / fps), 10), "loop": 0, "optimize": False}
        first.save(target, save_all=True, append_images=pictures, **options)
    return count
