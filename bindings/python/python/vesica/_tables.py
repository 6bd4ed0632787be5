"""Conversions of tables of Python's packages to the native part and back."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, TypeVar

from vesica import _native
from vesica._arguments import path
from vesica._errors import Error, UsageError
from vesica._types import Kind

log = logging.getLogger("vesica")

T = TypeVar("T")


@dataclass
class Opened:
    """A table that the native part can read."""

    stream: Any
    """A path, or an object with Arrow's PyCapsule interface."""
    kind: str
    """The type of the returned rows."""
    table: Any
    """The given table."""
    index: list[str] = field(default_factory=list[str])
    """The columns that contain the index of a pandas frame."""
    types: dict[str, Any] = field(default_factory=dict[str, Any])
    """The original types of columns of a Polars frame that were cast."""


def _is(table: object, package: str, *names: str) -> bool:
    """Return whether a table is an instance of these classes, without importing their package."""
    module = sys.modules.get(package)
    classes = tuple(getattr(module, name) for name in names if hasattr(module, name))
    return isinstance(table, classes)


def kind_of(table: object) -> Kind:
    """Return the default type of returned rows for this table."""
    if _is(table, "polars", "DataFrame", "Series"):
        return "polars"
    if _is(table, "pandas", "DataFrame"):
        return "pandas"
    if type(table).__module__.partition(".")[0] == "pyarrow":
        return "pyarrow"
    return "duckdb" if _is(table, "duckdb", "DuckDBPyRelation") else "arrow"


PACKAGES: dict[str, tuple[str, ...]] = {
    "arrow": (),
    "polars": ("polars",),
    "pandas": ("pandas", "pyarrow"),
    "pyarrow": ("pyarrow",),
    "duckdb": ("duckdb",),
}
"""The packages that each type needs."""


def check_kind(kind: object) -> str:
    """Refuse, before a run, an unknown type or one whose package is missing."""
    if not isinstance(kind, str) or kind not in PACKAGES:
        shown = f"`{kind}`" if isinstance(kind, str) else type(kind).__name__
        raise UsageError(f"to must be one of {', '.join(PACKAGES)}, not {shown}")
    for package in PACKAGES[kind]:
        _need(package, f"rows as {kind}", "choose another to")
    return kind


