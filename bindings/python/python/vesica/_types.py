"""The types of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

if TYPE_CHECKING:
    from decimal import Decimal


@runtime_checkable
class ArrowStream(Protocol):
    """A table that gives its rows by Arrow's PyCapsule interface.

    Frames of Polars and pandas, tables and readers of PyArrow, and relations of DuckDB do.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows in a capsule."""
        ...


Path: TypeAlias = "str | PathLike[str]"

Key: TypeAlias = "str | Sequence[str]"
"""A column, or several that make up a key together."""

Learns: TypeAlias = Literal["me", "peer", "both", "nobody"]

Kind: TypeAlias = Literal["polars", "pandas", "pyarrow", "duckdb", "arrow"]
"""What rows come back as; ``arrow`` is a `vesica.Table`, which needs no other package."""


class Options(TypedDict, total=False):
    """What any run may be told beside; the command line has the same under the same names."""

    null_values: str | Sequence[str]
    """Values that count as empty in key columns that are normalised."""
    format: str
    """The format of a file: csv, ndjson, parquet, arrow or arrow-stream."""
    delimiter: str
    """What separates the fields of text: comma, semicolon, tab, bar or auto."""
    query: str
    """The query for the rows, where the table is a database: ``adbc:DRIVER``."""
    security: Literal["semi-honest", "malicious"]
    """The least security that is accepted."""
    protocol: str
    """A protocol of ``vesica protocols``."""
    nulls: Literal["skip", "error"]
    """What becomes of rows without a key."""
    duplicates: Literal["first", "error"] | int
    """What becomes of rows that repeat a key; with ``send``, a number sends so many of each."""
    allow_empty: bool
    """Accept a table without rows."""
    max_peer_rows: int
    """The most distinct keys that the other side may bring."""
    allow_research: bool
    """Allow protocols that are not for real data."""
    diagnose: bool
    """If the other side agrees, find out why nothing matches."""
    report: Path
    """A file for the report, also of a run that fails."""
    record: Path
    """Under an agreement: a file for the record that both sides sign."""
    ledger: Path
    """Under an agreement: the ledger of all runs."""
    spill: Path
    """The directory for what does not fit into memory, encrypted."""
    resume: Path
    """A journal with which an interrupted run goes on; not for tables in memory."""
    bandwidth: float
    """The bandwidth of the link, in Mbit/s."""
    memory: int | str
    """The most memory that the run may use on this side: ``2G``, or a number of bytes."""
    partitions: int
    """Compare the sets in at least so many partitions."""
    threads: int
    """Threads to compute with; 0 for one per processor."""
    wait: float
    """Seconds to wait for the other side to appear."""
    stall_timeout: float
    """Seconds without a sign of life after which the other side is given up."""
    deadline: float
    """Seconds after which a run is stopped, however it goes."""


class NumberOptions(Options, total=False):
    """What a run for a number may be told beside."""

    minimum: int
    """If fewer keys than this match, tell nothing else."""
    epsilon: float | Decimal | str
    """For counts and sums: add noise that hides any single key, with this privacy loss."""
    clamp: int
    """With ``epsilon``, for sums: the largest magnitude with which a value counts."""
    scale: int
    """Decimal places of the values."""
