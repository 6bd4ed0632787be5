"""The common part of `vesica.spark` and `vesica.ray`: driver, gateway and tasks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

from vesica import _native
from vesica._errors import Error, InputError, UsageError
from vesica._run import Run

log = logging.getLogger("vesica")

T = TypeVar("T")

Batches = Iterator[Any]

DIGEST = "vesica_digest"
"""A column added to rows while they are joined."""

_BYTES = 32
_ROWS = 1 << 16
"""Number of rows in a batch returned to the cluster."""


@dataclass(frozen=True)
class Link:
    """The address and token of a gateway, for any machine in the cluster."""

    address: str
    token: str = field(repr=False)
    wait: float

    @staticmethod
    def of(address: str, token: str | PathLike[str], wait: float) -> Link:
        """Take a token, or the path of its file."""
        if not isinstance(token, str) or "\n" not in token:
            fault = "it is not a text file"
            try:
                return Link(address, Path(token).read_text("ascii"), wait)
            except OSError as error:
                fault = error.strerror or type(error).__name__
            except ValueError:
                pass
            # The exception contains the path, which may be the token itself.
            raise UsageError(f"the token cannot be read: {fault}")
        return Link(address, token, wait)

    def open(self) -> _native.ClusterGateway:
        """Connect from this machine."""
        return _native.ClusterGateway(self.address, self.token, self.wait)

    def agreed(self, key: str | Sequence[str]) -> tuple[list[str], str, bool]:
        """Return the key's columns, how keys are made, and whether this side learns the result."""
        names = [key] if isinstance(key, str) else list(key)
        wanted, columns, learns = self.open().keys()
        if len(names) != columns:
            message = (
                f"the agreement compares keys of {columns} columns, and key names {len(names)}"
            )
            raise UsageError(message)
        return names, wanted, learns

    def stop(self, error: BaseException) -> None:
        """Notify the gateway that the cluster cannot continue, unless the gateway ended the run."""
        # An error of the cluster is reported only by type, because its text may contain values.
        reason = str(error) if isinstance(error, Error) else type(error).__name__
        try:
            Link(self.address, self.token, 5.0).open().stop(reason)
        except Error as unheard:
            log.debug("the gateway was not notified: %s", unheard)


@dataclass(frozen=True)
class Ended:
    """The result of a run."""

    report: str
    record: str | None
    shortfalls: list[str]


def run_of(ended: Ended, rows: Any) -> Run:
    """Log the shortfalls, and return the run."""
    for shortfall in ended.shortfalls:
        log.warning("%s", shortfall)
    return Run(cast("_native.Ended", ended), rows, ended.record)


def guarded(link: Link, cluster: str, work: Callable[[], T]) -> T:
    """Do the driver's work, and notify the gateway if it fails.

    An exception of the cluster may contain values of the table, so only its type is repeated.
    """
    try:
        return work()
    except Exception as error:
        link.stop(error)
        if isinstance(error, Error):
            raise
        fault = type(error).__name__
    except BaseException as error:
        link.stop(error)
        raise
    raise InputError(
        f"{cluster} cannot read or compare the rows: {fault}; see its logs for details"
    )


@contextmanager
def present(gateway: _native.ClusterGateway) -> Generator[None]:
    """Send heartbeats to the gateway during other work, which may take hours."""
    over = threading.Event()

    def say() -> None:
        while not over.is_set():
            try:
                was_started_again, ended = gateway.here(False)
                if was_started_again:
                    gateway.again([])
            except Error as error:
                # The driver's next request reports the error.
                log.debug("no heartbeat reached the gateway: %s", error)
                return
            if ended is not None:
                return

    saying = threading.Thread(target=say, name="vesica-present", daemon=True)
    saying.start()
    try:
        yield
    finally:
        over.set()
        saying.join()


