"""Runs on a Spark cluster, for tables too large for one machine.

    run = vesica.spark.intersect(frame, key="email", gateway="gateway.example.org:7790",
                                 token="acme.token", scratch="s3a://bucket/scratch")
    run.rows.write.parquet("s3a://bucket/shared")

The gateway is ``vesica gateway``, which takes part in the run for this side as the agreement
says. Executors connect only to the gateway. The other side has its own gateway and cluster, or runs
``vesica run`` on one machine. The package must be installed on all executors, as described in
docs/guides/spark.md.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fspath
from typing import Any

from vesica import _arguments as arguments
from vesica import _native
from vesica._cluster import (
    DIGEST,
    Ended,
    Link,
    compare,
    comparing,
    digesting,
    guarded,
    log,
    placing,
    present,
    run_of,
    sketching,
)
from vesica._errors import InputError, UsageError
from vesica._run import Run

__all__ = ["intersect", "rows"]

_RUNS = "vesica-runs"
"""The directory in ``scratch`` with the notes that ``rows`` reads."""

_NOTE = "name string, key string, wanted string, ended double, succeeded boolean"


def intersect(
    frame: Any,
    *,
    key: str | Sequence[str],
    gateway: str,
    token: str | PathLike[str],
    scratch: str | PathLike[str],
    slots: int | None = None,
    wait: float = 300.0,
) -> Run:
    """Find the rows of a Spark frame whose keys the other side has too.

    The driver only receives counts, and rows stay on the cluster. One task compares each partition
    of the keys, and writes its result to ``scratch``.

    Args:
        frame: The frame.
        key: The column of the key, or a list of columns that together form the key. The gateway's
            agreement determines their normalisation and the side that learns the result.
        gateway: The address of this side's gateway for executors and the driver, as ``host:port``.
        token: The file with the gateway's token, or its text.
        scratch: A directory that the driver and all executors can read and write, such as
            ``hdfs:///tmp/vesica``. It contains digests of keys during the run. Digests of matching
            keys must stay there for as long as ``rows`` is used.
        slots: The number of partitions compared at a time. By default, Spark's number of cores.
        wait: Seconds for which to retry if the gateway does not answer, for example because it is
            being restarted.

    Returns:
        A run. Its ``rows`` are a frame of the matched rows, which reads ``frame`` again, or None if
        this side does not learn them.

    """
    place = arguments.text("scratch", fspath(arguments.path("scratch", scratch))).rstrip("/")
    address = arguments.text("gateway", gateway)
    count = arguments.optional(arguments.whole(1, 4096), "slots", slots)
    table = _Table.of(frame, key)
    link = Link.of(address, token, arguments.seconds("wait", wait))
    _, wanted, learns = link.agreed(table.names)
    job = _Job(frame.sparkSession, link, wanted, place)
    ended, matched = guarded(link, "Spark", lambda: job.run(table, count))
    return run_of(ended, table.matching(wanted, matched) if learns else None)


def rows(frame: Any, scratch: str | PathLike[str], *, name: str | None = None) -> Any:
    """Return the matched rows of an earlier run, like ``run.rows``.

    Args:
        frame: The frame of the run, with the same rows.
        scratch: The scratch directory of the run.
        name: The name of the run, from the directory ``vesica-NAME`` in ``scratch``. By default,
            the newest run.

    Returns:
        A frame of the matched rows.

    """
    spark = _spark_of(frame)
    place = arguments.text("scratch", fspath(arguments.path("scratch", scratch))).rstrip("/")
    notes: list[Any] = []
    try:
        notes = spark.read.schema(_NOTE).parquet(f"{place}/{_RUNS}").collect()
    except Exception as error:
        fault = type(error).__name__
        log.debug("the notes of runs cannot be read: %s", fault)
    if name is not None:
        notes = [note for note in notes if note["name"] == arguments.text("name", name)]
    if not notes:
        raise InputError(f"{place} has no run that ended")
    newest = max(notes, key=lambda note: float(note["ended"]))
    if not any(note["succeeded"] and note["name"] == newest["name"] for note in notes):
        log.warning("the run may not have succeeded; check its record")
    table = _Table.of(frame, json.loads(newest["key"]))
    matched = spark.read.schema("digest binary, partition int")
    matched = matched.parquet(f"{place}/vesica-{newest['name']}/matched").select("digest")
    return table.matching(newest["wanted"], matched)


def _spark_of(frame: Any) -> Any:
    """Return the session of a frame, and refuse any other object."""
    if not hasattr(frame, "sparkSession") or not hasattr(frame, "mapInArrow"):
        raise UsageError(
            f"frame must be a frame of Spark, not {type(frame).__name__}: "
            "read a file with spark.read, or use vesica.intersect"
        )
    return frame.sparkSession


class _Table:
    """A frame with unique column names, whose results get the original names back."""

    def __init__(self, frame: Any, names: list[str], places: list[int]) -> None:
        self.names = names
        self._columns: list[str] = list(frame.columns)
        self._fields: list[Any] = list(frame.schema.fields)
        self._own = [f"c{number}" for number in range(len(self._columns))]
        self._keys = [self._own[place] for place in places]
        self._frame = frame.toDF(*self._own)

    @staticmethod
    def of(frame: Any, key: str | Sequence[str]) -> _Table:
        """Check the key and the types of all columns, and that rows can be returned."""
        spark = _spark_of(frame)
        names = arguments.names("key", key)
        table = _Table(frame, names, [_place(frame, name) for name in names])
        table._check_types()
        nothing = spark.createDataFrame([], "digest binary")
        # This makes Spark resolve names and types, without executing the plan.
        _ = table.matching("", nothing).schema
        return table

    def _check_types(self) -> None:
        arrow: Any = import_module("pyarrow")
        types: Any = import_module("pyspark.sql.pandas.types")
        for field in self._fields:
            name, kind, fault = field.name, field.dataType, None
            try:
                types.to_arrow_type(kind)
            except Exception as error:
                fault = type(error).__name__
            if fault is not None:
                raise UsageError(
                    f"column `{name}` has the type {kind.simpleString()}, which does not leave "
                    f"Spark ({fault}): cast it, or leave it out"
                )
        kinds = dict(zip(self._own, (field.dataType for field in self._fields), strict=True))
        keys = [types.to_arrow_type(kinds[own]) for own in self._keys]
        empty = arrow.schema(list(zip(self.names, keys, strict=True))).empty_table()
        _native.check(empty, {"key": self.names})

    def digests(self, wanted: str) -> Any:
        """Return the digest of each row's key."""
        made = digesting(wanted, self.names, columns=self._keys)
        return self._frame.select(*self._keys).mapInArrow(made, "digest binary")

    def matching(self, wanted: str, matched: Any) -> Any:
        """Return the rows with these digests."""
        types: Any = import_module("pyspark.sql.types")
        fields = [
            types.StructField(own, field.dataType, field.nullable, field.metadata)
            for own, field in zip(self._own, self._fields, strict=True)
        ]
        schema = types.StructType([*fields, types.StructField(DIGEST, types.BinaryType())])
        made = digesting(wanted, self.names, columns=self._keys, keep=True)
        found = self._frame.mapInArrow(made, schema)
        matched = matched.withColumnRenamed("digest", DIGEST)
        found = found.join(matched, DIGEST, "left_semi").select(*self._own)
        return found.toDF(*self._columns)


