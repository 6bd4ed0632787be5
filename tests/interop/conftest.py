import json
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

VECTORS = pathlib.Path(os.environ.get("VESICA_VECTORS", HERE.parent / "vectors"))


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def program():
    """The program under test."""
    path = os.environ.get("VESICA")
    assert path, "set VESICA to the program, as in VESICA=target/release/vesica"
    return str(pathlib.Path(path).resolve())
