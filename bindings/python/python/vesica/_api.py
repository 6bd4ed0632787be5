"""The functions of the package: arguments in, a run or numbers out."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

from vesica import _native
from vesica._errors import UsageError
from vesica._partner import Partner
from vesica._progress import Listener
from vesica._run import Run
from vesica._tables import check_kind, convert, kind_of

if TYPE_CHECKING:
    # Type checkers have it; at run time nobody asks.
    from typing_extensions import Unpack

    from vesica._native import Identity
    from vesica._types import (
        ArrowStream,
        Key,
        Kind,
        Learns,
        NumberOptions,
        Options,
        Path,
    )

log = logging.getLogger("vesica")

canceller: ContextVar[_native.Cancel | None] = ContextVar("canceller", default=None)
"""What stops the calls of this context from another thread."""

_KEYS: dict[str, Any] = {"null_values": None, "format": None, "delimiter": "comma", "query": None}
_ASKED: dict[str, Any] = {
    "security": "semi-honest",
    "protocol": None,
    "minimum": 0,
    "epsilon": None,
    "clamp": None,
    "scale": 0,
}
_REST: dict[str, Any] = {
    "send": None,
    "send_bytes": 64,
    "receive": False,
    "align": False,
    "left": False,
    "select": None,
    "nulls": "skip",
    "duplicates": "first",
    "allow_empty": False,
    "max_peer_rows": 100_000_000,
    "allow_research": False,
    "diagnose": False,
    "output": None,
    "report": None,
    "record": None,
    "ledger": None,
    "spill": None,
    "resume": None,
    "bandwidth": None,
    "memory": None,
    "partitions": 1,
    "threads": 0,
    "wait": 300.0,
    "stall_timeout": 60.0,
    "deadline": 86400.0,
}


def _pick(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of this kind out of those that are given; None is as good as none."""
    taken = {name: given.pop(name) for name in defaults if name in given}
    return defaults | {name: value for name, value in taken.items() if value is not None}


def _names(key: Key | Sequence[Key]) -> list[list[str]]:
    """Read a key: a column, several columns, or several identifiers of several columns each."""
    if isinstance(key, str):
        return [[key]]
    if all(isinstance(part, str) for part in key):
        return [list(cast("Sequence[str]", key))]
    return [[part] if isinstance(part, str) else list(part) for part in key]


def read_keys(
    key: Key | Sequence[Key], normalize: str | Sequence[str], given: dict[str, Any]
) -> dict[str, Any]:
    """Read how a table's keys are made, of what a call was given."""
    profiles = [normalize] if isinstance(normalize, str) else list(normalize)
    return {"key": _names(key), "normalize": profiles, **_pick(_KEYS, given)}


def _asked(answer: str, learns: str | None, given: dict[str, Any]) -> dict[str, Any]:
    asked = {"answer": answer, "learns": learns, **_pick(_ASKED, given)}
    if asked["epsilon"] is not None:
        asked["epsilon"] = str(asked["epsilon"])
    return asked


def _rest(given: dict[str, Any]) -> dict[str, Any]:
    rest = {**_pick(_REST, given), "send_rows": 1}
    if isinstance(rest["duplicates"], int):
        rest |= {"duplicates": "all", "send_rows": rest["duplicates"]}
    if given:
        raise TypeError(f"unexpected options: {', '.join(sorted(given))}")
    return rest


def _run(
    answer: str,
    table: Path | ArrowStream,
    partner: Partner | Path,
    identity: Identity | Path | None,
    *,
    key: Key | Sequence[Key],
    normalize: str | Sequence[str],
    learns: Learns | None,
    to: Kind | None = None,
    progress: bool | None = None,
    **given: Any,
) -> Run:
    kind = to or kind_of(table)
    check_kind(kind)
    if not isinstance(partner, Partner):
        partner = Partner(agreement=partner)
    keys, asked, rest = (
        read_keys(key, normalize, given),
        _asked(answer, learns, given),
        _rest(given),
    )
    other = partner._native(identity)  # pyright: ignore[reportPrivateUsage]
    listener = Listener(progress=progress)
    cancel = canceller.get() or _native.Cancel()
    with tempfile.TemporaryDirectory(prefix="vesica-") as scratch:
        if partner._is_agreed and rest["record"] is None:  # pyright: ignore[reportPrivateUsage]
            rest["record"] = FilePath(scratch) / "record.json"
        try:
            ended = _native.run(table, keys, (asked, rest), other, listener, cancel)
        finally:
            listener.close()
        record = FilePath(rest["record"]) if rest["record"] else None
        signed = record.read_text("utf-8") if record and record.exists() else None
    for shortfall in ended.shortfalls:
        log.warning("%s", shortfall)
    rows = None if ended.rows is None else convert(ended.rows, kind)
    return Run(ended, rows, signed)


