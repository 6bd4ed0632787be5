"""Which tables meet which, and by which flags."""

import base64
import hashlib
import pathlib
import random
from datetime import date
from decimal import Decimal

import phonenumbers
import pyarrow as pa

from profiles import MARKS, POSTCODES, key
from tables import FAMILIES, FORMATS, TYPED, values, write

REGIONS = ["DE", "GB", "US", "FR", "IT", "CH", "AT", "NL", "ES", "PL", "IN", "JP", "BR", "AU", "SE", "ZA"]

MAILS = ["Jane.Doe+news@Gmail.com", "janedoe@gmail.com", "j.a.n.e.doe@gmail.com", "jane.doe@example.com", " BOB@Example.ORG\t",
         "bob@example.org", "not given", "a@b@c", "@x.org", "x@", "+@gmail.com", "...@gmail.com", "Ümlaut@Exämple.org",
         "u\u0308mlaut@exa\u0308mple.org", "n/a", "NULL", "bob+tag@example.org", "\ufeffann@x.org\u200b", "ANN@X.ORG", "-", "\u200eann@x.org\u2060", "Ann <ann@x.org>", '"ann@x.org"', "ann @x.org",
         "mailto:ann@x.org", "ann@x.org;", "ann@x..org", "o'neill@x.org", "Jane.Doe+x@googlemail.com", "janedoe@googlemail.com", "ja ne@x.org",
         "JÄNE@x.org"]
WORDS = ["Große   Straße", "GROSSE STRASSE", "grosse\u00a0strasse", " Ann ", "ann", "ANN", "A\u0308nn", "Änn", "ΣΊΣΥΦΟΣ", "σίσυφος",
         "σίσυφοσ", "ﬁn", "FIN", "İstanbul", "istanbul", "x\u3000 y", "x y", "unknown", " N/A", "?", "NULL ", "ᾳ", "ΑΙ",
         "\u0345α", "ǰ", "ΐ", "ŉ"]
NAMES = ["José O'Neill-Müller", "jose oneillmuller", "JOSE ONEILL MULLER", "Łukasz Ørsted", "łukasz ørsted", "Đặng", "đang", "Dang",
         "ＦＵＬＬ ｗｉｄｔｈ", "full width", "Ⅷ", "viii", "आर्या", "が", "か", "ガ", "שָׁלוֹם", "שלום", "Ærø", "ÆRØ", "St. Mary's", "st marys",
         "n/a", "...", "!", "None", "Straße", "strasse", "A\u0308b", "ab", "x²", "x2", "O\u00b4Neill", "O\u02bcNeill", "oneill", "Hawai\u02bbi", "hawaii", "An\u00adna", "anna", "ŉx", "nx", "Valéry", "Mary-Ann"]
NUMBERS = ["+007.50", "7.5", "7.500", "-0", "0", "0.0", "-0.000", "1e3", "1000", ".5", "0.5", "5.", "5", "", "-", ".", "+", "--1", "1 000",
           "1.2.3", "00012345678901234567890.1", "12345678901234567890.10", " 8 ", "8", "0x10", "NaN", "inf", "٣", "3", "-1.50", "-1.5", "\u22121.5", "\u20138", "１２", "12", "5-", "\u200b8\u2060"]
SHARED_DAYS = [date(2024, 2, 29), date(2000, 2, 29), date(1999, 12, 31), date(2024, 1, 2), date(2023, 11, 12), date(1900, 3, 1),
               date(2024, 10, 5), date(9999, 12, 31)]
NO_DAYS = ["29.02.2023", "2023-02-29", "31/04/2024", "2024-13-01", "0000-01-01", "24-01-02", "tomorrow", "n/a", "2024-1-2", "2.1.24",
           "2024-01-02T10:00:00", "20240102"]
MIDNIGHTS = ["2024-01-02T00:00:00", "2024-01-02 00:00:00", "2023-11-12 00:00:00.000+00:00", "1999-12-31T00:00:00Z", "2024-10-05 0:00",
             "2024-02-29T00:00:00+01:00", "\u200b1900-03-01 12:00:00 AM"]
TIMES = ["2024-02-29T10:00:00Z", "2024-02-29 10:00:00", "2024-02-29 11:00:00+01:00", "2024-02-29T02:00:00.000-08:00", "2024-02-29 10:00:00.5",
         "2024-02-29 10:00:00.500+00", "2024-02-29", "2024-02-29T00:00", "2024-02-29 10:00:00 UTC", "2024-02-29 10:00:00 +0000",
         "2023-02-29 10:00:00", "2024-02-29 25:00:00", "2024-02-29 10:00:00.123456789", "2024-02-29 10:00:00,123456789", "n/a", "now"]
