"""What should have come of a run, by DuckDB's join over its own reading, and whether it did."""

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

from joins import aligned, joined
from profiles import key
from tables import TYPED, Read, duck


def keys(read, side):
    """Each row's key for each identifier, with places: (row, identifier, key)."""
    profiles = iter(side["profiles"])
    found = []
    for identifier, columns in enumerate(side["keys"]):
        said = [[value and key(value, profile) for value in read.column(column)]
                for column, profile in zip(columns, profiles)]
        for row, parts in enumerate(zip(*said)):
            if all(parts):
                found.append((row, identifier, json.dumps(parts)))
    return found


class Judge:
    def __init__(self):
        self.duck, self.reads = duck(), {}

    def read(self, side):
        """A side's table with its keys, which are read once for each way to make keys."""
        way = (side["path"], json.dumps([side["keys"], side["profiles"]]))
        if way not in self.reads:
            read = Read(side["path"], side["form"])
            self.reads[way] = read, keys(read, side) if len(read) else []
        return self.reads[way]

    def complaints(self, case):
        sides = [self.read(case[side]) for side in "ab"]
        for name, (_, of_rows) in zip("ab", sides):
            rows, identifiers, made = zip(*of_rows) if of_rows else ((), (), ())
            columns = [pa.array(rows, pa.int64()), pa.array(identifiers, pa.int64()), pa.array(made, pa.string())]
            self.duck.register(name, pa.table(columns, names=["row", "identifier", "key"]))
        if "join" in case:
            return list(joined(self, case))
        if "align" in case:
            return list(aligned(self, case))
        said = []
        for name, other in ("ab", "ba"):
            join = f"SELECT DISTINCT row FROM {name} SEMI JOIN {other} USING (identifier, key) ORDER BY row"
            rows = [row for row, in self.duck.execute(join).fetchall()]
            common = f"SELECT DISTINCT identifier, key FROM {name} INTERSECT SELECT DISTINCT identifier, key FROM {other}"
            matches = len(self.duck.execute(common).fetchall())
            read, of_rows = sides["ab".index(name)]
            said += [f"side {name}: {text}" for text in self.side(case[name], read, of_rows, rows, matches)]
        return said

    def side(self, side, read, of_rows, rows, matches):
        report = json.loads(pathlib.Path(side["report"]).read_text())
        counts = {"read": len(read), "null": len(read) - len({row for row, *_ in of_rows}),
                  "used": len({made for _, *made in ((None, i, k) for _, i, k in of_rows) for made in [tuple(made)]})}
        if len(side["keys"]) == 1:
            counts["duplicate"] = len(of_rows) - counts["used"]
        for name, expected in {**counts, "matches": matches}.items():
            found = report["matches"] if name == "matches" else report["rows"][name]
            if found != expected:
                yield f"{name}: {found} in the report, {expected} expected"
        try:
            yield from self.output(side, read, rows)
        except Exception as error:  # Whatever cannot be read is a complaint.
            yield f"the output: {type(error).__name__}: {error}"

    def output(self, side, read, rows):
        form, select, path = side["form"], side.get("select"), side["output"]
        if form in TYPED:
            yield from self.typed(read, Read(path, form), rows, select)
        elif not select:
            found = Read(path, form)
            end = b"\r\n" if read.records and read.records[0].endswith(b"\r\n") else b"\n"
            expected = [read.records[row] for row in rows]
            if (found.header, found.records) != (read.header, expected) and found.records:
                yield f"{len(found)} records, and not these {len(rows)}"
        elif form == "ndjson":
            found = [json.loads(record) for record in Read(path, form).records]
            whole = [json.loads(read.records[row]) for row in rows]
            if found != [{name: row[name] for name in select if name in row} for row in whole]:
                yield "the selected members differ"
        else:
            before = read.rows()
            places = [before[0].index(name) for name in select]
            if Read(path, form).rows() != [[before[at][place] for place in places] for at in [0] + [row + 1 for row in rows]]:
                yield "the selected fields differ"
        yield from self.by_duckdb(side, rows, select)

    def typed(self, read, found, rows, select):
        before = read.table.select(select) if select else read.table
        values = before.to_pylist()
        if not found.table.schema.equals(before.schema, check_metadata=True):
            yield f"the schema is\n{found.table.schema}\nand was\n{before.schema}"
        elif found.table.to_pylist() != [values[row] for row in rows]:
            yield f"{found.table.num_rows} rows, and not these {len(rows)}"
        if found.form == "parquet":
            before, after = (pq.ParquetFile(path).metadata for path in (read.path, found.path))
            if not select and not after.schema.equals(before.schema):
                yield f"Parquet's schema is {after.schema} and was {before.schema}"
            if after.num_row_groups and before.num_row_groups:
                codecs = [{group.column(at).path_in_schema: group.column(at).compression for at in range(group.num_columns)}
                          for group in (before.row_group(0), after.row_group(0))]
                if not codecs[1].items() <= codecs[0].items():
                    yield f"the columns are packed with {codecs[1]}"

    def by_duckdb(self, side, rows, select):
        """DuckDB reads the output as it reads the rows of the input."""
        form = side["form"]
        if form.startswith("arrow") or "decimal256" in side["path"]:
            # What DuckDB has of Arrow it has from the library that was asked above; it has no integers so wide.
            return
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in select) if select else "*"
        def content(path):
            path = path.replace("'", "''")
            if form == "parquet":
                return self.duck.execute(f"SELECT COLUMNS(*)::VARCHAR FROM (SELECT {chosen} FROM read_parquet('{path}'))").fetchall()
            if form == "ndjson":
                return self.duck.execute(f"SELECT json::VARCHAR FROM read_ndjson_objects('{path}')").fetchall()
            how = "header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', auto_detect = false"
            names = Read(path, form).rows()[0]
            types = ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in names)
            return self.duck.execute(f"SELECT {chosen} FROM read_csv('{path}', {how}, columns = {{{types}}})").fetchall()
        if form == "ndjson" and select:
            return
        before, after = content(side["path"]), content(side["output"]) if rows or form != "ndjson" else []
        if after != [before[row] for row in rows]:
            yield "DuckDB reads other rows"
        if form == "parquet":
            types = [self.duck.execute(f"DESCRIBE SELECT {chosen} FROM read_parquet('{side[which]}')").fetchall()
                     for which in ("path", "output")]
            if types[0] != types[1]:
                yield f"DuckDB reads the types {types[1]}, which were {types[0]}"


def judge(root):
    judge, wrong = Judge(), 0
    cases = json.loads((pathlib.Path(root) / "cases.json").read_text())
    for case in cases:
        said = list(judge.complaints(case))
        wrong += bool(said)
        for text in said[:4] if wrong <= 40 else []:
            print(f"{case['name']}: {text}")
    print(f"{len(cases)} runs, of which {wrong} went wrong")
    return wrong == 0
