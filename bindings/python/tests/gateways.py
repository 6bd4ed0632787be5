"""Two sides with an agreement, each with a gateway, for the tests of clusters.

`VESICA_SPARK_ROWS` sets the number of rows of each side, for runs by hand.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import SENTINEL

ROWS = int(os.environ.get("VESICA_SPARK_ROWS", "20000"))
PARTITIONS = 8
PATIENCE = 600 + ROWS // 1000
TASK_MEMORY = 256 << 20
TESTS = Path(__file__).parent
COLUMNS = {"inviter": "email", "accepter": "mail"}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Side:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.name = name
        self.column = COLUMNS[name]
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
        line += ["--task-memory", f"{TASK_MEMORY >> 20}M"]
        self.gateway = self.start(*line, "--stall-timeout", "20", "--wait", "120")
        gateway, token = self.gateway, self.folder / "token"
        wait_for(lambda: token.exists() or gateway.poll() is not None)
        assert token.exists(), self.said()

    def start_driver(self, script: str, **asked: Any) -> subprocess.Popen[str]:
        """Start a driver in a separate process, like a submitted job."""
        asked = {
            "input": str(self.folder / "in.parquet"),
            "key": self.column,
            "gateway": self.address,
            "token": str(self.folder / "token"),
            "scratch": str(self.folder / "scratch"),
            "output": str(self.folder / "out.parquet"),
            "slots": 2,
            **asked,
        }
        return subprocess.Popen(
            [sys.executable, str(TESTS / script), json.dumps(asked)],
            stdout=subprocess.PIPE,
            stderr=(self.folder / "driver.log").open("wb"),
            env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            text=True,
        )

    def said(self) -> str:
        """Return all output of this side's processes, for a failing test."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"== {log}\n{log.read_text(errors='replace')[-6000:]}" for log in logs)

    def found(self) -> list[int]:
        return sorted(pq.read_table(self.folder / "out.parquet")["n"].to_pylist())


def wait_for(come: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < until
        time.sleep(0.1)


def write(side: Side) -> list[int]:
    """Write rows, half of them with shared keys, and return the matching rows.

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

    def __init__(self, folder: Path) -> None:
        self.here = Side(folder, "inviter")
        self.there = Side(folder, "accepter")
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


def attempts(ended: dict[str, Any]) -> int:
    number: int = json.loads(base64.b64decode(ended["record"]["payload"]))["attempts"]
    return number
