"""Published lists: publishing one, and looking up a table's keys."""

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
    """The result of a lookup in a published list."""

    def __init__(self, found: LookedUp, rows: Any) -> None:
        self._found = found
        self._rows = rows

    @property
    def rows(self) -> Any:
        """The rows whose key is in the list, with its labels in further columns.

        They have the type of the given table. None if they were written to ``output``.
        """
        return self._rows

    @property
    def count(self) -> int:
        """The number of keys that are in the list."""
        return self._found.matches

    @property
    def keys(self) -> int:
        """The number of distinct keys in the table."""
        return self._found.keys

    @property
    def written(self) -> int:
        """The number of rows in ``rows`` or in ``output``."""
        return self._found.written

    @property
    def unreadable(self) -> int:
        """The number of keys in the list whose labels cannot be read and count as missing."""
        return self._found.unreadable

    @property
    def beyond_promise(self) -> bool:
        """Whether more keys were looked up than the list bounds wrong answers for.

        Some of the matches may then be wrong.
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
    input_query: str | None = None,
    progress: bool | None = None,
) -> Lookup:
    """Find the rows whose key is in a published list, as ``vesica lookup`` does.

    The list is downloaded the first time and updated afterwards. The publisher learns the number of
    rows, and neither their keys nor the result. A lookup of more keys than the publisher answers at
    once waits in between, and resumes if it is interrupted and started again.

    Args:
        table: A frame, a table, a relation or a path, as for ``vesica.intersect``.
        key: The column of the key, or a list of columns that together form the key.
        list: The origin of the list: an address such as ``https://lists.example.org/v1``, or a
            directory with a copy of it.
        publisher: The publisher's fingerprint, obtained over a channel that you trust.
        normalize: The normalisation of keys, which must be the list's.
        null_values: Values that count as empty in normalised key columns. A list with different
            ones is refused.
        ask: The address that answers questions, if it differs from the list's.
        token: The token that the publisher gave this client, if it requires one.
        all: Return all rows. Those that are not in the list have no labels.
        to: The type of the returned rows: polars, pandas, pyarrow, duckdb or arrow. By default,
            the type of the table.
        output: A file or address to write the rows to in the input's format, instead of returning
            them.
        cache: The directory that stores lists. By default, the user's cache.
        budget: The maximum size of the list in bytes, or a text such as ``4G``.
        batch: The number of keys in a question, at most 4,096.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The field separator in a text file: comma, semicolon, tab, bar or auto.
        input_query: The query for the rows if the table is a database.
        progress: Whether to show a progress bar, as for ``vesica.intersect``.

    Returns:
        The result, with the rows in ``rows``.

    """
    given: dict[str, Any] = {
        "null_values": null_values,
        "format": format,
        "delimiter": delimiter,
        "input_query": input_query,
        "key": key,
        "normalize": normalize,
        # The native part distinguishes an address from a directory.
        "list": str(arguments.path("list", list)),
        "ask": ask,
        "publisher": publisher,
        "cache": cache,
        "all": all,
        "budget": budget,
        "batch": batch,
        "output": output,
    }
    token = arguments.optional(arguments.text, "token", token)
    options = arguments.options(given)
    opened = open_table(table, to, is_written=output is not None)
    listener = Listener(progress=progress)
    cancel = canceller.get() or _native.Cancel()
    try:
        found = _native.lookup(opened.stream, options, token, listener, cancel)
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
    input_query: str | None = None,
    memory: int | str | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Create or update a published list of a table's keys, which others can query privately.

    ``vesica serve-list`` answers the queries. The list's directory ``public`` is for everybody,
    and ``private`` contains the key and must stay secret.

    Args:
        table: A frame, a table, a relation or a path, as for ``vesica.intersect``.
        key: The column of the key, or a list of columns that together form the key.
        list: The directory of the list, which is created if it does not exist.
        identity: The publisher's identity, or its file, which signs the list.
        normalize: The normalisation of keys, as for ``vesica.intersect``.
        labels: Columns that a client receives with a key it asks for, from the first row with it.
        label_bytes: The number of bytes to which a row's labels are padded. By default, 64.
        name: The name of the list.
        queries: The number of lookups per client and epoch for which ``lambda_`` bounds wrong
            answers. By default, 4,096.
        lambda_: Bounds the probability of any wrong answer among these lookups to 2^-lambda_. By
            default, 40.
        capacity: The maximum number of items in this epoch. By default, the next power of two.
        valid: The number of hours for which the list is valid. By default, a week.
        new_epoch: Begin a new epoch with a new key. Clients then download the whole list again.
        allow_empty: Accept a table without rows.
        null_values: Values that count as empty in normalised key columns.
        format: The format of a file: csv, ndjson, parquet, arrow or arrow-stream.
        delimiter: The field separator in a text file: comma, semicolon, tab, bar or auto.
        input_query: The query for the rows if the table is a database.
        memory: The maximum memory: a text such as ``2G``, or a number of bytes.
        progress: Whether to show a progress bar, as for ``vesica.intersect``.

    Returns:
        The number of items, the numbers of items added and removed, the size in bytes, the epoch
        and version, the state of the list, and the publisher's fingerprint.

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
        "input_query": input_query,
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
