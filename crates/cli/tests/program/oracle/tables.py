"""Tables in every format: how they are written, and how they are read back."""

import csv
import gzip
import io
import json
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

FORMATS = ["csv", "csv.gz", "csv.zst", "ndjson", "parquet", "arrow", "arrows"]
TYPED = FORMATS[4:]

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

INTEGERS = {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)}

# Types whose equal values are equal keys.
FAMILIES = {
    "integer": {**INTEGERS, "decimal(20,0)": pa.decimal128(20, 0)},
    "decimal": {f"decimal{bits}": getattr(pa, f"decimal{bits}")(width, 2)
                for bits, width in ((32, 9), (64, 18), (128, 38), (256, 76))},
    "boolean": {"boolean": pa.bool_()},
    "date": {"date32": pa.date32(), "date64": pa.date64()},
    "local": {f"timestamp[{unit}]": pa.timestamp(unit) for unit in UNITS},
    "instant": {f"timestamp[{unit}, {zone}]": pa.timestamp(unit, zone)
                for unit, zone in zip(UNITS, ("UTC", "Europe/Paris", "+02:00", "UTC"))},
    "time": {"time32[s]": pa.time32("s"), "time32[ms]": pa.time32("ms"), "time64[us]": pa.time64("us"),
             "time64[ns]": pa.time64("ns")},
    "string": {"string": pa.string(), "large string": pa.large_string(), "string view": pa.string_view(),
               "dictionary": pa.dictionary(pa.int8(), pa.string()),
               "large dictionary": pa.dictionary(pa.int32(), pa.large_string())},
    "uuid": {"uuid": pa.uuid()},
    "binary": {"binary": pa.binary(), "large binary": pa.large_binary(), "binary view": pa.binary_view(),
               "fixed binary": pa.binary(4)},
}

DAYS = [date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29), date(2024, 2, 29),
        date(2024, 12, 31), date(9999, 12, 31), date(2100, 3, 1)]
MOMENTS = [datetime(1900, 2, 28, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59), datetime(1970, 1, 1),
           datetime(2000, 2, 29, 12), datetime(2024, 3, 31, 1, 30), datetime(2024, 10, 27, 0, 30),
           datetime(2024, 10, 27, 1, 30), datetime(2038, 1, 19, 3, 14, 8), datetime(2200, 7, 4, 6, 5, 4)]