def compare(
    link: Link,
    gateway: _native.ClusterGateway,
    slots: int,
    *,
    begin: Callable[[], None],
    task: Callable[[int], None],
    cancel: Callable[[], None],
    staged: Callable[[], None] | None = None,
) -> Ended:
    """Compare all partitions in slots, and wait until both sides are done.

    Each slot is a thread, which calls ``begin`` once and ``task`` for each partition. ``cancel``
    ends running tasks. ``staged`` is called when all results are there, before the run ends.
    """
    stop = threading.Event()
    busy: dict[int, int] = {}

    def serve(slot: int) -> None:
        try:
            begin()
            mine = link.open()
            partition = mine.next(slot)
            while partition is not None and not stop.is_set():
                busy[slot] = partition
                task(partition)
                mine.kept(slot, partition)
                del busy[slot]
                partition = mine.next(slot)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(slots, "vesica-slot") as pool:
        serving = [pool.submit(serve, slot) for slot in range(slots)]
        try:
            while not stop.is_set() and not all(future.done() for future in serving):
                was_started_again, _ = gateway.here(False)
                if was_started_again:
                    gateway.again(list(busy.items()))
            for future in serving:
                if future.done():
                    future.result()
        except BaseException as error:
            stop.set()
            link.stop(error)
            cancel()
            raise
    for future in serving:
        future.result()
    if staged is not None:
        with present(gateway):
            staged()
    while True:
        was_started_again, ended = gateway.here(True)
        if was_started_again:
            gateway.again([])
        if ended is not None:
            return Ended(*ended)


# The functions below run on the machines of the cluster.


def digesting(
    wanted: str, names: list[str], *, columns: list[str] | None = None, keep: bool = False
) -> Callable[[Batches], Batches]:
    """Make digests of keys, from ``columns`` if these have other names in the batches."""
    places = names if columns is None else columns

    def made(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        for batch in batches:
            if batch.num_rows == 0:
                continue
            table = arrow.Table.from_batches([batch]).select(places).rename_columns(names)
            digests, has = _native.cluster_digests(table, wanted, names)
            column = column_of(digests, batch.num_rows, has)
            if keep:
                fields = [*batch.columns, column]
                yield arrow.RecordBatch.from_arrays(fields, [*batch.schema.names, DIGEST])
            else:
                yield arrow.RecordBatch.from_arrays([column], ["digest"])

    return made


def sketching(wanted: str) -> Callable[[Batches], Batches]:
    def made(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        keys = b"".join(keys_of(batch.column(0)) for batch in batches)
        sketch = _native.cluster_sketch(wanted, keys)
        yield arrow.RecordBatch.from_arrays([arrow.array([sketch])], ["sketch"])

    return made


def placing(work: str) -> Callable[[Batches], Batches]:
    def made(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        for batch in batches:
            keys = keys_of(batch.column(0))
            count = len(keys) // _BYTES
            if count > 0:
                numbers = _native.cluster_partitions(work, keys)
                places = arrow.Array.from_buffers(
                    arrow.int32(), count, [None, arrow.py_buffer(numbers)]
                )
                columns = [column_of(keys, count), places]
                yield arrow.RecordBatch.from_arrays(columns, ["digest", "partition"])

    return made


def comparing(link: Link, work: str, partition: int) -> Callable[[Batches], Batches]:
    def made(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        keys = b"".join(keys_of(batch.column(0)) for batch in batches)
        found = link.open().compare(work, partition, keys)
        numbers = [None, arrow.py_buffer(found)]
        places = arrow.Array.from_buffers(arrow.uint32(), len(found) // 4, numbers)
        matched = column_of(keys, len(keys) // _BYTES).take(places)
        for start in range(0, len(matched), _ROWS):
            part = matched.slice(start, _ROWS)
            yield arrow.RecordBatch.from_arrays([part], ["digest"])

    return made


def keys_of(column: Any) -> bytes:
    """Return the keys of a column as bytes, without rows that have no key."""
    arrow: Any = import_module("pyarrow")
    keys = column.drop_null().cast(arrow.binary(_BYTES))
    start = keys.offset * _BYTES
    data: bytes = keys.buffers()[1].to_pybytes()[start : start + len(keys) * _BYTES]
    return data


def column_of(keys: bytes, count: int, has: bytes | None = None) -> Any:
    arrow: Any = import_module("pyarrow")
    kind = arrow.binary(_BYTES)
    column = arrow.Array.from_buffers(kind, count, [None, arrow.py_buffer(keys)])
    if has is not None:
        numbers = arrow.Array.from_buffers(arrow.uint8(), count, [None, arrow.py_buffer(has)])
        compute: Any = import_module("pyarrow.compute")
        column = compute.if_else(numbers.cast(arrow.bool_()), column, arrow.scalar(None, kind))
    return column.cast(arrow.binary())
