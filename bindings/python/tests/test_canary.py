"""No exception, exception chain, `repr` or log repeats values of tables or secrets."""

from __future__ import annotations

import asyncio
import io
import logging
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import vesica
import vesica.spark
from vesica._cluster import Link

CANARY = "zq7canary"
PEM = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"


class Raising:
    """A table whose package repeats a value in its exception."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise ValueError(f"cannot convert {CANARY}") from error


class NoCapsule:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return CANARY


def broken_batches() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"k": [CANARY]})
        raise RuntimeError(CANARY)

    return pa.RecordBatchReader.from_batches(pa.schema([("k", pa.string())]), batches())


class Hidden:
    """A stream that fails while it is being read."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return broken_batches().__arrow_c_stream__()


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"k": ["a", "b"], "x": [1, CANARY]}),
    "pandas key": lambda: pd.DataFrame({"k": [1, CANARY]}),
    "pandas objects": lambda: pd.DataFrame({"k": ["a"], "x": [Secret()]}),
    "polars": lambda: pl.DataFrame({"k": [CANARY], "x": pl.Series([Secret()], dtype=pl.Object)}),
    "polars plan": lambda: pl.DataFrame({"k": [CANARY]}).lazy(),
    "pyarrow": broken_batches,
    "duckdb": lambda: duckdb.sql(f"select cast(x as int) k from (values ('{CANARY}')) t(x)"),
    "foreign": Raising,
    "foreign stream": Hidden,
    "no capsule": NoCapsule,
    "dictionary": lambda: {"k": [CANARY]},
}


class Secret:
    def __repr__(self) -> str:
        return CANARY

    __str__ = __repr__


def partner() -> vesica.Partner:
    return vesica.local_pair()[0]


ME = vesica.Identity.generate()
RUN: dict[str, Any] = {"key": "k", "learns": "both", "wait": 0.1}
LISTED: dict[str, Any] = {"key": "k", "list": "no-such/list"}


