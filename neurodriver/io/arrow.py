"""Columns of Parquet, CSV or Feather files or of frames; each value that does not fit is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.node_columns import column_of
from ..errors import CircuitError, Faults, near, quoted
from ..system import free_memory

Column = NDArray[Any]

MARKS = {b"PAR1": "parquet", b"ARROW1": "feather"}
"""First bytes of the formats that have some; anything else is taken for CSV."""

PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
"""First bytes of compressed files."""

EXACT = 2.0**53
"""Below it, floating-point numbers hold every whole number."""


def arrow() -> Any:
    """Return pyarrow; say what to install where it is not there."""
    try:
        import pyarrow
        import pyarrow.compute

        return pyarrow
    except ImportError:
        what = (
            'tables are read by pyarrow, which is not installed: pip install "neurodriver[tables]"'
        )
        raise CircuitError(what) from None


class ColumnTable:
    """The columns of a file or a frame that are asked for.

    The file is Parquet, Feather (Arrow IPC) or else CSV, which may be compressed (gzip, bz2, zstd,
    lz4). A frame is one of pandas, a table of pyarrow, or anything with the stream interface of
    Arrow, such as a frame of polars. ``names`` are its columns in their order. What is wrong goes
    to ``faults``, with file, column, row (from 1, the header not counted) and value; a file that
    cannot be read raises CircuitError.
    """

    def __init__(self, given: Any, faults: Faults, called: str = "the table") -> None:
        self.faults = faults
        self.arrow = arrow()
        self.name = table_name(given, called)
        self.where = "" if faults.source == self.name else f"{self.name}, "
        self.head, self.whole = b"", None
        if not isinstance(given, str | Path):
            self.whole = _from_memory(given, self.arrow, self.name)
            self.names = list(self.whole.schema.names)
            return
        self.path = Path(given)
        with self._errors():
            with open(self.path, "rb") as file:
                self.head = file.read(8)
            if self.head.startswith(b"\x89HDF"):
                raise CircuitError(f"{given}: this is an HDF5 file; a table is expected")
            self.names = list(self._schema().names)

    @property
    def form(self) -> str:
        """``parquet``, ``feather`` or ``csv``."""
        return next((form for mark, form in MARKS.items() if self.head.startswith(mark)), "csv")

    def _schema(self) -> Any:
        if self.form == "parquet":
            from pyarrow import parquet

            return parquet.read_schema(self.path)
        if self.form == "feather":
            with self.arrow.ipc.open_file(str(self.path)) as file:
                return file.schema
        with self._csv(None) as reader:
            return reader.schema

    def need(self, columns: Iterable[str]) -> None:
        """Say which columns will be read; note those that the table does not have, or has twice."""
        self.wanted = list(dict.fromkeys(columns))
        for name in self.wanted:
            times = self.names.count(name)
            if times > 1:
                self.faults.add(f"{self.where}has {times} columns {quoted(name)}")
            elif not times:
                known = ", ".join(quoted(n) for n in self.names[:8])
                more = f" and {len(self.names) - 8} more" if len(self.names) > 8 else ""
                say = f"has no column {quoted(name)}{near(name, self.names)}; it has {known}{more}"
                self.faults.add(f"{self.where}{say}")

    def read(self) -> None:
        """Read the columns."""
        self.room = free_memory()
        with self._errors():
            if self.whole is not None:
                places = [self.names.index(name) for name in self.wanted]
                found = self.whole.select(places)
            elif self.form == "parquet":
                from pyarrow import parquet

                with parquet.ParquetFile(self.path) as file:
                    kinds = [file.schema_arrow.field(name).type for name in self.wanted]
                    width = sum(map(_least_bytes, kinds))
                    self._check_room(file.metadata.num_rows, file.metadata.num_rows * width)
                    found = file.read(columns=self.wanted)
            elif self.form == "feather":
                found = self._batches()
            else:
                with self._csv(self.wanted) as reader:
                    found = self.arrow.Table.from_batches(self._blocks(reader), reader.schema)
            whole = found.unify_dictionaries().combine_chunks()
            self.arrays = {name: self._plain(whole.column(name)) for name in self.wanted}
            self.rows = len(whole)

    def _blocks(self, reader: Any) -> Iterator[Any]:
        """Yield the blocks of a reader while there is memory for them, and for one copy of all."""
        rows = size = 0
        for block in reader:
            rows, size = rows + len(block), size + block.nbytes
            self._check_room(rows, 2 * size, "its first ")
            yield block

    def _batches(self) -> Any:
        """Return the columns of a Feather file, whose batches are read one by one."""
        from pyarrow import ipc

        places = sorted({self.names.index(name) for name in self.wanted})
        with self.arrow.OSFile(str(self.path)) as file:
            options = ipc.IpcReadOptions(included_fields=places)
            reader = ipc.open_file(file, options=options)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            return self.arrow.Table.from_batches(self._blocks(batches), reader.schema)

    def _check_room(self, rows: int, need: int, which: str = "its ") -> None:
        """Raise CircuitError where there is no memory for rows of so many bytes."""
        if need > self.room:
            raise CircuitError(
                f"{self.name}: {which}{rows:,} rows take at least {need / 2**30:,.1f} GiB, "
                f"{self.room / 2**30:,.1f} GiB of memory are free; give a part of the rows"
            )

    def _plain(self, column: Any) -> Any:
        """Return a column as one array with its values in their places."""
        kind = column.type
        array = column.chunk(0) if column.num_chunks else self.arrow.array([], kind)
        return array.dictionary_decode() if self.arrow.types.is_dictionary(kind) else array

    def note(self, name: str, bad: Column, values: Any, say: Callable[[Any], str]) -> None:
        """Note the rows where ``bad`` is true; ``say`` is told the value there."""
        where = f"{self.where}column {quoted(name)}, row"
        rows = np.flatnonzero(bad)
        self.faults.add_for(rows, lambda i: f"{where} {i + 1:,}: {say(values[i])}")

    def unfit(self, name: str, say: str) -> None:
        """Note what is wrong with a whole column."""
        self.faults.add(f"{self.where}column {quoted(name)}: {say}")

    def _type(self, name: str, array: Any, want: str) -> None:
        some = next((v for v in array[:1000].to_pylist() if v is not None), None)
        got = f"{array.type}" + ("" if some is None else f", for instance {quoted(some)}")
        self.unfit(name, f"must hold {want} (got {got})")

    def numbers(self, name: str, empty: bool = False) -> NDArray[np.float64]:
        """Return a column of finite numbers, (rows,) float64; NaN where it may be ``empty``."""
        types, array = self.arrow.types, self.arrays[name]
        kind = array.type
        if not any(
            fits(kind)
            for fits in (types.is_null, types.is_integer, types.is_floating, types.is_decimal)
        ):
            self._type(name, array, "numbers")
            return np.zeros(self.rows)
        array = array.cast(self.arrow.float64(), safe=False)
        out: NDArray[np.float64] = array.to_numpy(zero_copy_only=False)

        def say(value: Any) -> str:
            got = f"got {value.as_py():g}" if value.is_valid else "it is empty"
            return f"must be a finite number ({got})"

        bad = ~np.isfinite(out)
        if empty:
            bad &= array.is_valid().to_numpy(zero_copy_only=False)
        self.note(name, bad, array, say)
        return out

    def ids(self, name: str) -> Any:
        """Return a column of ids as an arrow array of int64 or text, exactly; null where bad."""
        types, int64, array = self.arrow.types, self.arrow.int64(), self.arrays[name]
        kind = array.type
        if types.is_floating(kind):
            return self._whole(name, array)
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            array = array.cast(self.arrow.string())
        elif types.is_null(kind) or types.is_integer(kind) or types.is_decimal(kind):
            try:
                array = array.cast(int64)
            except self.arrow.ArrowInvalid:
                self._type(name, array, "whole numbers of 64 bits with a sign, or text")
                return self.arrow.nulls(self.rows, int64)
        else:
            self._type(name, array, "whole numbers or text")
            return self.arrow.nulls(self.rows, int64)
        if array.null_count:
            empty = array.is_null().to_numpy(zero_copy_only=False)
            self.note(name, empty, array, lambda _: "the id is empty")
        return array

    def _whole(self, name: str, array: Any) -> Any:
        """Return floating-point ids as int64, where that is what they were."""
        values = array.to_numpy(zero_copy_only=False)
        fits = np.isfinite(values) & (np.abs(values) < EXACT)
        bad = ~fits | (np.floor(np.where(fits, values, 0)) != np.where(fits, values, 0))

        def say(value: float) -> str:
            if np.isnan(value):
                return "the id is empty"
            if abs(value) >= EXACT:
                lost = "a floating-point number does not hold it exactly; store ids as integers"
                return f"the id {value:.0f} is too large: {lost} or text"
            return f"an id must be a whole number (got {value:g})"

        self.note(name, bad, values, say)
        return self.arrow.array(np.where(bad, 0, values).astype(np.int64), mask=bad)

    def texts(self, name: str, empty: bool = False) -> tuple[list[str], Column]:
        """Return the different values of a column as text, and for each row which one it has.

        Where it may be ``empty`` that is -1.
        """
        coded = self.arrays[name].dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if not empty:
            self.note(name, codes < 0, codes, lambda _: "it is empty")
        return [str(v) for v in coded.dictionary.to_pylist()], codes

    def node_column(self, name: str) -> Column | None:
        """Return a column of text, truth values or numbers, (rows,), None for any other.

        What is empty is an empty text or NaN.
        """
        types, array = self.arrow.types, self.arrays[name]
        kind = array.type
        if types.is_floating(kind) or (types.is_integer(kind) and not array.null_count):
            numbers: Column = array.to_numpy(zero_copy_only=False)
            return numbers
        if types.is_decimal(kind):
            array = array.cast(self.arrow.float64(), safe=False)
        return column_of(array.to_pylist(), name, self.faults)

    @contextmanager
    def _csv(self, columns: list[str] | None) -> Iterator[Any]:
        from pyarrow import csv

        packed = next((how for mark, how in PACKED.items() if self.head.startswith(mark)), None)
        read = csv.ReadOptions(block_size=2**24)
        convert = csv.ConvertOptions(include_columns=columns, strings_can_be_null=True)
        with self.arrow.input_stream(str(self.path), compression=packed) as stream:
            with csv.open_csv(stream, read_options=read, convert_options=convert) as reader:
                yield reader

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Tell what pyarrow and the system say of a file in our words."""
        try:
            yield
        except FileNotFoundError:
            raise CircuitError(f"{self.name}: no such file") from None
        except CircuitError:
            raise
        except (OSError, ValueError, KeyError, self.arrow.ArrowException) as error:
            said = " ".join(str(getattr(error, "strerror", None) or error).split())[:300]
            raise CircuitError(f"{self.name}: cannot be read as a table ({said})") from None


def _least_bytes(kind: Any) -> int:
    """Return how many bytes a value of a type of pyarrow takes at least."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:  # a text has a place in the texts, of 4 bytes
        return 4


def table_name(given: Any, called: str) -> str:
    """Return what messages call a table: its file, or what it is meant for."""
    return str(given) if isinstance(given, str | Path) else called


def _from_memory(given: Any, arrow: Any, name: str) -> Any:
    """Return a frame as a table of pyarrow; an index with names or values becomes columns."""
    if isinstance(given, arrow.Table):
        return given
    try:
        if type(given).__module__.partition(".")[0] == "pandas":
            counted = type(given.index).__name__ == "RangeIndex"
            frame = given if counted else given.reset_index()
            return arrow.Table.from_pandas(frame, preserve_index=False)
        if hasattr(given, "__arrow_c_stream__"):
            return arrow.table(given)
    except (arrow.ArrowException, TypeError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise CircuitError(f"{name}: cannot be read as a table ({said})") from None
    want = "a file, a frame of pandas, or a table of Arrow is needed"
    raise CircuitError(f"{name}: {want}, got {given!r:.60}")
