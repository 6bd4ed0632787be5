"""Every kind of call, and the descriptions of its result."""

from __future__ import annotations

import asyncio
import doctest
import logging
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import SENTINEL, Both, emails

A = pl.DataFrame({"k": ["x", "y", "z"], "n": [10, 20, 30], "p": ["1.50", "2.25", "0.01"]})
B = pl.DataFrame({"k": ["z", "w", "x"], "m": [2, 3, 4], "tier": ["gold", "none", "silver"]})


def test_counts_sums_and_thresholds(both: Both) -> None:
    def ask(function: Callable[..., vesica.Run], mine: Any, its: Any, **given: Any) -> Any:
        run, other = both(
            lambda end: function(A, key="k", learns="both", partner=end, **mine, **given),
            lambda end: function(B, key="k", learns="both", partner=end, **its, **given),
        )
        assert run.value == other.value and run.rows is None
        return run

    run = ask(vesica.count, {}, {})
    assert (run.value, run.count) == (2, 2)
    assert ask(vesica.count, {}, {}, minimum=3).value is None
    assert ask(vesica.sum, {"values": "n"}, {}).value == 40
    assert ask(vesica.sum, {"values": "p"}, {}, scale=2).value == Decimal("1.51")
    assert ask(vesica.products, {"values": "n"}, {"values": "m"}).value == 100
    assert ask(vesica.threshold, {"at_least": 2}, {"at_least": 2}).value is True
    assert ask(vesica.threshold, {"at_least": 3}, {"at_least": 3}).value is False
    noisy = ask(vesica.count, {}, {}, epsilon=0.5)
    assert noisy.report["answer"]["kind"] == "noisy"


def test_joins(both: Both) -> None:
    def receive(end: vesica.Partner, **given: Any) -> vesica.Run:
        return vesica.intersect(A, key="k", learns="me", receive=True, partner=end, **given)

    def send(end: vesica.Partner) -> vesica.Run:
        return vesica.intersect(B, key="k", learns="peer", send=["tier"], partner=end)

    inner, sent = both(receive, send)
    assert inner.rows.rows() == [("x", 10, "1.50", "silver"), ("z", 30, "0.01", "gold")]
    assert sent.rows is None
    left, _ = both(lambda end: receive(end, join="left", select=["k"]), send)
    assert sorted(left.rows.rows()) == [("x", "silver"), ("y", None), ("z", "gold")]


def test_rows_of_both_sides_in_one_order(both: Both) -> None:
    one, other = both(
        lambda end: vesica.intersect(A, key="k", learns="both", align=True, partner=end),
        lambda end: vesica.intersect(B, key="k", learns="both", align=True, partner=end),
    )
    assert one.rows["k"].to_list() == other.rows["k"].to_list()
    assert one.rows["match_id"].to_list() == [1, 2]


def test_several_identifiers(both: Both) -> None:
    one = pl.DataFrame(
        {"mail": ["a@x.org", None, "c@x.org"], "first": ["A", "B", "C"], "last": ["1", "2", "3"]}
    )
    other = pl.DataFrame({"m": ["c@x.org", "b@x.org"], "f": ["X", "B"], "l": ["9", "2"]})
    mine, _ = both(
        lambda end: vesica.intersect(
            one, key=["mail", ["first", "last"]], learns="both", partner=end
        ),
        lambda end: vesica.intersect(other, key=["m", ["f", "l"]], learns="both", partner=end),
    )
    assert mine.rows["first"].to_list() == ["B", "C"]


NORTH = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "first": ["William", "Anna", "Eve", "Grace"],
        "last": ["Fisher", "Kowalski", "Orr", "Lee"],
        "born": ["1961-03-12", "1984-07-05", "1990-11-23", "2001-04-17"],
    }
)
SOUTH = pl.DataFrame(
    {
        "person": [1, 2, 7, 4],
        "Vorname": ["Bill", "Ana", "Tom", "Grace"],
        "Nachname": ["FISHER", "Kowalsky", "Young", "Lee"],
        "Geburtstag": ["12.03.1961", "5.7.1984", "30.6.1966", "17.4.2001"],
    }
)
HERE = {
    "first": {"column": "first", "normalize": "name"},
    "last": {"column": "last", "normalize": "name"},
    "dob": {"column": "born", "normalize": "date"},
}
THERE = ["first=Vorname:name", "last=Nachname:name", "dob=Geburtstag:date:%d.%m.%Y"]
RULES = ["first, last, dob", "nickname(first), last, dob", "soundex(first), soundex(last), dob"]


