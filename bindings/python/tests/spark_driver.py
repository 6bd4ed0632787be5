"""A driver of the tests: a process of its own, as `spark-submit` would start it."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import vesica.spark
from pyspark.sql import SparkSession


def main(asked: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    builder = (
        SparkSession.builder.master(asked["master"])
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", f"{asked['memory']}m")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        # Java's Snappy unpacks a library into a directory that all processes share.
        .config("spark.sql.parquet.compression.codec", "zstd")
    )
    spark = builder.config(map=asked.get("settings", {})).getOrCreate()
    if asked.get("settings"):
        # It logs each task.
        log4j: Any = spark.sparkContext._jvm.org.apache.logging.log4j
        manager = "org.apache.spark.scheduler.TaskSetManager"
        log4j.core.config.Configurator.setLevel(manager, log4j.Level.INFO)
    run = vesica.spark.intersect(
        spark.read.parquet(asked["input"]),
        key=asked["key"],
        gateway=asked["gateway"],
        token=asked["token"],
        scratch=asked["scratch"],
        slots=asked["slots"],
        wait=60,
    )
    run.rows.write.mode("overwrite").parquet(asked["output"])
    record = run.record or {}
    print(json.dumps({"count": run.count, "report": run.report, "record": record}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
