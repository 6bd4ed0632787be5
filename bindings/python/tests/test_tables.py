"""Tables of every type are read without a copy, and returned with the same type."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import vesica
from conftest import SENTINEL, Both, Sides, emails

COLUMNS: dict[str, list[Any]] = {
    "email": emails(range(100)),
    "id": list(range(100)),
    "day": [datetime.date(2020, 1, 1) + datetime.timedelta(days=day) for day in range(100)],
    "score": [None if number % 7 == 0 else number / 3 for number in range(100)],
}
EXPECTED = [number for number in range(100) if number % 3 == 0]


def other() -> pa.Table:
    addresses = [address.upper() for address in emails(range(0, 200, 3))]
    return pa.table({"mail": addresses})


def arrow(table: pa.Table) -> Any:
    class Foreign:
        """An object with only the interface."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    return Foreign()


KINDS: dict[str, tuple[Callable[[pa.Table], Any], type]] = {
    "polars": (pl.DataFrame, pl.DataFrame),
    "pandas": (lambda table: table.to_pandas(), pd.DataFrame),
    "pyarrow": (lambda table: table, pa.Table),
    "duckdb": (duckdb.from_arrow, duckdb.DuckDBPyRelation),
    "arrow": (arrow, vesica.Table),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", [None, *KINDS])
def test_rows_come_back_as_what_they_were(both: Both, kind: str, to: Any) -> None:
    make, _ = KINDS[kind]
    table = make(pa.table(COLUMNS))
    mine, its = both(
        lambda end: vesica.intersect(
            table, key="email", normalize="email", learns="me", partner=end, to=to
        ),
        lambda end: vesica.intersect(
            other(), key="mail", normalize="email", learns="peer", partner=end
        ),
    )
    assert isinstance(mine.rows, KINDS[to or kind][1])
    rows = mine.rows
    if isinstance(rows, pd.DataFrame):
        assert kind != "pandas" or rows.index.tolist() == EXPECTED
        rows = pa.Table.from_pandas(rows, preserve_index=False)
    rows = pa.table(rows)
    assert rows.column_names == list(COLUMNS)
    for name, values in COLUMNS.items():
        expected = [values[number] for number in EXPECTED]
        found = rows[name].to_pylist()
        if "pandas" in (kind, to):
            # pandas has NaN instead of missing numbers.
            found = [None if value != value else value for value in found]
        assert found == expected, name
    assert mine.count == len(EXPECTED) and its.rows is None and its.count is None


LETTERS = pd.DataFrame({"k": list("abcd"), "n": [1, 2, 3, 4]})


class Frame(pd.DataFrame):
    """A class of another package, as for maps."""


@pytest.mark.parametrize(
    ("frame", "index"),
    [
        (LETTERS, [0, 3]),
        (LETTERS.drop(1), [0, 3]),
        (LETTERS.set_index(pd.RangeIndex(101, 105)), [101, 104]),
        (LETTERS.set_index(pd.RangeIndex(0, 8, 2)), [0, 6]),
        (LETTERS.rename_axis("row"), [0, 3]),
        (LETTERS.set_index(pd.RangeIndex(101, 105, name="customer")), [101, 104]),
        (LETTERS.set_index(pd.Index(list("wxyz"), name="row")), ["w", "z"]),
        (LETTERS.set_index(pd.Index(list("wxyz"), name="k")), ["w", "z"]),
        (LETTERS.set_index([list("ppqq"), [1, 2, 1, 2]]), [("p", 1), ("q", 2)]),
        (Frame(LETTERS), [0, 3]),
    ],
)
def test_an_index_of_pandas_comes_back(
    both: Both, tmp_path: Path, frame: pd.DataFrame, index: list[Any]
) -> None:
    def ask(**given: Any) -> Any:
        mine, _ = both(
            lambda end: vesica.intersect(frame, key="k", learns="both", partner=end, **given),
            lambda end: vesica.intersect(
                pa.table({"k": ["d", "a"]}), key="k", learns="both", partner=end
            ),
        )
        return mine.rows

    for given in ({}, {"select": "n"}, {"select": ["n", "k"]}):
        rows = ask(**given)
        assert isinstance(rows, pd.DataFrame)
        assert rows.index.tolist() == index and rows.index.names == frame.index.names
        assert rows["n"].tolist() == [1, 4]
        names = given.get("select", ["k", "n"])
        assert rows.columns.tolist() == ([names] if isinstance(names, str) else names)
        assert frame.loc[rows.index, "n"].tolist() == [1, 4]
    # For other types, a default index is dropped, and every other index becomes a column.
    is_plain = frame.index.equals(pd.RangeIndex(4)) and frame.index.name is None
    levels = 0 if is_plain else frame.index.nlevels
    assert len(ask(to="polars").columns) == 2 + levels
    assert len(ask(to="pyarrow").schema) == 2 + levels
    assert ask(output=tmp_path / "out.arrows") is None
    assert len(pa.ipc.open_stream(tmp_path / "out.arrows").read_all().schema) == 2 + levels
    ask(output=tmp_path / "one.arrows", select="n")
    assert pa.ipc.open_stream(tmp_path / "one.arrows").read_all().schema.names == ["n"]


def polars_column(values: list[Any], kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"k": ["a", "b"], "x": pl.Series(values, dtype=kind, strict=False)})


