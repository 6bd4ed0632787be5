"""Runs on a Spark cluster, for tables that one machine does not hold.

    run = vesica.spark.intersect(frame, key="email", gateway="gateway.example.org:7790",
                                 token="acme.token", scratch="s3a://bucket/scratch")
    run.rows.write.parquet("s3a://bucket/shared")

The gateway is ``vesica gateway``, which takes part in the run for this side and settles everything
that the agreement says. Executors dial it and nobody else. The other side has a gateway and a
cluster of its own, or runs ``vesica run`` on one machine. The package must be installed on all
executors; docs/spark.md says how.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vesica import _native
from vesica._errors import Error, UsageError
from vesica._run import Run

if TYPE_CHECKING:
    from vesica._native import Ended

log = logging.getLogger("vesica")

Batches = Iterator[Any]

_DIGEST = "vesica_digest"
_BYTES = 32
_ROWS = 1 << 16
"""Rows of a batch that goes back to Spark."""


def intersect(
    frame: Any,
    *,
    key: str | Sequence[str],
    gateway: str,
    token: str | PathLike[str],
    scratch: str,
    slots: int | None = None,
    wait: float = 300.0,
) -> Run:
    """Find the rows of a Spark frame whose keys the other side has too.

    Rows stay where they are: the driver gets counts alone. Each partition of the keys is compared
    by one task, and what it finds is written to ``scratch``.

    Args:
        frame: The frame.
        key: The column of the key, or several that make it up together. How they are normalised,
            and who learns the result, is in the agreement that the gateway has.
        gateway: Where executors and the driver reach this side's gateway, as ``host:port``.
        token: The file with the gateway's token, or its text.
        scratch: A directory that the driver and all executors can read and write, such as
            ``hdfs:///tmp/vesica``. It holds digests of keys while the run lasts, and those of
            keys that match for as long as ``rows`` is used.
        slots: Partitions that are compared at a time; the default is what Spark says of its cores.
        wait: Seconds for which to go on asking a gateway that does not answer, such as one that is
            being started again.

    Returns:
        A run. Its ``rows`` are a frame of the matched rows, which reads ``frame`` again; None where
        this side does not learn them.

    """
    names = [key] if isinstance(key, str) else list(key)
    spark = frame.sparkSession
    link = _Link(gateway, _text(token), wait)
    asked = link.open()
    wanted, columns, learns = asked.keys()
    if len(names) != columns:
        message = f"the agreement compares keys of {columns} columns, and key names {len(names)}"
        raise UsageError(message)
    folder = f"{scratch.rstrip('/')}/vesica-{uuid.uuid4().hex}"
    try:
        run = _Job(spark, link, wanted, folder).run(frame, names, slots)
    except BaseException as error:
        # The gateway tells the other side; if it ended the run itself, it knows.
        _stop(link, error)
        raise
    ended, matched = run
    rows = _matching(frame, names, wanted, matched) if learns else None
    for shortfall in ended.shortfalls:
        log.warning("%s", shortfall)
    return Run(cast("Ended", ended), rows, ended.record)


def _stop(link: _Link, error: BaseException) -> None:
    # Only the kind of a fault of Spark is told: its text may hold values.
    reason = str(error) if isinstance(error, Error) else type(error).__name__
    try:
        _Link(link.address, link.token, 5.0).open().stop(reason)
    except Error as unheard:
        log.debug("the gateway was not told: %s", unheard)


def _text(token: str | PathLike[str]) -> str:
    if isinstance(token, str) and "\n" in token:
        return token
    try:
        return Path(token).read_text("ascii")
    except OSError as error:
        raise UsageError(f"the token cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class _Link:
    """How a gateway is reached, from anywhere in the cluster."""

    address: str
    token: str
    wait: float

    def open(self) -> _native.ClusterGateway:
        return _native.ClusterGateway(self.address, self.token, self.wait)


@dataclass(frozen=True)
class _Ended:
    report: str
    record: str | None
    shortfalls: list[str]


class _Job:
    """The driver's part."""

    def __init__(self, spark: Any, link: _Link, wanted: str, folder: str) -> None:
        self._spark = spark
        self._link = link
        self._wanted = wanted
        self._folder = folder
        self._sql: Any = import_module("pyspark.sql.functions")

    def run(self, frame: Any, names: list[str], slots: int | None) -> tuple[_Ended, Any]:
        counts, sketches = self._count(frame, names)
        link = self._link.open()
        work, name, partitions, done = link.work(counts, sketches)
        # A run that goes on finds what was written before.
        base = f"{self._folder.rpartition('/')[0]}/vesica-{name}"
        log.info("comparing %d partitions, of which %d are done", partitions, done)
        self._sort(work, partitions, base)
        self._empty(f"{self._folder}/keys", "digest binary, rows long")
        count = max(1, min(slots or self._cores(), partitions))
        ended = self._compare(link, work, base, count)
        self._empty(f"{base}/partitions", "digest binary")
        matched = self._spark.read.schema("digest binary, partition int")
        return ended, matched.parquet(f"{base}/matched").select("digest")

    def _count(self, frame: Any, names: list[str]) -> tuple[list[int], list[str]]:
        """Write each distinct digest once, and count."""
        path, sql = f"{self._folder}/keys", self._sql
        keys = frame.select(*names).mapInArrow(_digesting(self._wanted, names), "digest binary")
        keys = keys.groupBy("digest").agg(sql.count("*").alias("rows"))
        keys.write.mode("overwrite").parquet(path)
        keys = self._keys()
        null = sql.when(sql.col("digest").isNull(), sql.col("rows"))
        counts = keys.agg(sql.sum("rows"), sql.sum(null), sql.count("digest")).first()
        sketching = keys.select("digest").mapInArrow(_sketching(self._wanted), "sketch string")
        return [count or 0 for count in counts], [row[0] for row in sketching.collect()]

    def _keys(self) -> Any:
        read = self._spark.read.schema("digest binary, rows long")
        return read.parquet(f"{self._folder}/keys")

    def _sort(self, work: str, partitions: int, base: str) -> None:
        """Write the keys of each partition to a directory of its own."""
        shape = "digest binary, partition int"
        keys = self._keys().select("digest").mapInArrow(_placing(work), shape)
        # One row without a key each, so that there is a directory of an empty partition too.
        number = self._sql.col("id").cast("int").alias("partition")
        nothing = self._sql.lit(None).cast("binary").alias("digest")
        keys = keys.union(self._spark.range(partitions).select(nothing, number))
        keys = keys.repartition(partitions, "partition").write.partitionBy("partition")
        keys.mode("overwrite").parquet(f"{base}/partitions")

    def _compare(self, link: _native.ClusterGateway, work: str, base: str, slots: int) -> _Ended:
        """Serve slots until all partitions are done, and wait for both sides to have everything."""
        stop = threading.Event()
        context = self._context()
        group = f"vesica-{uuid.uuid4().hex}"
        busy: dict[int, int] = {}

        def serve(slot: int) -> None:
            try:
                if context is not None:
                    context.setJobGroup(group, "vesica: comparing partitions", True)
                mine = self._link.open()
                partition = mine.next(slot)
                while partition is not None and not stop.is_set():
                    busy[slot] = partition
                    self._task(work, base, partition)
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
                    was_started_again, _ = link.here(False)
                    if was_started_again:
                        link.again(list(busy.items()))
                for future in serving:
                    if future.done():
                        future.result()
            except BaseException as error:
                stop.set()
                _stop(self._link, error)
                if context is not None:
                    context.cancelJobGroup(group)
                raise
        for future in serving:
            future.result()
        while True:
            was_started_again, ended = link.here(True)
            if was_started_again:
                link.again([])
            if ended is not None:
                return _Ended(*ended)

    def _task(self, work: str, base: str, partition: int) -> None:
        place = f"partition={partition}"
        keys = self._spark.read.schema("digest binary").parquet(f"{base}/partitions/{place}")
        found = keys.coalesce(1).mapInArrow(
            _comparing(self._link, work, partition), "digest binary"
        )
        found.write.mode("overwrite").parquet(f"{base}/matched/{place}")

    def _context(self) -> Any:
        try:
            return self._spark.sparkContext
        except Exception:  # Spark Connect has none.
            return None

    def _cores(self) -> int:
        context = self._context()
        return 4 if context is None else int(context.defaultParallelism)

    def _empty(self, path: str, schema: str) -> None:
        self._spark.createDataFrame([], schema).write.mode("overwrite").parquet(path)


