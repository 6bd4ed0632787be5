"""keys.md: from the values of a row to a digest."""

import base64
import datetime
import hashlib
import re
import unicodedata

from .phone import phone
from .primitives import hash_of, le32, le64

WHITE = "".join(
    map(chr, [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
)
DEFAULT_NULLS = [
    "#n/a", "(null)", "-", "--", "---", ".", "<na>", "<null>", "?", "[null]", "\\n", "n.a.", "n/a", "na", "nan", "none",
    "not available", "null", "undefined", "unknown",
]  # fmt: skip

POSTCODES = {
    "AU DK NO": "9999",
    "AT BE CH LU": "1999",
    "DE ES FI FR IT PL": "99999",
    "CZ SE": "19999",
    "PT": "1999999",
    "NL": "1999AA",
    "US": "99999 999999999",
    "CA": "K9C9C9",
    "GB": "A99BB A999BB AA99BB AA999BB A9A9BB AA9A9BB",
}
CLASSES = {"9": "[0-9]", "1": "[1-9]", "A": "[A-Z]", "B": "[ABD-HJLNP-UW-Z]", "C": "[ABCEGHJ-NPRSTV-Z]", "K": "[ABCEGHJ-NPRSTVXY]"}


UNSEEN = "".join(
    chr(c)
    for first, last in [
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
        (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    ]
    for c in range(first, last + 1)
)  # fmt: skip
APOSTROPHES = "'`\u00b4\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\u02ee\u055a\u05f3\u2018\u2019\u201a\u201b\u2032\u2035\ua78b\ua78c\uff07\uff40"
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
SPACES = "\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"


def is_plain(text):
    """Whether each character is seen as what it is: no control or format character, no separator but the space."""
    return all(c == " " or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Zs") for c in text)


def collapse(text):
    return " ".join(part for part in re.split(f"[{WHITE}]+", text) if part)


def bare(text):
    return text.strip(WHITE + UNSEEN)


def typed(text):
    """The text with characters of ASCII for the marks and digits of typography and other scripts."""

    def of(c):
        if c.isascii():
            return c
        if c in DASHES:
            return "-"
        if c in APOSTROPHES:
            return "'"
        if c in SPACES:
            return " "
        if "\uff01" <= c <= "\uff5e":
            return chr(ord(c) - 0xFF01 + 0x21)
        if c == "\ufe62":
            return "+"
        return str(unicodedata.decimal(c)) if c <= "\uffff" and unicodedata.category(c) == "Nd" else c

    return "".join(map(of, text))


def trim(text):
    return unicodedata.normalize("NFC", bare(text))


def lower(text):
    return unicodedata.normalize("NFC", trim(text).lower())


def text_profile(text):
    folded = unicodedata.normalize("NFD", bare(text)).casefold()
    return collapse(unicodedata.normalize("NFC", folded))


def is_address(text):
    def in_name(c):
        hidden = unicodedata.category(c) == "Cc" or c in WHITE or c in UNSEEN
        return not (hidden or c in '"(),:;<>@[\\]\u00ab\u00bb\u201c\u201d\u201e\u201f')

    def in_label(c):
        return re.fullmatch("[A-Za-z0-9_-]", c) if c.isascii() else in_name(c) and c not in APOSTROPHES

    before, at, behind = text.partition("@")
    labels = behind.split(".")
    return bool(at and before and all(map(in_name, before)) and all(label and all(map(in_label, label)) for label in labels))


def address(text):
    return text if is_address(text) else ""


def email_plain(text):
    return address(lower(text))


def without_dots(text, domains=("gmail.com",)):
    before, at, domain = text.partition("@")
    if domain not in domains:
        return text
    return address(trim(before.partition("+")[0].replace(".", "") + at + domain))


def email(text):
    return without_dots(email_plain(text))


def lower_ascii(text):
    return re.sub("[A-Z]", lambda c: c[0].lower(), trim(text))


def joined(text):
    return re.sub(f"[{WHITE}]+", "", text)


def punctuated(c):
    """Whether `meta:name` drops a character."""
    return not (c in WHITE or unicodedata.category(c)[0] == "M" or is_letter(c))


def is_letter(c):
    # Alphabetic, other than marks, is letters, letter numbers, and letters in circles and squares.
    enclosed = "\u24b6" <= c <= "\u24e9" or any(
        first <= ord(c) <= last for first, last in [(0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
    )
    return unicodedata.category(c)[0] in "LN" or enclosed


def partner(company, rule, text):
    """The rules of companies."""
    word, _, country = rule.partition(":")
    match company, word:
        case "google", "email":
            return without_dots(email_plain(joined(text)), ("gmail.com", "googlemail.com"))
        case "liveramp", "email":
            return email_plain(joined(text))
        case "meta", "email":
            return email_plain(text)
        case "uid2", "email":
            return without_dots(address(lower_ascii(text)))
        case "pair", "email":
            return address(lower_ascii(text))
        case "google", "name":
            return lower(text)
        case "meta", "name":
            return lower("".join(c for c in lower(text) if not punctuated(c)))
        case "meta", "phone":
            number = telephone(text, country)
            if not number and not country:
                number = telephone("+" + typed(bare(text)).lstrip("0"), "")
            return number.removeprefix("+")
        case _, "phone":
            return telephone(text, country)
    raise ValueError(f"this implementation has no profile {company}:{rule}")


def telephone(text, country):
    text = bare(text).lstrip(APOSTROPHES)
    return phone(typed(re.sub("^tel:", "", text, flags=re.IGNORECASE)), country, UNSEEN)


def counts(c):
    """Whether `name` keeps a character."""
    if c in UNSEEN or c in APOSTROPHES:
        return False
    if unicodedata.category(c)[0] == "M":
        combining = unicodedata.combining(c)
        return not (combining == 1 or 10 <= combining <= 36 or combining >= 200)
    return c in WHITE or is_letter(c)


def name(text):
    stands_alone = lambda c: not c.isascii() and c not in WHITE and unicodedata.normalize("NFKD", c)[0] == " "
    text = "".join(c for c in text if not stands_alone(c))
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return collapse(unicodedata.normalize("NFC", "".join(filter(counts, text))))


CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:[.,]([0-9]*))?"
ZONE = r"(?:(UTC|GMT|Z)|([+-])([0-9]{2})(?::?([0-9]{2}))?(?::00)?)"


def offset(zone):
    """Minutes ahead of UTC, or None where there is no such zone."""
    match = re.fullmatch(ZONE, zone, re.IGNORECASE)
    if not match:
        return None
    if match[1]:
        return 0
    hours, minutes = int(match[3]), int(match[4] or 0)
    if hours >= 24 or minutes >= 60:
        return None
    return (60 * hours + minutes) * (-1 if match[2] == "-" else 1)


def timestamp(text, zone):
    match = re.fullmatch(f"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[Tt ] *{CLOCK} *(.*))?", typed(bare(text)), re.DOTALL)
    if not match:
        return ""
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, own = (match[7] or "").rstrip("0"), match[8]
    ahead = offset(own or zone or "Z")
    if ahead is None or len(fraction) > 9:
        return ""
    try:
        utc = datetime.datetime(year, month, day, hour, minute, second) - datetime.timedelta(minutes=ahead)
    except (ValueError, OverflowError):
        return ""
    return f"{utc.isoformat()}{'.' if fraction else ''}{fraction}Z"


def before_midnight(text):
    """The text before a midnight, or None."""
    match = re.fullmatch(f"([^:]*?) *[Tt ]{CLOCK} *(.*)", text, re.DOTALL)
    if not match or int(match[3]) or int(match[4] or 0) or (match[5] or "").strip("0"):
        return None
    hour, rest = int(match[2]), match[6]
    if hour == 12 and rest.lower() == "am":
        return match[1]
    return match[1] if hour == 0 and (not rest or offset(rest) == 0) else None


def date(text, form):
    text = typed(bare(text))
    before = before_midnight(text)
    return day_of(text, form) or ("" if before is None else day_of(before, form))


def day_of(text, form):
    fields = re.split("(%[Ymd])", form or "%Y-%m-%d")
    pattern = ""
    for i, field in enumerate(fields):
        if i % 2 == 0:
            pattern += re.escape(field)
            continue
        beside = (i > 1 and fields[i - 1] == "") or (i + 2 < len(fields) and fields[i + 1] == "")
        # Two digits, or one if no second digit follows: the quantifier gives nothing back.
        width = "{4}" if field == "%Y" else "{2}" if beside or form is None else "{1,2}+"
        pattern += f"(?P<{field[1]}>[0-9]{width})"
    match = re.fullmatch(pattern, text)
    if not match:
        return ""
    try:
        return datetime.date(int(match["Y"]), int(match["m"]), int(match["d"])).isoformat()
    except ValueError:
        return ""


MARKS = {"none": None, "point": ".", "comma": ",", "space": " ", "apostrophe": "'"}


def number(text, marks):
    text = typed(bare(text))
    group, decimal = (MARKS[word] for word in (marks or "none-point").split("-"))
    sign, text = ("-" if text.startswith("-") else "", text[1:]) if text[:1] in ("+", "-") and text else ("", text)
    whole, _, fraction = text.partition(decimal)
    if group and group in whole:
        parts = whole.split(group)
        if not 1 <= len(parts[0]) <= 3 or any(len(part) != 3 for part in parts[1:]):
            return ""
        whole = "".join(parts)
    if not re.fullmatch("[0-9]+", whole + fraction):
        return ""
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    if whole == "0" and not fraction:
        return "0"
    return sign + whole + ("." + fraction if fraction else "")


MARKS_OF_COUNTRIES = dict(AT="A", BE="B", DE="D", ES="E", FI="FIN", FR="F", IT="I", LU="L", NO="N", PT="P", SE="S", US="USA")


def postcode(text, country):
    text = re.sub(f"[{WHITE}{UNSEEN}-]", "", typed(text))
    text = re.sub("[a-z]", lambda c: c[0].upper(), text)
    digit = re.search("[0-9]", text)
    if digit and country not in ("CA", "GB"):
        mark, text = text[: digit.start()], text[digit.start() :]
        if mark not in ("", country, MARKS_OF_COUNTRIES.get(country)):
            return ""
    forms = next(forms for countries, forms in POSTCODES.items() if country in countries.split()).split()
    patterns = ["".join(CLASSES[c] for c in form) for form in forms] + (["GIR0AA"] if country == "GB" else [])
    if not any(re.fullmatch(pattern, text) for pattern in patterns):
        return ""
    return text[:5] if country == "US" else text


def hashed(text):
    text = bare(text)
    if match := re.fullmatch(r"(?:0[xX]|\\[xX])?([0-9a-fA-F]{64})", text):
        return bytes.fromhex(match[1])
    if not re.fullmatch("[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?", text):
        return b""
    return base64.b64decode(text.rstrip("=").replace("-", "+").replace("_", "/") + "=")


def normalise(profile, value):
    """The text that `profile` makes of a value, without hashing; empty if it is no key."""
    word, _, parameter = profile.partition(":")
    match word:
        case "none":
            return value
        case "trim":
            return trim(value)
        case "lower":
            return lower(value)
        case "text":
            return text_profile(value)
        case "email":
            return email_plain(value) if parameter == "plain" else email(value)
        case "name":
            return name(value)
        case "date":
            return date(value, parameter or None)
        case "number":
            return number(value, parameter or None)
        case "postcode":
            return postcode(value, parameter)
        case "timestamp":
            return timestamp(value, parameter)
        case "phone":
            return telephone(value, parameter)
        case "google" | "meta" | "uid2" | "liveramp" | "pair":
            return partner(word, parameter, value)
        case "sha256":
            return normalise(parameter, value)
    raise ValueError(f"this implementation has no profile {profile}")


def column(profile, value, nulls=DEFAULT_NULLS):
    """(type, bytes) of a column of a key, or None if there is no key."""
    if profile.startswith("hashed:"):
        digest = hashed(value)
        missing = profile != "hashed:none" and digest.hex() in nulls
        return None if missing or not digest else (2, digest)
    text = normalise(profile, value)
    if not text or (profile not in ("none", "sha256:none") and lower(text) in nulls):
        return None
    if profile.startswith("sha256:"):
        return 2, hashlib.sha256(text.encode()).digest()
    return 1, text.encode()


def encoding(columns, identifier=None):
    head = b"vesica/key/1" if identifier is None else b"vesica/key-of-several/1" + le32(identifier)
    return head + le32(len(columns)) + b"".join(bytes([kind]) + le64(len(data)) + data for kind, data in columns)


def digest(columns, identifier=None):
    return hash_of(encoding(columns, identifier))


UNICODE = "+unicode17"
PLAN = "+plan9.0.33"


def version(profile):
    """The version of the rule of a profile, and that of its tables."""
    word, _, parameter = profile.partition(":")
    match word:
        case "sha256" | "hashed":
            return version(parameter)
        case "trim" | "lower" | "text" | "email" | "name":
            return "2" + UNICODE
        case "phone":
            return "2" + PLAN
        case "date" | "number" | "postcode":
            return "2"
        case "google" | "meta" | "uid2" | "liveramp" | "pair":
            return "1" + (PLAN if parameter.startswith("phone") else UNICODE)
        case _:
            return "1"


def versioned(profile):
    """The name of a profile as it travels."""
    return f"{profile}@{version(profile)}"


def agreed_name(versioned):
    """keys.md, section 2."""
    base, at, said = versioned.rpartition("@")
    if not at or said != version(base):
        return versioned
    return f"{essence(base)}@{said}"


def essence(profile):
    """The profile without what describes one side's column."""
    word, colon, parameter = profile.partition(":")
    if word in ("sha256", "hashed") and colon:
        return "sha256:" + essence(parameter)
    if word in ("phone", "date", "number", "timestamp"):
        return word
    if word in ("google", "meta", "uid2", "pair") and parameter.startswith("phone"):
        return word + ":phone"
    return profile