def _need(package: str, purpose: str, otherwise: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        message = f"{purpose} need the package {package}: install it, or {otherwise}"
        raise UsageError(message) from error


def open_table(table: Any, to: object = None, *, is_written: bool = False) -> Opened:
    """Make the table argument of a call readable for the native part.

    The index of a pandas frame becomes columns. A default index from 0 on does so only if rows are
    returned as pandas, and not if they are written.
    """
    if isinstance(table, (str, PathLike)):
        return Opened(path("table", table), check_kind(to or "arrow"), table)
    opened = Opened(table, check_kind(to or kind_of(table)), table)
    _refuse_plans(table)
    if _is(table, "pandas", "DataFrame"):
        opened.stream, opened.index = _of_pandas(
            table, with_numbers=opened.kind == "pandas" and not is_written
        )
    elif _is(table, "polars", "DataFrame"):
        opened.stream, opened.types = _of_polars(table)
    elif _is(table, "pyarrow", "RecordBatchReader"):
        opened.stream = _tried("the source of the table's rows", lambda: table.read_all())
    elif not isinstance(table, _native.Table) and hasattr(table, "__arrow_c_stream__"):
        capsule = _tried("the table", lambda: table.__arrow_c_stream__())
        opened.stream = _Stream(capsule)
    return opened


class _Stream:
    """A stream that was already exported, for one reader."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


def _tried(thing: str, work: Callable[[], T]) -> T:
    """Call a table's package, and keep only the type of an exception.

    The text and the exception itself may contain values, so the exception is not chained.
    """
    try:
        return work()
    except Error:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise UsageError(f"{thing} cannot be read: {kind}")


def _refuse_plans(table: object) -> None:
    """Refuse lazy tables, and name the call that evaluates them."""
    ways = [
        ("polars", "LazyFrame", "frame.collect()"),
        ("pyarrow.dataset", "Dataset", "dataset.scanner().to_reader()"),
        ("pyarrow.dataset", "Scanner", "scanner.to_reader()"),
        ("pyspark.sql", "DataFrame", "vesica.spark.intersect(frame, …), or frame.toArrow()"),
    ]
    for package, name, way in ways:
        if _is(table, package, name):
            raise UsageError(f"a {name} has no rows yet: pass {way}")


def _of_pandas(frame: Any, *, with_numbers: bool) -> tuple[Any, list[str]]:
    """Convert a frame and its index, and name the column that cannot be converted."""
    arrow = _need("pyarrow", "frames of pandas", "give another table")
    names: list[Any] = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(
            "some columns of the table have names that are not text: "
            "set frame.columns = frame.columns.map(str)"
        )
    refuse_repeated(names)
    index: Any = frame.index
    is_numbers = _is(index, "pandas", "RangeIndex") and index.name is None
    is_numbers = is_numbers and (index.start, index.step) == (0, 1)
    keeps = with_numbers or not is_numbers

    def convert() -> Any:
        return arrow.Table.from_pandas(frame, preserve_index=keeps)

    try:
        table = convert()
    except Exception:
        table = None
    if table is None:
        for name in names:
            column = f"column `{name}` of the table, whose values are not all of one type,"
            _tried(column, partial(arrow.array, frame[name]))
        table = _tried("the table", convert)
    return table, table.column_names[len(names) :]


def refuse_repeated(names: list[str]) -> None:
    """Refuse a table with two columns of the same name."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise UsageError(f"the table has several columns `{name}`: rename all but one")
        seen.add(name)


def refuse_floats(opened: Opened, column: str) -> None:
    """Refuse a column of inexact values, and suggest a conversion."""
    is_float = False
    if _is(opened.stream, "polars", "DataFrame"):
        is_float = column in opened.stream.columns and opened.stream.schema[column].is_float()
    for table in (opened.stream, opened.table):
        if _is(table, "pyarrow", "Table") and column in table.column_names:
            types: Any = import_module("pyarrow.types")
            is_float = types.is_floating(table.schema.field(column).type)
    if is_float:
        raise UsageError(
            f"column `{column}` holds floating-point numbers, whose sums are not exact: cast it to "
            f'whole numbers of the smallest unit, such as (frame["{column}"] * 100).round() for '
            "cents, or to a decimal type with scale=2"
        )


def _of_polars(frame: Any) -> tuple[Any, dict[str, Any]]:
    """Cast columns whose types Arrow's interface exports in formats that few packages support.

    Returns the original types as well, so that returned rows have them again.
    """
    polars: Any = import_module("polars")
    changed: dict[str, Any] = {}
    for name, kind in frame.schema.items():
        if kind == polars.Object:
            raise UsageError(
                f"column `{name}` of the table contains Python objects: "
                f'cast it, or leave it out with frame.drop("{name}")'
            )
        readable = _readable(polars, kind)
        if readable != kind:
            cast = partial(frame.get_column(name).cast, readable)
            frame = frame.with_columns(_tried(f"column `{name}` of the table", cast))
            changed[name] = kind
    return frame, changed


def _readable(polars: Any, kind: Any) -> Any:
    """Return the type to use instead: bytes for Null, and text for 128-bit numbers."""
    if kind == polars.Null:
        return polars.Int8()
    if kind in [getattr(polars, name) for name in ("Int128", "UInt128") if hasattr(polars, name)]:
        return polars.String()
    if kind.base_type() == polars.List:
        return polars.List(_readable(polars, kind.inner))
    if kind.base_type() == polars.Array:
        return polars.Array(_readable(polars, kind.inner), kind.size)
    if kind.base_type() == polars.Struct:
        parts = {part.name: _readable(polars, part.dtype) for part in kind.fields}
        return polars.Struct(parts)
    return kind


def convert(rows: _native.Table, opened: Opened) -> Any:
    """Convert rows to the requested type, or return them unconverted if that fails."""
    try:
        return _converted(rows, opened)
    except Exception as error:
        fault = type(error).__name__
    log.warning("rows cannot be converted to %s (%s): they are a vesica.Table", opened.kind, fault)
    return rows


def _converted(rows: _native.Table, opened: Opened) -> Any:
    kind = opened.kind
    if kind == "arrow":
        return rows
    if kind == "duckdb":
        return _as_relation(rows, opened.table)
    # PyArrow restores an index that pandas has noted in the schema.
    package: Any = import_module("pyarrow" if kind == "pandas" else kind)
    if kind == "polars":
        frame = package.DataFrame(rows)
        return frame.cast({name: t for name, t in opened.types.items() if name in frame.columns})
    table = package.table(rows)
    return table.to_pandas() if kind == "pandas" else table


def _as_relation(rows: _native.Table, given: Any) -> Any:
    """Make a relation on the connection of the given one."""
    package: Any = import_module("duckdb")
    if not _is(given, "duckdb", "DuckDBPyRelation"):
        return package.from_arrow(rows)
    # DuckDB finds the rows by the name of this variable.
    vesica_rows = rows  # noqa: F841  # pyright: ignore[reportUnusedVariable]
    return given.query("vesica_given", "select * from vesica_rows")
