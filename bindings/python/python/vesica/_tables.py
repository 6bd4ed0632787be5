"""Rows as what they were given as."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from vesica._errors import UsageError

if TYPE_CHECKING:
    from vesica._native import Table
    from vesica._types import Kind


def kind_of(table: object) -> Kind:
    """Tell what rows of this table come back as, if nothing else is asked for."""
    if isinstance(table, (str, PathLike)):
        return "arrow"
    package = type(table).__module__.partition(".")[0]
    for kind in ("polars", "pandas", "pyarrow"):
        if package == kind:
            return kind
    return "duckdb" if package in ("duckdb", "_duckdb") else "arrow"


PACKAGES: dict[str, tuple[str, ...]] = {
    "arrow": (),
    "polars": ("polars",),
    "pandas": ("pandas", "pyarrow"),
    "pyarrow": ("pyarrow",),
    "duckdb": ("duckdb",),
}
"""The packages that each form needs."""


def check_kind(kind: str) -> None:
    """Refuse, before a run, a form that there is not or whose package is missing."""
    if kind not in PACKAGES:
        raise UsageError(f"to is {', '.join(PACKAGES)}, not `{kind}`")
    for package in PACKAGES[kind]:
        try:
            import_module(package)
        except ImportError as error:
            message = f"rows as {kind} need the package {package}: install it, or choose another to"
            raise UsageError(message) from error


def convert(rows: Table, kind: str) -> Any:
    """Give rows the form that is asked for, which `check_kind` knows."""
    if kind == "arrow":
        return rows
    # By way of PyArrow, which restores an index that pandas has noted in the schema.
    package: Any = import_module("pyarrow" if kind == "pandas" else kind)
    if kind == "polars":
        return package.DataFrame(rows)
    if kind == "duckdb":
        return package.from_arrow(rows)
    table = package.table(rows)
    return table.to_pandas() if kind == "pandas" else table
