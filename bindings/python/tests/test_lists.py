"""Published lists: made here, served by the program, and looked up here."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import vesica
from conftest import SENTINEL, emails

ITEMS = pl.DataFrame(
    {"email": emails(range(0, 1000, 2)), "since": [f"20{n % 100:02}" for n in range(500)]}
)
ASKED = pl.DataFrame({"mail": [mail.upper() for mail in emails(range(10))], "id": list(range(10))})


class Server:
    """A list that `vesica serve` answers for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.directory = folder, folder / "list"
        self.me = vesica.Identity.create(folder / "publisher.pem")
        self.published = self.publish(ITEMS, labels=["since"])
        line = [sys.executable, "-m", "vesica", "serve-list", "--list", str(self.directory)]
        line += ["--identity", str(folder / "publisher.pem"), "--listen", "127.0.0.1:0"]
        line += ["--client-burst", "10000", "--client-rate", "100000"]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said: list[bytes] = []
        self.address = self._address()
        threading.Thread(target=self._listen, daemon=True).start()

    def publish(self, table: Any, **given: Any) -> dict[str, Any]:
        return vesica.publish(
            table, key="email", normalize="email", list=self.directory, identity=self.me, **given
        )

    def _address(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if b"127.0.0.1:" in line:
                text = line.decode().split("127.0.0.1:")[1]
                return "https://127.0.0.1:" + "".join(c for c in text[:5] if c.isdigit()) + "/v1"
        raise AssertionError(self.said)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(self.process.stdout)

    def lookup(self, table: Any = ASKED, **given: Any) -> vesica.Lookup:
        options: dict[str, Any] = {
            "key": "mail",
            "normalize": "email",
            "list": self.address,
            "publisher": self.me.fingerprint,
            "cache": self.folder / "cache",
            **given,
        }
        return vesica.lookup(table, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("list"))
    yield server
    server.process.terminate()
    assert server.process.wait(30) == 0, server.said


def test_what_is_published_says_what_it_is(server: Server) -> None:
    told = server.published
    assert (told["items"], told["added"], told["removed"]) == (500, 500, 0)
    assert (told["epoch"], told["version"], told["is_whole"]) == (1, 0, True)
    assert (told["publisher"], told["lambda"]) == (server.me.fingerprint, 40)
    assert told["tag_bits"] == 40 + 12 + 9
    assert told["bytes"] == sum(f.stat().st_size for f in server.directory.glob("public/*.part"))


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "csv", "arrow"])
def test_rows_come_back_as_they_were_given(server: Server, tmp_path: Path, kind: str) -> None:
    tables: dict[str, Any] = {
        "polars": ASKED,
        "pandas": ASKED.to_pandas(),
        "pyarrow": ASKED.to_arrow(),
        "csv": tmp_path / "asked.csv",
        "arrow": ASKED,
    }
    ASKED.write_csv(tmp_path / "asked.csv")
    found = server.lookup(tables[kind], to="arrow" if kind == "arrow" else None)
    assert (found.count, found.keys, found.written, found.beyond_promise) == (5, 10, 5, False)
    kinds = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.Table}
    assert isinstance(found.rows, kinds.get(kind, vesica.Table))
    rows = pl.DataFrame(found.rows)
    assert [int(n) for n in rows["id"].to_list()] == [0, 2, 4, 6, 8]
    assert rows["since"].to_list() == ["2000", "2001", "2002", "2003", "2004"]
    assert SENTINEL not in repr(found).lower() and "5 of 10" in repr(found)


def test_all_rows_and_files(server: Server, tmp_path: Path) -> None:
    found = server.lookup(all=True)
    assert found.rows["since"].to_list()[:3] == ["2000", None, "2001"]
    assert found.rows["in_list"].to_list()[:3] == ["true", "false", "true"]
    assert (found.count, found.written) == (5, 10)
    ASKED.write_csv(tmp_path / "asked.csv")
    found = server.lookup(tmp_path / "asked.csv", output=tmp_path / "found.csv", batch=3)
    assert found.rows is None and found.written == 5
    assert pl.read_csv(tmp_path / "found.csv")["id"].to_list() == [0, 2, 4, 6, 8]


def test_answers_are_those_of_sets(server: Server) -> None:
    table = pl.DataFrame({"mail": emails(range(400, 1400)), "n": list(range(1000))})
    expected = table.filter(pl.col("mail").is_in(ITEMS["email"].to_list()))
    assert server.lookup(table).rows.drop("since").equals(expected)


def test_a_copy_of_the_list_elsewhere(server: Server) -> None:
    found = server.lookup(list=server.directory / "public", ask=server.address)
    assert found.count == 5
    with pytest.raises(vesica.NetworkError, match="cannot answer questions"):
        server.lookup(list=server.directory / "public")


def test_coroutines(server: Server) -> None:
    async def ask() -> list[vesica.Lookup]:
        caches = [server.folder / f"cache-{n}" for n in range(2)]
        calls = [
            vesica.aio.lookup(
                ASKED,
                key="mail",
                normalize="email",
                list=server.address,
                publisher=server.me.fingerprint,
                cache=cache,
            )
            for cache in caches
        ]
        return await asyncio.gather(*calls)

    assert [found.count for found in asyncio.run(ask())] == [5, 5]


