"""The elementary functions and random numbers of the kernel texts, on the host compiler."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from neurodriver.native.headers import header

ULP: dict[str, tuple[float, float]] = {
    "exp": (1.0, 1.0),
    "expm1": (1.0, 1.0),
    "log": (1.0, 1.0),
    "log1p": (1.0, 1.0),
    "tanh": (1.0, 1.0),
    "cosh": (1.0, 1.0),
    "sinh": (1.0, 1.0),
    "pow": (1.0, 0.51),
    "sin": (1.0, 1.0),
    "cos": (1.0, 1.0),
    "asin": (1.0, 0.51),
    "acos": (1.0, 0.51),
    "atan": (1.0, 0.51),
    "atan2": (1.0, 0.51),
}
"""Greatest error in double and float; the head of ``math.h`` states the same table."""

EXACT = ("sqrt", "floor", "fabs")
TWO = ("pow", "atan2")
UNARY = (*(name for name in ULP if name not in TWO), *EXACT)
BINARY = (*TWO, "fmin", "fmax")
IN_NUMPY = {
    "pow": "power",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
}
RANDOM = ("uniform", "normal")
DTYPES = (np.float64, np.float32)

POINTS = 60_000
HARD_POINTS = 300

LONG = np.longdouble
LONG_IS_WIDER = np.finfo(LONG).nmant >= 63

FLAGS = (
    "-std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math "
    "-fopenmp-simd -Wall -Wextra -Werror -shared -fPIC"
).split()
SCALAR = ("-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-openmp-simd")
SCALAR_CLANG = ("-fno-vectorize", "-fno-slp-vectorize", "-fno-openmp-simd")

Array = np.ndarray[Any, np.dtype[Any]]


def suffix(dtype: type) -> str:
    return "d" if dtype is np.float64 else "f"


def source() -> str:
    """One exported loop, on a line of its own, per function and type."""
    lines = [
        "#define ND_FN static inline __attribute__((always_inline))",
        header("native/math.h"),
        header("native/philox.h"),
        'extern "C" void philox(const unsigned* c, const unsigned* k, unsigned* out) '
        "{ nd_philox4x32_10(c, k, out); }",
        'extern "C" double unit_53(unsigned h, unsigned l) { return nd_unit_53(h, l); }',
        'extern "C" float unit_24(unsigned w) { return nd_unit_24(w); }',
        'extern "C" void quantile(long n, const unsigned *__restrict w, float *__restrict y) '
        '{ _Pragma("omp simd") for (long i = 0; i < n; i++) y[i] = nd_quantile(w[i]); }',
        'extern "C" void counts(long n, const unsigned *__restrict w, double mean, '
        'double *__restrict y) { _Pragma("omp simd") '
        "for (long i = 0; i < n; i++) y[i] = nd_poisson_of(w[i], mean); }",
    ]
    loop = 'extern "C" void {}(long n, {}, {} *__restrict y) {{ _Pragma("omp simd") {} }}'
    for dtype in DTYPES:
        end, real = ("_d", "double") if dtype is np.float64 else ("_f", "float")
        values = f"const {real} *__restrict x"
        for name in UNARY:
            body = f"for (long i = 0; i < n; i++) y[i] = nd_{name}(x[i]);"
            lines.append(loop.format(name + end, values, real, body))
        for name in BINARY:
            body = f"for (long i = 0; i < n; i++) y[i] = nd_{name}(x[i], z[i]);"
            lines.append(
                loop.format(name + end, f"{values}, const {real} *__restrict z", real, body)
            )
        for name in RANDOM:
            arguments = (
                "const unsigned long long *__restrict k, unsigned long long seed, "
                "long long step, int substep, int stream"
            )
            body = (
                "for (long i = 0; i < n; i++) "
                f"y[i] = nd_{name}(k[i], seed, step, substep, stream, ({real})0);"
            )
            lines.append(loop.format(name + end, arguments, real, body))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Library:
    """The compiled text; ``remarks`` is what the compiler said of its vectorised loops."""

    shared: ctypes.CDLL
    text: str
    remarks: str

    def __call__(self, name: str, *inputs: Array) -> Array:
        """``nd_<name>`` of every element; the inputs share one type and size."""
        first = inputs[0]
        out = np.empty_like(first)
        held = [np.ascontiguousarray(value) for value in inputs]
        assert all(value.dtype == first.dtype and value.shape == first.shape for value in held)
        function = getattr(self.shared, f"{name}_{suffix(first.dtype.type)}")
        pointers = [ctypes.c_void_p(value.ctypes.data) for value in (*held, out)]
        function(ctypes.c_long(out.size), *pointers)
        return out

    def draw(
        self,
        name: str,
        keys: Array,
        dtype: type,
        seed: int = 7,
        step: int = 0,
        substep: int = 0,
        stream: int = 0,
    ) -> Array:
        """``nd_<name>`` for every 64-bit key."""
        keys = np.ascontiguousarray(keys, dtype=np.uint64)
        out = np.empty(keys.shape, dtype)
        getattr(self.shared, f"{name}_{suffix(dtype)}")(
            ctypes.c_long(out.size),
            ctypes.c_void_p(keys.ctypes.data),
            ctypes.c_ulonglong(seed),
            ctypes.c_longlong(step),
            ctypes.c_int(substep),
            ctypes.c_int(stream),
            ctypes.c_void_p(out.ctypes.data),
        )
        return out


@dataclass(frozen=True)
class Compiled:
    vector: Library
    scalar: Library
    macros: str


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The text built twice, with and without vector instructions."""
    names = (os.environ.get("CXX"), "g++", "clang++", "c++")
    found = (shutil.which(name) for name in names if name)
    compiler = next((path for path in found if path), None)
    if compiler is None:
        pytest.skip("no C++ compiler")
    macros = subprocess.run(
        [compiler, "-march=native", "-dM", "-E", "-x", "c++", os.devnull],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    clang = "__clang__" in macros
    remark = "-Rpass=loop-vectorize" if clang else "-fopt-info-vec-optimized"
    scalar = SCALAR_CLANG if clang else SCALAR

    folder = tmp_path_factory.mktemp("math")
    text = source()
    (folder / "math.cpp").write_text(text)
    libraries = []
    for name, extra in (("vector", (remark,)), ("scalar", (*scalar, "-Wno-unknown-pragmas"))):
        target = folder / f"{name}.so"
        run = subprocess.run(
            [compiler, *FLAGS, *extra, "-o", str(target), "math.cpp"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        shared = ctypes.CDLL(str(target))
        shared.unit_53.restype = ctypes.c_double
        shared.unit_24.restype = ctypes.c_float
        libraries.append(Library(shared, text, run.stderr))
    return Compiled(*libraries, macros)


@pytest.fixture
def vector(compiled: Compiled) -> Library:
    return compiled.vector


# ---- accuracy ------------------------------------------------------------------------------


def ulp_error(got: Array, exact: Array) -> Array:
    """Distance from ``exact`` (longdouble) in units of the last place of ``got``'s type.

    The unit is that of the exact value, and no smaller than the least subnormal number. Where
    the exact value rounds to infinity, infinity counts as no error and all else as infinite.
    """
    info = np.finfo(got.dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponent = np.frexp(np.abs(exact))[1] - 1
        exponent = np.maximum(np.where(exact == 0, info.minexp, exponent), info.minexp)
        error = np.abs(got.astype(LONG) - exact) / np.ldexp(LONG(1), exponent - info.nmant)
        limit = np.ldexp(LONG(2) - LONG(info.epsneg), info.maxexp - 1)
    too_big = np.where(got == np.copysign(np.inf, exact), 0.0, np.inf)
    return np.where(np.abs(exact) >= limit, too_big, error)


def spread(rng: np.random.Generator, low: float, high: float) -> Array:
    """Both signs, magnitudes uniform in the exponent of ten."""
    return 10.0 ** rng.uniform(low, high, POINTS) * rng.choice([-1.0, 1.0], POINTS)


def arguments(name: str, dtype: type) -> Iterator[tuple[Array, ...]]:
    """Wide, central and hard ranges of each function's arguments, in double."""
    rng = np.random.default_rng(20)
    wide = dtype is np.float64
    top, bottom = (709.78, -745.2) if wide else (88.72, -104.0)
    small, large = (-310.0, 308.0) if wide else (-40.0, 38.0)
    match name:
        case "exp" | "expm1":
            yield (rng.uniform(bottom, top, POINTS),)
            yield (rng.uniform(-2.0, 2.0, POINTS),)
            yield (rng.uniform(-40.0, 40.0, POINTS),)
            yield (spread(rng, small, 0.0),)
        case "tanh" | "cosh" | "sinh":
            yield (rng.uniform(-top - 0.69, top + 0.69, POINTS),)
            yield (rng.uniform(-2.0, 2.0, POINTS),)
            yield (rng.uniform(-25.0, 25.0, POINTS),)
            yield (spread(rng, small, 0.0),)
        case "log":
            yield (np.abs(spread(rng, small, large)),)
            yield (rng.uniform(0.3, 3.0, POINTS),)
            yield (1.0 + spread(rng, -12.0, -1.0),)
        case "log1p":
            yield (np.abs(spread(rng, small, large)),)
            yield (rng.uniform(-0.9999, 3.0, POINTS),)
            yield (spread(rng, small, -0.01),)
        case "sin" | "cos":
            yield (rng.uniform(-1e5, 1e5, POINTS),)
            yield (rng.uniform(-4.0, 4.0, POINTS),)
            yield (np.pi / 2 * rng.integers(-60_000, 60_000, POINTS),)
            yield (spread(rng, small, 0.0),)
        case "asin" | "acos":
            yield (rng.uniform(-1.0, 1.0, POINTS),)
            yield (spread(rng, small, 0.0),)
            yield (np.abs(1.0 - 10.0 ** rng.uniform(-15.0 if wide else -7.0, 0.0, POINTS)),)
        case "atan":
            yield (rng.uniform(-3.0, 3.0, POINTS),)
            yield (spread(rng, small, large),)
        case "atan2":
            yield rng.uniform(-3.0, 3.0, POINTS), rng.uniform(-3.0, 3.0, POINTS)
            yield spread(rng, -4.0, 0.0), spread(rng, -1.0, 0.0)
            if wide:
                yield spread(rng, small, large), spread(rng, small, large)
        case "pow":
            base = np.abs(spread(rng, small, large))
            yield base, rng.uniform(-2.4, 2.4, POINTS)
            yield rng.uniform(0.5, 2.0, POINTS), rng.uniform(1.4 * bottom, 1.4 * top, POINTS)
            yield rng.uniform(0.0, 300.0, POINTS), rng.uniform(-5.0, 5.0, POINTS)
            base = (1.0 + spread(rng, -8.0 if wide else -4.0, -1.0)).astype(dtype)
            base = np.where(base == 1.0, 1.5, base).astype(np.float64)
            yield base, rng.uniform(bottom, top, POINTS) / np.log(base)


@pytest.mark.needs("a wide long double")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ULP)
def test_error_stays_within_the_stated_bound(vector: Library, name: str, dtype: type) -> None:
    exact_of: Callable[..., Array] = getattr(np, IN_NUMPY.get(name, name))
    for values in arguments(name, dtype):
        inputs = [value.astype(dtype) for value in values]
        exact = exact_of(*(value.astype(LONG) for value in inputs))
        error = ulp_error(vector(name, *inputs), exact)
        worst = int(np.argmax(error))
        assert not np.isnan(error).any()
        assert error[worst] <= ULP[name][dtype is np.float32], [v[worst] for v in inputs]


@pytest.mark.parametrize("name", ULP)
def test_agrees_with_mpmath(vector: Library, name: str) -> None:
    """A second, independent reference on fewer points, the hardest ranges last."""
    exact_of = getattr(mpmath, "power" if name == "pow" else name)
    for values in arguments(name, np.float64):
        inputs = [value[:HARD_POINTS] for value in values]
        with mpmath.workprec(200):
            points = zip(*(map(mpmath.mpf, value.tolist()) for value in inputs), strict=True)
            exact = [exact_of(*point) for point in points]
            pairs = [(float(e), float(e - float(e)) if abs(e) < 1e308 else 0.0) for e in exact]
        high, low = (np.array(column, dtype=LONG) for column in zip(*pairs, strict=True))
        error = ulp_error(vector(name, *inputs), high + low)
        assert error.max() <= ULP[name][0] + (0.0 if LONG_IS_WIDER else 0.5)


def test_header_states_the_bounds_tested_here() -> None:
    rows = re.findall(r"^ \*\s+nd_(\w+)\s+([\d.]+)\s+([\d.]+)$", header("native/math.h"), re.M)
    assert {name: (float(double), float(single)) for name, double, single in rows} == ULP


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_functions_equal_numpy(vector: Library, dtype: type) -> None:
    values = spread(np.random.default_rng(3), -30.0, 30.0).astype(dtype)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, 0.5, -0.5]
    np.testing.assert_array_equal(vector("floor", values), np.floor(values))
    np.testing.assert_array_equal(vector("fabs", values), np.abs(values))
    np.testing.assert_array_equal(vector("sqrt", np.abs(values)), np.sqrt(np.abs(values)))
    assert np.isnan(vector("sqrt", np.array([-1.0], dtype)))


# ---- special values ------------------------------------------------------------------------

INF, NAN = np.inf, np.nan

SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e30, INF), (-1e30, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e30, INF), (-1e30, -1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e30, 1.0), (-1e30, -1.0)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e30, INF), (-1e30, INF)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e30, INF), (-1e30, -INF)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e30, NAN), (-1e30, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (1e30, NAN), (-1e30, NAN)],
    "asin": [
        (0.0, 0.0),
        (-0.0, -0.0),
        (1.0, np.pi / 2),
        (-1.0, -np.pi / 2),
        (1.1, NAN),
        (INF, NAN),
    ],
    "acos": [(1.0, 0.0), (-1.0, np.pi), (0.0, np.pi / 2), (-0.0, np.pi / 2), (-2, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, np.pi / 2), (-INF, -np.pi / 2), (1e30, np.pi / 2)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(vector: Library, name: str, dtype: type) -> None:
    given, wanted = np.array([*SPECIAL[name], (NAN, NAN)], dtype).T
    got = vector(name, given.copy())
    np.testing.assert_array_equal(got, wanted)
    signed = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(wanted[signed]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_leave_the_range_gradually(vector: Library, dtype: type) -> None:
    info = np.finfo(dtype)
    subnormal = np.array([info.smallest_subnormal, -3 * info.smallest_subnormal, info.tiny], dtype)
    for name in ("expm1", "log1p", "tanh", "sinh", "sin", "asin", "atan"):
        np.testing.assert_array_equal(vector(name, subnormal), subnormal)

    last = np.log(LONG(info.max))
    below, above = np.nextafter(dtype(last), dtype(0)), np.nextafter(dtype(last), dtype(INF))
    for name in ("exp", "expm1"):
        low, high = vector(name, np.array([below, np.nextafter(above, dtype(INF))], dtype))
        assert np.isfinite(low) and np.isinf(high)
    least = np.log(LONG(info.smallest_subnormal))
    kept, gone = vector("exp", np.array([least + LONG(0.1), least - LONG(1.0)], dtype))
    assert kept == info.smallest_subnormal and gone == 0
    assert vector("pow", np.array([2], dtype), np.array([info.minexp - 3], dtype)) == (
        dtype(2) ** (info.minexp - 3)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_has_the_special_cases_of_c(vector: Library, dtype: type) -> None:
    """numpy calls the C library, whose cases are those of C99 Annex F."""
    info = np.finfo(dtype)
    sizes = [0.0, info.smallest_subnormal, 0.5, 1.0, 1.5, 2.0, 3.0, 1e9 + 1, info.max, INF]
    values = np.array([NAN, *(sign * size for size in sizes for sign in (1, -1))], dtype)
    base, power = (grid.ravel() for grid in np.meshgrid(values, values))
    got = vector("pow", base, power)
    with np.errstate(all="ignore"):
        wanted = np.power(base, power)
    plain = np.isfinite(wanted) & (wanted != 0)
    np.testing.assert_array_equal(got[~plain], wanted[~plain])
    np.testing.assert_allclose(got[plain], wanted[plain], rtol=2 * info.eps, atol=0)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_of_all_corners(vector: Library, dtype: type) -> None:
    """numpy calls the C library, whose cases are those of C99 Annex F."""
    info = np.finfo(dtype)
    sizes = [0.0, info.smallest_subnormal, info.tiny, 1.0, 3.0, info.max / 2, info.max, INF]
    values = np.array([NAN, *(sign * size for size in sizes for sign in (1, -1))], dtype)
    y, x = (grid.ravel() for grid in np.meshgrid(values, values))
    got, wanted = vector("atan2", y, x), np.arctan2(y, x)
    np.testing.assert_allclose(got, wanted, rtol=2 * info.eps, atol=info.smallest_subnormal)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_is_exact_at_zero_and_one(vector: Library, dtype: type) -> None:
    base = spread(np.random.default_rng(4), -37.0, 38.0).astype(dtype)
    np.testing.assert_array_equal(vector("pow", base, np.ones_like(base)), base)
    np.testing.assert_array_equal(vector("pow", base, np.zeros_like(base)), 1.0)
    one = np.ones_like(base)
    np.testing.assert_array_equal(vector("pow", one, base), 1.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_minimum_and_maximum_keep_nan(vector: Library, dtype: type) -> None:
    values = np.array([-INF, -1.0, 0.0, 2.0, INF, NAN], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    np.testing.assert_array_equal(vector("fmin", a, b), np.minimum(a, b))
    np.testing.assert_array_equal(vector("fmax", a, b), np.maximum(a, b))


# ---- vectorised and scalar -----------------------------------------------------------------


def same_bits(a: Array, b: Array) -> bool:
    """Equal bit for bit, all NaN counting as one."""
    known = ~np.isnan(a)
    return bool(np.array_equal(known, ~np.isnan(b)) and a[known].tobytes() == b[known].tobytes())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_vector_and_scalar_code_give_the_same_bits(
    compiled: Compiled, name: str, dtype: type
) -> None:
    rng = np.random.default_rng(5)
    inputs = [spread(rng, -30.0, 3.0).astype(dtype) for _ in range(2 if name in BINARY else 1)]
    for value in inputs:
        odd = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e30, -1e30], dtype)
        place = rng.choice(POINTS, 4000, replace=False)
        value[place] = rng.choice(odd, place.size)
    whole = compiled.vector(name, *inputs)
    assert same_bits(whole, compiled.scalar(name, *inputs))
    for start, size in itertools.product((0, 1, 5), (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 1001)):
        part = slice(start, start + size)
        assert same_bits(compiled.vector(name, *(v[part] for v in inputs)), whole[part])


def test_every_loop_is_vectorised(compiled: Compiled) -> None:
    if "__FMA__" not in compiled.macros and "__ARM_FEATURE_FMA" not in compiled.macros:
        pytest.skip("no fused multiply-add in hardware")
    done = {int(line) for line in re.findall(r"math\.cpp:(\d+):\d+: ", compiled.vector.remarks)}
    loops = {
        number
        for number, line in enumerate(compiled.vector.text.splitlines(), 1)
        if "omp simd" in line and line.startswith("extern")
    }
    assert len(loops) == 2 * len([*UNARY, *BINARY, *RANDOM]) + 2
    assert loops <= done


# ---- random numbers ------------------------------------------------------------------------

ONES = 0xFFFFFFFF

KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

DRAWS = 200_000
LEAST_P = 1e-3
"""The draws are fixed, so these tests always give the same answer."""


def philox(library: Library, counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    out = (ctypes.c_uint * 4)()
    library.shared.philox((ctypes.c_uint * 4)(*counter), (ctypes.c_uint * 2)(*key), out)
    return tuple(out)


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(
    compiled: Compiled, counter: tuple[int, ...], key: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    assert philox(compiled.vector, counter, key) == wanted
    assert philox(compiled.scalar, counter, key) == wanted


@pytest.mark.parametrize("step", [0xABCDE12345, 0xABCDE12344, 6, 3])
def test_coordinates_take_their_places_in_the_counter(vector: Library, step: int) -> None:
    """A uniform number takes two words of a block, a normal one takes one, step by step."""
    key, seed, substep, stream = 0x0123456789ABCDEF, 0xFEDCBA9876543210, 7, 9
    at = {"seed": seed, "step": step, "substep": substep, "stream": stream}
    keys = np.array([key], np.uint64)

    def block(number: int) -> tuple[int, ...]:
        high = number >> 32 << 24 | stream << 16 | substep
        counter = (number & ONES, high, 0x76543210, 0xFEDCBA98)
        return philox(vector, counter, (0x89ABCDEF, 0x01234567))

    high, low = block(step // 2)[2 * (step % 2) :][:2]
    assert vector.draw("uniform", keys, np.float64, **at) == (((high << 32 | low) >> 11) * 2.0**-53)
    assert vector.draw("uniform", keys, np.float32, **at) == (high >> 8) * 2.0**-24
    word = np.array([block(step // 4)[step % 4]], np.uint32)
    for dtype in DTYPES:
        assert vector.draw("normal", keys, dtype, **at) == quantile(vector, word)


def quantile(library: Library, words: Array) -> Array:
    out = np.empty(words.size, np.float32)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (words, out)]
    library.shared.quantile(ctypes.c_long(words.size), *pointers)
    return out


def test_quantile_of_the_normal(vector: Library) -> None:
    """Within 1e-6 of its own size for each word, from tail to tail; ascending but for rounding."""
    rng = np.random.default_rng(3)
    near = np.arange(3000)
    spread = (2.0 ** rng.uniform(0, 31, 200_000)).astype(np.int64)
    low = np.concatenate([near, spread, rng.integers(0, 2**31, 200_000), 2**31 - 1 - near])
    exact = stats.norm.ppf((low + 0.5) * 2.0**-32)
    for words, sign in ((low, 1.0), (2**32 - 1 - low, -1.0)):
        found = quantile(vector, words.astype(np.uint32)).astype(np.float64)
        assert np.abs(found / (sign * exact) - 1).max() < 1e-6
    ends = quantile(vector, np.array([0, ONES], np.uint32))
    np.testing.assert_allclose(ends, [-6.338, 6.338], rtol=1e-4)
    row = quantile(vector, np.sort(low).astype(np.uint32)).astype(np.float64)
    assert (np.diff(row) >= -2e-6 * np.abs(row[1:])).all()


def counts(library: Library, words: Array, mean: float) -> Array:
    out = np.empty(words.size)
    word, to = (ctypes.c_void_p(a.ctypes.data) for a in (words, out))
    library.shared.counts(ctypes.c_long(words.size), word, ctypes.c_double(mean), to)
    return out


@pytest.mark.parametrize("mean", [1e-8, 1e-4, 0.3, 2.0, 10.0, 16.0, 16.01, 32.0, 64.0, 1e3, 1e6])
def test_counts_follow_the_distribution_function(vector: Library, mean: float) -> None:
    """P(count <= j), which is how many words give such a count, for every j that occurs."""
    ends = counts(vector, np.array([0, ONES], np.uint32), mean)
    j = np.unique(np.linspace(ends[0], ends[1] - 1, 400).astype(np.int64))
    low, high = np.full(j.shape, -1, np.int64), np.full(j.shape, 2**32, np.int64)
    while (high - low > 1).any():  # the first word with a larger count
        middle = (low + high) // 2
        more = counts(vector, np.clip(middle, 0, ONES).astype(np.uint32), mean) > j
        high, low = np.where(more, middle, high), np.where(more, low, middle)
    error = np.abs(high * 2.0**-32 - stats.poisson.cdf(j, mean)).max()
    limit = 4e-6 if mean < 32 else 7e-7 if mean < 64 else 2e-7
    assert error < (2.0**-32 if mean <= 16 else limit)
    assert stats.poisson.cdf(ends[0] - 1, mean) < limit
    assert stats.poisson.sf(ends[1], mean) < (2.0**-32 if mean <= 16 else limit)


def test_counts_of_no_mean(vector: Library) -> None:
    words = np.array([0, 1, 2**31, ONES], np.uint32)
    for mean in (0.0, -0.0, -3.0, -1e9, float("nan")):
        assert not counts(vector, words, mean).any()
    assert (np.diff([counts(vector, words[2:3], m)[0] for m in np.arange(0, 40, 0.25)]) >= 0).all()


def test_uniform_never_reaches_its_ends(vector: Library) -> None:
    shared = vector.shared
    assert shared.unit_53(0, 0) == 2.0**-54
    assert shared.unit_53(0, 1 << 11) == 2.0**-53
    assert shared.unit_53(ONES, ONES) == 1.0 - 2.0**-53
    assert shared.unit_24(0) == 2.0**-25
    assert shared.unit_24(ONES) == 1.0 - 2.0**-24


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("along", ["keys", "steps"])
def test_uniform_is_uniform(vector: Library, dtype: type, along: str) -> None:
    if along == "keys":
        draws = vector.draw("uniform", np.arange(DRAWS), dtype)
    else:
        keys = np.arange(100)
        steps = range(DRAWS // keys.size)
        draws = np.concatenate([vector.draw("uniform", keys, dtype, step=n) for n in steps])
    assert 0.0 < draws.min() and draws.max() < 1.0
    draws = draws.astype(np.float64)
    assert abs(draws.mean() - 0.5) < 4 * np.sqrt(1 / 12 / DRAWS)
    assert abs(draws.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / DRAWS)
    assert stats.kstest(draws, "uniform").pvalue > LEAST_P
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(DRAWS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_has_the_moments_of_the_normal(vector: Library, dtype: type) -> None:
    draws = vector.draw("normal", np.arange(DRAWS), dtype).astype(np.float64)
    assert np.isfinite(draws).all()
    # standard errors of the first four moments of n normal numbers
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((draws**power).mean() - moment) < 4 * np.sqrt(variance / DRAWS)
    assert stats.kstest(draws, "norm").pvalue > LEAST_P


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("dtype", DTYPES)
def test_draws_have_the_same_bits_in_vector_and_scalar_code(
    compiled: Compiled, name: str, dtype: type
) -> None:
    keys = np.random.default_rng(6).integers(0, 2**64, 20_001, dtype=np.uint64)
    whole = compiled.vector.draw(name, keys, dtype)
    assert same_bits(whole, compiled.scalar.draw(name, keys, dtype))
    for size in (1, 3, 7, 9, 31, 33):
        assert same_bits(compiled.vector.draw(name, keys[:size], dtype), whole[:size])


def test_distinct_coordinates_give_distinct_draws(vector: Library) -> None:
    keys = np.array([0, 1, 2, 1 << 32, 1 << 63], np.uint64)
    places = list(
        itertools.product(
            (0, 1, 1 << 32, 1 << 63),  # seed
            (0, 1, 2, 3, 4, 1 << 31, 1 << 32, 1 << 39, 1 << 40),  # step
            (0, 1, 2, 65535),  # substep
            (0, 1, 2, 255),  # stream
        )
    )
    draws = np.concatenate([vector.draw("uniform", keys, np.float64, *place) for place in places])
    assert np.unique(draws).size == keys.size * len(places)
