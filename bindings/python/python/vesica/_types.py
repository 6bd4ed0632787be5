"""The types of arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    # Python 3.10 has none, and who asks for the types of arguments there gets this.
    Unpack = type


@runtime_checkable
class ArrowStream(Protocol):
    """A table that gives its rows by Arrow's PyCapsule interface.

    Frames of Polars and pandas, tables and readers of PyArrow, and relations of DuckDB do.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows in a capsule."""
        ...


Path: TypeAlias = str | PathLike[str]

Key: TypeAlias = str | Sequence[str]
"""A column, or several that make up a key together."""

Learns: TypeAlias = Literal["me", "peer", "both", "nobody"]

Kind: TypeAlias = Literal["polars", "pandas", "pyarrow", "duckdb", "arrow"]
"""What rows come back as; ``arrow`` is a `vesica.Table`, which needs no other package."""


class Options(TypedDict, total=False):
    """Arguments of every run; the command line has the same under the same names.

    Keys:
        null_values: Values that count as empty in key columns that are normalised.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The separator of fields of text: comma, semicolon, tab, bar or auto.
        query: The query for the rows, where the table is a database: ``adbc:DRIVER``.
        security: The least security that is accepted.
        protocol: A protocol of ``vesica protocols``.
        nulls: The treatment of rows without a key: skip, or error.
        duplicates: Of rows that repeat a key: first, error, or the number that is sent.
        allow_empty: Accept a table without rows.
        max_peer_rows: The most distinct keys that the other side may bring.
        allow_research: Allow protocols that are not for real data.
        diagnose: If the other side agrees, find out why nothing matches.
        report: A file for the report, also of a run that fails.
        record: Under an agreement: a file for the record that both sides sign.
        ledger: Under an agreement: the ledger of all runs.
        spill: The directory for encrypted files, where memory is too small.
        resume: A journal with which an interrupted run goes on; not for tables in memory.
        bandwidth: The bandwidth of the link, in Mbit/s.
        memory: The most memory that the run may use on this side: ``2G``, or a number of bytes.
        partitions: The least number of partitions in which sets are compared.
        threads: Threads to compute with; 0 for one per processor.
        wait: Seconds to wait for the other side to appear.
        stall_timeout: Seconds without a sign of life after which the other side is given up.
        deadline: Seconds after which a run is stopped, however it goes.
    """

    null_values: str | Sequence[str]
    format: str
    delimiter: str
    query: str
    security: Literal["semi-honest", "malicious"]
    protocol: str
    nulls: Literal["skip", "error"]
    duplicates: Literal["first", "error"] | int
    allow_empty: bool
    max_peer_rows: int
    allow_research: bool
    diagnose: bool
    report: Path
    record: Path
    ledger: Path
    spill: Path
    resume: Path
    bandwidth: float
    memory: int | str
    partitions: int
    threads: int
    wait: float
    stall_timeout: float
    deadline: float


class NumberOptions(Options, total=False):
    """Further arguments of runs for a number.

    Keys:
        minimum: If fewer keys than this match, tell nothing else.
        epsilon: For counts and sums: add noise that hides any single key, with this privacy loss.
        clamp: With ``epsilon``, for sums: the largest magnitude with which a value counts.
        scale: Decimal places of the values.
    """

    minimum: int
    epsilon: float | Decimal | str
    clamp: int
    scale: int
