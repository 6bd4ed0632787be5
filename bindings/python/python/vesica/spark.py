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

import uuid
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from typing import Any

from vesica import _native
from vesica._cluster import (
    DIGEST,
    Ended,
    Link,
    compare,
    comparing,
    digesting,
    log,
    placing,
    present,
    run_of,
    sketching,
)
from vesica._run import Run


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
    link = Link.of(gateway, token, wait)
    names, wanted, learns = link.agreed(key)
    job = _Job(frame.sparkSession, link, wanted, f"{scratch.rstrip('/')}/vesica-{uuid.uuid4().hex}")
    try:
        ended, matched = job.run(frame, names, slots)
    except BaseException as error:
        link.stop(error)
        raise
    return run_of(ended, _matching(frame, names, wanted, matched) if learns else None)


class _Job:
    """The driver's part."""

    def __init__(self, spark: Any, link: Link, wanted: str, folder: str) -> None:
        self._spark = spark
        self._link = link
        self._wanted = wanted
        self._folder = folder
        self._sql: Any = import_module("pyspark.sql.functions")

    def run(self, frame: Any, names: list[str], slots: int | None) -> tuple[Ended, Any]:
        counts, sketches = self._count(frame, names)
        link = self._link.open()
        work, name, partitions, done = link.work(counts, sketches)
        # A run that goes on finds what was written before.
        base = f"{self._folder.rpartition('/')[0]}/vesica-{name}"
        log.info("comparing %d partitions, of which %d are done", partitions, done)
        with present(link):
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
        keys = frame.select(*names).mapInArrow(digesting(self._wanted, names), "digest binary")
        keys = keys.groupBy("digest").agg(sql.count("*").alias("rows"))
        keys.write.mode("overwrite").parquet(path)
        keys = self._keys()
        null = sql.when(sql.col("digest").isNull(), sql.col("rows"))
        counts = keys.agg(sql.sum("rows"), sql.sum(null), sql.count("digest")).first()
        sketches = keys.select("digest").mapInArrow(sketching(self._wanted), "sketch string")
        return [count or 0 for count in counts], [row[0] for row in sketches.collect()]

    def _keys(self) -> Any:
        read = self._spark.read.schema("digest binary, rows long")
        return read.parquet(f"{self._folder}/keys")

    def _sort(self, work: str, partitions: int, base: str) -> None:
        """Write the keys of each partition to a directory of its own."""
        shape = "digest binary, partition int"
        keys = self._keys().select("digest").mapInArrow(placing(work), shape)
        # One row without a key each, so that there is a directory of an empty partition too.
        number = self._sql.col("id").cast("int").alias("partition")
        nothing = self._sql.lit(None).cast("binary").alias("digest")
        keys = keys.union(self._spark.range(partitions).select(nothing, number))
        keys = keys.repartition(partitions, "partition").write.partitionBy("partition")
        keys.mode("overwrite").parquet(f"{base}/partitions")

    def _compare(self, link: _native.ClusterGateway, work: str, base: str, slots: int) -> Ended:
        context = self._context()
        group = f"vesica-{uuid.uuid4().hex}"

        def begin() -> None:
            if context is not None:
                context.setJobGroup(group, "vesica: comparing partitions", True)

        def task(partition: int) -> None:
            self._task(work, base, partition)

        def cancel() -> None:
            if context is not None:
                context.cancelJobGroup(group)

        return compare(self._link, link, slots, begin=begin, task=task, cancel=cancel)

    def _task(self, work: str, base: str, partition: int) -> None:
        place = f"partition={partition}"
        keys = self._spark.read.schema("digest binary").parquet(f"{base}/partitions/{place}")
        found = keys.coalesce(1).mapInArrow(comparing(self._link, work, partition), "digest binary")
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
    digest = types.StructField(DIGEST, types.BinaryType())
    schema = types.StructType([*frame.schema.fields, digest])
    rows = frame.mapInArrow(digesting(wanted, names, keep=True), schema)
    matched = matched.withColumnRenamed("digest", DIGEST)
    return rows.join(matched, DIGEST, "left_semi").select(*_quoted(frame.columns))


def _quoted(columns: Sequence[str]) -> list[str]:
    return ["`" + column.replace("`", "``") + "`" for column in columns]
