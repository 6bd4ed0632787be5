"""The package's functions for runs, checks and plans."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path as FilePath
from typing import Any, Literal

from vesica import _arguments as arguments
from vesica import _native
from vesica._native import Identity
from vesica._partner import Partner
from vesica._progress import Listener
from vesica._run import Run
from vesica._tables import Opened, convert, open_table, refuse_floats
from vesica._types import (
    ArrowStream,
    Key,
    Kind,
    Learns,
    NumberOptions,
    Path,
    QueryOptions,
    RowOptions,
    RuleOptions,
    Unpack,
)

log = logging.getLogger("vesica")

canceller: ContextVar[_native.Cancel | None] = ContextVar("canceller", default=None)
"""Stops the calls of this context from another thread."""


_OPTIONS = (
    NumberOptions.__optional_keys__ | QueryOptions.__optional_keys__ | RowOptions.__optional_keys__
) | {
    "query",
    "column",
    "send",
    "receive",
    "send_bytes",
    "join",
    "align",
    "select",
    "output",
}


def _run(
    answer: str | None,
    table: Path | ArrowStream,
    partner: Partner | Path,
    identity: Identity | Path | None,
    **given: Any,
) -> Run:
    if not isinstance(partner, Partner):
        partner = Partner(agreement=partner)
    with partner._held():  # pyright: ignore[reportPrivateUsage]
        return _run_with(answer, table, partner, identity, **given)


def _run_with(
    answer: str | None,
    table: Path | ArrowStream,
    partner: Partner,
    identity: Identity | Path | None,
    *,
    key: Key | Sequence[Key] | None,
    normalize: str | Sequence[str] | None,
    learns: Learns | None,
    to: Kind | None = None,
    progress: bool | None = None,
    **given: Any,
) -> Run:
    unknown = sorted(given.keys() - _OPTIONS)
    if unknown:
        raise TypeError(f"unexpected options: {', '.join(unknown)}")
    here = {"answer": answer, "key": key, "normalize": normalize, "learns": learns, **given}
    there, me, local = partner._native(identity)  # pyright: ignore[reportPrivateUsage]
    options = arguments.options({**here, **there})
    opened = open_table(table, to, is_written="output" in options)
    kind, _, column = (answer or "").partition(":")
    if kind in ("sum", "products", "shares") and column:
        refuse_floats(opened, column)
    select = options.get("select")
    if select is not None and "output" not in options and opened.kind == "pandas":
        select = arguments.names("select", select)
        options["select"] = select + [name for name in opened.index if name not in select]
    listener = Listener(progress=progress)
    cancel = canceller.get() or _native.Cancel()
    with tempfile.TemporaryDirectory(prefix="vesica-") as scratch:
        if "agreement" in options:
            options.setdefault("record", FilePath(scratch) / "record.json")
        try:
            ended = _native.run(opened.stream, options, me, local, listener, cancel)
        finally:
            listener.close()
        record = FilePath(options["record"]) if "record" in options else None
        signed = record.read_text("utf-8") if record and record.exists() else None
    for shortfall in ended.shortfalls:
        log.warning("%s", shortfall)
    # The columns of an answer are not the table's.
    shape = (
        opened if given.get("query") is None else Opened(opened.stream, opened.kind, opened.table)
    )
    rows = None if ended.rows is None else convert(ended.rows, shape)
    return Run(ended, rows, signed)


def intersect(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    send: str | Sequence[str] | None = None,
    receive: bool | None = None,
    send_bytes: int | None = None,
    join: Literal["inner", "left"] | None = None,
    align: bool | None = None,
    select: str | Sequence[str] | None = None,
    to: Kind | None = None,
    output: Path | None = None,
    progress: bool | None = None,
    **options: Unpack[RowOptions],
) -> Run:
    """Find the rows whose keys the other side has too.

    The other side calls this function, too, or runs ``vesica run``, with its own table and columns.

    Args:
        table: A frame, table or relation of Polars, pandas, PyArrow or DuckDB; the path of a file;
            an address such as ``s3://bucket/table.parquet``; or ``adbc:DRIVER#TABLE``.
        key: The column of the key, a list of columns that together form the key, or a list of such
            lists. In the last case a row matches if any of its identifiers matches. Rules in its
            place (``match`` and ``field``) find rows that are written differently.
        partner: The other side, or the file of an agreement with it.
        identity: This side's identity, or its file.
        learns: The side that learns the result: me, peer, both or nobody. Omit it if there is an
            agreement, which settles it.
        normalize: The normalisation of keys: one profile for all columns, or one for each, such as
            ``email``, ``phone:DE``, ``date:%d.%m.%Y``, ``name`` or ``trim``. All profiles are in
            docs/guides/keys.md.
        send: Columns of matching rows that the other side receives.
        receive: Add the columns that the other side sends.
        send_bytes: With ``send``: the number of bytes to which a row's values are padded.
        join: With ``receive``: ``inner``, or ``left`` to keep rows without a match.
        align: Sort and number the matched rows in the same way on both sides.
        select: The columns of the matched rows to return, in this order.
        to: The type of the returned rows: polars, pandas, pyarrow, duckdb or arrow. By default,
            the type of the table.
        output: A file or address to write the rows to in the input's format, instead of returning
            them.
        progress: Whether to show a progress bar, which requires tqdm. By default, one is shown on
            a terminal and in a notebook.
        **options: See ``vesica.Options``, ``vesica.RuleOptions`` and
            ``vesica.RowOptions``.

    Returns:
        The run, with the matched rows in ``rows``.

    >>> import polars as pl, vesica
    >>> table = pl.DataFrame({"email": ["Ann@example.org", "bob@example.org"], "id": [1, 2]})
    >>> run = vesica.intersect(table, key="email", normalize="email", learns="both",
    ...                        partner=partner, identity=me)
    >>> run.rows["id"].to_list()
    [2]

    """
    return _run(
        None,
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        to=to,
        progress=progress,
        send=send,
        receive=receive,
        send_bytes=send_bytes,
        join=join,
        align=align,
        select=select,
        output=output,
        **options,
    )


def linked(
    table: Path | ArrowStream,
    *,
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    select: str | Sequence[str] | None = None,
    to: Kind | None = None,
    output: Path | None = None,
    progress: bool | None = None,
    **options: Unpack[RuleOptions],
) -> Run:
    """Find the rows that match by rules, without the rules.

    One side learns: its matched rows are in ``rows`` of the result, and their number, where equal
    rows are one, in ``value``. Other arguments are as for `intersect`. The rules are ``match`` and
    ``field`` of ``vesica.RuleOptions``.

    >>> run = vesica.linked(people, field=["last=Nachname:name", "dob=Geburtstag:date:%d.%m.%Y"],
    ...                     match=["last, dob", "soundex(last), dob"], learns="me",
    ...                     partner=partner, identity=me)  # doctest: +SKIP
    >>> run.rows  # doctest: +SKIP
    """
    return _run(
        "linked",
        table,
        partner,
        identity,
        key=None,
        normalize=None,
        learns=learns,
        to=to,
        progress=progress,
        select=select,
        output=output,
        **options,
    )


def count(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Count the keys that both sides have, without revealing them.

    >>> import vesica
    >>> vesica.count("a.csv", key="email", learns="both", partner=partner, identity=me).value
    2
    """
    return _run(
        "count",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        progress=progress,
        **options,
    )


