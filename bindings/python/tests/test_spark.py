"""Two Spark clusters with two workers each, and a gateway for each: in the second tier."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from gateways import PARTITIONS, TASK_MEMORY, Pair, Side, attempts, free_port, wait_for

EXECUTOR_MEMORY = 512 << 20
PYTHON_AND_ARROW = 512 << 20
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Cluster:
    """A standalone master and two workers, each with one core."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self.daemons: list[subprocess.Popen[bytes]] = []
        master = "org.apache.spark.deploy.master.Master"
        self._start("master", master, "--host", "127.0.0.1", "--port", str(port))
        self.workers = [self.start_worker(number) for number in (0, 1)]

    def _start(self, name: str, *line: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        log = (self.folder / f"{name}.log").open("wb")
        daemon = subprocess.Popen(
            [str(SPARK_CLASS), *line, "--webui-port", str(free_port())],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self.daemons.append(daemon)
        return daemon

    def start_worker(self, number: int) -> subprocess.Popen[bytes]:
        worker = "org.apache.spark.deploy.worker.Worker"
        # Spark only runs a second attempt of a task on another host.
        host = f"127.0.0.{number + 1}"
        place = ["-d", str(self.folder / f"work-{number}"), "--host", host]
        return self._start(f"worker-{number}", worker, self.master, "-c", "1", "-m", "1g", *place)

    def stop(self) -> None:
        for daemon in self.daemons:
            kill(daemon)


def kill(daemon: subprocess.Popen[bytes]) -> None:
    """End a daemon and its executors at once."""
    if daemon.poll() is None:
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait(30)


class Memory(threading.Thread):
    """Looks at executors twice a second, and keeps the most memory that one of them has taken."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.java = 0
        self.python = 0
        self._over = threading.Event()

    def __enter__(self) -> Memory:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(0.5):
            children: dict[int, list[int]] = {}
            executors: list[int] = []
            for process in (int(path.name) for path in Path("/proc").glob("[0-9]*")):
                try:
                    status = Path(f"/proc/{process}/stat").read_text()
                    line = Path(f"/proc/{process}/cmdline").read_text()
                except OSError:
                    continue
                parent = int(status.rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(process)
                if "CoarseGrainedExecutorBackend" in line and "java" in line:
                    executors.append(process)
            for executor in executors:
                self.java = max(self.java, memory_of(executor))
                below = list(children.get(executor, []))
                for process in below:
                    below += children.get(process, [])
                self.python = max(self.python, sum(memory_of(process) for process in below))


def memory_of(process: int) -> int:
    """Return bytes. Memory shared between processes is divided among them."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line[:4] == "Pss:")


def start_driver(side: Side, cluster: Cluster, **asked: Any) -> subprocess.Popen[str]:
    memory = EXECUTOR_MEMORY >> 20
    return side.start_driver("spark_driver.py", master=cluster.master, memory=memory, **asked)


def driver_log(side: Side) -> str:
    return (side.folder / "driver.log").read_text(errors="replace")


def start_drivers(
    pair: Pair, clusters: tuple[Cluster, Cluster], **asked: Any
) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    here = start_driver(pair.here, clusters[0], **asked)
    return here, start_driver(pair.there, clusters[1], **asked)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    folder = tmp_path_factory.mktemp("clusters")
    both = (Cluster(folder / "one"), Cluster(folder / "other"))
    yield both
    for cluster in both:
        cluster.stop()


def test_two_clusters(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    pair = Pair(tmp_path)
    sides = (pair.here, pair.there)
    for side in sides:
        side.start_gateway()
    with Memory() as memory:
        drivers = start_drivers(pair, clusters)
        ended = [pair.check(side, driver) for side, driver in zip(sides, drivers, strict=True)]
    # As docs/guides/spark.md says: what Java may take, and a task's memory beside Python's own.
    assert 0 < memory.java < 2 * EXECUTOR_MEMORY, memory.java
    assert 0 < memory.python < TASK_MEMORY + PYTHON_AND_ARROW, memory.python
    print(f"executors took {memory.java >> 20} MiB in Java, {memory.python >> 20} in Python")
    for side, end in zip(sides, ended, strict=True):
        assert attempts(end) == PARTITIONS
        left = [path for path in (side.folder / "scratch").rglob("*.parquet") if path.is_file()]
        assert left and all("matched" in str(path) or "vesica-runs" in str(path) for path in left)


def test_one_side_is_the_command_line(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    pair = Pair(tmp_path)
    pair.here.start_gateway()
    driver = start_driver(pair.here, clusters[0])
    run = pair.there.start("run", "acme", "--resume", "journal", "--wait", "120")
    pair.check(pair.here, driver)
    assert run.wait(60) == 0, pair.said()
    assert pair.there.found() == pair.expected["accepter"]


def test_a_worker_and_a_gateway_are_killed(
    tmp_path: Path, clusters: tuple[Cluster, Cluster]
) -> None:
    pair = Pair(tmp_path)
    sides = (pair.here, pair.there)
    for side in sides:
        side.start_gateway()
    drivers = start_drivers(pair, clusters)

    def done(side: Side) -> int:
        return (side.folder / "gateway.log").read_text().count("  partition  ")

    wait_for(lambda: done(pair.there) >= 1)
    kill(clusters[0].workers[0])
    wait_for(lambda: done(pair.there) >= 3)
    assert pair.there.gateway is not None
    pair.there.gateway.kill()
    pair.there.gateway.wait(30)
    pair.there.start_gateway()
    for side, driver in zip(sides, drivers, strict=True):
        pair.check(side, driver)
    clusters[0].workers[0] = clusters[0].start_worker(2)
    ledger = pair.here.vesica("ledger", "show").stdout
    assert ledger.count("began") == 1, ledger


def test_tasks_that_are_begun_twice(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    """Spark starts a slow task again while the first attempt is still running."""
    pair = Pair(tmp_path)
    sides = (pair.here, pair.there)
    for side in sides:
        side.start_gateway()
    # Every task counts as slow, and one slot leaves a core for the second attempt.
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.minTaskRuntime": "50ms",
        "spark.speculation.task.duration.threshold": "100ms",
    }
    drivers = start_drivers(pair, clusters, slots=1, settings=settings)
    for side, driver in zip(sides, drivers, strict=True):
        ended = pair.check(side, driver)
        second = re.findall(r"Starting task \d+\.1 in stage", driver_log(side))
        assert len(second) >= PARTITIONS, driver_log(side)
        assert PARTITIONS <= attempts(ended) <= 2 * PARTITIONS
