"""Frame to frame in Python beside CSV to CSV by the command line, in turn.

Each round runs two processes that call ``vesica.intersect`` with a Polars frame in memory, and
two of ``vesica run`` from a CSV file to a CSV file. A side has rows of five columns, half of them
shared, and both sides learn which. Seconds are from the start of both sides to the end of the later
one; for Python, of only the calls.

    python benches/frames.py --rows 1048576 --rounds 7 --command target/release/vesica

It needs polars and an installed vesica of the same version as the command.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import vesica

SIDE = """
import json, resource, sys, time
import polars as pl, vesica
table, identity, peer, way, address = sys.argv[1:]
frame = pl.read_parquet(table)
me, partner = vesica.Identity.load(identity), vesica.Partner(peer, **{way: address})
print("ready", flush=True)
sys.stdin.readline()
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before, began = used(), time.perf_counter()
run = vesica.intersect(
    frame, key="email", normalize="email", learns="both", identity=me, partner=partner
)
print(json.dumps([time.perf_counter() - began, used() - before, run.rows.height]), flush=True)
"""


def table(first: int, rows: int) -> pl.DataFrame:
    """Make the rows of one side; those with the same number are of the same person."""
    numbers = pl.Series("id", range(first, first + rows), dtype=pl.Int64)
    return pl.DataFrame({"id": numbers}).select(
        pl.format("person{}@example.org", "id").alias("email"),
        "id",
        pl.format("Name of person {}", "id").alias("name"),
        (pl.col("id") / 7).alias("amount"),
        pl.date(2020, 1, 1).dt.offset_by(pl.format("{}d", pl.col("id") % 1000)).alias("day"),
    )


class Rounds:
    """Two sides in a folder, which run again and again."""

    def __init__(self, folder: Path, rows: int, command: str) -> None:
        self.folder, self.rows, self.command = folder, rows, command
        self.peers: dict[str, str] = {}
        for name, first in (("a", 0), ("b", rows // 2)):
            frame = table(first, rows)
            frame.write_csv(folder / f"{name}.csv")
            frame.write_parquet(folder / f"{name}.parquet")
            self.peers[name] = vesica.Identity.create(folder / f"{name}.identity").fingerprint

    def sides(self) -> list[tuple[str, str, str, str]]:
        """Name each side, its peer, its way to the other, and their address."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
        peers = self.peers
        return [("a", peers["b"], "listen", address), ("b", peers["a"], "connect", address)]

    def frames(self) -> tuple[float, float]:
        """Run two calls, and return seconds and processor time."""
        processes = []
        for name, peer, way, address in self.sides():
            files = [str(self.folder / f"{name}.{ending}") for ending in ("parquet", "identity")]
            line = [sys.executable, "-c", SIDE, *files, peer, way, address]
            pipe = subprocess.PIPE
            processes.append(subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True))
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        told = [json.loads(process.communicate()[0]) for process in processes]
        assert all(matched == self.rows - self.rows // 2 for _, _, matched in told), told
        return max(seconds for seconds, _, _ in told), sum(used for _, used, _ in told)

    def files(self) -> tuple[float, float]:
        """Run two commands, and return seconds and processor time."""

        def used() -> float:
            return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

        before, began, processes = used(), time.perf_counter(), []
        for name, peer, way, address in self.sides():
            line = [self.command, "run", f"--{way}", address, "--peer", peer, "--quiet"]
            line += ["--identity", str(self.folder / f"{name}.identity"), "--learns", "both"]
            line += ["--input", str(self.folder / f"{name}.csv"), "--key", "email"]
            line += ["--normalize", "email", "--output", str(self.folder / f"{name}.out.csv")]
            processes.append(subprocess.Popen(line))
        assert all(process.wait() == 0 for process in processes)
        seconds, used_up = time.perf_counter() - began, used() - before
        for name in ("a", "b"):
            output = self.folder / f"{name}.out.csv"
            matched = output.read_bytes().count(b"\n") - 1
            assert matched == self.rows - self.rows // 2, matched
            output.unlink()
        return seconds, used_up


def main() -> None:
    """Measure, and print each round and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--command", default=str(Path(sys.executable).with_name("vesica")))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder), given.rows, given.command)
        measured = []
        for number in range(given.rounds + 1):
            frames, files = rounds.frames(), rounds.files()
            ways = f"frames {frames[0]:.2f} s ({frames[1]:.2f} s of processors)"
            print(f"{ways}, files {files[0]:.2f} s ({files[1]:.2f} s)", flush=True)
            # The first round finds nothing of the system warm.
            if number > 0:
                measured.append((*frames, *files))
        frame, frame_used, file, file_used = map(statistics.median, zip(*measured, strict=True))
        print(f"median: frames {frame:.2f} s, files {file:.2f} s, {frame / file:.2f} x as long")
        print(f"processors: frames {frame_used:.2f} s, files {file_used:.2f} s")


if __name__ == "__main__":
    main()
