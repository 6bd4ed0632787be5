"""Arguments of every call: kinds, units, and those that an agreement settles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import vesica
from conftest import agree

TABLE = pl.DataFrame({"k": ["x", "y"], "n": [1, 2]})

SETTLED: dict[str, Any] = {
    "learns": "me",
    "normalize": "lower",
    "null_values": ["-"],
    "security": "malicious",
    "protocol": "rr22",
    "minimum": 2,
    "epsilon": 0.5,
    "clamp": 10,
    "scale": 2,
    "send": ["n"],
    "send_bytes": 32,
    "receive": False,
    "align": False,
    "max_peer_rows": 10,
    "allow_research": False,
    "diagnose": False,
}


@pytest.fixture(scope="module")
def agreed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return agree(tmp_path_factory.mktemp("agreed"))["one"]


@pytest.mark.parametrize("name", SETTLED)
def test_an_agreement_settles(agreed: dict[str, Path], name: str) -> None:
    """Even the default value is refused, because a caller who passes it expects it to count."""
    numbers = ("minimum", "epsilon", "clamp", "scale")
    call: Any = vesica.count if name in numbers else vesica.intersect
    with pytest.raises(vesica.UsageError, match=f"the agreement settles {name}: leave it out"):
        call(TABLE, key="k", wait=1.0, **agreed, **{name: SETTLED[name]})


def test_each_argument_that_an_agreement_settles_is_named(agreed: dict[str, Path]) -> None:
    with pytest.raises(
        vesica.UsageError, match="settles learns, normalize and align: leave them out"
    ):
        vesica.intersect(TABLE, key="k", align=True, learns="me", normalize="none", **agreed)


def intersect(**given: Any) -> Any:
    one, _ = vesica.local_pair()
    given = {"key": "k", "learns": "both", "wait": 0.1, "partner": one, **given}
    return vesica.intersect(TABLE, **given)


def count(**given: Any) -> Any:
    one, _ = vesica.local_pair()
    return vesica.count(TABLE, key="k", learns="both", wait=0.1, partner=one, **given)


def publish(**given: Any) -> Any:
    me = vesica.Identity.generate()
    given = {"key": "k", "list": "no-such-place/list", "identity": me, **given}
    return vesica.publish(TABLE, **given)


def lookup(**given: Any) -> Any:
    me = vesica.Identity.generate().fingerprint
    given = {"key": "k", "list": "no-such-place/list", "publisher": me, **given}
    return vesica.lookup(TABLE, **given)


def check(**given: Any) -> Any:
    return vesica.check(TABLE, **{"key": "k", **given})


def plan(**given: Any) -> Any:
    return vesica.plan(**{"mine": 1000, "theirs": 1000, **given})


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        (intersect, {"key": 0}, "key: the name of a column"),
        (intersect, {"key": [0, 1]}, "key: the name of a column"),
        (intersect, {"normalize": 3}, "normalize: a profile"),
        (intersect, {"learns": 1}, "learns: possible values: me"),
        (intersect, {"wait": [1, 2]}, "wait: a number of seconds"),
        (intersect, {"wait": 0}, "wait: a number of seconds from 0.1"),
        (intersect, {"stall_timeout": float("nan")}, "stall_timeout: a number of seconds"),
        (intersect, {"deadline": 1e9}, "deadline: a number of seconds"),
        (intersect, {"memory": []}, "memory: an amount with its unit, such as 2G"),
        (intersect, {"memory": "2"}, "memory: an amount with its unit, such as 2G"),
        (intersect, {"memory": 2}, "memory: an amount with its unit, such as 2G"),
        (intersect, {"memory": True}, "memory: an amount with its unit, such as 2G"),
        (intersect, {"bandwidth": 10**9}, "bandwidth: a number of Mbit/s"),
        (intersect, {"bandwidth": 0}, "bandwidth: a number of Mbit/s"),
        (intersect, {"threads": 1.5}, "threads: a whole number"),
        (intersect, {"partitions": -1}, "partitions: a whole number"),
        (intersect, {"send": 5}, "send: a name"),
        (intersect, {"select": [1]}, "select: a name"),
        (intersect, {"receive": "yes"}, "receive: true or false"),
        (intersect, {"duplicates": 0}, "duplicates: all:N requires a whole number"),
        (intersect, {"output": 5}, "output: a path"),
        (intersect, {"join": 5}, "join: possible values"),
        (intersect, {"join": "outer"}, "join: possible values: inner, left"),
        (intersect, {"to": 5}, "to must be one of arrow, polars"),
        (intersect, {"partner": 5}, "agreement is a path"),
        (intersect, {"identity": 5}, "identity is a path"),
        (count, {"minimum": "some"}, "minimum: a whole number"),
        (count, {"epsilon": []}, "epsilon: a"),
        (count, {"scale": 19}, "scale: a whole number from 0 to 18"),
        (publish, {"labels": 5}, "labels: a name"),
        (publish, {"valid": "week"}, "valid: a number of hours"),
        (publish, {"lambda_": 9}, "lambda_: a whole number from 10 to 80"),
        (publish, {"memory": "lots"}, "memory: an amount"),
        (lookup, {"batch": 0}, "batch: a whole number from 1 to 4,096"),
        (lookup, {"publisher": 5}, "publisher: a fingerprint begins with"),
        (lookup, {"all": 1}, "all: true or false"),
        (check, {"key": 0}, "key: the name"),
        (check, {"null_values": 5}, "null_values: a value"),
        (plan, {"bandwidth": 1e7}, "bandwidth: a number of Mbit/s from 0.001"),
        (plan, {"round_trip": 20_000}, "round_trip is a number of ms from 0 to 10000"),
        (plan, {"memory": 5}, "memory: an amount"),
        (plan, {"mine": -1}, "mine is a whole number"),
    ],
)
def test_what_makes_no_sense_is_named(call: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(vesica.UsageError) as raised:
        call(**given)
    assert words in str(raised.value)


def test_a_text_is_one_name() -> None:
    with pytest.raises(vesica.InputError, match="`no_such`"):
        intersect(select="no_such")


def test_names_may_be_those_of_a_frame() -> None:
    """Types of other libraries, including their numbers, are accepted."""
    frame = pd.DataFrame({"k": ["x"], "n": [1]})
    mine, _ = vesica.simulate(
        frame,
        frame,
        left_on=frame.columns[:1],
        right_on="k",
        select=frame.columns[::-1],
        wait=np.float32(20),
        threads=np.int64(1),
    )
    assert mine.rows.columns.tolist() == ["n", "k"]
    for names in ({"k"}, {"k": 1}, b"k", ["k", 1]):
        with pytest.raises(vesica.UsageError, match="select: a name"):
            intersect(select=names)


def test_units_are_those_of_the_command_line() -> None:
    planned = vesica.plan(10**7, 10**7, bandwidth=50, round_trip=40)
    assert planned["bits_per_second"] == 50_000_000
    assert planned["round_trip_seconds"] == pytest.approx(0.04)
    more = vesica.plan(10**6, 10**6, memory="2G")
    assert more["predictions"] == vesica.plan(10**6, 10**6, memory=2 << 30)["predictions"]


def test_flags_of_the_command_have_their_names_here(tmp_path: Path) -> None:
    told = str(vesica.UsageError("pass --allow-empty (--learns peer), not a--b or `--x`"))
    assert told == "pass allow_empty (learns peer), not a--b or `x`"
    file = tmp_path / "me.identity"
    vesica.Identity.create(file)
    with pytest.raises(vesica.InputError, match=r"Identity\.load_or_create"):
        vesica.Identity.create(file)