def values(family, kind):
    """Values of a type: those that every type of its family has, and its own extremes."""
    match family:
        case "integer":
            own = [0, 1, 2, 3, 7, 10, 42, 99, 100, 126, 127]
            if pa.types.is_decimal(kind):
                return [Decimal(value) for value in own + [-5, 2**64 - 1, -(10**20) + 1]]
            bits = kind.bit_width
            if pa.types.is_unsigned_integer(kind):
                return own + [2**bits - 1, 2**bits - 2]
            return own + [-1, -5, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
        case "decimal":
            own = [0, 1, -1, 5, -5, 10, 99, 100, -100, 12345, -12345, 999999999, -999999999]
            return [Decimal(f"{value}E-2") for value in own + [10 ** (kind.precision) - 1]]
        case "boolean":
            return [True, False]
        case "date":
            return DAYS
        case "local" | "instant":
            finer = [value + timedelta(microseconds=500_000) for value in MOMENTS[:3]] if kind.unit != "s" else []
            finer += [value + timedelta(microseconds=1) for value in MOMENTS[:3]] if kind.unit in ("us", "ns") else []
            all_of_them = MOMENTS + finer
            return all_of_them if kind.tz is None else [value.replace(tzinfo=timezone.utc) for value in all_of_them]
        case "time":
            own = [time(0, 0, 0), time(23, 59, 59), time(12, 0, 0), time(0, 0, 1), time(9, 5, 7)]
            own += [time(1, 2, 3, 500_000), time(0, 0, 0, 1000)] if kind.unit != "s" else []
            return own + ([time(1, 2, 3, 4), time(0, 0, 0, 100)] if kind.unit in ("us", "ns") else [])
        case "string":
            return ["ann@example.org", " x ", "a,\"b\"\nä", "Ä", "A\u0308", "null", "0", "007", "x" * 300, "\u200bz", "{}",
                    "'quoted'", "\t", "NULL", "ünïcödé 漢字 🙂", "back\\slash", ";|"]
        case "uuid":
            return [uuid.UUID(int=value).bytes for value in (0, 1, 2**128 - 1, 0x00010203_0405_0607_0809_0A0B0C0D0E0F,
                                                             2**127, 7, 8, 9)]
        case "binary":
            return [b"\x00\xff\x10\x0a", b"abcd", b"\0\0\0\0", b"\xff\xff\xff\xff", b"a,\"b", b"\r\n\r\n", b"1234"] + (
                [b"a", b"abcde", bytes(range(256))] if kind != pa.binary(4) else [])
    raise ValueError(family)


def texts(column):
    """The texts of a column's values, by the table in docs/guides/keys.md; None where there is none."""
    column = pa.chunked_array(column) if not isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_dictionary(kind):
        return texts(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):
        return [value and moment(value, UNITS[kind.unit], kind.tz) for value in numbers(column, pa.int64())]
    if pa.types.is_time(kind):
        width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return [value and moment(value, UNITS[kind.unit], None)[11:] for value in numbers(column, width)]
    return [None if value is None else text(value) or None for value in column.to_pylist()]


def numbers(column, width):
    """A column's integers, in lists of one each, so that 0 is something."""
    return [None if value is None else [value] for value in column.cast(width).to_pylist()]


def moment(value, unit, zone):
    seconds, fraction = divmod(value[0], unit)
    said = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()
    digits = str(fraction + unit)[1:].rstrip("0")
    return said + (f".{digits}" if digits else "") + ("Z" if zone else "")


def text(value):
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case Decimal():
            return format(value, "f")
        case date():
            return value.isoformat()
        case _:
            return str(value)


def json_value(value, said):
    """What NDJSON has for a value: numbers and truth values are its own, anything else is text."""
    return value if isinstance(value, (bool, int, float, list, dict)) else said


# --- writing ---


def write(table, path, form, variant):
    """Writes a table; variants are other writers and other options."""
    if form.startswith("csv"):
        pack(path, form, written_csv(table, variant))
    elif form == "ndjson":
        pack(path, form, written_ndjson(table, variant))
    elif form == "parquet":
        write_parquet(table, path, variant)
    else:
        codec = [None, "lz4", "zstd"][variant % 3]
        opened = ipc.new_file if form == "arrow" else ipc.new_stream
        # A file has one dictionary for all batches.
        table = table.unify_dictionaries()
        with opened(path, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as out:
            out.write_table(table, max_chunksize=[1000, 7, 1][variant // 3 % 3])


def write_parquet(table, path, variant):
    match variant % 4:
        case 0:
            pq.write_table(table, path)
        case 1:
            pq.write_table(table, path, row_group_size=7, compression="zstd", use_dictionary=False, data_page_version="2.0")
        case 2:
            pq.write_table(table, path, row_group_size=11, compression="gzip", data_page_size=64, store_schema=False,
                           write_page_index=True)
        case 3:
            kinds = table.schema.types
            if any(pa.types.is_decimal256(kind) or pa.types.is_date64(kind) for kind in kinds):
                # DuckDB has no such types.
                pq.write_table(table, path, compression="brotli", version="1.0")
            else:
                duck().from_arrow(table).write_parquet(path, compression="lz4_raw", row_group_size=2048)


def written_csv(table, variant):
    columns = [texts(column) for column in table.columns]
    plain = [name for name, column in zip(table.column_names, columns)]
    if variant % 3 == 0:
        rows = pa.table([pa.array(column, pa.string()) for column in columns], names=plain)
        return by_duckdb(rows, "FORMAT csv, HEADER true")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n" if variant % 3 == 1 else "\n",
                        quoting=csv.QUOTE_ALL if variant % 2 else csv.QUOTE_MINIMAL)
    writer.writerow(plain)
    writer.writerows([value or "" for value in row] for row in zip(*columns))
    return out.getvalue().encode()


def written_ndjson(table, variant):
    said = [texts(column) if is_scalar(column.type) else column.to_pylist() for column in table.columns]
    values = [column.to_pylist() if is_json(column.type) else texts_ for column, texts_ in zip(table.columns, said)]
    if variant % 3 == 0:
        arrays = [pa.array(column, table.schema.types[at] if is_json(table.schema.types[at]) else None)
                  for at, column in enumerate(values)]
        arrays = [array.cast(pa.string()) if array.type == pa.null() else array for array in arrays]
        return by_duckdb(pa.table(arrays, names=table.column_names), "FORMAT json")
    lines = []
    for number, row in enumerate(zip(*values)):
        members = [(name, value) for name, value in zip(table.column_names, row) if value is not None or number % 2]
        spaces = [None, (",", ":")][number % 2]
        members = members[::-1] if number % 3 == 0 else members
        lines.append(json.dumps(dict(members), ensure_ascii=variant % 2 == 0, separators=spaces))
    end = "\r\n" if variant % 3 == 1 else "\n"
    return "".join(line + end for line in lines).encode()


def is_scalar(kind):
    return not pa.types.is_nested(kind)


def is_json(kind):
    return (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
            or pa.types.is_nested(kind))


def by_duckdb(table, options):
    import tempfile, pathlib
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "written"
        connection = duck()
        connection.register("t", table)
        connection.execute(f"COPY t TO '{path}' ({options})")
        return path.read_bytes()


def pack(path, form, data):
    if form.endswith(".gz"):
        data = gzip.compress(data)
    elif form.endswith(".zst"):
        data = pa.compress(data, codec="zstd", asbytes=True)
    with open(path, "wb") as out:
        out.write(data)


def duck():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET threads = 1; SET preserve_insertion_order = true")
    return connection


# --- reading ---


class Read:
    """A table as it is in a file: its records as bytes, or as an Arrow table."""

    def __init__(self, path, form):
        self.path, self.form = str(path), form
        self.table, self.records, self.header = None, None, b""
        if form == "parquet":
            self.table = pq.read_table(path)
        elif form == "arrow":
            self.table = ipc.open_file(path).read_all()
        elif form == "arrows":
            self.table = ipc.open_stream(path).read_all()
        else:
            with pa.input_stream(self.path, compression={"gz": "gzip", "zst": "zstd"}.get(form[4:])) as opened:
                data = opened.read()
            self.records = split(data, quotes=form != "ndjson")
            if form != "ndjson" and self.records:
                self.header = self.records.pop(0)

    def __len__(self):
        return len(self.records) if self.table is None else self.table.num_rows

    def column(self, name):
        """The texts of a column."""
        if self.table is not None:
            return texts(self.table[name])
        if self.form == "ndjson":
            found = [json.loads(record).get(name) for record in self.records]
            return [None if value is None else text(value) or None for value in found]
        rows = self.rows()
        return [row[rows[0].index(name)] or None for row in rows[1:]]

    def rows(self):
        """The header and the rows of delimited text."""
        data = (self.header + b"".join(self.records)).decode()
        return list(csv.reader(io.StringIO(data, newline="")))


def split(data, quotes):
    """The records of a text, line ends included; those within quotes end none."""
    records, start, inside = [], 0, False
    for at, byte in enumerate(data):
        if quotes and byte == 0x22:
            inside = not inside
        elif byte == 0x0A and not inside:
            records.append(data[start : at + 1])
            start = at + 1
    return records + ([data[start:]] if start < len(data) else [])
