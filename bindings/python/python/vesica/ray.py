"""Runs on a Ray cluster, for tables too large for one machine.

    run = vesica.ray.intersect(dataset, key="email", gateway="gateway.example.org:7790",
                               token="acme.token", scratch="s3://bucket/scratch")
    run.rows.write_parquet("s3://bucket/shared")

It works like `vesica.spark`, with tasks of Ray instead of executors.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from typing import Any

from vesica._cluster import (
    DIGEST,
    Batches,
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
from vesica._run import Run

_BUCKETS = 64
"""Number of parts in which equal keys are grouped, each by one task."""


def intersect(
    dataset: Any,
    *,
    key: str | Sequence[str],
    gateway: str,
    token: str | PathLike[str],
    scratch: str,
    slots: int | None = None,
    wait: float = 300.0,
) -> Run:
    """Find the rows of a Ray dataset whose keys the other side has too.

    It takes the arguments of :func:`vesica.spark.intersect`. ``scratch`` is a path or an address
    that PyArrow supports. The ``rows`` of the run are a dataset, which reads ``dataset`` again.
    """
    link = Link.of(gateway, token, wait)
    names, wanted, learns = link.agreed(key)
    job = _Job(link, wanted, scratch.rstrip("/"))
    ended, base, partitions = guarded(link, "Ray", lambda: job.run(dataset, names, slots))
    return run_of(ended, _matching(dataset, names, wanted, base, partitions) if learns else None)


class _Job:
    """The driver's part of a run."""

    def __init__(self, link: Link, wanted: str, scratch: str) -> None:
        self._link = link
        self._wanted = wanted
        self._scratch = scratch
        self._ray: Any = import_module("ray")
        self._data: Any = import_module("ray.data")

    def run(self, dataset: Any, names: list[str], slots: int | None) -> tuple[Ended, str, int]:
        folder = f"{self._scratch}/vesica-{uuid.uuid4().hex}"
        rows = dataset.select_columns(names)
        rows = _map(rows, _bucketing(digesting(self._wanted, names)))
        rows.write_parquet(f"{folder}/rows", partition_cols=["bucket"])
        count = self._ray.remote(_distinct)
        parts = [count.remote(folder, number, self._wanted) for number in range(_BUCKETS)]
        counted = self._ray.get(parts)
        _remove(f"{folder}/rows")
        gateway = self._link.open()
        counts = [sum(part[place] for part in counted) for place in range(3)]
        work, name, partitions, done = gateway.work(counts, [part[3] for part in counted])
        base = f"{self._scratch}/vesica-{name}"
        log.info("comparing %d partitions, %d of them already done", partitions, done)
        with present(gateway):
            _remove(f"{base}/partitions")
            if counts[2] > 0:
                keys = _map(self._data.read_parquet(f"{folder}/keys"), placing(work))
                keys.write_parquet(f"{base}/partitions", partition_cols=["partition"])
            _remove(folder)
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        ended = self._compare(gateway, work, base, max(1, min(slots or cores, partitions)))
        _remove(f"{base}/partitions")
        return ended, base, partitions

    def _compare(self, gateway: Any, work: str, base: str, slots: int) -> Ended:
        one, running = self._ray.remote(_compare_one), dict[int, Any]()

        def task(partition: int) -> None:
            running[partition] = one.remote(self._link, work, base, partition)
            self._ray.get(running.pop(partition))

        def cancel() -> None:
            for reference in list(running.values()):
                self._ray.cancel(reference, force=True)

        return compare(self._link, gateway, slots, begin=lambda: None, task=task, cancel=cancel)


def _map(dataset: Any, work: Callable[[Batches], Batches]) -> Any:
    def made(table: Any) -> Any:
        arrow: Any = import_module("pyarrow")
        batches = list(work(iter(table.to_batches())))
        return arrow.Table.from_batches(batches) if batches else arrow.table({})

    return dataset.map_batches(made, batch_format="pyarrow", batch_size=None)


def _matching(dataset: Any, names: list[str], wanted: str, base: str, partitions: int) -> Any:
    data: Any = import_module("ray.data")
    rows = _map(dataset, digesting(wanted, names, keep=True))
    matched = data.read_parquet(f"{base}/matched")
    joined = rows.join(matched, "left_semi", partitions, (DIGEST,), ("digest",))
    return joined.drop_columns([DIGEST])


# The functions below run on the machines of the cluster.


def _bucketing(work: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Add its bucket to each digest. Rows without a key are in the first bucket."""

    def made(batches: Batches) -> Batches:
        arrow: Any = import_module("pyarrow")
        for batch in work(batches):
            digests = batch.column(0).to_pylist()
            buckets = [0 if digest is None else digest[0] % _BUCKETS for digest in digests]
            numbers = arrow.array(buckets, arrow.int32())
            names = ["digest", "bucket"]
            yield arrow.RecordBatch.from_arrays([batch.column(0), numbers], names)

    return made


def _distinct(folder: str, bucket: int, wanted: str) -> tuple[int, int, int, str]:
    """Write each distinct digest of a bucket once, and return the counts and the sketch."""
    arrow: Any = import_module("pyarrow")
    compute: Any = import_module("pyarrow.compute")
    rows = _read(f"{folder}/rows/bucket={bucket}")
    keys = compute.unique(rows.drop_null()).cast(arrow.binary())
    table = arrow.table({"digest": keys})
    if len(keys) > 0:
        _write(table, f"{folder}/keys", f"{bucket}.parquet")
    sketch = next(sketching(wanted)(iter(table.to_batches())))
    return len(rows), rows.null_count, len(keys), sketch.column(0)[0].as_py()


def _compare_one(link: Link, work: str, base: str, partition: int) -> None:
    arrow: Any = import_module("pyarrow")
    keys = arrow.table({"digest": _read(f"{base}/partitions/partition={partition}")})
    found = list(comparing(link, work, partition)(iter(keys.to_batches())))
    schema = arrow.schema([("digest", arrow.binary())])
    _write(arrow.Table.from_batches(found, schema), f"{base}/matched", f"{partition}.parquet")


def _at(place: str) -> tuple[Any, str, bool]:
    """Return the file system, the path in it, and whether the path exists."""
    files: Any = import_module("pyarrow.fs")
    system, path = files.LocalFileSystem(), place
    if "://" in place:
        system, path = files.FileSystem.from_uri(place)
    return system, path, system.get_file_info(path).type != files.FileType.NotFound


def _read(place: str) -> Any:
    """Read the digests in a directory, which may be missing."""
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    system, path, is_there = _at(place)
    if not is_there:
        return arrow.chunked_array([], arrow.binary())
    return parquet.read_table(path, columns=["digest"], filesystem=system)["digest"]


def _write(table: Any, place: str, name: str) -> None:
    """Write a file, over any incomplete file of a lost task."""
    parquet: Any = import_module("pyarrow.parquet")
    system, path, _ = _at(place)
    system.create_dir(path)
    parquet.write_table(table, f"{path}/{name}", filesystem=system)


def _remove(place: str) -> None:
    system, path, is_there = _at(place)
    if is_there:
        system.delete_dir(path)