def test_rules_find_rows_that_are_written_differently(both: Both) -> None:
    def call(table: pl.DataFrame, field: Any, match: Any, **given: Any) -> Callable[..., Any]:
        return lambda end: vesica.intersect(
            table, field=field, match=match, learns="both", partner=end, **given
        )

    mine, its = both(call(NORTH, HERE, RULES), call(SOUTH, THERE, RULES, min_rule=2))
    assert mine.rows.select("match_rule", "id").rows() == [(2, 1), (3, 2), (1, 4)]
    assert its.rows.select("match_rule", "person").rows() == [(2, 1), (1, 4)]
    assert mine.report["rows_of_rules"] == [1, 1, 1]
    mine, _ = both(call(NORTH, HERE, "person"), call(SOUTH, THERE, "person@1"))
    assert mine.rows["id"].to_list() == [1, 2, 4]
    with pytest.raises(vesica.TermsError, match="rules by which rows match"):
        both(call(NORTH, HERE, RULES), call(SOUTH, THERE, RULES[:2]))
    with pytest.raises(vesica.UsageError, match="did you mean `soundex`"):
        both(call(NORTH, HERE, "sondex(first)"), call(SOUTH, THERE, RULES))


@pytest.mark.parametrize("kind", ["linked", "count", "threshold", "query", "shares"])
def test_nobody_learns_the_rules(both: Both, tmp_path: Path, kind: str) -> None:
    def call(table: pl.DataFrame, field: Any, learns: Any) -> Callable[..., Any]:
        def run(end: Any) -> Any:
            given: dict[str, Any] = {"field": field, "match": RULES, "partner": end}
            if kind == "shares":
                return vesica.shares(table, output=tmp_path / f"{learns}.csv", **given)
            if kind == "query":
                given["query"] = "SELECT count(*) FROM a JOIN b USING (key)"
                given["query_side"] = "a" if learns == "me" else "b"
            if kind == "threshold":
                given["at_least"] = 3
            return getattr(vesica, kind)(table, learns=learns, **given)

        return run

    mine, its = both(call(NORTH, HERE, "me"), call(SOUTH, THERE, "peer"))
    assert its.value is None
    assert mine.report["rows_of_rules"] is None
    if kind == "linked":
        assert (mine.value, mine.rows["id"].to_list()) == (3, [1, 2, 4])
        assert mine.rows.columns == NORTH.columns
    elif kind == "query":
        assert mine.rows.rows() == [(3,)]
    elif kind == "shares":
        assert (tmp_path / "me.csv").read_text().startswith("bin,row,member\n")
    else:
        assert mine.value == (3 if kind == "count" else True)


def test_rules_link_the_rows_of_a_join(both: Both) -> None:
    given: dict[str, Any] = {"match": RULES}
    mine, _ = both(
        lambda end: vesica.intersect(
            NORTH,
            field=HERE,
            learns="me",
            receive=True,
            join="left",
            select=["id"],
            partner=end,
            **given,
        ),
        lambda end: vesica.intersect(
            SOUTH, field=THERE, learns="peer", send="Vorname", partner=end, **given
        ),
    )
    assert mine.rows.rows() == [(2, 1, "Bill"), (3, 2, "Ana"), (0, 3, None), (1, 4, "Grace")]


def test_the_quality_of_rules(tmp_path: Path) -> None:
    found = vesica.match_quality(
        NORTH, SOUTH, truth="id", their_truth="person", field=HERE, their_field=THERE, match=RULES
    )
    assert (found["rows"], found["linked"]) == ([4, 4], 3)
    so_far = [rule["so_far"] for rule in found["rules"]]
    assert [(of["matched"], of["right"]) for of in so_far] == [(1, 1), (2, 2), (3, 3)]
    assert so_far[1]["recall"]["low"] < so_far[1]["recall"]["share"] == 2 / 3
    # Of one table, and of a file with another delimiter.
    one = pl.concat([NORTH, NORTH.head(2)])
    one.write_csv(tmp_path / "one.tsv", separator="\t")
    for table in (one, tmp_path / "one.tsv"):
        found = vesica.match_quality(table, truth="id", field=HERE, match=RULES[0])
        assert (found["linked"], found["rules"][0]["alone"]["right"]) == (2, 2)
    with pytest.raises(vesica.UsageError, match="is for a second table"):
        vesica.match_quality(NORTH, truth="id", their_truth="x", field=HERE, match=RULES)
    with pytest.raises(vesica.InputError, match="`no_such`"):
        vesica.match_quality(NORTH, truth="no_such", field=HERE, match=RULES)


