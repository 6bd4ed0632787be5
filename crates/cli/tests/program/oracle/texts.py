"""Delimited texts, and the records that DuckDB reads in each."""

import base64
import csv
import io
import json
import pathlib
import random

import duckdb

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
LINE_ENDS = ["\n", "\r\n", "\r"]
MARK = "\ufeff"

# Blanks beside a quotation mark are left out: DuckDB drops them, RFC 4180 and Vesica keep them. A zero byte has some text
# around it: Vesica takes a first line for UTF-16 if a quarter of it is zeros.
ORDINARY = ["a", "bc", "0", "'", "é", "中", "\\", "#", "NULL", "null\0byte", "x y"]

# Several records' worth: more than one block that either side reads at once.
LONG = 70_000


class Texts:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def field(self, delimiter):
        pieces = ORDINARY + [delimiter, ",", ";", '"', '""', "\n", "\r", "\r\n"]
        return "".join(self.random.choices(pieces, k=self.random.randrange(4)))

    def written(self, field, delimiter):
        """A field as it may be written: in quotes where it must be, or for no reason."""
        needs_quotes = any(special in field for special in [delimiter, '"', "\n", "\r"])
        if needs_quotes or self.random.random() < 0.2:
            return '"' + field.replace('"', '""') + '"'
        return field

    def well_formed(self, delimiter, line_end, width):
        """A text that follows RFC 4180, or has a mark at its beginning, blank lines, or no line end at its end."""
        text = self.random.choice(["", "", MARK])
        for _ in range(1 + self.random.randrange(8)):
            fields = [self.field(delimiter) for _ in range(width)]
            if self.random.random() < 0.01:
                fields[0] += "long" * LONG
            text += delimiter.join(self.written(field, delimiter) for field in fields) + line_end
            text += line_end * self.random.choice([0, 0, 0, 0, 1])
        return text.removesuffix(line_end) if self.random.random() < 0.3 else text

    def any(self, delimiter, line_end, width):
        """A text that may be nothing: a good one with pieces changed."""
        pieces = list(self.well_formed(delimiter, line_end, width)[: 1 << 10])
        for _ in range(1 + self.random.randrange(3)):
            place = self.random.randrange(len(pieces) + 1)
            new = self.random.choice(["", "", "a", '"', '"', delimiter, line_end, "\n", "\r"])
            pieces[place : place + self.random.randrange(2)] = new
        return "".join(pieces)


def records(connection, file, delimiter, line_end, width, strict):
    """What DuckDB reads with everything said that it would otherwise guess; `None` where it refuses."""
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    line_end = line_end.replace("\r", "\\r").replace("\n", "\\n")
    query = f"""SELECT * FROM read_csv(
        '{file}', columns = {{{columns}}}, delim = '{delimiter}', quote = '"', escape = '"', new_line = '{line_end}',
        auto_detect = false, header = false, strict_mode = {strict}, null_padding = false)"""
    try:
        rows = connection.execute(query).fetchall()
    except duckdb.Error:
        return None
    # A text has no difference between nothing and a field that is empty.
    return [[value or "" for value in row] for row in rows]


def of_python(text, delimiter):
    """What the reader of Python itself reads; `None` where it refuses."""
    try:
        rows = csv.reader(io.StringIO(text.removeprefix(MARK), newline=""), delimiter=delimiter, strict=True)
        # A blank line is a row without fields.
        return [row for row in rows if row]
    except csv.Error:
        return None


def every_text(root, count):
    """Writes `texts.json`: texts, half of them well-formed, and the records of each."""
    texts, all_texts = Texts(1), []
    csv.field_size_limit(1 << 20)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    file = pathlib.Path(root) / "text.csv"
    for number in range(count):
        name, delimiter = texts.random.choice(list(DELIMITERS.items()))
        line_end, width = texts.random.choice(LINE_ENDS), 2 + texts.random.randrange(3)
        kind = "well-formed" if number % 2 == 0 else "any"
        make = texts.well_formed if number % 2 == 0 else texts.any
        text = make(delimiter, line_end, width)
        encoded = text.encode()
        file.write_bytes(encoded)
        # Strictly, DuckDB refuses line ends of two bytes where a field in quotes has one.
        strict = kind == "any" or line_end != "\r\n"
        found = records(connection, file, delimiter, line_end, width, strict)
        # On such texts DuckDB is not reliable: it drops surplus fields, and sometimes rows.
        if kind == "any" and found != of_python(text, delimiter):
            found = None
        all_texts.append({"kind": kind, "delimiter": name, "text": base64.b64encode(encoded).decode(), "records": found})
    file.unlink()
    (pathlib.Path(root) / "texts.json").write_text(json.dumps(all_texts))
