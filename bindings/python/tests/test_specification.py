"""Calls have the options of `vesica.spec`: a job in Python is a job in flags and TOML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import vesica
from vesica import _native
from vesica._types import NumberOptions, Options, QueryOptions, RowOptions

SAMPLES = Path(__file__).parents[3] / "crates" / "spec" / "tests" / "samples.jsonl"

NAMED = {
    "answer",
    "key",
    "learns",
    "normalize",
    "send",
    "send-bytes",
    "receive",
    "join",
    "align",
    "select",
    "output",
    "query",
    "column",
}
"""Arguments of functions themselves."""

OF_PARTNER = {"peer", "agreement", "connect", "listen", "relay", "exchange-dir", "proxy"} | {
    # Of several parties.
    "parties",
    "leader",
    "pivot",
    "at-least",
    "learners",
}

ELSEWHERE = {
    # The table and the identity are arguments of their own.
    "input",
    "input-query-file",
    "query-file",
    "identity",
    # Options of a project's agreement, and options for the program's output.
    "agreement-hash",
    "partner",
    "side",
    "json",
    "progress",
    "quiet",
    # In CSV only, which frames are not.
    "formulas",
}

LIMITS = {
    "min-set",
    "min-parties",
    "min-result",
    "threshold-first",
    "max-result",
    "max-result-total",
    "min-cell",
    "max-cells",
    "max-false",
    "epsilon-total",
    "max-runs-per-day",
    "max-runs",
    "max-attempts",
    "min-change",
    "hours",
    "expires",
}
"""Limits, which come from the agreement."""


def samples() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLES.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample["option"])
def test_a_job_in_python_is_the_same_value(sample: dict[str, Any]) -> None:
    """The other notations are compared in `crates/spec/tests/one_value.rs`."""
    option = sample["option"]
    options = {**sample.get("with", {}), option: sample.get("python", sample["json"])}
    options = {name.replace("-", "_"): value for name, value in options.items()}
    assert json.loads(_native.written(options)).get(option) == sample["json"]


def test_options_are_those_of_the_specification() -> None:
    schema = json.loads(_native.job_schema())
    known = set(schema["properties"])
    options = NumberOptions.__optional_keys__ | QueryOptions.__optional_keys__
    options |= RowOptions.__optional_keys__
    options = {name.replace("_", "-") for name in options}
    assert options | NAMED | OF_PARTNER | ELSEWHERE | LIMITS == known
    assert Options.__optional_keys__ < NumberOptions.__optional_keys__


def test_paths_may_be_objects(tmp_path: Path) -> None:
    written = json.loads(_native.written({"output": tmp_path / "out.csv", "spill": str(tmp_path)}))
    assert written == {"output": str(tmp_path / "out.csv"), "spill": str(tmp_path)}


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(vesica.UsageError, match="unknown option colour"):
        _native.written({"colour": 1})
