"""Tables in an object store, read and written by the package; the server speaks S3."""

from __future__ import annotations

import io
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import vesica
from conftest import SENTINEL, Both, emails

MINE = pl.DataFrame({"k": emails(range(1000)), "n": list(range(1000))})
THEIRS = pl.DataFrame({"k": emails(range(900, 2000))})


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve an empty bucket, and let this process have access to it; yields its address."""
    server = Path(sys.executable).with_name("moto_server")
    line = [server, "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = (line.partition("Running on ")[2].strip() for line in process.stderr)
    endpoint = next(filter(None, said))
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "known",
        "AWS_SECRET_ACCESS_KEY": "hush",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    put(f"{endpoint}/bucket", b"")
    yield f"{endpoint}/bucket"
    process.kill()
    process.wait()


def put(address: str, content: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(address, content, headers, method="PUT")
    urllib.request.urlopen(request, timeout=30).close()


def stored(table: pl.DataFrame, address: str) -> None:
    content = io.BytesIO()
    table.write_parquet(content)
    put(address, content.getvalue())


def test_a_table_comes_from_a_bucket_and_goes_to_one(both: Both, bucket: str) -> None:
    stored(MINE, f"{bucket}/mine.parquet")
    stored(THEIRS, f"{bucket}/theirs.parquet")
    run, other = both(
        lambda end: vesica.intersect(
            "s3://bucket/mine.parquet",
            key="k",
            learns="both",
            partner=end,
            output="s3://bucket/matched.parquet",
        ),
        lambda end: vesica.intersect(
            "s3://bucket/theirs.parquet", key="k", learns="both", partner=end, to="polars"
        ),
    )
    assert run.rows is None and run.count == 100
    with urllib.request.urlopen(f"{bucket}/matched.parquet", timeout=30) as answer:
        matched = pl.read_parquet(answer.read())
    assert matched.equals(MINE[900:])
    assert other.rows.equals(THEIRS[:100])


@pytest.mark.usefixtures("bucket")
def test_what_is_not_there_is_named() -> None:
    one, _ = vesica.local_pair()
    with pytest.raises(vesica.InputError, match=r"none\.parquet") as raised:
        vesica.intersect("s3://bucket/none.parquet", key="k", learns="both", partner=one)
    assert "hush" not in str(raised.value) and SENTINEL not in str(raised.value)
