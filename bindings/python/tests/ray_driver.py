"""A driver of the tests: a process of its own with a Ray cluster of one machine."""

from __future__ import annotations

import json
import sys
from typing import Any

import ray
import ray.data
import vesica.ray


def main(asked: dict[str, Any]) -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    run = vesica.ray.intersect(
        ray.data.read_parquet(asked["input"]),
        key=asked["key"],
        gateway=asked["gateway"],
        token=asked["token"],
        scratch=asked["scratch"],
        slots=asked["slots"],
        wait=60,
    )
    run.rows.write_parquet(asked["output"])
    print(json.dumps({"count": run.count, "report": run.report, "record": run.record or {}}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