def test_other_threads_run_meanwhile(server: Server) -> None:
    """Blinding thousands of keys releases the GIL."""
    table = pl.DataFrame({"mail": emails(range(4000))})
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    ticking = threading.Thread(target=tick)
    ticking.start()
    before = time.monotonic()
    try:
        assert server.lookup(table).count == 500
    finally:
        took = time.monotonic() - before
        done.set()
        ticking.join()
    # A tick takes a few milliseconds at worst. With the GIL held, there would be only two.
    assert ticks[0] > 5, took


def test_progress_and_warnings_go_to_the_log(
    tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    few = server.folder / "few"
    vesica.publish(
        ITEMS.head(3), key="email", normalize="email", list=few, identity=server.me, queries=2
    )
    assert "evaluating the function" in caplog.text
    server.lookup()
    assert "bringing the list up to date" in caplog.text
    assert SENTINEL not in caplog.text.lower()


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"publisher": "vesica1-nonsense"}, vesica.UsageError, "fingerprint"),
        ({"list": "http://example.org/v1"}, vesica.UsageError, "not the address of a list"),
        ({"normalize": "none"}, vesica.TermsError, "normalised"),
        ({"key": "email"}, vesica.InputError, "has no column"),
        ({"batch": 0}, vesica.UsageError, "batch"),
        ({"key": [["mail"], ["id"]]}, vesica.UsageError, "list of names"),
        ({"to": "numpy"}, vesica.UsageError, "polars, pandas"),
        ({"list": "https://127.0.0.1:9/v1"}, vesica.NetworkError, "127.0.0.1:9"),
        ({"budget": 100}, vesica.Error, "more than the 100"),
        ({"output": "/no/such/place"}, vesica.InputError, "cannot be written"),
    ],
)
def test_what_is_refused(server: Server, given: dict[str, Any], kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        server.lookup(**given)
    assert words in str(raised.value)
    assert SENTINEL not in f"{raised.value!r}".lower()


def test_a_stranger_and_a_damaged_list_are_refused(server: Server, tmp_path: Path) -> None:
    stranger = vesica.Identity.create(tmp_path / "stranger.pem")
    with pytest.raises(vesica.Error, match=r"another publisher|certificate"):
        server.lookup(publisher=stranger.fingerprint)
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in (server.directory / "public").iterdir():
        content = bytearray(file.read_bytes())
        if file.suffix == ".part":
            content[-1] ^= 1
        (copy / file.name).write_bytes(content)
    with pytest.raises(vesica.PeerError, match="forged or damaged"):
        server.lookup(list=copy, ask=server.address, cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"labels": ["nothing"]}, vesica.InputError, "no column"),
        ({"lambda_": 9}, vesica.UsageError, "lambda_"),
        ({"valid": -1.0}, vesica.UsageError, "valid"),
        ({"capacity": 10}, vesica.UsageError, "500 distinct keys"),
    ],
)
def test_what_is_not_published(
    tmp_path: Path, given: dict[str, Any], kind: type, words: str
) -> None:
    me = vesica.Identity.create(tmp_path / "me.pem")
    with pytest.raises(kind, match=words):
        vesica.publish(
            ITEMS, key="email", normalize="email", list=tmp_path / "list", identity=me, **given
        )
    assert not (tmp_path / "list" / "public" / "head.json").exists()


def test_an_update_is_a_delta_and_an_epoch_is_new(tmp_path: Path) -> None:
    me = vesica.Identity.create(tmp_path / "me.pem")

    def publish(table: pl.DataFrame, **given: Any) -> dict[str, Any]:
        # By its path: as good as the identity.
        return vesica.publish(
            table, key="email", list=tmp_path / "list", identity=tmp_path / "me.pem", **given
        )

    assert publish(ITEMS.head(300))["items"] == 300
    told = publish(ITEMS.slice(10, 300), capacity=512)
    assert (told["items"], told["added"], told["removed"], told["evaluated"]) == (300, 10, 10, 10)
    assert (told["epoch"], told["version"], told["is_whole"]) == (1, 1, False)
    told = publish(ITEMS, new_epoch=True)
    assert (told["epoch"], told["items"], told["evaluated"]) == (2, 500, 500)
    head = json.loads((tmp_path / "list" / "public" / "head.json").read_text())
    assert head["signatures"] and told["publisher"] == me.fingerprint


def test_a_call_can_be_cancelled(tmp_path: Path) -> None:
    """After a cancelled task, the next call completes the list."""
    me = vesica.Identity.create(tmp_path / "me.pem")
    table = pl.DataFrame({"email": emails(range(200_000))})

    async def interrupted() -> None:
        call = vesica.aio.publish(table, key="email", list=tmp_path / "list", identity=me)
        task = asyncio.create_task(call)
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    if not (tmp_path / "list" / "public" / "head.json").exists():
        again = vesica.publish(table.head(1000), key="email", list=tmp_path / "list", identity=me)
        assert again["items"] == 1000


def test_plan_knows_lists() -> None:
    planned = vesica.plan(1000, 2**24, runs=100)
    listed = planned["published_list"]
    assert (listed["protocol"], listed["runs"], listed["queries"]) == ("oprf-list", 100, 100_000)
    assert listed["better_from"] <= 100 and listed["is_better"]
    assert "published_list" not in vesica.plan(2**20, 2**20)
    with pytest.raises(vesica.UsageError, match="from 1 on"):
        vesica.plan(10, 20, runs=0)