def intersect(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key],
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] = "none",
    send: Sequence[str] | None = None,
    receive: bool = False,
    send_bytes: int = 64,
    join: str = "inner",
    align: bool = False,
    select: Sequence[str] | None = None,
    to: Kind | None = None,
    output: Path | None = None,
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Run:
    """Find the rows whose keys the other side has too.

    The other side calls this as well, or runs ``vesica run``, with a table and columns of its own.

    Args:
        table: A frame, a table or a relation of Polars, pandas, PyArrow or DuckDB; or the path of
            a file, an address such as ``s3://bucket/table.parquet``, or ``adbc:DRIVER#TABLE``.
        key: The column of the key; several that make it up together; or a list of such lists,
            where a row matches if any of its identifiers does.
        partner: The other side, or the file of an agreement with it.
        identity: This side's identity, or its file.
        learns: Who learns the result: me, peer, both or nobody. An agreement settles it.
        normalize: How keys are made comparable: one profile for all columns, or one each, such as
            ``email``, ``phone:DE``, ``date:%d.%m.%Y``, ``name``, ``trim``; docs/keys.md has all.
        send: Columns of matching rows that the other side receives.
        receive: Add the columns that the other side sends.
        send_bytes: Bytes that the values of a row are padded to, with ``send``.
        join: With ``receive``: ``inner``, or ``left`` to keep rows that match nothing.
        align: Put the matched rows of both sides into one order, numbered.
        select: The columns of matched rows that are wanted, in this order.
        to: What the rows come back as: polars, pandas, pyarrow, duckdb or arrow. The default is
            what the table is.
        output: A file or address for the rows, instead; in the format of the input.
        progress: Whether to show a progress bar, for which tqdm must be installed; the default is
            to show one on a terminal and in a notebook.
        **options: See ``vesica.Options``.

    Returns:
        A run, with the matched rows in ``rows``.

    >>> import polars as pl, vesica
    >>> table = pl.DataFrame({"email": ["Ann@example.org", "bob@example.org"], "id": [1, 2]})
    >>> run = vesica.intersect(table, key="email", normalize="email", learns="both",
    ...                        partner=partner, identity=me)
    >>> run.rows["id"].to_list()
    [2]

    """
    if join not in ("inner", "left"):
        raise UsageError(f"join is inner or left, not `{join}`")
    return _run(
        "rows",
        table,
        partner,
        identity,
        key=key,
        normalize=normalize,
        learns=learns,
        to=to,
        progress=progress,
        send=None if send is None else list(send),
        receive=receive,
        send_bytes=send_bytes,
        left=join == "left",
        align=align,
        select=None if select is None else list(select),
        output=output,
        **options,
    )


def count(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key],
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] = "none",
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Find how many keys both sides have, and not which.

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
    key: Key | Sequence[Key],
    partner: Partner | Path,
    values: str | None = None,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] = "none",
    progress: bool | None = None,
    **options: Unpack[NumberOptions],
) -> Run:
    """Add up one side's values over the keys that both sides have.

    The side that brings the values names their column; the other side leaves it out. With
    ``scale=2`` a value may be 12.50.

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
    normalize: str | Sequence[str] = "none",
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
    key: Key | Sequence[Key],
    partner: Partner | Path,
    identity: Identity | Path | None = None,
    learns: Learns | None = None,
    normalize: str | Sequence[str] = "none",
    progress: bool | None = None,
    **options: Unpack[Options],
) -> Run:
    """Find whether both sides have so many keys in common, and nothing more.

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


def check(
    table: Path | ArrowStream,
    *,
    key: Key | Sequence[Key],
    normalize: str | Sequence[str] = "none",
    null_values: Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str = "comma",
    query: str | None = None,
) -> dict[str, Any]:
    """Count rows, empty and repeated keys of a table, and warn of weaknesses; nobody else is asked.

    >>> import vesica
    >>> vesica.check("a.csv", key="email")["rows"]["read"]
    3
    """
    given: dict[str, Any] = {
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
        "query": query,
    }
    found: dict[str, Any] = json.loads(_native.check(table, read_keys(key, normalize, given)))
    return found


def plan(
    mine: int,
    theirs: int,
    *,
    runs: int = 1,
    learns: Learns = "me",
    answer: str = "rows",
    security: str = "semi-honest",
    minimum: int = 0,
    bandwidth: int | None = None,
    round_trip: float = 0.02,
    memory: int | None = None,
) -> dict[str, Any]:
    """Predict what a run takes with each protocol, and name the one that would be chosen.

    Sizes are numbers of distinct keys, ``bandwidth`` is in bits per second, ``round_trip`` in
    seconds, and ``memory`` in bytes. Where the side that learns has fewer keys, ``published_list``
    says what a list takes instead that is asked as often as ``runs`` says.

    >>> import vesica
    >>> vesica.plan(1_000_000, 1_000_000)["protocol"]
    'rr22'
    """
    asked = _asked(answer, learns, {"security": security, "minimum": minimum})
    planned: dict[str, Any] = json.loads(
        _native.plan((mine, theirs, runs), asked, (bandwidth, round_trip, memory))
    )
    return planned
