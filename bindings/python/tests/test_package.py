"""The package itself: types, style, help, contents, and the notebooks."""

from __future__ import annotations

import importlib.metadata
import json
import pydoc
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest
import vesica
from conftest import Sides

PROJECT = Path(__file__).parents[1]
ROOT = PROJECT.parents[1]


def run(*line: str | Path, cwd: Path = PROJECT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in line], cwd=cwd, capture_output=True, text=True)


def test_types_hold_for_mypy() -> None:
    ended = run(sys.executable, "-m", "mypy", "python/vesica")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_types_hold_for_pyright() -> None:
    ended = run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "python/vesica")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_style_holds_for_ruff() -> None:
    for check in (["check"], ["format", "--check"]):
        ended = run(sys.executable, "-m", "ruff", *check, ".")
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_help_begins_with_a_screen_and_has_every_function() -> None:
    lines = (vesica.__doc__ or "").splitlines()
    assert len(lines) <= 50 and max(map(len, lines)) <= 100
    text = pydoc.plain(pydoc.render_doc(vesica))
    for name in vesica.__all__:
        thing = getattr(vesica, name)
        if callable(thing):
            assert f"{name}(" in text or f"class {name}" in text, name


def test_names_are_those_that_people_write() -> None:
    for name in vesica.__all__:
        thing = getattr(vesica, name)
        is_typed = name.endswith("Options")
        assert is_typed or getattr(thing, "__module__", "vesica") == "vesica", name
        if callable(thing) and not isinstance(thing, type):
            assert "return" in typing.get_type_hints(thing), name
            assert thing.__doc__, name
    for name in ("spark", "ray"):
        assert getattr(vesica, name).__name__ == f"vesica.{name}"
    assert not hasattr(vesica, "no_such_thing")


def test_options_have_texts_where_help_finds_them() -> None:
    all_options = (vesica.Options, vesica.RuleOptions, vesica.NumberOptions)
    text = "".join(str(options.__doc__) for options in all_options)
    names = typing.get_type_hints(vesica.NumberOptions)
    assert len(names) > 25
    for name in names:
        assert re.search(rf"^ *{name}: \w", text, re.M), name


def test_a_file_that_is_not_there_is_what_python_calls_it(tmp_path: Path) -> None:
    file = tmp_path / "none"
    calls = [
        lambda: vesica.check(file, key="k"),
        lambda: vesica.Identity.load(file),
        lambda: vesica.Agreement.load(file),
        lambda: vesica.verify(file, []),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError, match="cannot be read") as raised:
            call()
        assert isinstance(raised.value, vesica.InputError)


def test_the_command_comes_with_the_package() -> None:
    ended = run(Path(sys.executable).with_name("vesica"), "--version")
    assert ended.stdout.startswith(f"vesica {vesica.__version__} ")
    ended = run(sys.executable, "-m", "vesica", "no-such-command")
    assert ended.returncode == 2 and "no-such-command" in ended.stderr


def test_the_demo_starts_both_parties_by_the_same_package(tmp_path: Path) -> None:
    for line in ([sys.executable, "-m", "vesica"], [Path(sys.executable).with_name("vesica")]):
        ended = run(*line, "demo", "--rows", "1000", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert "300 of 1,000 keys match" in ended.stderr + ended.stdout


def test_licences_are_inside() -> None:
    names = [str(file) for file in importlib.metadata.files("vesica") or []]
    for licence in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY"):
        assert any(licence in name for name in names), licence
    assert importlib.metadata.requires("vesica") in (None, [])
    assert any(name.endswith("py.typed") for name in names)


def test_the_lines_of_the_readme(sides: Sides) -> None:
    """The notebooks run as written, in two processes, except for the names of the two parties."""
    import polars as pl

    text = (PROJECT / "README.md").read_text("utf-8")
    found = re.search(r"```python\n(import polars.*?)```", text, re.S)
    assert found is not None
    parts = [
        ("here", "there", "connect", ["a@x.org", "B@x.org"]),
        ("there", "here", "listen", ["b@x.org"]),
    ]
    processes = []
    for me, peer, way, emails in parts:
        folder = sides.folder / f"{me} folder"
        folder.mkdir()
        pl.DataFrame({"email": emails}).write_parquet(folder / "customers.parquet")
        code = found.group(1).replace("me.identity", str(sides.files[me]))
        code = code.replace("vesica1-…", sides.identities[peer].fingerprint)
        code = code.replace('connect="partner.example.org:7788"', f'{way}="{sides.address}"')
        line = [sys.executable, "-c", code]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(line, cwd=folder, stdout=pipe, stderr=pipe, text=True))
    for process, address in zip(processes, ("B@x.org", "b@x.org"), strict=True):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "1 customers in common" in out and address in out


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.stem
)
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    import nbclient
    import nbformat

    cells = nbformat.reads(notebook.read_text("utf-8"), as_version=4)
    nbclient.NotebookClient(
        cells, timeout=120, resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert not any(
        "outputs" in cell and cell["outputs"]
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]
    ), "notebooks are kept without outputs"


def test_there_are_two_notebooks() -> None:
    assert len(list((ROOT / "examples").glob("*.ipynb"))) == 2
