"""Answers queries of `crates/select` by DuckDB: `queries.py ASKED ANSWERED`. Each query comes as it was written and in
canonical form, and both must have the same answer."""

import json
import math
import pathlib
import re
import sys

import duckdb

MOST_EDGES = 8


def buckets():
    """The macro `bucket`, whose value is the number of edges that are at most `x`."""
    variants = []
    for count in range(1, MOST_EDGES + 1):
        edges = [f"e{i}" for i in range(count)]
        number = " + ".join(f"CAST(x >= {edge} AS INTEGER)" for edge in edges)
        variants.append(f"({', '.join(['x', *edges])}) AS {number}")
    return "CREATE MACRO bucket" + ", ".join(variants)


def shown(value):
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def answer(connection, text):
    # The minimum counts keys, even where they repeat. A join as of a day has a key of each side.
    key = "a.key" if re.search(r"\bASOF\b", text, re.IGNORECASE) else "key"
    text = re.sub(r"HAVING count\(\*\)", f"HAVING count(DISTINCT {key})", text, flags=re.IGNORECASE)
    rows = connection.execute(text).fetchall()
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row if not isinstance(value, float)])


def same(value, other):
    """Whether values are equal, or nearly equal if they are floating-point numbers."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)
    return value == other


def main(asked, answered):
    answers = []
    for case in json.loads(pathlib.Path(asked).read_text()):
        connection = duckdb.connect()
        for statement in [buckets(), *case["setup"]]:
            connection.execute(statement)
        for text, canonical in case["queries"]:
            rows, written = answer(connection, canonical), answer(connection, text)
            pairs = zip(rows, written)
            if len(rows) != len(written) or not all(all(map(same, row, other)) for row, other in pairs):
                sys.exit(f"{text}\nand {canonical}\nhave different answers")
            answers.append([[shown(value) for value in row] for row in rows])
    pathlib.Path(answered).write_text(json.dumps(answers))


match sys.argv[1:]:
    case [asked, answered]:
        main(asked, answered)
    case _:
        sys.exit("usage: queries.py ASKED ANSWERED")