def test_keys_of_several_columns_have_a_profile_each(both: Both) -> None:
    mine, _ = both(
        lambda end: vesica.intersect(
            pl.DataFrame({"a": ["X "], "b": ["01.02.2020"]}),
            key=["a", "b"],
            normalize=["text", "date:%d.%m.%Y"],
            learns="both",
            partner=end,
        ),
        lambda end: vesica.intersect(
            pl.DataFrame({"a": ["x"], "b": ["2020-02-01"]}),
            key=["a", "b"],
            normalize=["text", "date"],
            learns="both",
            partner=end,
        ),
    )
    assert mine.count == 1


def test_check_and_plan() -> None:
    found = vesica.check(pl.DataFrame({"k": ["a", "A ", None]}), key="k", normalize="text")
    assert found["rows"] == {"read": 3, "null": 1, "duplicate": 1, "used": 1}
    planned = vesica.plan(2**20, 2**20, round_trip=1)
    assert planned["protocol"] == planned["predictions"][0]["protocol"]
    with pytest.raises(vesica.UsageError):
        vesica.plan(2**20, 2**20, memory=1)


def test_an_agreement_from_the_command_line(tmp_path: Path) -> None:
    """Invited, accepted and confirmed there; run from here on both sides, with a record."""

    def command(side: str, *arguments: str) -> str:
        line = [sys.executable, "-m", "vesica", *arguments]
        ended = subprocess.run(line, cwd=tmp_path / side, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    for side in ("one", "other"):
        (tmp_path / side).mkdir()
        command(side, "init")
    address = "127.0.0.1:17788"
    terms = ["--key", "k", "--learns", "both", "--address", address]
    command("one", "invite", "deal", *terms)
    command("other", "accept", "../one/deal.invite", "--key", "k", "--yes")
    command("one", "confirm", "../other/deal.reply", "--yes")

    def run(side: str, table: pl.DataFrame) -> vesica.Run:
        folder = tmp_path / side
        identity = next(folder.glob("*.identity"), None) or next(folder.glob("*identity*"))
        return vesica.intersect(
            table, key="k", partner=folder / "deal.agreement", identity=identity
        )

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, "one", A), pool.submit(run, "other", B)]
        one, other = (run.result(60) for run in runs)
    assert one.rows["k"].to_list() == ["x", "z"] and other.rows["k"].to_list() == ["z", "x"]
    assert one.record is not None and one.record == other.record
    assert one.report["agreement"] == other.report["agreement"]
    command("one", "ledger", "verify")


def test_coroutines() -> None:
    async def main() -> tuple[vesica.Run, vesica.Run]:
        one, other = vesica.local_pair()
        return await asyncio.gather(
            vesica.aio.count(A, key="k", learns="both", partner=one),
            vesica.aio.count(B, key="k", learns="both", partner=other),
        )

    one, other = asyncio.run(main())
    assert one.value == other.value == 2