def _place(frame: Any, name: str) -> int:
    """Find a column by its exact name or, as in Spark, by its name in any case."""
    columns: list[str] = list(frame.columns)
    same = [place for place, column in enumerate(columns) if column == name]
    if not same:
        is_same = name.casefold().__eq__
        same = [place for place, column in enumerate(columns) if is_same(column.casefold())]
    if not same:
        raise InputError(f"the frame has no column `{name}`")
    if len(same) > 1:
        raise UsageError(f"the frame has several columns `{name}`: rename all but one")
    return same[0]


class _Job:
    """The driver's part of a run."""

    def __init__(self, spark: Any, link: Link, wanted: str, scratch: str) -> None:
        self._spark = spark
        self._link = link
        self._wanted = wanted
        self._scratch = scratch
        self._folder = f"{scratch}/vesica-{uuid.uuid4().hex}"
        self._sql: Any = import_module("pyspark.sql.functions")

    def run(self, table: _Table, slots: int | None) -> tuple[Ended, Any]:
        counts, sketches = self._count(table)
        link = self._link.open()
        work, name, partitions, done = link.work(counts, sketches)
        # A resumed run has the same name, and finds its earlier files.
        base = f"{self._scratch}/vesica-{name}"
        log.info("comparing %d partitions, %d of them already done", partitions, done)
        with present(link):
            self._sort(work, partitions, base)
            self._remove(self._folder)
        count = max(1, min(slots or self._cores(), partitions))

        def staged() -> None:
            self._note(table, name, is_over=False)

        ended = self._compare(link, (work, base, partitions), count, staged)
        self._note(table, name, is_over=True)
        self._remove(f"{base}/partitions")
        matched = self._spark.read.schema("digest binary, partition int")
        return ended, matched.parquet(f"{base}/matched").select("digest")

    def _count(self, table: _Table) -> tuple[list[int], list[str]]:
        """Write each distinct digest once, and count rows and keys."""
        path, sql = f"{self._folder}/keys", self._sql
        with self._described("making digests of keys"):
            keys = table.digests(self._wanted)
            keys = keys.groupBy("digest").agg(sql.count("*").alias("rows"))
            keys.write.mode("overwrite").parquet(path)
        keys = self._keys()
        null = sql.when(sql.col("digest").isNull(), sql.col("rows"))
        with self._described("counting keys"):
            counts = keys.agg(sql.sum("rows"), sql.sum(null), sql.count("digest")).first()
            sketches = keys.select("digest").mapInArrow(sketching(self._wanted), "sketch string")
            return [count or 0 for count in counts], [row[0] for row in sketches.collect()]

    def _keys(self) -> Any:
        read = self._spark.read.schema("digest binary, rows long")
        return read.parquet(f"{self._folder}/keys")

    def _sort(self, work: str, partitions: int, base: str) -> None:
        """Write the keys of each partition to a separate directory."""
        shape = "digest binary, partition int"
        keys = self._keys().select("digest").mapInArrow(placing(work), shape)
        # One row without a key in each partition, so that empty ones have a directory, too.
        number = self._sql.col("id").cast("int").alias("partition")
        nothing = self._sql.lit(None).cast("binary").alias("digest")
        keys = keys.union(self._spark.range(partitions).select(nothing, number))
        keys = keys.repartition(partitions, "partition").write.partitionBy("partition")
        with self._described(f"sorting keys into {partitions} partitions"):
            keys.mode("overwrite").parquet(f"{base}/partitions")

    def _compare(
        self, link: _native.ClusterGateway, job: tuple[str, str, int], slots: int, staged: Any
    ) -> Ended:
        context = self._context()
        group = f"vesica-{uuid.uuid4().hex}"
        work, base, partitions = job

        def begin() -> None:
            if context is not None:
                context.setJobGroup(group, "vesica: comparing partitions", True)

        def task(partition: int) -> None:
            which = f"partition {partition + 1} of {partitions}"
            if context is not None:
                context.setJobDescription(f"vesica: comparing {which}")
            self._task(work, base, partition)
            log.info("compared %s", which)

        def cancel() -> None:
            if context is not None:
                context.cancelJobGroup(group)

        return compare(
            self._link, link, slots, begin=begin, task=task, cancel=cancel, staged=staged
        )

    def _task(self, work: str, base: str, partition: int) -> None:
        place = f"partition={partition}"
        keys = self._spark.read.schema("digest binary").parquet(f"{base}/partitions/{place}")
        found = keys.coalesce(1).mapInArrow(comparing(self._link, work, partition), "digest binary")
        found.write.mode("overwrite").parquet(f"{base}/matched/{place}")

    def _note(self, table: _Table, name: str, *, is_over: bool) -> None:
        """Note how to find this run's rows again, without secrets."""
        wanted = json.dumps(json.loads(self._wanted) | {"sketch": ""})
        note = [(name, json.dumps(table.names), wanted, time.time(), is_over)]
        with self._described("noting where rows are"):
            notes = self._spark.createDataFrame(note, _NOTE).coalesce(1)
            notes.write.mode("append").parquet(f"{self._scratch}/{_RUNS}")

    def _context(self) -> Any:
        try:
            return self._spark.sparkContext
        except Exception:  # Spark Connect does not have one.
            return None

    @contextmanager
    def _described(self, text: str) -> Generator[None]:
        """Show the purpose of a job in Spark's user interface."""
        context = self._context()
        if context is None:
            yield
            return
        before = context.getLocalProperty("spark.job.description")
        context.setJobDescription(f"vesica: {text}")
        try:
            yield
        finally:
            context.setLocalProperty("spark.job.description", before)

    def _cores(self) -> int:
        context = self._context()
        return 4 if context is None else int(context.defaultParallelism)

    def _remove(self, path: str) -> None:
        """Remove a directory, or at least its digests if Spark cannot remove it."""
        try:
            java = self._spark._jvm.org.apache.hadoop.fs.Path(path)
            java.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf()).delete(
                java, True
            )
        except Exception as error:  # Spark Connect does not allow this.
            log.debug("%s is emptied instead of removed: %s", path, type(error).__name__)
            nothing = self._spark.createDataFrame([], "digest binary")
            nothing.write.mode("overwrite").parquet(path)