@pytest.mark.parametrize(
    "table",
    [
        polars_column([None, None]),
        polars_column([{"y": None}, {"y": None}]),
        polars_column([{"y": [None]}, None]),
        polars_column([[None], [None]]),
        polars_column([1, 2**100], pl.Int128),
        polars_column([[1], [2]], pl.List(pl.Int128)),
        polars_column([{"y": 1}, {"y": 2}], pl.Struct({"y": pl.Int128})),
        polars_column([{"y": 1}, {"y": None}]),
        polars_column(["p", "q"], pl.Categorical),
        polars_column(["p", "q"], pl.Enum(["p", "q"])),
        polars_column([[1, 2], [3, 4]], pl.Array(pl.Int8, 2)),
        polars_column([b"1", b"2"]),
        polars_column([datetime.time(1), None]),
        polars_column([datetime.timedelta(1), None]),
        pa.table({"k": ["a", "b"], "x": pa.nulls(2)}),
        pa.table({"k": ["a", "b"], "x": pa.array([[], [None]], pa.list_(pa.null()))}),
        pa.table({"k": ["a", "b"], "x": pa.array([{"y": None}, None])}),
        pa.table({"k": ["a", "b"], "x": pa.array([b"0" * 16, None], pa.uuid())}),
        pa.table({"k": ["a", "b"], "x": pa.array([1, 2], pa.decimal256(60, 0))}),
        pd.DataFrame({"k": ["a", "b"], "x": [None, None]}),
    ],
    ids=str,
)
def test_columns_of_every_type_come_along(both: Both, table: Any) -> None:
    mine, _ = both(
        lambda end: vesica.intersect(table, key="k", learns="both", partner=end),
        lambda end: vesica.intersect(table, key="k", learns="both", partner=end),
    )
    assert mine.count == 2 and mine.rows.equals(table)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (polars_column([object(), object()], pl.Object), "column `x`"),
        (pd.DataFrame({"k": ["a", "b"], "x": [1, "zq7sentinel"]}), "column `x`"),
        (pd.DataFrame([["a", "b"]], columns=["k", "k"]), "several columns `k`"),
        (pd.DataFrame([["a", "b"]]), "names that are not text"),
        (LETTERS.pipe(pl.from_pandas).lazy(), "frame.collect()"),
        (pa.dataset.dataset(pa.table({"k": ["a"]})), "to_reader()"),
        (pa.dataset.dataset(pa.table({"k": ["a"]})).scanner(), "to_reader()"),
        ({"k": ["a"]}, "PyCapsule"),
    ],
)
def test_tables_that_are_refused_name_a_way_out(table: Any, words: str) -> None:
    one, _ = vesica.local_pair()
    with pytest.raises(vesica.UsageError) as raised:
        vesica.intersect(table, key="k", learns="both", partner=one)
    assert words in str(raised.value) and SENTINEL not in str(raised.value)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("ask", [vesica.sum, vesica.products])
def test_values_that_are_not_exact_are_refused(make: Any, ask: Any) -> None:
    one, _ = vesica.local_pair()
    table = make({"k": ["a"], "price": [1.5]})
    with pytest.raises(vesica.UsageError, match=r"`price` holds floating.*scale=2"):
        ask(table, key="k", values="price", learns="both", partner=one)


