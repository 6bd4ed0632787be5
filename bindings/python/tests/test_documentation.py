"""The code blocks of the documentation run as written, except for names and addresses."""

from __future__ import annotations

import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import agree, free_address
from test_lists import Server

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/guides/python.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)


def record_of(sides: dict[str, dict[str, Path]], record: Path) -> None:
    """Run under an agreement on both sides, and keep the record."""
    table = pl.DataFrame({"k": ["a", "b"]})
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(vesica.intersect, table, key="k", record=record, **sides["one"])
        other = pool.submit(vesica.intersect, table, key="k", **sides["other"])
        assert (one.result(60).count, other.result(60).count) == (2, 2)


def test_the_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sides = agree(tmp_path)
    shutil.copy(sides["one"]["partner"], "acme.agreement")
    shutil.copy(sides["one"]["identity"], "vesica.identity")
    record_of(sides, tmp_path / "acme.record")
    me, it = vesica.Identity.create("me.identity"), vesica.Identity.generate()
    emails = ["Ann@example.org", "bob@example.org"]
    pl.DataFrame({"email": emails, "mail": emails}).write_parquet("customers.parquet")
    address = free_address()
    other = threading.Thread(
        target=vesica.intersect,
        args=(pl.DataFrame({"mail": ["ann@example.org"]}),),
        kwargs={
            "key": "mail",
            "normalize": "email",
            "learns": "both",
            "identity": it,
            "partner": vesica.Partner(me.fingerprint, listen=address),
        },
    )
    other.start()
    server = Server(tmp_path)
    names = {
        'Partner("vesica1-…"': f'Partner("{it.fingerprint}"',
        'publisher="vesica1-…"': f'publisher="{server.me.fingerprint}"',
        "partner.example.org:7788": address,
        "https://lists.example.org:7790/v1": server.address,
    }
    space: dict[str, Any] = {}
    try:
        for block in BLOCKS:
            for name, value in names.items():
                block = block.replace(name, value)
            assert "…" not in block and "example.org:" not in block, block
            exec(compile(block, "docs/guides/python.md", "exec"), space)
    finally:
        server.process.terminate()
        server.process.wait(30)
    other.join(30)
    assert not other.is_alive()
    assert space["run"].count == 1 and space["mine"].count == 1
    assert space["found"].keys == 2
    assert space["checked"]["matches"] == 2
    assert len(BLOCKS) >= 5
