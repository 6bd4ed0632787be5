"""The types of arguments."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    # Python 3.10 does not have Unpack. This is visible only in the annotations of arguments.
    Unpack = type


@runtime_checkable
class ArrowStream(Protocol):
    """A table that exports its rows by Arrow's PyCapsule interface.

    Frames of Polars and pandas, tables and readers of PyArrow, and relations of DuckDB do so.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows in a capsule."""
        ...


Path: TypeAlias = str | PathLike[str]

Key: TypeAlias = str | Sequence[str]
"""A column, or several columns that together form a key."""

Learns: TypeAlias = Literal["me", "peer", "both", "nobody"]

Kind: TypeAlias = Literal["polars", "pandas", "pyarrow", "duckdb", "arrow"]
"""The type of returned rows. ``arrow`` is a `vesica.Table`, which needs no other package."""


class Options(TypedDict, total=False):
    """Arguments of every run. The command line has the same options under the same names.

    Keys:
        null_values: Values that count as empty in normalised key columns.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The field separator in a text file: comma, semicolon, tab, bar or auto.
        input_query: The query for the rows if the table is a database (``adbc:DRIVER``).
        security: The minimum security: semi-honest or malicious.
        protocol: A protocol listed by ``vesica protocols``.
        nulls: The treatment of rows without a key: skip or error.
        duplicates: The treatment of rows that repeat a key: first, error, or the number to send.
        allow_empty: Accept a table without rows.
        max_peer_rows: The maximum number of distinct keys of the other side.
        allow_research: Allow protocols that are not for real data.
        diagnose: If the other side agrees, find out why nothing matches.
        report: A file for the report, which is also written if the run fails.
        record: Under an agreement: a file for the record that both sides sign.
        ledger: Under an agreement: the ledger of all runs.
        spill: The directory for encrypted temporary files if memory is insufficient.
        resume: A journal for resuming an interrupted run. Not for tables in memory.
        bandwidth: The bandwidth of the link, in Mbit/s.
        memory: The maximum memory of this side: a text such as ``2G``, or a number of bytes.
        partitions: The minimum number of partitions in which sets are compared.
        threads: The number of threads, or 0 for one per processor.
        wait: Seconds to wait for the other side to connect.
        stall_timeout: Seconds without a message after which the connection counts as lost.
        deadline: Seconds after which a run is stopped in any case.
    """

    null_values: str | Sequence[str]
    format: str
    delimiter: str
    input_query: str
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


class RuleOptions(Options, total=False):
    """Further arguments of a run whose keys rules derive from fields.

    Keys:
        field: In place of ``key``, the fields of the rules: texts such as ``first=Vorname:name``,
            or a dictionary of names, each with its column or ``{"column": …, "normalize": …}``.
        match: In place of ``key``: rules by which rows match, the strictest first, such as
            ``first, soundex(last), dob``; or ``person``, ``person+address`` or ``ladder``.
        pad_keys: Add random keys, so that only the number of rows shows.
    """

    field: str | Sequence[str] | Mapping[str, str | Mapping[str, str]]
    match: str | Sequence[str]
    pad_keys: bool


class RowOptions(RuleOptions, total=False):
    """Further arguments of a run for rows.

    Keys:
        min_rule: Return only rows that match by this many of the first rules.
    """

    min_rule: int


class QueryOptions(RuleOptions, total=False):
    """Further arguments of a query over both tables.

    Keys:
        query_side: This side's table in the query, a or b. The default is a for the side that
            connects or invites, and b for the side that listens or accepts.
        repeated_keys: Whether this side's table may have several rows with one key.
    """

    query_side: Literal["a", "b"]
    repeated_keys: bool


class NumberOptions(RuleOptions, total=False):
    """Further arguments of runs whose answer is a number.

    Keys:
        minimum: Withhold the answer if fewer keys than this match.
        epsilon: For counts and sums: add noise that hides any single key, with this privacy loss.
        clamp: With ``epsilon``, for sums: the maximum magnitude to which a value is clamped.
        scale: The number of decimal places of the values.
    """

    minimum: int
    epsilon: float | Decimal | str
    clamp: int
    scale: int