DATES = ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y", "%Y.%m.%d"]
CODES = ["sw1a 1aa", "SW1A1AA", "SW1A-1AA", "m1 1ae", "B338TH", "cr2 6xh", "DN55 1PT", "EC1A1BB", "gir 0aa", "GIR0AB", "M1 1AC", "1012 ab",
         "1012AB", "0012AB", "02134-1000", "02134", "2134", "021341000", "K1A 0B1", "k1a0b1", "D1A 0B1", "1010", "0010", "10115", "01067",
         "D-10115", "110 00", "11000", "01000", "00-950", "00950", "1000-001", "114 55", "11455", "L-1009", "1009", "n/a", "FI-00100",
         "00100", "123", "1234567", "٠٠١٠٠", "L-1234", "1234", "A 1010", "CH-8001", "8001", "NL-1012 AB", "B\u20111000", "SE-114 55"]


def phones():
    found = ["110", "112", "030 / 12 34 56", "+49 30 123456", "0049 30 123456", "020 7946 0018", "+44 (0)20 7946 0018", "+442079460018",
             "011 44 20 7946 0018", "(202) 456-1111", "1-202-456-1111", "+1 202 456 1111", "12", "n/a", "NULL", "+", "unknown",
             "+49 30 123456 ext. 5", "1-800-FLOWERS", "+999 123456", "00 44 20 7946 0018", "+3906 698 83462", "06 698 83462", "30123456.0", "(+49) 30 123456", "tel:+49-30-123456", "+49[30]123456", "030\u2212123456",
             "\u202a+4930123456\u202c", "'+4930123456", "4915112345678", "０３-1234-5678", "030.123456"]
    for region in REGIONS:
        for kind in (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE):
            number = phonenumbers.example_number_for_type(region, kind)
            for form in (phonenumbers.PhoneNumberFormat.E164, phonenumbers.PhoneNumberFormat.INTERNATIONAL,
                         phonenumbers.PhoneNumberFormat.NATIONAL):
                found.append(phonenumbers.format_number(number, form))
    return found


def digests(plain, profile):
    """The digests of one side: of the other side's keys, in every way to write them, and of others."""
    found = ["b4c9a289", "n/a", "0" * 64, "0" * 63, "A" * 43, "=" * 44]
    for at, value in enumerate(plain):
        said = key(value, f"sha256:{profile}")
        if said is None:
            continue
        raw = bytes.fromhex(said)
        ways = [said, said.upper(), f" {said} ", base64.b64encode(raw).decode(), base64.b64encode(raw).decode().rstrip("="),
                base64.urlsafe_b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("="), f"0x{said}", f"\\x{said}"]
        found += [ways[at % len(ways)], ways[(at + 3) % len(ways)]]
    return found


def written_numbers(marks):
    """The same numbers with a group's and a decimal mark."""
    thousands, point = (MARKS[mark] for mark in marks.split("-"))
    swapped = [value.replace(".", "\0").replace("\0", point) for value in NUMBERS]
    grouped = [f"{n:,}".replace(",", thousands) + f"{point}50" for n in (7, 999, 1000, 1234567, -1234)]
    broken = [f"1{thousands}23{point}5", f"12{thousands}345{thousands}67", f"{thousands}123", f"1234{thousands}567"]
    return swapped + grouped + broken


def profiles():
    """Pairs of profiles whose keys are alike, with the values of each side."""
    for profile in ("none", "trim", "lower", "text"):
        yield profile, WORDS + MAILS, profile, WORDS + MAILS
    yield "name", NAMES + WORDS, "name", NAMES + WORDS
    yield "email", MAILS, "email:gmail", MAILS
    yield "email:plain", MAILS, "email:plain", MAILS
    for company in ("google", "meta", "uid2", "liveramp", "pair"):
        yield f"{company}:email", MAILS, f"{company}:email", MAILS
    for company in ("google", "meta"):
        yield f"{company}:name", NAMES, f"{company}:name", NAMES
    for ahead in ("", ":+01:00", ":-05:30"):
        yield f"timestamp{ahead}", TIMES + MIDNIGHTS[:4], "timestamp", TIMES + MIDNIGHTS[:4]
    yield "date", MIDNIGHTS, "date", [day.isoformat() for day in SHARED_DAYS]
    numbers = phones()
    for at, region in enumerate(REGIONS):
        yield f"phone:{region}", numbers, ["phone", f"phone:{REGIONS[at - 1]}"][at % 2], numbers
    yield "google:phone:US", numbers, "google:phone:DE", numbers
    yield "meta:phone:US", numbers, "meta:phone:DE", numbers
    for form in DATES:
        said = [day.strftime(form.replace("%Y", f"{day.year:04}")) for day in SHARED_DAYS] + NO_DAYS
        if "." in form or "/" in form:
            said += [form.replace("%d", "2").replace("%m", "1").replace("%Y", "2024")]
        yield f"date:{form}", said, "date", [day.isoformat() for day in SHARED_DAYS] + NO_DAYS + [" 2024-01-02 "]
    plain = NUMBERS + ["1234567.50", "999.5", "1000.50", "-1234.5", "7.50"]
    for marks in ("point-comma", "comma-point", "space-comma", "apostrophe-point", "none-comma"):
        yield f"number:{marks}", written_numbers(marks), "number", plain
    for country in POSTCODES:
        yield f"postcode:{country}", CODES, f"postcode:{country}", CODES
    for profile, plain in (("email", MAILS), ("phone:DE", numbers[:40]), ("name", NAMES), ("none", WORDS), ("number", NUMBERS),
                           ("google:email", MAILS), ("meta:phone:DE", numbers[:40])):
        yield f"sha256:{profile}", plain, f"hashed:{profile}", digests(plain, profile)


