"""Published lists: making one, and looking a table's keys up in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vesica import _arguments as arguments
from vesica import _native
from vesica._api import canceller
from vesica._native import Identity, LookedUp
from vesica._partner import identity_of
from vesica._progress import Listener
from vesica._tables import convert, open_table
from vesica._types import ArrowStream, Kind, Path


class Lookup:
    """What a table's keys are, by a published list."""

    def __init__(self, found: LookedUp, rows: Any) -> None:
        self._found = found
        self._rows = rows

    @property
    def rows(self) -> Any:
        """The rows whose key is in the list, with its labels in further columns.

        They are in the form of the table that was given. None where they went to ``output``.
        """
        return self._rows

    @property
    def count(self) -> int:
        """How many of the keys are in the list."""
        return self._found.matches

    @property
    def keys(self) -> int:
        """How many distinct keys the table has."""
        return self._found.keys

    @property
    def written(self) -> int:
        """How many rows there are in ``rows`` or went to ``output``."""
        return self._found.written

    @property
    def unreadable(self) -> int:
        """How many of the keys in the list have labels that cannot be read, and are missing."""
        return self._found.unreadable

    @property
    def beyond_promise(self) -> bool:
        """Whether more keys were looked up than the list promises right answers for.

        Then some may be said to be in it that are not.
        """
        return self._found.beyond_promise

    def __repr__(self) -> str:
        return f"<vesica.Lookup: {self.count:,} of {self.keys:,} keys are in the list>"


def lookup(
    table: Path | ArrowStream,
    *,
    key: str | Sequence[str],
    list: Path,
    publisher: str,
    normalize: str | Sequence[str] | None = None,
    null_values: str | Sequence[str] | None = None,
    ask: str | None = None,
    token: str | None = None,
    all: bool = False,
    to: Kind | None = None,
    output: Path | None = None,
    cache: Path | None = None,
    budget: int | str = 4 << 30,
    batch: int = 1024,
    format: str | None = None,
    delimiter: str | None = None,
    query: str | None = None,
    progress: bool | None = None,
) -> Lookup:
    """Find the rows whose key is in a published list, as ``vesica lookup`` does.

    The list is downloaded the first time and brought up to date afterwards. The publisher learns
    how many rows are looked up, and neither which keys they have nor what comes of it. A lookup of
    more keys than the publisher answers at once waits, and goes on where it stopped if it is
    started again.

    Args:
        table: A frame, a table, a relation or a path, as for ``vesica.intersect``.
        key: The column of the key, or several that make it up together.
        list: Where the list is: an address such as ``https://lists.example.org/v1``, or a
            directory with a copy of it.
        publisher: The publisher's fingerprint, from the publisher over a channel that you trust.
        normalize: How keys are made comparable, which has to be as in the list.
        null_values: Values that count as empty in key columns that are normalised. A list that
            counts others is refused.
        ask: The address that answers, if it is another than the list's.
        token: The token that the publisher gave this client, if it gives any.
        all: Give all rows; those that are not in the list have no labels.
        to: What the rows come back as: polars, pandas, pyarrow, duckdb or arrow. The default is
            what the table is.
        output: A file or address for the rows, instead; in the format of the input.
        cache: The directory in which lists are kept; the default is the user's cache.
        budget: The most bytes of a list that are accepted, or such as ``4G``.
        batch: Keys in a question, at most 4,096.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The separator of fields of text: comma, semicolon, tab, bar or auto.
        query: The query for the rows, where the table is a database.
        progress: Whether to show a progress bar, as for ``vesica.intersect``.

    Returns:
        What was found, with the rows in ``rows``.

    """
    given: dict[str, Any] = {
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
        "query": query,
        "key": key,
        "normalize": normalize,
    }
    asking: dict[str, Any] = {
        # The native part tells an address from a directory.
        "list": str(arguments.path("list", list)),
        "ask": arguments.optional(arguments.text, "ask", ask),
        "publisher": arguments.text("publisher", publisher),
        "token": arguments.optional(arguments.text, "token", token),
        "cache": arguments.optional(arguments.path, "cache", cache),
        "all": arguments.flag("all", all),
        "budget": arguments.amount("budget", budget, least=1),
        "batch": arguments.whole(1, 4096)("batch", batch),
        "output": arguments.optional(arguments.path, "output", output),
    }
    options = arguments.options(given)
    opened = open_table(table, to, is_written=output is not None)
    listener = Listener(progress=progress)
    cancel = canceller.get() or _native.Cancel()
    try:
        found = _native.lookup(opened.stream, options, asking, listener, cancel)
    finally:
        listener.close()
    return Lookup(found, None if found.rows is None else convert(found.rows, opened))


def publish(
    table: Path | ArrowStream,
    *,
    key: str | Sequence[str],
    list: Path,
    identity: Identity | Path,
    normalize: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    label_bytes: int | None = None,
    name: str | None = None,
    queries: int | None = None,
    lambda_: int | None = None,
    capacity: int | None = None,
    valid: float | None = None,
    new_epoch: bool = False,
    allow_empty: bool = False,
    null_values: str | Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    query: str | None = None,
    memory: int | str | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Make a list of a table's keys that others look keys up in, or bring it up to date.

    ``vesica serve --list`` answers for it. What is in the directory ``public`` of the list is for
    everybody; ``private`` has its key and must stay secret.

    Args:
        table: A frame, a table, a relation or a path, as for ``vesica.intersect``.
        key: The column of the key, or several that make it up together.
        list: The directory of the list, which is made if there is none.
        identity: The publisher's identity, or its file: it signs the list.
        normalize: How keys are made comparable, as for ``vesica.intersect``.
        labels: Columns that those receive who ask for the key, of the first row with it.
        label_bytes: Bytes that a row's labels are padded to; the default is 64.
        name: What the list is called.
        queries: The number of keys that one client may look up in an epoch with the promise of
            right answers; the default is 4,096.
        lambda_: Any of these answers is wrong with a probability of at most 2^-lambda_; the default
            is 40.
        capacity: The most items of the list in this epoch; the default is the next power of two.
        valid: The number of hours for which the list is valid; the default is a week.
        new_epoch: Begin a new epoch, with a new key; clients then fetch all of the list.
        allow_empty: Accept a table without rows.
        null_values: Values that count as empty in key columns that are normalised.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The separator of fields of text: comma, semicolon, tab, bar or auto.
        query: The query for the rows, where the table is a database.
        memory: The most memory to use: ``2G``, or a number of bytes.
        progress: Whether to show a progress bar, as for ``vesica.intersect``.

    Returns:
        What was published: items, what was added and removed, bytes, epoch and version, the state
        of the list, and the publisher's fingerprint.

    >>> import vesica
    >>> me = vesica.Identity.create("publisher.pem")
    >>> vesica.publish("a.csv", key="email", normalize="email", list="list", identity=me)["items"]
    3

    """
    given: dict[str, Any] = {
        "list": list,
        "key": key,
        "normalize": normalize,
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
        "query": query,
        "labels": labels,
        "label_bytes": label_bytes,
        "name": name,
        "queries": queries,
        "lambda": lambda_,
        "capacity": capacity,
        "valid": valid,
        "new_epoch": new_epoch,
        "allow_empty": allow_empty,
        "memory": memory,
    }
    me = identity_of(identity)
    options = arguments.options(given)
    opened = open_table(table, "arrow")
    listener = Listener(progress=progress)
    cancel = canceller.get() or _native.Cancel()
    try:
        told = _native.publish(opened.stream, options, me, listener, cancel)
    finally:
        listener.close()
    published: dict[str, Any] = json.loads(told)
    return published
