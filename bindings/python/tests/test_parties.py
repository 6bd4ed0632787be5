"""Runs among three parties, each on a thread of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest
import vesica

NAMES = ("ash", "birch", "cedar")
STEPS = (2, 3, 5)


def _table(step: int) -> pl.DataFrame:
    return pl.DataFrame({"k": [str(key) for key in range(0, 300, step)]})


def _run_all(call: Callable[..., vesica.Run], places: dict[str, Any], **given: Any) -> list[Any]:
    """Call this for each of three parties on a thread of its own."""
    identities = [vesica.Identity.generate() for _ in NAMES]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = [identity.fingerprint for identity in identities]
    where[0] += f"@127.0.0.1:{port}"
    named = dict(zip(NAMES, where, strict=True))
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(
                call,
                _table(step),
                key="k",
                partner=vesica.Parties(named, leader="ash", **places),
                identity=identity,
                **given,
            )
            for step, identity in zip(STEPS, identities, strict=True)
        ]
        return [run.result(60) for run in runs]


def test_all_parties_get_their_rows() -> None:
    runs = _run_all(vesica.intersect, {"pivot": "cedar", "learners": "all"})
    for run in runs:
        assert run.rows["k"].to_list() == [str(key) for key in range(0, 300, 30)]
    assert "birch and cedar have the result from ash" in runs[0].learned
    assert "10 keys match; 150 keys here, among 3 parties" in repr(runs[0])


def test_only_the_leader_learns_a_number() -> None:
    runs = _run_all(vesica.count, {"pivot": "birch"})
    assert [run.value for run in runs] == [10, None, None]


def test_the_holders_of_keys_are_named() -> None:
    ash, *others = _run_all(vesica.intersect, {"at_least": 2})
    assert ash.rows.columns == ["k", "holders"]
    assert set(ash.rows["holders"]) == {"birch cedar"}
    assert [run.rows for run in others] == [None, None]


def test_all_parties_run_in_one_call() -> None:
    tables = {name: _table(step) for name, step in zip(NAMES, STEPS, strict=True)}
    tables["birch"] = tables["birch"].rename({"k": "key"}).with_columns(v=pl.int_range(100))
    runs = vesica.simulate_parties(
        tables,
        on={"ash": "k", "birch": "key", "cedar": "k"},
        leader="ash",
        pivot="birch",
        answer="sum",
        only={"birch": {"values": "v"}},
    )
    assert [runs[name].value for name in NAMES] == [sum(range(0, 100, 10)), None, None]


@pytest.mark.parametrize("failing", NAMES)
def test_the_fault_of_the_party_that_failed_is_raised(failing: str) -> None:
    tables = {name: _table(step) for name, step in zip(NAMES, STEPS, strict=True)}
    keys = {name: "mail" if name == failing else "k" for name in NAMES}
    with pytest.raises(vesica.InputError, match="`mail`"):
        vesica.simulate_parties(tables, on=keys, leader="ash", pivot="birch")
    with pytest.raises(vesica.UsageError, match="there is no table of dan"):
        vesica.simulate_parties(tables, on={"dan": "k"}, leader="ash", pivot="birch")
    with pytest.raises(vesica.UsageError, match="the key of birch is missing"):
        vesica.simulate_parties(tables, on={"ash": "k"}, leader="ash", pivot="birch")


def test_places_are_checked_before_anything_is_sent() -> None:
    parties = vesica.Parties({"ash": "nobody"}, leader="ash", pivot="birch")
    with pytest.raises(vesica.UsageError, match="each party is NAME=FINGERPRINT"):
        vesica.count(_table(2), key="k", partner=parties, identity=vesica.Identity.generate())
    assert repr(parties) == "<vesica.Parties ash; leader=ash pivot=birch>"