def sum(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    values: str | None = None,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Add up one side's values over the keys that both sides have.

    The side with the values names their column, and the other side omits it. With ``scale=2``, a
    value may be 12.50.

    >>> import vesica
    >>> vesica.sum("a.csv", key="email", values="spent", learns="both", partner=partner,
    ...            identity=me).value
    50
    """
    return _run(
        "sum" if values is None else f"sum:{values}",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        progress=progress,
        **options,
    )


def products(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key],
    partner: Partner | Path,
    values: str,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Add up the products of both sides' values over the keys that both sides have.

    >>> import vesica
    >>> vesica.products("a.csv", key="email", values="spent", learns="both", partner=partner,
    ...                 identity=me).value
    110
    """
    return _run(
        f"products:{values}",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        progress=progress,
        **options,
    )


def threshold(
    table: Path | ArrowStream,
    *,
    at_least: int,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[RuleOptions],
) -> Run:
    """Find whether the sides share at least ``at_least`` keys, and nothing more.

    >>> import vesica
    >>> vesica.threshold("a.csv", at_least=3, key="email", learns="both", partner=partner,
    ...                  identity=me).value
    False
    """
    return _run(
        f"threshold:{at_least}",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        progress=progress,
        **options,
    )


def shares(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    output: Path,
    values: str | None = None,
    identity: Identity | Path | None = None,
    normalize: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Write secret shares of the keys that both sides have, which reveal nothing to either side.

    They are the input of a later joint computation. Their format is in docs/reference/shares.md. A
    side may name a column of ``values``.

    >>> import vesica
    >>> run = vesica.shares("a.csv", key="email", values="spent", output="a.shares",
    ...                     partner=partner, identity=me)
    >>> run.count is None
    True
    """
    if not isinstance(partner, Partner):
        partner = Partner(agreement=partner)
    is_agreed = partner._is_agreed  # pyright: ignore[reportPrivateUsage]
    return _run(
        "shares" if values is None else f"shares:{values}",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=None if is_agreed else "nobody",
        progress=progress,
        output=output,
        **options,
    )


def query(
    table: Path | ArrowStream,
    query: str | None = None,
    *,
    key: Key | Sequence[Key] | None = None,
    partner: Partner | Path,
    columns: str | Sequence[str] | None = None,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] | None = None,
    to: Kind | None = None,
    output: Path | None = None,
    progress: bool | None = None,
    **options: Unpack[QueryOptions],
) -> Run:
    """Answer a query over both tables, without revealing which keys match.

    The other side calls this function, too, or runs ``vesica run``, with the same text. The rows of
    the answer are in ``rows`` of the result, on a side that learns. The language is in
    docs/guides/queries.md.

    Args:
        table: As for `intersect`.
        query: The query, such as ``SELECT b.city, count(*), sum(a.spend) FROM a JOIN b USING (key)
            GROUP BY b.city HAVING count(*) >= 50``. Omit it if there is an agreement, which has it.
        key: The column of the key, or a list of columns that together form the key; or rules in
            its place.
        partner: The other side, or the file of an agreement with it.
        columns: The columns of this side that the query uses, with their types, as in
            ``spend:decimal(2)`` or ``city:label<=64``. Omit them if there is an agreement.
        identity: This side's identity, or its file.
        learns: The side that learns the answer: me, peer or both. Omit it if there is an agreement.
        normalize: The normalisation of keys, as for `intersect`.
        to: The type of the returned rows, as for `intersect`.
        output: A file for the answer instead of ``rows``, in the format that its name promises.
        progress: Whether to show a progress bar, as for `intersect`.
        options: Further options.

    Returns:
        The result.

    """
    return _run(
        None,
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        to=to,
        progress=progress,
        query=query,
        column=columns,
        output=output,
        **options,
    )


def check(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key] | None = None,
    field: Sequence[str] | Mapping[str, str | Mapping[str, str]] | None = None,
    match: str | Sequence[str] | None = None,
    normalize: str | Sequence[str] | None = None,
    null_values: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    input_query: str | None = None,
) -> dict[str, Any]:
    """Count rows, empty keys and repeated keys of a table, and warn of weaknesses, locally.

    >>> import vesica
    >>> vesica.check("a.csv", key="email")["rows"]["read"]
    3
    """
    given: dict[str, Any] = {
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
        "input_query": input_query,
        "key": key,
        "field": field,
        "match": match,
        "normalize": normalize,
    }
    opened = open_table(table, "arrow")
    found: dict[str, Any] = json.loads(_native.check(opened.stream, arguments.options(given)))
    return found


def match_quality(
    table: Path | ArrowStream,
    other: Path | ArrowStream | None = None,
    *,
    truth: str,
    field: str | Sequence[str] | Mapping[str, str | Mapping[str, str]],
    match: str | Sequence[str],
    their_truth: str | None = None,
    their_field: str | Sequence[str] | Mapping[str, str | Mapping[str, str]] | None = None,
    null_values: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
) -> dict[str, Any]:
    """Judge rules on tables in which it is known which rows are of one person, locally.

    Recall and precision of each rule are under ``rules``: ``alone``, and ``so_far`` with the rules
    before it; ``greedy`` has the rules in the order in which each adds most. Each share has the
    ends of its interval, ``low`` and ``high``. docs/guides/linkage.md explains the numbers.

    Args:
        table: The table whose rows are to be found, as for `intersect`.
        other: The other table. Without it, the first row of each person in ``table`` is compared
            with the others.
        truth: The column that names the person of each row.
        field: The fields of the rules, as in ``vesica.RuleOptions``.
        match: The rules, the strictest first, or the name of a list of rules.
        their_truth: The column of ``other`` that names the person, if it differs.
        their_field: The fields whose columns in ``other`` differ.
        null_values: Values that count as empty.
        format: The format of both tables, if their names do not show it.
        delimiter: The field separator of both tables.

    Returns:
        The numbers.

    >>> import polars as pl, vesica
    >>> table = pl.DataFrame({"id": [1, 1, 2], "given": ["Ann", "Anne", "Bob"]})
    >>> found = vesica.match_quality(table, truth="id", field="first=given:name",
    ...                              match=["first", "left(first, 3)"])
    >>> found["rules"][1]["so_far"]["recall"]["share"]
    1.0

    """
    given: dict[str, Any] = {
        "truth": truth,
        "field": field,
        "match": match,
        "their_truth": their_truth,
        "their_field": their_field,
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
    }
    first = open_table(table, "arrow").stream
    second = None if other is None else open_table(other, "arrow").stream
    found: dict[str, Any] = json.loads(
        _native.match_quality(first, second, arguments.options(given))
    )
    return found


def plan(
    mine: int,
    theirs: int,
    *,
    runs: int = 1,
    learns: Learns = "me",
    answer: str | None = None,
    security: str | None = None,
    minimum: int | None = None,
    bandwidth: float | None = None,
    round_trip: float = 20,
    memory: int | str | None = None,
) -> dict[str, Any]:
    """Predict the cost of a run with each protocol, and name the one that would be chosen.

    Sizes are numbers of distinct keys, ``bandwidth`` is in Mbit/s, ``round_trip`` in milliseconds,
    and ``memory`` in bytes or a text such as ``2G``. If the side that learns has fewer keys,
    ``published_list`` predicts the cost of a published list that is queried ``runs`` times.

    >>> import vesica
    >>> vesica.plan(1_000_000, 1_000_000)["protocol"]
    'rr22'
    """
    given: dict[str, Any] = {
        "learns": learns,
        "answer": answer,
        "security": security,
        "minimum": minimum,
        "bandwidth": bandwidth,
        "memory": memory,
    }
    size = arguments.whole(0)
    sizes = (size("mine", mine), size("theirs", theirs), arguments.whole(1)("runs", runs))
    delay = arguments.milliseconds("round_trip", round_trip)
    planned: dict[str, Any] = json.loads(_native.plan(arguments.options(given), *sizes, delay))
    return planned
