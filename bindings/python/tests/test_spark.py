"""Two Spark clusters with two workers each, and a gateway for each: in the second tier.

`VESICA_SPARK_ROWS` sets the number of rows of each side, for runs by hand.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from conftest import SENTINEL

ROWS = int(os.environ.get("VESICA_SPARK_ROWS", "20000"))
PARTITIONS = 8
PATIENCE = 600
EXECUTOR_MEMORY = 512 << 20
TASK_MEMORY = 256 << 20
PYTHON_AND_ARROW = 256 << 20
TESTS = Path(__file__).parent
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
COLUMNS = {"inviter": "email", "accepter": "mail"}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


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
        place = ["-d", str(self.folder / f"work-{number}"), "--host", "127.0.0.1"]
        return self._start(f"worker-{number}", worker, self.master, "-c", "1", "-m", "1g", *place)

    def stop(self) -> None:
        for daemon in self.daemons:
            kill(daemon)


def kill(daemon: subprocess.Popen[bytes]) -> None:
    """End a daemon and its executors at once."""
    if daemon.poll() is None:
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait(30)


class Side:
    def __init__(self, folder: Path, name: str, cluster: Cluster) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.name = name
        self.column = COLUMNS[name]
        self.cluster = cluster
        self.address = f"127.0.0.1:{free_port()}"
        self.gateway: subprocess.Popen[str] | None = None

    def vesica(self, *line: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vesica", *line]
        return subprocess.run(command, cwd=self.folder, check=check, capture_output=True, text=True)

    def start(self, *line: str) -> subprocess.Popen[str]:
        log = (self.folder / f"{line[0]}.log").open("a")
        command = [sys.executable, "-m", "vesica", *line]
        return subprocess.Popen(command, cwd=self.folder, stderr=log, text=True)

    def start_gateway(self) -> None:
        line = ["gateway", "--agreement", "acme.agreement", "--identity", "vesica.identity"]
        line += ["--cluster", self.address, "--token", "token", "--journal", "journal"]
        line += ["--record", "acme.record", "--partitions", str(PARTITIONS)]
        line += ["--task-memory", str(TASK_MEMORY)]
        self.gateway = self.start(*line, "--stall-timeout", "20", "--wait", "120")
        wait_for(lambda: (self.folder / "token").exists())

    def start_driver(self) -> subprocess.Popen[str]:
        asked = {
            "master": self.cluster.master,
            "input": str(self.folder / "in.parquet"),
            "key": self.column,
            "gateway": self.address,
            "token": str(self.folder / "token"),
            "scratch": str(self.folder / "scratch"),
            "output": str(self.folder / "out.parquet"),
            "slots": 2,
            "memory": EXECUTOR_MEMORY >> 20,
        }
        log = (self.folder / "driver.log").open("wb")
        return subprocess.Popen(
            [sys.executable, str(TESTS / "spark_driver.py"), json.dumps(asked)],
            stdout=subprocess.PIPE,
            stderr=log,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            text=True,
        )

    def said(self) -> str:
        """Everything that this side's processes said, for a test that fails."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"== {log}\n{log.read_text(errors='replace')[-6000:]}" for log in logs)

    def found(self) -> list[int]:
        return sorted(pq.read_table(self.folder / "out.parquet")["n"].to_pylist())


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
    """Bytes, of which those that processes share count in parts."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line[:4] == "Pss:")


def wait_for(come: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < until
        time.sleep(0.1)


def write(side: Side) -> list[int]:
    """Write rows of which half of the keys are shared; return those that match.

    Every tenth key has a second row, in other letters; every hundredth row has no key.
    """
    first = 0 if side.name == "inviter" else ROWS // 2
    shared = range(ROWS // 2, ROWS)
    keys: list[str | None] = []
    matching: list[int] = []
    for key in range(first, first + ROWS):
        variants = [f"{SENTINEL}{key}@example.org"]
        if key % 10 == 0:
            variants.append(f" {SENTINEL}{key}@EXAMPLE.org")
        for variant in variants:
            if key in shared:
                matching.append(len(keys))
            keys.append(variant)
        if key % 100 == 0:
            keys.append(None)
    table = pa.table({"n": range(len(keys)), side.column: keys, "rest": ["x"] * len(keys)})
    groups = max(1, len(keys) // 4)
    pq.write_table(table, side.folder / "in.parquet", row_group_size=groups, compression="zstd")
    return matching


class Pair:
    """Two sides with an agreement."""

    def __init__(self, folder: Path, clusters: tuple[Cluster, Cluster]) -> None:
        self.here = Side(folder, "inviter", clusters[0])
        self.there = Side(folder, "accepter", clusters[1])
        self.expected = {side.name: write(side) for side in (self.here, self.there)}
        for side in (self.here, self.there):
            side.vesica("init")
        terms = ["--normalize", "email", "--learns", "both"]
        line = ["--input", "in.parquet", "--key", "email", *terms]
        address = ["--address", f"127.0.0.1:{free_port()}"]
        self.here.vesica("invite", "acme", *line, *address)
        shutil.copy(self.here.folder / "acme.invite", self.there.folder)
        line = ["--yes", "--input", "in.parquet", "--key", "mail", "--output", "out.parquet"]
        self.there.vesica("accept", "acme.invite", *line)
        shutil.copy(self.there.folder / "acme.reply", self.here.folder)
        self.here.vesica("confirm", "acme.reply", "--yes")

    def said(self) -> str:
        return self.here.said() + self.there.said()

    def check(self, side: Side, driver: subprocess.Popen[str]) -> dict[str, Any]:
        out, _ = driver.communicate(timeout=PATIENCE)
        assert driver.returncode == 0, self.said()
        ended: dict[str, Any] = json.loads(out.splitlines()[-1])
        assert ended["count"] == ROWS // 2
        assert side.found() == self.expected[side.name]
        assert ended["report"]["rows"]["used"] == ROWS
        assert ended["report"]["partitions"] == PARTITIONS
        assert side.gateway is not None and side.gateway.wait(60) == 0, self.said()
        assert SENTINEL not in (side.folder / "gateway.log").read_text()
        return ended


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    folder = tmp_path_factory.mktemp("clusters")
    both = (Cluster(folder / "one"), Cluster(folder / "other"))
    yield both
    for cluster in both:
        cluster.stop()


def attempts(ended: dict[str, Any]) -> int:
    number: int = json.loads(base64.b64decode(ended["record"]["payload"]))["attempts"]
    return number


def test_two_clusters(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    pair = Pair(tmp_path, clusters)
    sides = (pair.here, pair.there)
    for side in sides:
        side.start_gateway()
    with Memory() as memory:
        drivers = [side.start_driver() for side in sides]
        ended = [pair.check(side, driver) for side, driver in zip(sides, drivers, strict=True)]
    # As docs/spark.md says: what Java may take, and a task's memory beside Python's own.
    assert 0 < memory.java < 2 * EXECUTOR_MEMORY, memory.java
    assert 0 < memory.python < TASK_MEMORY + PYTHON_AND_ARROW, memory.python
    print(f"executors took {memory.java >> 20} MiB in Java, {memory.python >> 20} in Python")
    for side, end in zip(sides, ended, strict=True):
        assert attempts(end) == PARTITIONS
        left = [path for path in (side.folder / "scratch").rglob("*.parquet") if path.is_file()]
        assert all("matched" in str(path) or pq.read_table(path).num_rows == 0 for path in left)


def test_one_side_is_the_command_line(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    pair = Pair(tmp_path, clusters)
    pair.here.start_gateway()
    driver = pair.here.start_driver()
    run = pair.there.start("run", "acme", "--resume", "journal", "--wait", "120")
    pair.check(pair.here, driver)
    assert run.wait(60) == 0, pair.said()
    assert pair.there.found() == pair.expected["accepter"]


def test_a_worker_and_a_gateway_are_killed(
    tmp_path: Path, clusters: tuple[Cluster, Cluster]
) -> None:
    pair = Pair(tmp_path, clusters)
    sides = (pair.here, pair.there)
    for side in sides:
        side.start_gateway()
    drivers = [side.start_driver() for side in sides]

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
