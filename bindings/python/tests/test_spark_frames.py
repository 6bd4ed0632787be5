"""Frames of a local Spark: names and types of columns, scratch, and rows of earlier runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import vesica
import vesica.spark
from conftest import SENTINEL
from gateways import PARTITIONS, ROWS, Pair, Side
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

TOKEN = "not the token of a gateway"

GATEWAY: dict[str, Any] = {"gateway": "127.0.0.1:1", "token": "t\n", "wait": 0.1}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


def table(spark: SparkSession, *columns: str) -> Any:
    values = [sql.lit(number) for number in range(len(columns))]
    return spark.range(1).select(*values).toDF(*columns)


@pytest.mark.parametrize(
    ("make", "key", "kind", "words"),
    [
        (lambda spark: table(spark, "a"), "b", vesica.InputError, "no column `b`"),
        (lambda spark: table(spark, "a", "a"), "a", vesica.UsageError, "several columns `a`"),
        (lambda spark: table(spark, "a", "A"), "a", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "A"), "a", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "a.b"), "a.b", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "a`b"), "a`b", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "k", "x", "x"), "k", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "vesica_digest"), "vesica_digest", vesica.UsageError, TOKEN),
        (lambda spark: table(spark, "a"), 0, vesica.UsageError, "key is a name"),
        (
            lambda spark: spark.sql("select cast(1 as double) a"),
            "a",
            vesica.InputError,
            "has the type Float64",
        ),
        (
            lambda spark: spark.sql("select array(1) a"),
            "a",
            vesica.InputError,
            "a key is a single value",
        ),
        (
            lambda spark: spark.sql("select 1 a, make_ym_interval(1, 2) x"),
            "a",
            vesica.UsageError,
            "column `x` has the type interval",
        ),
        (lambda spark: "table.parquet", "a", vesica.UsageError, "a frame of Spark"),
        (lambda spark: None, "a", vesica.UsageError, "a frame of Spark"),
    ],
)
def test_what_fails_does_so_before_the_gateway_is_asked(
    spark: SparkSession, tmp_path: Path, make: Any, key: Any, kind: type, words: str
) -> None:
    """A valid frame fails only later, because of the token."""
    with pytest.raises(kind) as raised:
        vesica.spark.intersect(make(spark), key=key, scratch=tmp_path, **GATEWAY)
    assert words in str(raised.value)


def test_frames_of_spark_are_refused_elsewhere(spark: SparkSession) -> None:
    with pytest.raises(vesica.UsageError, match=r"vesica\.spark\.intersect"):
        vesica.check(table(spark, "a"), key="a")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(tmp_path_factory.mktemp("frames"))


def run(spark: SparkSession, pair: Pair, frame: Any, key: str) -> Any:
    side: Side = pair.here
    side.start_gateway()
    other = pair.there.start("run", "acme", "--resume", "journal", "--wait", "120")
    ended = vesica.spark.intersect(
        frame,
        key=key,
        gateway=side.address,
        token=side.folder / "token",
        scratch=side.folder / "scratch",
        slots=2,
        wait=60,
    )
    assert other.wait(60) == 0, pair.said()
    assert side.gateway is not None and side.gateway.wait(60) == 0, pair.said()
    return ended


def test_rows_have_the_columns_that_they_had(
    spark: SparkSession, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """Names with dots and backticks, names that are there twice, and one of this package's own."""
    names = ["e.mail", "n", "n", "a`b", "vesica_digest", "rest"]
    given = spark.read.parquet(str(pair.here.folder / "in.parquet"))
    columns = [sql.col(name) for name in ("email", "n", "n", "n", "n", "rest")]
    frame = given.select(*columns).toDF(*names)
    caplog.set_level("INFO", "vesica")
    ended = run(spark, pair, frame, "e.mail")
    for number in range(1, PARTITIONS + 1):
        assert f"compared partition {number} of {PARTITIONS}" in caplog.text
    assert SENTINEL not in caplog.text
    assert ended.count == ROWS // 2
    assert ended.rows.columns == names
    assert ended.rows.schema == frame.schema

    def found(rows: Any) -> list[int]:
        return sorted(row[1] for row in rows.collect())

    assert found(ended.rows) == pair.expected["inviter"]
    # Only the matching digests and the note about them remain.
    scratch = pair.here.folder / "scratch"
    left = sorted(path.name.split("-")[1] for path in scratch.iterdir())
    assert len(left) == 2 and left[1] == "runs"
    assert [path.name for path in scratch.glob("vesica-*/*") if path.is_dir()] == ["matched"]
    assert len(list(scratch.glob("vesica-*/matched/*=*"))) == PARTITIONS
    notes = pq.read_table(scratch / "vesica-runs").to_pylist()
    assert [note["succeeded"] for note in notes].count(True) == 1
    assert all('"sketch": ""' in note["wanted"] for note in notes)
    # After the driver has ended, `rows` finds them in this directory and not in another.
    assert found(vesica.spark.rows(frame, scratch)) == pair.expected["inviter"]
    again = vesica.spark.rows(frame, scratch, name=notes[0]["name"])
    assert found(again) == pair.expected["inviter"]
    for place, name in ((pair.here.folder, None), (scratch, "other")):
        with pytest.raises(vesica.InputError, match="no run that ended"):
            vesica.spark.rows(frame, place, name=name)
    # The reports add up the bytes of all partitions, on both sides.
    assert ended.report["bytes_sent"] + ended.report["bytes_received"] > 20 * ROWS


def test_jobs_say_what_they_are_for(spark: SparkSession, tmp_path: Path) -> None:
    from vesica._cluster import Link

    job = vesica.spark._Job(spark, Link("127.0.0.1:1", "t\n", 0.1), "", str(tmp_path))
    context = spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    with job._described("counting keys"):
        assert context.getLocalProperty("spark.job.description") == "vesica: counting keys"
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)
