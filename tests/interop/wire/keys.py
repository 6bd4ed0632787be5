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


def is_plain(text):
    """Whether each character is seen as what it is: no control or format character, no separator but the space."""
    return all(c == " " or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Zs") for c in text)


def collapse(text):
    return " ".join(part for part in re.split(f"[{WHITE}]+", text) if part)


def trim(text):
    return unicodedata.normalize("NFC", text.strip(WHITE + "\ufeff\u200b"))


def lower(text):
    return unicodedata.normalize("NFC", trim(text).lower())


def text_profile(text):
    folded = unicodedata.normalize("NFD", text.strip(WHITE + "\ufeff\u200b")).casefold()
    return collapse(unicodedata.normalize("NFC", folded))


def email_plain(text):
    text = lower(text)
    before, at, behind = text.partition("@")
    return text if at and before and behind and "@" not in behind else ""


def email(text):
    text = email_plain(text)
    if not text.endswith("@gmail.com"):
        return text
    before = text.removesuffix("@gmail.com").partition("+")[0].replace(".", "")
    return email_plain(before + "@gmail.com")


def counts(c):
    """Whether `name` keeps a character."""
    if unicodedata.category(c)[0] == "M":
        combining = unicodedata.combining(c)
        dropped = combining == 1 or 10 <= combining <= 36 or combining >= 200
        return not (dropped or c == "\u034f" or "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef")
    # Alphabetic, other than marks, is letters, letter numbers, and letters in circles and squares.
    enclosed = "\u24b6" <= c <= "\u24e9" or any(
        first <= ord(c) <= last for first, last in [(0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
    )
    return c in WHITE or unicodedata.category(c)[0] in "LN" or enclosed


def name(text):
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return collapse(unicodedata.normalize("NFC", "".join(filter(counts, text))))


def date(text, form):
    text = text.strip(WHITE)
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
    text = text.strip(WHITE)
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


def postcode(text, country):
    text = re.sub(f"[{WHITE}-]", "", text)
    text = re.sub("[a-z]", lambda c: c[0].upper(), text)
    forms = next(forms for countries, forms in POSTCODES.items() if country in countries.split()).split()
    patterns = ["".join(CLASSES[c] for c in form) for form in forms] + (["GIR0AA"] if country == "GB" else [])
    if not any(re.fullmatch(pattern, text) for pattern in patterns):
        return ""
    return text[:5] if country == "US" else text


def hashed(text):
    text = text.strip(WHITE)
    if re.fullmatch("[0-9a-fA-F]{64}", text):
        return bytes.fromhex(text)
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
        case "phone":
            return phone(value.strip(WHITE), parameter)
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


def agreed_name(versioned):
    """keys.md, section 2."""
    base, at, version = versioned.rpartition("@")
    if not at or version != "1":
        return versioned
    word, colon, parameter = base.partition(":")
    if word in ("sha256", "hashed") and colon:
        return "sha256:" + agreed_name(parameter + "@1")
    if word in ("phone", "date", "number") and colon:
        return word + "@1"
    return versioned
