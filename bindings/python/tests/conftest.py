"""Two sides: this process, and another thread or the command line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import vesica

IN_FULL = ["test_spark.py", "test_spark_frames.py", "test_ray.py", "test_stores.py"]
"""Tests only for the second tier: they need Spark and Java, Ray, or a server."""

collect_ignore = [] if os.environ.get("VESICA_ASSURE") else IN_FULL

SENTINEL = "zq7sentinel"
"""Part of every identifier in these tests. It must never appear outside of results."""


class Sides:
    """Two identities that know each other, and a port between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {name: folder / f"{name}.identity" for name in ("here", "there")}
        self.identities = {name: vesica.Identity.create(file) for name, file in self.files.items()}
        self.address = free_address()

    @property
    def me(self) -> vesica.Identity:
        return self.identities["here"]

    @property
    def partner(self) -> vesica.Partner:
        """The other side as this one knows it, which connects."""
        return vesica.Partner(self.identities["there"].fingerprint, connect=self.address)

    def command(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start the command line as the other side, which listens."""
        line = [
            sys.executable,
            "-m",
            "vesica",
            "run",
            "--progress",
            "plain",
            "--listen",
            self.address,
        ]
        line += ["--identity", str(self.files["there"]), "--peer", self.me.fingerprint]
        line += [str(argument) for argument in arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, cwd=self.folder)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


Both = Callable[[Callable[[vesica.Partner], Any], Callable[[vesica.Partner], Any]], Any]


@pytest.fixture
def both() -> Iterator[Both]:
    """Carry out two calls, each with one end of a local pair."""
    with ThreadPoolExecutor(2) as pool:

        def run(
            one: Callable[[vesica.Partner], Any], other: Callable[[vesica.Partner], Any]
        ) -> tuple[Any, Any]:
            pair = vesica.local_pair()
            futures: list[Future[Any]] = [
                pool.submit(call, end) for call, end in zip((one, other), pair, strict=True)
            ]
            errors = [future.exception(60) for future in futures]
            for error in errors:
                # The error of the side that caused it says more than the other side's.
                if error is not None and not isinstance(error, vesica.NetworkError):
                    raise error
            return futures[0].result(), futures[1].result()

        yield run


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def agree(folder: Path, *terms: str) -> dict[str, dict[str, Path]]:
    """Make an agreement by the command line; return both sides' agreement and identity."""
    address = free_address()

    def command(side: str, *arguments: str) -> None:
        line = [sys.executable, "-m", "vesica", *arguments]
        ended = subprocess.run(line, cwd=folder / side, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr

    for side in ("one", "other"):
        (folder / side).mkdir()
        command(side, "init")
    given = ["--key", "k", "--learns", "both", "--address", address, *terms]
    command("one", "invite", "deal", *given)
    command("other", "accept", "../one/deal.invite", "--key", "k", "--yes")
    command("one", "confirm", "../other/deal.reply", "--yes")
    return {
        side: {
            "partner": folder / side / "deal.agreement",
            "identity": next((folder / side).glob("*identity*")),
        }
        for side in ("one", "other")
    }


def emails(numbers: range) -> list[str]:
    return [f"{SENTINEL}{number}@example.org" for number in numbers]
