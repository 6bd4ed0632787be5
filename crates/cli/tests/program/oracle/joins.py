"""Joins: which tables send columns to which, and what should come of it."""

import json

import pyarrow as pa

from cases import SHARED_DAYS, extended, side
from tables import FORMATS, TYPED, Read, text, texts

# Columns that are sent, and what they are called where they are received: `n` and `ratio` are the receiver's columns too.
SENT = ["tier", "n", "ratio", "since"]
RECEIVED = ["tier", "peer_n", "peer_ratio", "since"]
TIERS = ["gold", "", None, 'say "hi", twice', "two\nlines", "ünï 🙂", " ", "null"]


def tables(who, rows):
    """Keys, some on one side only, some missing, and none in more than three rows."""
    own = range(0, rows) if who == "receives" else range(rows // 3, rows + rows // 3)
    keys = [f"u{n}@x.org" for n in own]
    keys = [None, *keys, *keys[: rows // 2], *keys[1 : rows // 4], None] if rows > 1 else keys
    if who == "receives":
        return extended({"k": pa.array(keys, pa.string())}, f"{who}{rows}")
    return extended({
        "k": pa.array(keys, pa.string()),
        "tier": pa.array([TIERS[at % len(TIERS)] for at in range(len(keys))], pa.string()),
        "since": pa.array([[*SHARED_DAYS[:4], None][at % 5] for at in range(len(keys))], pa.date32()),
    }, f"{who}{rows}")


def every_join(cases):
    for i, a in enumerate(FORMATS):
        for j, b in enumerate(FORMATS):
            for at, (kind, several, rows) in enumerate([("inner", False, (40, 33)), ("left", False, (33, 40)), ("inner", True, (40, 33)),
                                                        ("left", True, (33, 40)), ("left", True, (0, 20)), ("left", False, (20, 0)),
                                                        ("inner", False, (1, 1))]):
                if (rows[0] == 0 and a == "ndjson") or (rows[1] == 0 and b == "ndjson"):
                    # A table without lines has no columns.
                    continue
                ends = []
                for who, form, count in (("receives", a, rows[0]), ("sends", b, rows[1])):
                    path = cases.input(f"{who} {count}", form, count, lambda who=who, count=count: tables(who, count))
                    ends.append(side(path, form))
                ends[0]["flags"] = ["--learns", "me", "--receive", "--join", kind]
                ends[1]["flags"] = ["--learns", "peer", "--send", ",".join(SENT), "--send-bytes", "160"]
                ends[1]["flags"] += ["--duplicates", "all:3"] if several else []
                if (i + j + at) % 4 == 3:
                    ends[0]["select"] = ["k", "note"]
                names = "ab" if (i + j + at) % 2 else "ba"
                cases.add(f"{kind} join of {rows[0]} rows in {a} with {'all' if several else 'the first'} of {rows[1]} in {b}",
                          **dict(zip(names, ends)), join={"receives": names[0], "kind": kind, "several": several})
            ends = []
            for who, form in (("receives", a), ("sends", b)):
                ends.append(side(cases.input(f"{who} 40", form, 40, lambda who=who: tables(who, 40)), form))
                ends[-1]["flags"] = ["--align"]
            cases.add(f"{a} aligned with {b}", *ends, align=True)


def sent(read, name):
    """The texts of a column as they are sent; None where there is no value."""
    if read.table is not None:
        column = read.table[name]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return column.to_pylist()
        return texts(column)
    if read.form == "ndjson":
        found = [json.loads(record).get(name) for record in read.records]
        return [None if value is None else text(value) for value in found]
    rows = read.rows()
    return [row[rows[0].index(name)] for row in rows[1:]]


def pairs(judge, case):
    """The rows of the receiver, each with the sender's, by DuckDB."""
    join = case["join"]
    receives, sends = join["receives"], "ab".replace(join["receives"], "")
    partner = sends if join["several"] else f"(SELECT min(row) AS row, key FROM {sends} GROUP BY key)"
    kind = join["kind"].upper()
    count = len(judge.read(case[receives])[0])
    every = f"(SELECT range AS row, key FROM range({count}) LEFT JOIN {receives} ON range = {receives}.row)"
    query = f"SELECT r.row, s.row FROM {every} r {kind} JOIN {partner} s ON r.key = s.key ORDER BY r.row, s.row"
    return judge.duck.execute(query).fetchall()


def joined(judge, case):
    """What is wrong with the output of a join."""
    receives = case["join"]["receives"]
    mine, theirs = case[receives], case["ab".replace(receives, "")]
    read, partner = judge.read(mine)[0], judge.read(theirs)[0]
    expected = pairs(judge, case)
    columns = [[None if row is None else column[row] for _, row in expected] for column in (sent(partner, name) for name in SENT)]
    rows = [row for row, _ in expected]
    found = Read(mine["output"], mine["form"])
    own = mine.get("select") or (read.table.column_names if read.table is not None else None)
    if mine["form"] in TYPED:
        fields = [read.table.schema.field(name) for name in own] + [pa.field(name, pa.string()) for name in RECEIVED]
        schema = pa.schema(fields, metadata=read.table.schema.metadata)
        if not schema.equals(found.table.schema, check_metadata=True):
            yield f"the schema is\n{found.table.schema}\nand not\n{schema}"
            return
        before = read.table.select(own).to_pylist()
        if found.table.select(own).to_pylist() != [before[row] for row in rows]:
            yield f"{found.table.num_rows} rows of this side, and not these {len(rows)}"
            return
        yield from differences([found.table[name].to_pylist() for name in RECEIVED], columns)
    elif mine["form"] == "ndjson":
        lines = [json.loads(record) for record in found.records]
        before = [json.loads(record) for record in read.records]
        kept = [{name: value for name, value in line.items() if name not in RECEIVED} for line in lines]
        wanted = [before[row] if own is None else {name: before[row][name] for name in own if name in before[row]} for row in rows]
        if kept != wanted:
            yield f"{len(lines)} rows of this side, and not these {len(rows)}"
            return
        if any(name not in line for line in lines for name in RECEIVED):
            yield "a received member is not there"
            return
        yield from differences([[line[name] for line in lines] for name in RECEIVED], columns)
    else:
        before, lines = read.rows(), found.rows()
        places = [before[0].index(name) for name in own or before[0]]
        header = [before[0][place] for place in places] + RECEIVED
        own_fields = [[before[row + 1][place] for place in places] for row in rows]
        if lines[0] != header:
            yield f"the header is {lines[0]}, and not {header}"
        elif [line[: len(places)] for line in lines[1:]] != own_fields:
            yield f"{len(lines) - 1} rows of this side, and not these {len(rows)}"
        else:
            got = [[line[len(places) + at] for line in lines[1:]] for at in range(len(SENT))]
            yield from differences(got, [[value or "" for value in column] for column in columns])


def differences(found, expected):
    for name, got, wanted in zip(SENT, found, expected):
        if name == "ratio":
            # There are many ways to write a fraction.
            got, wanted = ([value and float(value) for value in column] for column in (got, wanted))
        if got != wanted:
            which = next((pair for pair in zip(got, wanted) if pair[0] != pair[1]), (len(got), len(wanted)))
            yield f"of `{name}`, {which[0]!r} was received in place of {which[1]!r}"


def aligned(judge, case):
    """What is wrong with two outputs in one order."""
    numbered = []
    for name, other in ("ab", "ba"):
        mine = case[name]
        read, keys = judge.read(mine)
        theirs = {key for _, _, key in judge.read(case[other])[1]}
        matched = {row: key for row, _, key in keys if key in theirs}
        found = Read(mine["output"], mine["form"])
        if found.table is not None:
            lines = found.table.to_pylist()
            before = [{"match_id": None, **row} for row in read.table.to_pylist()]
            first = found.table.column_names[0]
        elif mine["form"] == "ndjson":
            lines, before = ([json.loads(record) for record in records] for records in (found.records, read.records))
            first = next(iter(lines[0]))
        else:
            lines, before = ([dict(zip(of.rows()[0], row)) for row in of.rows()[1:]] for of in (found, read))
            first = found.rows()[0][0]
        if first != "match_id":
            yield f"side {name}: the first column is {first}"
            return
        numbers = [int(line.pop("match_id")) for line in lines]
        before = [{name: value for name, value in row.items() if name != "match_id"} for row in before]
        places, order = {}, []
        for row in matched:
            places.setdefault(json.dumps(before[row], default=str), []).append(row)
        for line in lines:
            rows = places.get(json.dumps(line, default=str))
            if not rows:
                yield f"side {name}: a row that does not match, or one too often"
                return
            order.append(rows.pop(0))
        if any(places.values()):
            yield f"side {name}: rows are missing"
        if sorted(numbers) != numbers or set(numbers) != set(range(1, len(set(matched.values())) + 1)):
            yield f"side {name}: the numbers are {numbers}"
        if any(x == y and a > b for x, y, a, b in zip(numbers, numbers[1:], order, order[1:])):
            yield f"side {name}: rows with one number are not in the order of the table"
        numbered.append({number: matched[row] for number, row in zip(numbers, order)})
    if numbered[0] != numbered[1]:
        yield "the sides number keys differently"