# Columns that have types, and are normalised.
def typed_profiles():
    yield ("date", pa.array(SHARED_DAYS + [None], pa.date32()), "date:%d.%m.%Y",
           pa.array([day.strftime(f"%d.%m.{day.year:04}") for day in SHARED_DAYS[2:]]))
    yield ("number", pa.array([Decimal("1.50"), Decimal("-2.00"), Decimal("0.00"), None], pa.decimal128(9, 2)), "number",
           pa.array([-2, 0, 7, None], pa.int64()))


class Cases:
    """Writes tables as they are asked for, and lists the runs."""

    def __init__(self, root):
        self.root, self.cases, self.written = pathlib.Path(root), [], {}

    def input(self, name, form, variant, make):
        """The path of a table in a format, which is made once."""
        path = self.root / f"{name}.{form}"
        if path not in self.written:
            write(for_format(make(), form), path, form, variant)
            self.written[path] = variant
        return path

    def add(self, name, a, b, **more):
        """A run of two sides. Each has a path, a format, keys, profiles, and perhaps other things."""
        sides = {}
        for side, given in (("a", a), ("b", b)):
            number = len(self.cases)
            output, report = (self.root / f"{number}{side}.{kind}" for kind in (f"out.{given['form']}", "report.json"))
            flags = ["--input", given["path"], "--output", output, "--report", report, "--allow-empty"]
            for columns in given["keys"]:
                flags += ["--key", ",".join(quoted(column) for column in columns)]
            flags += ["--normalize", ",".join(given["profiles"])]
            if given.get("select"):
                flags += ["--select", ",".join(quoted(column) for column in given["select"])]
            flags = [str(flag) for flag in flags + given.get("flags", [])]
            sides[side] = {**given, "path": str(given["path"]), "output": str(output), "report": str(report), "flags": flags}
        self.cases.append({"name": name, **sides, **more})


def quoted(name):
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def for_format(table, form):
    """Without columns that delimited text cannot have."""
    kept = [name for name, kind in zip(table.column_names, table.schema.types)
            if not (pa.types.is_nested(kind) and form.startswith("csv"))]
    return table.select(kept)


def extended(keys, seed):
    """A table with these key columns, some before and some after columns of other types."""
    chance = random.Random(seed)
    rows = len(next(iter(keys.values())))
    few = lambda value: None if chance.random() < 0.2 else value
    notes = ["", "plain", "a, b", 'say "hi"', "two\nlines", "ünï", " "]
    others = {
        "n": pa.array(range(rows), pa.int64()),
        "note": pa.array([few(chance.choice(notes)) for _ in range(rows)], pa.string()),
        "amount": pa.array([few(Decimal(chance.randrange(-10**6, 10**6)).scaleb(-2)) for _ in range(rows)], pa.decimal128(12, 2)),
        "ratio": pa.array([few(chance.random()) for _ in range(rows)], pa.float64()),
        "tags": pa.array([few([few(n) for n in range(chance.randrange(3))]) for _ in range(rows)], pa.list_(pa.int32())),
        "place": pa.array([{"city": few("Bern"), "no": few(chance.randrange(99))} for _ in range(rows)],
                          pa.struct([("city", pa.string()), ("no", pa.int32())])),
    }
    names = list(others)
    columns = {**{name: others[name] for name in names[:3]}, **keys, **{name: others[name] for name in names[3:]}}
    return pa.table(columns).replace_schema_metadata({"made by": "the oracle"})


