"""What docs/keys.md says of normalisation, written once more with Python's own means."""

import base64
import binascii
import hashlib
import re
import unicodedata
from datetime import datetime
from decimal import Context, Decimal

import phonenumbers

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

NULL_VALUES = {
    "#n/a", "(null)", "-", "--", "---", ".", "<na>", "<null>", "?", "[null]", "\\n", "n.a.", "n/a", "na", "nan", "none",
    "not available", "null", "undefined", "unknown",
}

DIGITS = r"[0-9]"
POSTCODES = {
    "AT": "[1-9]ddd", "AU": "dddd", "BE": "[1-9]ddd", "CA": "[ABCEGHJ-NPRSTVXY]d[ABCEGHJ-NPRSTV-Z]d[ABCEGHJ-NPRSTV-Z]d",
    "CH": "[1-9]ddd", "CZ": "[1-9]dddd", "DE": "ddddd", "DK": "dddd", "ES": "ddddd", "FI": "ddddd", "FR": "ddddd",
    "GB": "GIR0AA|([A-Z][A-Z]?d[A-Zd]?)d[ABD-HJLNP-UW-Z]{2}", "IT": "ddddd", "LU": "[1-9]ddd", "NL": "[1-9]ddd[A-Z]{2}",
    "NO": "dddd", "PL": "ddddd", "PT": "[1-9]dddddd", "SE": "[1-9]dddd", "US": "ddddd(dddd)?",
}
MARKS = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'", "none": ""}


def nfc(value):
    return unicodedata.normalize("NFC", value)


def trim(value):
    return nfc(value.strip(SPACES + "\u200b\ufeff"))


def lower(value):
    return nfc(trim(value).lower())


def collapse(value):
    return " ".join(word for word in re.split(f"[{SPACES}]+", value) if word)


def text(value):
    value = value.strip(SPACES + "\u200b\ufeff")
    return collapse(nfc(unicodedata.normalize("NFD", value).casefold()))


def email(value, gmail=True):
    value = lower(value)
    if not re.fullmatch("[^@]+@[^@]+", value, re.DOTALL):
        return ""
    user, domain = value.split("@")
    if gmail and domain == "gmail.com":
        user = user.split("+")[0].replace(".", "")
    return f"{user}@{domain}" if user else ""


def is_accent(mark):
    place = unicodedata.combining(mark)
    return place == 1 or 10 <= place <= 36 or place >= 200 or mark == "\u034f"


def name(value):
    value = unicodedata.normalize("NFKD", value).casefold()
    kept = []
    for c in unicodedata.normalize("NFKD", value):
        is_mark = unicodedata.category(c).startswith("M")
        if (not is_accent(c)) if is_mark else (c.isalnum() or c in SPACES):
            kept.append(c)
    return collapse(nfc("".join(kept)))


def phone(value, region):
    # Letters are no digits here.
    if re.search("[A-Za-z]", value):
        return ""
    try:
        number = phonenumbers.parse(value.replace("(0)", "") if "+" in value else value, region)
    except phonenumbers.NumberParseException:
        return ""
    if number.extension or not phonenumbers.is_valid_number(number):
        return ""
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def date(value, form):
    value = value.strip(SPACES)
    if form is None:
        form = "%Y-%m-%d"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return ""
    try:
        return datetime.strptime(value, form).date().isoformat()
    except ValueError:
        return ""


def number(value, marks):
    thousands, point = (MARKS[mark] for mark in (marks or "none-point").split("-"))
    group = re.escape(thousands)
    grouped = f"|{DIGITS}{{1,3}}(?:{group}{DIGITS}{{3}})+" if thousands else ""
    pattern = f"([+-]?)({DIGITS}+{grouped})?(?:{re.escape(point)}({DIGITS}*))?"
    found = re.fullmatch(pattern, value.strip(SPACES))
    if not found or not (found[2] or found[3]):
        return ""
    sign, whole, places = found[1], (found[2] or "0").replace(thousands, "") if thousands else found[2] or "0", found[3] or "0"
    exact = Decimal(f"{sign}{whole}.{places}")
    return "0" if exact == 0 else format(exact.normalize(Context(prec=200)), "f")


def postcode(value, country):
    code = "".join(c for c in value if c not in SPACES and c != "-").upper()
    if not re.fullmatch(POSTCODES[country].replace("d", DIGITS).replace(f"[A-Z{DIGITS}]", "[A-Z0-9]"), code):
        return ""
    return code[:5] if country == "US" else code


def digest(value):
    """The 32 bytes that a value writes in hexadecimal digits or in base64; empty if it does not."""
    value = value.strip(SPACES)
    if re.fullmatch("[0-9a-fA-F]{64}", value):
        return bytes.fromhex(value)
    if re.fullmatch("[0-9A-Za-z+/]{43}=?|[0-9A-Za-z_-]{43}=?", value):
        try:
            return base64.b64decode(value[:43].replace("-", "+").replace("_", "/") + "=", validate=True)
        except binascii.Error:
            return b""
    return b""


def normal(value, profile):
    word, _, given = profile.partition(":")
    match word:
        case "none":
            return value
        case "trim":
            return trim(value)
        case "lower":
            return lower(value)
        case "text":
            return text(value)
        case "email":
            return email(value, gmail=given != "plain")
        case "name":
            return name(value)
        case "phone":
            return phone(value, given or None)
        case "date":
            return date(value, given or None)
        case "number":
            return number(value, given)
        case "postcode":
            return postcode(value, given)
        case "sha256":
            return normal(value, given)
        case "hashed":
            return digest(value).hex()
    raise ValueError(profile)


def key(value, profile):
    """The key that a column's text makes, if it makes one, and whether it stands for a missing value."""
    if not value:
        return None
    normalised = normal(value, profile)
    is_verbatim = profile in ("none", "sha256:none", "hashed:none")
    if not is_verbatim and lower(normalised or value) in NULL_VALUES:
        return None
    if normalised and profile.startswith("sha256:"):
        return hashlib.sha256(normalised.encode()).hexdigest()
    return normalised or None
