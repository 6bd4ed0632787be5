"""Queries over both tables, whose answers are frames."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import Both

QUERY = (
    "SELECT b.city AS city, count(*) AS n, sum(a.spend) AS spend FROM a JOIN b USING (key) "
    "GROUP BY b.city HAVING count(*) >= 2"
)
SPENT = pl.DataFrame({"k": list("abcdef"), "spend": ["1.50", "2.00", "3.25", "4.00", "5", "6"]})
CITIES = pl.DataFrame(
    {"k": list("bcdexyz"), "city": ["north", "south", "north", "east", "south", "south", "south"]}
)
EXPECTED = [("north", 2, Decimal("6.00"), "shown")]


@pytest.mark.parametrize("to", ["polars", "pandas", "pyarrow", "duckdb", "arrow"])
def test_an_answer_is_a_frame(both: Both, to: Any) -> None:
    run, other = both(
        lambda end: vesica.query(
            SPENT,
            QUERY,
            key="k",
            columns="spend:decimal(2)",
            query_side="a",
            learns="me",
            to=to,
            partner=end,
        ),
        lambda end: vesica.query(
            CITIES,
            QUERY,
            key="k",
            columns=["city:label<=8"],
            query_side="b",
            learns="peer",
            partner=end,
        ),
    )
    assert other.rows is None
    assert pl.DataFrame(run.rows).rows() == EXPECTED


def test_a_query_needs_a_side_and_its_columns(both: Both) -> None:
    def asks(**given: Any) -> Any:
        return lambda end: vesica.query(SPENT, QUERY, key="k", learns="both", partner=end, **given)

    with pytest.raises(vesica.UsageError, match="query_side"):
        both(asks(columns="spend:decimal(2)"), asks(columns="spend:decimal(2)"))
    with pytest.raises(vesica.UsageError, match="declare it"):
        both(asks(query_side="a"), asks(query_side="b"))