def drawn(pool, rows, seed):
    """That many values from a pool, some twice and some missing, each of the pool once if there is room."""
    chance = random.Random(seed)
    found = [pool[at] if at < len(pool) else chance.choice(pool) for at in range(rows)]
    chance.shuffle(found)
    return [None if at % 9 == 4 else value for at, value in enumerate(found)]


def side(path, form, profile="none"):
    return {"path": path, "form": form, "keys": [["k"]], "profiles": [profile]}


def every_type(cases):
    for family, kinds in FAMILIES.items():
        names = list(kinds)
        for at, name in enumerate(names):
            for i, a in enumerate(FORMATS):
                for j, b in enumerate(FORMATS):
                    # What meets a type is the type itself, or another whose values are equal.
                    other = names[(at + i + j) % len(names)]
                    ends = []
                    for who, form, kind in (("a", a, name), ("b", b, other)):
                        def make(who=who, kind=kind):
                            pool = values(family, kinds[kind])
                            third = len(pool) // 3
                            pool = pool[: len(pool) - third] if who == "a" else pool[third:]
                            column = pa.array(drawn(pool, len(pool) + 9, f"{kind}{who}"), kinds[kind])
                            return extended({"k": column}, f"{kind}{who}")
                        place = names.index(kind) + (who == "b")
                        path = cases.input(f"{kind} {who}".replace("/", " "), form, place, make)
                        ends.append(side(path, form))
                    if (i + j) % 5 == 1:
                        ends[0]["select"] = ["k", "note"] if at % 2 else ["amount", "k", "n"]
                    cases.add(f"{name} in {a}, {other} in {b}", *ends)


def every_profile(cases):
    listed = [(p, pa.array(drawn(x, len(x) + 9, p), pa.string()), q, pa.array(drawn(y, len(y) + 5, q + "b"), pa.string()))
              for p, x, q, y in profiles()]
    for at, (p, x, q, y) in enumerate(listed + list(typed_profiles())):
        for i, a in enumerate(FORMATS):
            b = FORMATS[(i * 3 + at) % len(FORMATS)]
            ends = []
            for who, form, profile, column in (("a", a, p, x), ("b", b, q, y)):
                make = lambda column=column, who=who: extended({"k": column}, f"{at}{who}")
                path = cases.input(f"profile {at} {who}", form, at + (who == "b"), make)
                ends.append(side(path, form, profile))
            cases.add(f"{p} in {a}, {q} in {b}", *ends)


def every_shape(cases):
    """Empty tables, tables of one row, keys of several columns, several identifiers."""
    def people(who, rows, seed):
        chance = random.Random(seed)
        pick = lambda pool: None if chance.random() < 0.25 else chance.choice(pool)
        mails = [f"{'ABab'[n % 4]}{n}@X.org" for n in range(25)]
        tels = [f"+49 30 {123400 + n}" if n % 2 else f"030 / {123400 + n}" for n in range(25)]
        return extended({
            "mail": pa.array([pick(mails) for _ in range(rows)], pa.string()),
            'last, "first"': pa.array([pick(["Ann", "ann", "Bob", "Änn", "A,nn"]) for _ in range(rows)], pa.string()),
            "born": pa.array([pick(SHARED_DAYS) for _ in range(rows)], pa.date32()),
            "tel": pa.array([pick(tels) for _ in range(rows)], pa.string()),
        }, seed)

    pair = {"keys": [['last, "first"', "born"]], "profiles": ["lower", "date"]}
    any_of = {"keys": [["mail"], ["tel"], ['last, "first"', "born"]], "profiles": ["email", "phone:DE", "name", "date"]}
    mail = {"keys": [["mail"]], "profiles": ["email"]}
    for i, a in enumerate(FORMATS):
        for j, b in enumerate(FORMATS):
            for rows_a, rows_b, how, select in ((0, 0, mail, None), (0, 20, mail, None), (1, 20, mail, None), (20, 1, mail, None),
                                                (40, 30, pair, None), (40, 30, any_of, None), (33, 44, mail, ["born", "mail"])):
                if (rows_a == 0 and a == "ndjson") or (rows_b == 0 and b == "ndjson"):
                    # A table without a line has no columns; the session's tests see to it.
                    continue
                ends = []
                for who, form, rows in (("a", a, rows_a), ("b", b, rows_b)):
                    path = cases.input(f"people {who} {rows}", form, rows + (who == "b"),
                                       lambda who=who, rows=rows: people(who, rows, f"{who}{rows}"))
                    ends.append({"path": path, "form": form, **how})
                if select:
                    ends[i % 2]["select"] = select
                cases.add(f"{rows_a} rows in {a}, {rows_b} in {b}, {how['profiles']}", *ends)