def test_the_log_has_phases_and_warnings_and_no_values(
    both: Both, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    table = pl.DataFrame({"k": [*emails(range(3)), "", emails(range(1))[0].upper()]})
    run, _ = both(
        lambda end: vesica.intersect(table, key="k", normalize="email", learns="both", partner=end),
        lambda end: vesica.intersect(table, key="k", normalize="email", learns="both", partner=end),
    )
    assert "reading the table" in caplog.text
    assert any(record.levelno == logging.WARNING for record in caplog.records)
    told = [caplog.text, repr(run), repr(run.rows.__class__), str(run.report)]
    assert not any(SENTINEL in text.lower() for text in told)


def test_a_run_has_one_bar_and_a_short_one_none(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tqdm.auto
    from vesica import _progress

    bars: list[Any] = []

    class Bar:
        def __init__(self, **given: Any) -> None:
            self.n, self.total, self.unit = 0, None, ""
            self.said: list[str] = []
            self.is_closed = False
            bars.append(self)

        def set_description_str(self, text: str, refresh: bool) -> None:
            self.said.append(text)

        def refresh(self) -> None: ...

        def close(self) -> None:
            self.is_closed = True

    def run() -> None:
        both(
            lambda end: vesica.intersect(A, key="k", learns="both", partner=end, progress=True),
            lambda end: vesica.intersect(B, key="k", learns="both", partner=end, progress=False),
        )

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    run()
    assert bars == []
    monkeypatch.setattr(_progress, "DELAY", 0)
    monkeypatch.setattr(_progress, "_PAUSE", 0)
    run()
    assert len(bars) == 1 and bars[0].is_closed
    assert "reading the table" in bars[0].said and len(set(bars[0].said)) > 1


@pytest.mark.parametrize(
    ("function", "mine", "its", "given", "words"),
    [
        (vesica.intersect, {}, {}, {}, "2 keys match"),
        (vesica.count, {}, {}, {}, "2 keys match"),
        (vesica.count, {}, {}, {"minimum": 3}, "fewer keys match than the minimum"),
        (vesica.sum, {"values": "n"}, {}, {}, "sum 40"),
        (vesica.sum, {"values": "p"}, {}, {"scale": 2}, "sum 1.51"),
        (vesica.products, {"values": "n"}, {"values": "m"}, {}, "sum 100"),
        (vesica.threshold, {}, {}, {"at_least": 2}, "the threshold is reached"),
        (vesica.threshold, {}, {}, {"at_least": 3}, "the threshold is not reached"),
        (vesica.count, {}, {}, {"epsilon": 0.5}, "noisy answer"),
    ],
)
def test_a_run_shows_its_answer(
    both: Both,
    function: Callable[..., vesica.Run],
    mine: dict[str, Any],
    its: dict[str, Any],
    given: dict[str, Any],
    words: str,
) -> None:
    run, other = both(
        lambda end: function(A, key="k", learns="both", partner=end, **mine, **given),
        lambda end: function(B, key="k", learns="both", partner=end, **its, **given),
    )
    for side in (run, other):
        assert words in repr(side) and words.capitalize() in side._repr_html_()
        assert side.too_few is ("minimum" in given)
    silent, _ = both(
        lambda end: function(A, key="k", learns="peer", partner=end, **mine, **given),
        lambda end: function(B, key="k", learns="me", partner=end, **its, **given),
    )
    assert "the other side learns the result" in repr(silent) and not silent.too_few
    assert silent.report["learned"]["me"] in silent._repr_html_().replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (2, 2)),
        ({"learns": "me"}, (2, None)),
        ({"answer": "count"}, (2, 2)),
        ({"answer": "count", "minimum": 3}, (None, None)),
    ],
)
def test_both_sides_in_one_call(given: dict[str, Any], expected: Any) -> None:
    its = B.rename({"k": "key"})
    mine, other = vesica.simulate(A, its, left_on="k", right_on="key", **given)
    assert (mine.count, other.count) == expected


def test_a_fault_of_either_side_is_the_one_that_is_raised() -> None:
    for left, right in (("k", "mail"), ("mail", "k")):
        with pytest.raises(vesica.InputError, match="`mail`"):
            vesica.simulate(A, B, left_on=left, right_on=right)


def test_the_examples_of_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example runs as written. If it needs a partner, another thread runs it, too."""
    monkeypatch.chdir(tmp_path)
    people = "ann@example.org,10\nbob@example.org,20\nc@example.org,30\n"
    Path("a.csv").write_text(f"email,spent\n{people}")
    Path("b.csv").write_text("mail,weight\nbob@example.org,4\nc@example.org,1\n")
    Path("one.csv").write_text("mail\nbob@example.org\n")
    others: dict[str, tuple[Callable[..., vesica.Run], str, dict[str, Any]]] = {
        "intersect": (vesica.intersect, "one.csv", {"normalize": "email"}),
        "count": (vesica.count, "b.csv", {}),
        "sum": (vesica.sum, "b.csv", {}),
        "products": (vesica.products, "b.csv", {"values": "weight"}),
        "threshold": (vesica.threshold, "b.csv", {"at_least": 3}),
        "shares": (vesica.shares, "b.csv", {"output": "b.shares"}),
    }
    alone = (
        "check",
        "match_quality",
        "plan",
        "preview",
        "publish",
        "Partner",
        "local_pair",
        "simulate",
        "simulate_parties",
    )
    finder, failed, run = doctest.DocTestFinder(), 0, 0
    with ThreadPoolExecutor(2) as pool:
        for name in (*others, *alone):
            tests = [test for test in finder.find(getattr(vesica, name), name) if test.examples]
            assert tests, f"{name} has no example"
            for test in tests:
                mine, its = vesica.local_pair()
                other = None
                if name in others:
                    call, table, given = others[name]
                    if name != "shares":
                        given = {"learns": "both", **given}
                    given = {"key": "mail", "partner": its, **given}
                    other = pool.submit(call, Path(table), **given)
                test.globs = {
                    "partner": mine,
                    "me": None,
                    "vesica": vesica,
                    "Partner": vesica.Partner,
                }
                ended = doctest.DocTestRunner().run(test)
                failed, run = failed + ended.failed, run + ended.attempted
                if other is not None:
                    other.result(30)
    assert failed == 0 and run > 16