def _matching(frame: Any, names: list[str], wanted: str, matched: Any) -> Any:
    types: Any = import_module("pyspark.sql.types")
    digest = types.StructField(_DIGEST, types.BinaryType())
    schema = types.StructType([*frame.schema.fields, digest])
    rows = frame.mapInArrow(_digesting(wanted, names, keep=True), schema)
    matched = matched.withColumnRenamed("digest", _DIGEST)
    return rows.join(matched, _DIGEST, "left_semi").select(*_quoted(frame.columns))


def _quoted(columns: Sequence[str]) -> list[str]:
    return ["`" + column.replace("`", "``") + "`" for column in columns]


# What follows runs on executors.


def _digesting(
    wanted: str, names: list[str], *, keep: bool = False
) -> Callable[[Batches], Batches]:
    def digesting(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        for batch in batches:
            if batch.num_rows == 0:
                continue
            table = arrow.Table.from_batches([batch]).select(names)
            digests, has = _native.cluster_digests(table, wanted, names)
            column = _column(digests, batch.num_rows, has)
            if keep:
                fields = [*batch.columns, column]
                yield arrow.RecordBatch.from_arrays(fields, [*batch.schema.names, _DIGEST])
            else:
                yield arrow.RecordBatch.from_arrays([column], ["digest"])

    return digesting


def _sketching(wanted: str) -> Callable[[Batches], Batches]:
    def sketching(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        keys = b"".join(_keys_of(batch.column(0)) for batch in batches)
        sketch = _native.cluster_sketch(wanted, keys)
        yield arrow.RecordBatch.from_arrays([arrow.array([sketch])], ["sketch"])

    return sketching


def _placing(work: str) -> Callable[[Batches], Batches]:
    def placing(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        for batch in batches:
            keys = _keys_of(batch.column(0))
            count = len(keys) // _BYTES
            if count > 0:
                numbers = _native.cluster_partitions(work, keys)
                places = arrow.Array.from_buffers(
                    arrow.int32(), count, [None, arrow.py_buffer(numbers)]
                )
                columns = [_column(keys, count), places]
                yield arrow.RecordBatch.from_arrays(columns, ["digest", "partition"])

    return placing


def _comparing(link: _Link, work: str, partition: int) -> Callable[[Batches], Batches]:
    def comparing(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        keys = b"".join(_keys_of(batch.column(0)) for batch in batches)
        found = link.open().compare(work, partition, keys)
        numbers = [None, arrow.py_buffer(found)]
        places = arrow.Array.from_buffers(arrow.uint32(), len(found) // 4, numbers)
        matched = _column(keys, len(keys) // _BYTES).take(places)
        for start in range(0, len(matched), _ROWS):
            part = matched.slice(start, _ROWS)
            yield arrow.RecordBatch.from_arrays([part], ["digest"])

    return comparing


def _keys_of(column: Any) -> bytes:
    """Take the keys of a column, without rows that have none, as bytes."""
    arrow: Any = import_module("pyarrow")
    keys = column.drop_null().cast(arrow.binary(_BYTES))
    start = keys.offset * _BYTES
    data: bytes = keys.buffers()[1].to_pybytes()[start : start + len(keys) * _BYTES]
    return data


def _column(keys: bytes, count: int, has: bytes | None = None) -> Any:
    arrow: Any = import_module("pyarrow")
    kind = arrow.binary(_BYTES)
    column = arrow.Array.from_buffers(kind, count, [None, arrow.py_buffer(keys)])
    if has is not None:
        numbers = arrow.Array.from_buffers(arrow.uint8(), count, [None, arrow.py_buffer(has)])
        compute: Any = import_module("pyarrow.compute")
        column = compute.if_else(numbers.cast(arrow.bool_()), column, arrow.scalar(None, kind))
    return column.cast(arrow.binary())
