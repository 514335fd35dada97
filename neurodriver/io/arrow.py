"""Tables in Parquet, CSV or Feather files, read batch by batch and only the columns asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import CircuitError, Faults, near, quoted

BATCH = 2**20
"""Rows read in one go."""

MARKS = {b"PAR1": "parquet", b"ARROW1": "feather"}
"""First bytes of the formats that have some; anything else is taken for CSV."""


def arrow() -> Any:
    """Return pyarrow.

    Raises
    ------
    CircuitError
        With what to install, where it is not there.
    """
    try:
        import pyarrow

        return pyarrow
    except ImportError:
        what = (
            'tables are read by pyarrow, which is not installed: pip install "neurodriver[tables]"'
        )
        raise CircuitError(what) from None


class Table:
    """A file with columns.

    Parameters
    ----------
    path : str or Path
        Parquet, Feather or Arrow IPC, else CSV; CSV may be compressed (gzip, bz2, zstd, lz4).

    Attributes
    ----------
    path : Path
    names : list of str
        Columns in the order of the file.

    Raises
    ------
    CircuitError
        When the file cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.arrow = arrow()
        with self._errors():
            with open(self.path, "rb") as file:
                head = file.read(8)
            self.form = next((form for mark, form in MARKS.items() if head.startswith(mark)), "csv")
            if head.startswith(b"\x89HDF"):
                raise CircuitError(f"{path}: this is an HDF5 file; a table is expected")
            self.names, self.rows = self._schema()

    def _schema(self) -> tuple[list[str], int | None]:
        """Return the names of the columns, and the number of rows where the file tells it."""
        if self.form == "parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(self.path) as file:
                return list(file.schema_arrow.names), int(file.metadata.num_rows)
        if self.form == "feather":
            with self.arrow.ipc.open_file(self.path) as file:
                return list(file.schema.names), None
        with self._csv(None) as reader:
            return list(reader.schema.names), None

    def column(self, name: str, faults: Faults) -> str:
        """Return how messages call a column, whose file they may name already."""
        file = "" if faults.source == str(self.path) else f"{self.path}, "
        return f"{file}column {quoted(name)}"

    def missing(self, columns: Sequence[str], faults: Faults) -> None:
        """Note columns that the table does not have, or has twice."""
        for name in dict.fromkeys(columns):
            times = self.names.count(name)
            if times != 1:
                say = f"has {times} columns {quoted(name)}" if times else self._lost(name)
                faults.add(say if faults.source == str(self.path) else f"{self.path}: {say}")

    def _lost(self, name: str) -> str:
        known = ", ".join(quoted(n) for n in self.names[:8])
        more = f" and {len(self.names) - 8} more" if len(self.names) > 8 else ""
        return f"has no column {quoted(name)}{near(name, self.names)}; it has {known}{more}"

    def batches(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield name -> pyarrow array for some columns, some rows at a time.

        Raises
        ------
        CircuitError
            When the file cannot be read to its end.
        """
        wanted = list(dict.fromkeys(columns))
        with self._errors():
            if self.form == "parquet":
                from pyarrow import parquet

                with parquet.ParquetFile(self.path) as file:
                    batches = file.iter_batches(BATCH, columns=wanted)
                    yield from (self._named(batch, wanted) for batch in batches)
            elif self.form == "feather":
                at = [self.names.index(name) for name in wanted]
                options = self.arrow.ipc.IpcReadOptions(included_fields=at)
                with (
                    self.arrow.memory_map(str(self.path)) as mapped,
                    self.arrow.ipc.open_file(mapped, options=options) as file,
                ):
                    parts = (file.get_batch(n) for n in range(file.num_record_batches))
                    yield from (self._named(batch, wanted) for batch in self._joined(parts))
            else:
                with self._csv(wanted) as reader:
                    yield from (self._named(batch, wanted) for batch in self._joined(reader))

    def _joined(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield fewer and larger batches: each costs a look at all ids."""
        parts: list[Any] = []
        for batch in batches:
            parts.append(batch)
            if sum(len(part) for part in parts) >= BATCH:
                yield self._one(parts)
                parts = []
        if parts:
            yield self._one(parts)

    def _one(self, parts: list[Any]) -> Any:
        table = self.arrow.Table.from_batches(parts).unify_dictionaries().combine_chunks()
        return next(iter(table.to_batches()), parts[0])

    @staticmethod
    def _named(batch: Any, wanted: list[str]) -> dict[str, Any]:
        return {name: batch.column(batch.schema.get_field_index(name)) for name in wanted}

    @contextmanager
    def _csv(self, columns: list[str] | None) -> Iterator[Any]:
        from pyarrow import csv

        read = csv.ReadOptions(block_size=2**24)
        convert = csv.ConvertOptions(include_columns=columns, strings_can_be_null=True)
        with self.arrow.input_stream(str(self.path), compression=self._packed()) as stream:
            reader = csv.open_csv(stream, read_options=read, convert_options=convert)
            with reader:
                yield reader

    def _packed(self) -> str | None:
        """Return how a file is compressed, by its first bytes."""
        marks = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
        with open(self.path, "rb") as file:
            head = file.read(4)
        return next((how for mark, how in marks.items() if head.startswith(mark)), None)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Tell what pyarrow and the system say of a file in our words."""
        try:
            yield
        except FileNotFoundError:
            raise CircuitError(f"{self.path}: no such file") from None
        except CircuitError:
            raise
        except (OSError, ValueError, KeyError, self.arrow.ArrowException) as error:
            said = " ".join(str(getattr(error, "strerror", None) or error).split())[:300]
            raise CircuitError(f"{self.path}: cannot be read as a table ({said})") from None