def awaited(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return asyncio.run(call(*given, **named))


CALLS: dict[str, Callable[[Any], Any]] = {
    "intersect": lambda table: vesica.intersect(table, partner=partner(), **RUN),
    "count": lambda table: vesica.count(table, partner=partner(), **RUN),
    "sum": lambda table: vesica.sum(table, values="x", partner=partner(), **RUN),
    "products": lambda table: vesica.products(table, values="x", partner=partner(), **RUN),
    "threshold": lambda table: vesica.threshold(table, at_least=1, partner=partner(), **RUN),
    "query": lambda table: vesica.query(
        table, "SELECT count(*) FROM a JOIN b USING (key)", query_side="a", partner=partner(), **RUN
    ),
    "check": lambda table: vesica.check(table, key="k"),
    "publish": lambda table: vesica.publish(table, identity=ME, **LISTED),
    "lookup": lambda table: vesica.lookup(table, publisher=ME.fingerprint, **LISTED),
    "aio.intersect": lambda table: awaited(vesica.aio.intersect, table, partner=partner(), **RUN),
    "aio.check": lambda table: awaited(vesica.aio.check, table, key="k"),
    "aio.lookup": lambda table: awaited(
        vesica.aio.lookup, table, publisher=ME.fingerprint, **LISTED
    ),
}

SECRETS: dict[str, Callable[[], Any]] = {
    "Identity.load": lambda: vesica.Identity.load(PEM),
    "Identity.create": lambda: vesica.Identity.create(PEM),
    "Identity.load_or_create": lambda: vesica.Identity.load_or_create(PEM),
    "Identity.from_pem": lambda: vesica.Identity.from_pem(PEM),
    "identity=": lambda: vesica.count({}, partner=partner(), **RUN, identity=PEM),
    "identity of publish": lambda: vesica.publish({}, identity=PEM, **LISTED),
    "table": lambda: vesica.check(PEM, key="k"),
    "key": lambda: vesica.check({}, key=PEM),
    "partner=": lambda: vesica.count({}, partner=PEM, **RUN),
    "Partner": lambda: vesica.Partner(PEM),
    "agreement=": lambda: vesica.Partner(agreement=PEM),
    "token": lambda: Link.of("127.0.0.1:1", CANARY, 0.1),
    "token with a line": lambda: Link.of("127.0.0.1:1", f"{CANARY}\n", 0.1).open(),
    "token of spark": lambda: vesica.spark.intersect(
        Secret(), key="k", gateway="127.0.0.1:1", token=CANARY, scratch="/tmp"
    ),
    "password of a list": lambda: vesica.lookup(
        pl.DataFrame({"k": ["a"]}),
        key="k",
        list=f"https://me:{CANARY}@127.0.0.1:9/v1",
        publisher=ME.fingerprint,
    ),
    "password of a table": lambda: vesica.check(f"s3://me:{CANARY}@bucket/x.parquet", key="k"),
    "password of a file": lambda: vesica.check(f"https://me:{CANARY}@127.0.0.1/x.csv", key="k"),
    "password of a proxy": lambda: vesica.count(
        pl.DataFrame({"k": ["a"]}),
        identity=ME,
        partner=vesica.Partner(
            ME.fingerprint, connect="127.0.0.1:9", proxy=f"ftp://me:{CANARY}@127.0.0.1"
        ),
        **RUN,
    ),
    "token of a list": lambda: vesica.lookup(
        pl.DataFrame({"k": ["a"]}),
        key="k",
        list="https://127.0.0.1:9/v1",
        publisher=ME.fingerprint,
        token=CANARY,
    ),
    "pickle": lambda: pickle.dumps(ME),
}


def everything(error: BaseException) -> str:
    """Return everything that a log would contain of an exception and its chain."""
    said = "".join(traceback.format_exception(error))
    link: BaseException | None = error
    while link is not None:
        said += f"{link!r} {link} {link.args!r} {vars(link)!r}"
        said += f"{getattr(link, 'filename', '')}"
        link = link.__cause__ or link.__context__
    return said


def raised(call: Callable[[], Any]) -> tuple[BaseException, str]:
    """Return the exception of a call, with its traceback and log messages."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    root.addHandler(handler)
    level = root.level
    root.setLevel(logging.DEBUG)
    try:
        call()
    except Exception as error:
        logging.getLogger("test").exception("it failed")
        return error, everything(error) + log.getvalue()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("call", CALLS)
def test_no_value_is_repeated(call: str, table: str) -> None:
    error, said = raised(lambda: CALLS[call](TABLES[table]()))
    assert isinstance(error, vesica.UsageError), said
    assert CANARY not in said


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_repeated(name: str) -> None:
    error, said = raised(SECRETS[name])
    assert CANARY not in said and "BEGIN PRIVATE" not in said
    secret = ME.to_pem().splitlines()[-2]
    assert secret not in said
    if "dentity" in name and "from_pem" not in name:
        assert "Identity.from_pem" in str(error)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "duckdb"])
def test_rows_that_cannot_be_converted_are_neither_lost_nor_shown(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    from vesica import _tables

    opened = _tables.open_table(pl.DataFrame({"k": ["a"]}), kind)
    rows: Any = Raising()
    assert _tables.convert(rows, opened) is rows
    assert "they are a vesica.Table" in caplog.text and CANARY not in caplog.text


def test_representations_have_no_secret() -> None:
    secret = ME.to_pem().splitlines()[-2]
    shown = [ME, vesica.Partner(ME.fingerprint, connect="h:1"), partner()]
    assert all(secret not in f"{thing!r} {thing}" for thing in shown)


@pytest.mark.parametrize(
    "line", [["fingerprint"], ["run"], ["count"], ["keygen"], ["run", "--identity"], []]
)
def test_the_command_line_repeats_no_secret(line: list[str]) -> None:
    command = [sys.executable, "-m", "vesica", *line, PEM]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2 and CANARY not in ended.stdout + ended.stderr
    assert "text of a key" in ended.stderr


def test_every_function_is_here() -> None:
    calls = {name.partition(".")[2] or name for name in CALLS}
    functions = {"intersect", "count", "sum", "products", "threshold", "check"}
    assert functions | {"publish", "lookup"} <= calls
    assert Path(vesica.__file__).exists()
