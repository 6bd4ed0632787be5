"""Errors have the right class, end a run in order, and contain no identifier."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vesica
from conftest import SENTINEL, Both, Sides, emails

ROOT = Path(__file__).parents[3]
TABLE = pl.DataFrame({"k": emails(range(1000)), "n": list(range(1000))})


def told(error: vesica.Error) -> str:
    """Return the complete text of an exception."""
    return f"{error!r} {error} {error.args} {error.report}"


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"key": "mail"}, vesica.InputError, "has no column"),
        ({"key": "k", "normalize": "nothing"}, vesica.UsageError, "normalize: possible"),
        ({"key": "k", "learns": "them"}, vesica.UsageError, "me, peer, both, nobody"),
        ({"key": "k", "learns": None}, vesica.UsageError, "who learns"),
        ({"key": "k", "to": "numpy"}, vesica.UsageError, "polars, pandas"),
        ({"key": "k", "join": "outer"}, vesica.UsageError, "inner, left"),
        ({"key": "k", "nulls": "drop"}, vesica.UsageError, "skip, error"),
        ({"key": "k", "resume": "journal"}, vesica.UsageError, "resume"),
        ({"key": "k", "output": "/no/such/place"}, vesica.InputError, "cannot be written"),
        ({"key": "k", "wait": 0.0}, vesica.UsageError, "number of seconds"),
        ({"key": "k", "protocol": "rot13"}, vesica.UsageError, "rot13"),
        (
            {"key": ["k", "n"], "normalize": ["trim"] * 3},
            vesica.UsageError,
            "3 profiles, but the key has 2",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], kind: type, words: str) -> None:
    one, _ = vesica.local_pair()
    given = {"learns": "both", **given}
    with pytest.raises(kind) as raised:
        vesica.intersect(TABLE, partner=one, **given)
    assert words in str(raised.value)
    assert SENTINEL not in told(raised.value)


def test_an_option_that_there_is_not_is_a_type_error() -> None:
    one, _ = vesica.local_pair()
    with pytest.raises(TypeError, match="colour"):
        vesica.intersect(TABLE, key="k", partner=one, colour="red")  # type: ignore[call-arg]


def test_each_class_of_faults_is_an_exception() -> None:
    """All classes of a report, including those that no test here can cause."""
    schema = json.loads((ROOT / "docs/reference/report.schema.json").read_text("utf-8"))
    classes = schema["properties"]["failure"]["properties"]["class"]["enum"]
    assert len(classes) == 8
    for name in classes:
        exception = getattr(vesica, f"{name.capitalize()}Error")
        assert issubclass(exception, vesica.Error)
        raised = exception("as the command says", json.dumps({"failure": {"class": name}}))
        assert str(raised) == "as the command says"
        assert raised.report["failure"]["class"] == name


def test_exceptions_are_what_python_calls_them() -> None:
    assert issubclass(vesica.UsageError, ValueError)
    assert issubclass(vesica.InputError, OSError)
    assert issubclass(vesica.NetworkError, ConnectionError)


def test_terms_that_differ_are_named_on_both_sides(both: Both) -> None:
    with pytest.raises(vesica.TermsError, match="normali"):
        both(
            lambda end: vesica.intersect(TABLE, key="k", learns="both", partner=end),
            lambda end: vesica.intersect(
                TABLE, key="k", normalize="email", learns="both", partner=end
            ),
        )


def test_bad_rows_are_located_and_not_shown(both: Both) -> None:
    table = pl.DataFrame({"k": [*emails(range(3)), None]})
    with pytest.raises(vesica.InputError, match="row 4") as raised:
        both(
            lambda end: vesica.intersect(table, key="k", learns="both", partner=end, nulls="error"),
            lambda end: vesica.intersect(TABLE, key="k", learns="both", partner=end),
        )
    assert SENTINEL not in told(raised.value)
    report = raised.value.report
    assert report is not None and report["failure"]["class"] == "input"


def test_a_table_that_raises_is_heard() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            raise KeyError(SENTINEL)

    one, _ = vesica.local_pair()
    with pytest.raises(vesica.UsageError, match="cannot be read: KeyError"):
        vesica.intersect(Broken(), key="k", learns="both", partner=one)


def test_nobody_answers(sides: Sides) -> None:
    with pytest.raises(vesica.NetworkError):
        vesica.intersect(
            TABLE, key="k", learns="both", identity=sides.me, partner=sides.partner, wait=0.5
        )


def test_an_identity_is_never_overwritten_and_says_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "me.identity"
    identity = vesica.Identity.create(file)
    with pytest.raises(vesica.InputError, match="never overwritten"):
        vesica.Identity.create(file)
    assert vesica.Identity.load(file).fingerprint == identity.fingerprint
    assert file.read_text().split("PRIVATE KEY-----")[1][:20] not in repr(identity)
    assert (file.stat().st_mode & 0o077) == 0


def test_a_password_of_a_proxy_is_not_shown() -> None:
    partner = vesica.Partner("vesica1-x", connect="h:1", proxy="http://me:hush@proxy:1")
    assert "hush" not in repr(partner)


def test_a_killed_partner_is_a_network_error(sides: Sides) -> None:
    (sides.folder / "there.csv").write_text("k\n" + "\n".join(emails(range(300_000))))
    process = sides.command("--input", "there.csv", "--key", "k", "--learns", "peer")
    table = pl.DataFrame({"k": emails(range(300_000))})
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            vesica.intersect,
            table,
            key="k",
            learns="me",
            identity=sides.me,
            partner=sides.partner,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "reading the table" in line:
                break
        process.kill()
        process.wait()
        with pytest.raises(vesica.NetworkError) as raised:
            running.result(60)
    assert SENTINEL not in told(raised.value)


SLOW = """
    import sys, polars as pl, vesica
    one, other = vesica.local_pair()
    print("begun", flush=True)
    try:
        vesica.intersect(pl.DataFrame({"k": ["a"]}), key="k", learns="both", partner=one)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_stops_a_run() -> None:
    line = [sys.executable, "-c", textwrap.dedent(SLOW)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\n"
    assert process.wait(10) == 0 and time.monotonic() - began < 5


def test_ctrl_c_tells_the_other_side(sides: Sides) -> None:
    """The run is under way: both have met, and the other side waits for this one."""
    peer = sides.identities["there"].fingerprint
    code = f"""
        import polars as pl, vesica
        me = vesica.Identity.load({str(sides.files["here"])!r})
        partner = vesica.Partner({peer!r}, connect={sides.address!r})
        table = pl.DataFrame({{"k": [str(i) for i in range(300_000)]}})
        vesica.intersect(table, key="k", learns="me", identity=me, partner=partner, protocol="dh")
    """
    (sides.folder / "there.csv").write_text("k\n" + "\n".join(map(str, range(300_000))))
    flags = ["--input", "there.csv", "--key", "k", "--learns", "peer", "--protocol", "dh"]
    listening = sides.command(*flags)
    calling = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stderr=subprocess.PIPE, text=True
    )
    assert listening.stderr is not None
    for line in listening.stderr:
        if "intersecting" in line:
            break
    calling.send_signal(signal.SIGINT)
    _, said = calling.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    _, said = listening.communicate(timeout=60)
    assert listening.returncode == 4 and "somebody asked it to stop" in said, said


def test_a_task_that_is_cancelled_stops_its_run() -> None:
    async def main() -> None:
        one, _ = vesica.local_pair()
        task = asyncio.create_task(vesica.aio.intersect(TABLE, key="k", learns="both", partner=one))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 10


def test_other_threads_run_meanwhile() -> None:
    """The GIL is free while a run waits."""
    one, _ = vesica.local_pair()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            vesica.intersect, TABLE, key="k", learns="both", partner=one, wait=1.0
        )
        turns = 0
        while not running.done():
            turns += 1
            time.sleep(0.001)
        assert isinstance(running.exception(), vesica.NetworkError)
    assert turns > 100


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not reported")
def test_memory_does_not_grow_over_many_runs(both: Both) -> None:
    table = pl.DataFrame({"k": emails(range(200))})

    def runs(number: int) -> int:
        for _ in range(number):
            both(
                lambda end: vesica.intersect(table, key="k", learns="both", partner=end),
                lambda end: vesica.intersect(table, key="k", learns="both", partner=end),
            )
        return resident()

    number = 1000 if os.environ.get("VESICA_ASSURE") else 200
    before = runs(number // 5)
    after = runs(number - number // 5)
    assert after - before < 20_000_000, f"{after - before} bytes more"
