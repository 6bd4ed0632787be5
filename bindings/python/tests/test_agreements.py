"""Agreements, records and predicted disclosures, as the command has them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import Both, agree

TABLE = pl.DataFrame({"k": ["x", "y"], "n": [1, 2]})

Sides = dict[str, dict[str, Path]]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return agree(tmp_path_factory.mktemp("agreed"), "--min-set", "2")


def said(folder: Path, *arguments: str | Path) -> str:
    line = [sys.executable, "-m", "vesica", *map(str, arguments)]
    ended = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("side", ["one", "other"])
def test_an_agreement_has_the_words_of_the_command(sides: Sides, side: str) -> None:
    file, identity = sides[side]["partner"], sides[side]["identity"]
    agreement = vesica.Agreement.load(file, identity)
    shown = said(file.parent, "agreement", file)
    for text in (agreement.name, agreement.hash, agreement.words, *agreement.parties):
        assert text in shown
    assert agreement.accepted in shown and agreement.made in shown
    for line in agreement.sentences + agreement.clauses:
        assert line in shown
    told = json.loads(said(file.parent, "agreement", "--json", file))
    assert told["sentences"] == agreement.sentences
    assert told["disclosure"] == agreement.disclosure
    assert vesica.preview(agreement=file, identity=identity) == told
    assert agreement.hash[:16] in repr(agreement)
    me = vesica.Identity.load(identity)
    assert me.fingerprint == agreement.parties[side == "other"]


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"learns": "me"}, ["--learns", "me"]),
        ({"learns": "both", "normalize": "email"}, ["--learns", "both", "--normalize", "email"]),
        ({"learns": "me", "receive": True}, ["--learns", "me", "--receive"]),
        ({"learns": "peer", "send": "n"}, ["--learns", "peer", "--send", "n"]),
        (
            {"learns": "both", "answer": "count", "minimum": 5},
            ["--learns", "both", "--answer", "count", "--minimum", "5"],
        ),
        (
            {"learns": "both", "answer": "threshold:9", "security": "semi-honest"},
            ["--learns", "both", "--answer", "threshold:9"],
        ),
    ],
)
def test_a_preview_is_that_of_the_command(
    tmp_path: Path, given: dict[str, Any], flags: list[str]
) -> None:
    told = vesica.preview(key="k", **given)
    line = ["preview", "--json", "--input", "a.csv", "--key", "k", "--identity", "me", *flags]
    assert told == json.loads(said(tmp_path, *line))


@pytest.mark.parametrize("given", [{"learns": "me"}, {"answer": "count"}, {"send": "n"}])
def test_an_agreement_settles_a_preview(sides: Sides, given: dict[str, Any]) -> None:
    with pytest.raises(vesica.UsageError, match="the agreement settles"):
        vesica.preview(agreement=sides["one"]["partner"], **given)


def test_a_record_is_verified(sides: Sides, tmp_path: Path) -> None:
    agreement = vesica.Agreement.load(sides["one"]["partner"])
    me = vesica.Identity.load(sides["one"]["identity"])
    record = tmp_path / "record"
    with ThreadPoolExecutor(2) as pool:
        given = {**sides["one"], "partner": agreement}
        one = pool.submit(vesica.intersect, TABLE, key="k", record=record, **given)
        other = pool.submit(vesica.intersect, TABLE, key="k", **sides["other"])
        run, _ = one.result(60), other.result(60)
    told = vesica.verify(record, agreement.parties)
    assert told == vesica.verify(run.record, [me, agreement.parties[1]])
    assert told["agreement"] == agreement.hash and told["matches"] == 2
    assert [side["keys"] for side in told["sides"]] == [2, 2]
    with_parties = [f"--with={party}" for party in agreement.parties]
    shown = said(tmp_path, "verify", record, *with_parties)
    assert all(line in shown for line in told["sentences"])
    stranger = vesica.Identity.generate()
    damaged = json.loads(record.read_text())
    damaged["payload"] = damaged["payload"][:-8] + "AAAAAAA="
    for given, parties, words in [
        (record, [stranger], "is not a party"),
        (record, [me], "is a party of the record, too"),
        (damaged, agreement.parties, ""),
        ({}, agreement.parties, ""),
        (tmp_path / "none", agreement.parties, "cannot be read"),
    ]:
        with pytest.raises(vesica.InputError) as raised:
            vesica.verify(given, parties)
        assert words in str(raised.value)


def test_shares_are_written(both: Both, tmp_path: Path) -> None:
    mine, its = both(
        lambda end: vesica.shares(
            TABLE, key="k", values="n", output=tmp_path / "mine", partner=end
        ),
        lambda end: vesica.shares(TABLE, key="k", output=tmp_path / "its", partner=end),
    )
    assert mine.count is None and its.count is None
    assert (tmp_path / "mine").stat().st_size > 0 < (tmp_path / "its").stat().st_size
    assert "neither side learns" in repr(mine)
