"""The command line as the other side of every kind of call, and its messages for faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import SENTINEL, Sides, emails
from vesica._errors import in_python

MINE = pl.DataFrame({"k": emails(range(100)), "n": list(range(100))})
THERE = pl.DataFrame({"k": emails(range(90, 150)), "m": [2] * 60, "tier": ["gold"] * 60})
SHARED = range(90, 100)
OUTPUT = ["--output", "out.csv"]

Call = tuple[Callable[..., vesica.Run], dict[str, Any], list[str], Callable[[vesica.Run], Any], Any]

CALLS: dict[str, Call] = {
    "rows": (vesica.intersect, {}, OUTPUT, lambda run: run.rows["n"].to_list(), list(SHARED)),
    "count": (vesica.count, {}, ["--answer", "count"], lambda run: run.value, 10),
    "sum": (vesica.sum, {"values": "n"}, ["--answer", "sum"], lambda run: run.value, sum(SHARED)),
    "their sum": (vesica.sum, {}, ["--answer", "sum:m"], lambda run: run.value, 20),
    "products": (
        vesica.products,
        {"values": "n"},
        ["--answer", "products:m"],
        lambda run: run.value,
        2 * sum(SHARED),
    ),
    "threshold": (
        vesica.threshold,
        {"at_least": 11},
        ["--answer", "threshold:11"],
        lambda run: run.value,
        False,
    ),
    "aligned": (
        vesica.intersect,
        {"align": True},
        ["--align", *OUTPUT],
        lambda run: run.rows["match_id"].to_list(),
        list(range(1, 11)),
    ),
    "malicious": (
        vesica.intersect,
        {"security": "malicious"},
        ["--security", "malicious", *OUTPUT],
        lambda run: run.rows["n"].to_list(),
        list(SHARED),
    ),
    "partitions": (
        vesica.intersect,
        {"partitions": 3},
        ["--partitions", "3", *OUTPUT],
        lambda run: run.rows["n"].to_list(),
        list(SHARED),
    ),
}


@pytest.mark.parametrize("kind", CALLS)
def test_every_call_has_the_command_line_as_its_other_side(sides: Sides, kind: str) -> None:
    function, given, flags, found, expected = CALLS[kind]
    THERE.write_csv(sides.folder / "there.csv")
    flags = ["--input", "there.csv", "--key", "k", "--learns", "both", *flags]
    process = sides.command(*flags)
    given = {"identity": sides.me, "partner": sides.partner, "wait": 30.0, **given}
    run = function(MINE, key="k", learns="both", **given)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert found(run) == expected


def test_columns_of_the_command_line_are_joined(sides: Sides) -> None:
    THERE.write_csv(sides.folder / "there.csv")
    flags = ["--input", "there.csv", "--key", "k", "--learns", "peer", "--send", "tier"]
    process = sides.command(*flags)
    run = vesica.intersect(
        MINE,
        key="k",
        learns="me",
        receive=True,
        identity=sides.me,
        partner=sides.partner,
        wait=30.0,
    )
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert run.rows["tier"].to_list() == ["gold"] * 10


def said_by_the_command(folder: Path, *arguments: str) -> str:
    line = [sys.executable, "-m", "vesica", *arguments]
    ended = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert ended.returncode != 0
    return ended.stderr


def test_faults_have_the_words_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"k\n{SENTINEL}\n")
    (tmp_path / "b.csv").write_text(f'k\n"{SENTINEL}\n')
    for name, key in (("a.csv", "mail"), ("b.csv", "k"), ("none.csv", "k")):
        table = str(tmp_path / name)
        with pytest.raises(vesica.InputError) as raised:
            vesica.check(table, key=key)
        said = said_by_the_command(tmp_path, "check", table, "--key", key)
        # Except for the names of flags.
        assert str(raised.value) in in_python(said) and SENTINEL not in said


def test_a_policy_that_refuses_is_its_own_kind_of_fault(tmp_path: Path) -> None:
    """Both sides agreed on sets of at least 1,000 keys, but this side has 100."""
    for side in ("one", "other"):
        (tmp_path / side).mkdir()

    def command(side: str, *arguments: str) -> None:
        line = [sys.executable, "-m", "vesica", *arguments]
        subprocess.run(line, cwd=tmp_path / side, check=True, capture_output=True)

    command("one", "init")
    command("other", "init")
    terms = ["--key", "k", "--learns", "both", "--address", "127.0.0.1:17790", "--min-set", "1000"]
    command("one", "invite", "deal", *terms)
    command("other", "accept", "../one/deal.invite", "--key", "k", "--yes")
    command("one", "confirm", "../other/deal.reply", "--yes")
    line = [sys.executable, "-m", "vesica", "run", "deal", "--input", "there.csv"]
    THERE.write_csv(tmp_path / "other" / "there.csv")
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, cwd=tmp_path / "other", stdout=pipe, stderr=pipe, text=True)
    folder = tmp_path / "one"
    identity = next(folder.glob("*identity*"))
    with pytest.raises(vesica.PolicyError) as raised:
        agreement = folder / "deal.agreement"
        vesica.intersect(MINE, key="k", partner=agreement, identity=identity, wait=30.0)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 8, said
    assert "1,000" in str(raised.value) and SENTINEL not in f"{raised.value!r} {said}"
