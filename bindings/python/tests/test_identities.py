"""Identities in files and in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
import vesica
from conftest import free_address


def test_an_identity_of_a_text_is_the_one_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "me.identity"
    me = vesica.Identity.create(file)
    assert me.to_pem() == file.read_text()
    again = vesica.Identity.from_pem(file.read_text())
    assert again == me and hash(again) == hash(me) and len({me, again}) == 1
    assert again.fingerprint == me.fingerprint
    assert me not in (vesica.Identity.generate(), me.fingerprint)


def test_an_identity_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "me.identity"
    me = vesica.Identity.load_or_create(file)
    assert vesica.Identity.load_or_create(file) == me
    assert (file.stat().st_mode & 0o077) == 0
    file.write_text("damaged")
    with pytest.raises(vesica.InputError, match="exactly one section"):
        vesica.Identity.load_or_create(file)


def test_identities_in_memory_run() -> None:
    one, other = vesica.Identity.generate(), vesica.Identity.generate()
    address = free_address()
    table = pl.DataFrame({"k": ["a", "b"]})
    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(
            vesica.count,
            table,
            key="k",
            learns="both",
            identity=one,
            partner=vesica.Partner(other.fingerprint, listen=address),
        )
        its = pool.submit(
            vesica.count,
            table,
            key="k",
            learns="both",
            identity=vesica.Identity.from_pem(other.to_pem()),
            partner=vesica.Partner(one.fingerprint, connect=address),
        )
        assert (mine.result(60).value, its.result(60).value) == (2, 2)


@pytest.mark.parametrize("text", ["", "no identity", "-----BEGIN PRIVATE KEY-----\nzq7sentinel"])
def test_a_text_that_is_no_identity_is_not_shown(text: str) -> None:
    with pytest.raises(vesica.UsageError) as raised:
        vesica.Identity.from_pem(text)
    assert "no identity" not in str(raised.value) and "zq7sentinel" not in str(raised.value)