def test_relations_come_back_on_their_connection(both: Both) -> None:
    connection = duckdb.connect()
    connection.execute("create table tiers as select 'b' as k, 'gold' as tier")
    relation = connection.sql("select * from (values ('a', 1), ('b', 2)) t(k, n)")
    mine, _ = both(
        lambda end: vesica.intersect(relation, key="k", learns="both", partner=end),
        lambda end: vesica.intersect(
            pl.DataFrame({"k": ["b"]}), key="k", learns="both", partner=end
        ),
    )
    rows = mine.rows
    assert rows.join(connection.table("tiers"), "k").fetchall() == [("b", 2, "gold")]
    assert connection.sql("select n from rows").fetchall() == [(2,)]
    assert rows.fetchall() == rows.fetchall() == [("b", 2)]


def test_pieces_and_strings_of_every_layout(both: Both) -> None:
    """Chunked tables of Polars and DuckDB, and dictionaries."""
    pieces = pa.chunked_array([["a", "b"], [], ["c"], ["d", "a"]])
    layouts = [
        pieces,
        pieces.cast(pa.large_string()),
        pieces.cast(pa.string_view()),
        pieces.dictionary_encode(),
    ]
    for layout in layouts:
        table = pa.table({"k": layout, "n": pa.chunked_array([[1, 2], [3, 4, 5]])})
        mine, _ = both(
            lambda end, table=table: vesica.intersect(table, key="k", learns="both", partner=end),
            lambda end: vesica.intersect(
                pl.DataFrame({"k": ["d", "a"]}), key="k", learns="both", partner=end
            ),
        )
        assert mine.rows["n"].to_pylist() == [1, 4, 5]
        assert mine.rows.schema == table.schema


def test_frames_against_the_command_line(sides: Sides) -> None:
    """Two processes over TLS."""
    (sides.folder / "there.csv").write_text(
        "mail,x\n" + "\n".join(f"{a},1" for a in emails(range(50, 150)))
    )
    flags = ["--input", "there.csv", "--key", "mail", "--normalize", "email"]
    for make, kind in KINDS.values():
        process = sides.command(*flags, "--learns", "both", "--output", "out.csv")
        run = vesica.intersect(
            make(pa.table(COLUMNS)),
            key="email",
            normalize="email",
            learns="both",
            identity=sides.me,
            partner=sides.partner,
        )
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert isinstance(run.rows, kind)
        assert pa.table(run.rows)["id"].to_pylist() == list(range(50, 100))
        assert len((sides.folder / "out.csv").read_text().splitlines()) == 51
        (sides.folder / "out.csv").unlink()


def test_paths_are_read_and_written_by_the_native_part(both: Both, tmp_path: Path) -> None:
    file, out = tmp_path / "mine.parquet", tmp_path / "out.parquet"
    pl.DataFrame(COLUMNS).write_parquet(file)

    def peer(end: vesica.Partner) -> vesica.Run:
        return vesica.intersect(other(), key="mail", normalize="email", learns="peer", partner=end)

    def mine(end: vesica.Partner, **given: Any) -> vesica.Run:
        return vesica.intersect(
            file, key="email", normalize="email", learns="me", partner=end, **given
        )

    run, _ = both(mine, peer)
    assert isinstance(run.rows, vesica.Table) and len(run.rows) == len(EXPECTED)
    assert run.rows.column_names == list(COLUMNS)
    run, _ = both(lambda end: mine(end, output=out, select=["id"]), peer)
    assert run.rows is None and run.report["rows_written"] == len(EXPECTED)
    assert pl.read_parquet(out)["id"].to_list() == EXPECTED
    run, _ = both(lambda end: mine(end, to="polars"), peer)
    assert run.rows["id"].to_list() == EXPECTED


def test_text_and_its_dialect(both: Both, tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("k;v\nx;1\ny;2\n")
    mine, _ = both(
        lambda end: vesica.intersect(
            file, key="k", learns="both", partner=end, format="csv", delimiter="semicolon"
        ),
        lambda end: vesica.intersect(
            pl.DataFrame({"k": ["y"]}), key="k", learns="both", partner=end
        ),
    )
    assert pa.table(mine.rows).to_pylist() == [{"k": "y", "v": "2"}]


def test_a_table_is_left_as_it_is(both: Both) -> None:
    """A run does not change the table, even if the rows share memory with it."""
    table = pl.DataFrame(COLUMNS)
    before = table.clone()
    both(
        lambda end: vesica.intersect(
            table, key="email", normalize="email", learns="me", partner=end
        ),
        lambda end: vesica.intersect(
            other(), key="mail", normalize="email", learns="peer", partner=end
        ),
    )
    assert table.equals(before)
