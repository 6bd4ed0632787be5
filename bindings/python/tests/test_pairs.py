"""Two ends in one process: which calls meet, and which do not."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest
import vesica

OLD = pl.DataFrame({"k": ["a"]})
NEW = pl.DataFrame({"k": ["a", "b", "c"]})


class Broken:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise KeyError("my own fault")


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (OLD, {"key": "mail"}),
        (OLD, {"key": 0}),
        (OLD, {"to": "numpy"}),
        (OLD, {"colour": "red"}),
        (OLD, {"join": "outer"}),
        (OLD, {"learns": "them"}),
        (OLD.lazy(), {}),
        (Broken(), {}),
        ("no such file", {}),
    ],
)
@pytest.mark.parametrize("fails", [0, 1])
def test_a_call_that_fails_frees_the_other_end(
    table: Any, given: dict[str, Any], fails: int
) -> None:
    pair = vesica.local_pair()
    given = {"key": "k", "learns": "both", **given}
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            vesica.intersect, NEW, key="k", learns="both", partner=pair[1 - fails]
        )
        time.sleep(0.1)
        with pytest.raises((vesica.Error, TypeError)):
            vesica.intersect(table, partner=pair[fails], **given)
        with pytest.raises(vesica.NetworkError, match="ended before it met this one"):
            waiting.result(30)
    assert time.monotonic() - began < 10
    # The pair can be used again, in either order of calls.
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(vesica.count, NEW, key="k", learns="both", partner=end) for end in pair]
        assert [run.result(30).value for run in runs] == [3, 3]


def test_a_failure_of_long_ago_ends_nothing() -> None:
    one, other = vesica.local_pair()
    with pytest.raises(vesica.InputError):
        vesica.count(OLD, key="mail", learns="both", partner=one)
    time.sleep(3.1)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(vesica.count, NEW, key="k", learns="both", partner=other)
        time.sleep(0.1)
        assert vesica.count(OLD, key="k", learns="both", partner=one).value == 1
        assert waiting.result(30).value == 1


@pytest.mark.parametrize("used", [0, 1])
def test_an_end_takes_one_call(used: int) -> None:
    pair = vesica.local_pair()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(vesica.count, OLD, key="k", learns="both", partner=pair[used])
        time.sleep(0.2)
        with pytest.raises(vesica.UsageError, match="is in use"):
            vesica.count(NEW, key="k", learns="both", partner=pair[used])
        assert vesica.count(NEW, key="k", learns="both", partner=pair[1 - used]).value == 1
        assert waiting.result(30).value == 1


def test_any_number_of_coroutines_wait() -> None:
    async def main() -> list[vesica.Run]:
        pairs = [vesica.local_pair() for _ in range(24)]
        ends = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        calls = [
            vesica.aio.count(NEW, key="k", learns="both", partner=end, wait=30) for end in ends
        ]
        return await asyncio.gather(*calls)

    assert [run.value for run in asyncio.run(main())] == [3] * 48
