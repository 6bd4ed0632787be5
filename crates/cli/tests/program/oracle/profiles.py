"""The normalisation of docs/guides/keys.md, written once more with Python's own means."""

import base64
import binascii
import hashlib
import re
import unicodedata
from datetime import datetime, timezone
from decimal import Context, Decimal

import phonenumbers

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# Default_Ignorable_Code_Point, which Python does not have.
UNSEEN = ("\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
          "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff")
APOSTROPHES = "'`\xb4\u02b9-\u02bf\u02c8\u02ca\u02cb\u02ee\u055a\u05f3\u2018-\u201b\u2032\u2035\ua78b\ua78c\uff07\uff40"
ENDS = re.compile(f"^[{SPACES}{UNSEEN}]+|[{SPACES}{UNSEEN}]+$")

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
ENVELOPES = {"AT": "A", "BE": "B", "DE": "D", "ES": "E", "FI": ["FIN"], "FR": "F", "IT": "I", "LU": "L", "NO": "N", "PT": "P", "SE": "S",
             "US": ["USA"]}
MARKS = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'", "none": ""}


def nfc(value):
    return unicodedata.normalize("NFC", value)


def bare(value):
    return ENDS.sub("", value)


def typed(value):
    """With characters of ASCII for the spaces, dashes, apostrophes and digits of typography and of other scripts."""
    if value.isascii():
        return value
    value = re.sub("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]", "-", value)
    value = re.sub(f"(?![\x00-\x7f])[{APOSTROPHES}]", "'", value)
    value = re.sub("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]", " ", value)
    value = re.sub("[\uff01-\uff5e]", lambda c: unicodedata.normalize("NFKC", c[0]), value).replace("\ufe62", "+")
    return re.sub("\\d", lambda c: str(int(c[0])) if c[0] < "\U00010000" else c[0], value)


def trim(value):
    return nfc(bare(value))


def lower(value):
    return nfc(trim(value).lower())


def collapse(value):
    return " ".join(word for word in re.split(f"[{SPACES}]+", value) if word)


def text(value):
    value = bare(value)
    return collapse(nfc(unicodedata.normalize("NFD", value).casefold()))


def address(value):
    hidden = f"\x00-\x1f\x7f-\x9f{SPACES}{UNSEEN}\"(),:;<>@\\[\\\\\\]\xab\xbb\u201c-\u201f"
    label = f"(?:[A-Za-z0-9_-]|(?![\x00-\x7f])[^{hidden}{APOSTROPHES}])+"
    return value if re.fullmatch(f"[^{hidden}]+@{label}(?:\\.{label})*", value) else ""


def email(value, domains=("gmail.com",)):
    value = address(value)
    user, _, domain = value.partition("@")
    return address(nfc(f"{user.split('+')[0].replace('.', '')}@{domain}")) if domain in domains else value


def partner(value, word, given):
    """The rules of companies."""
    kind, _, region = given.partition(":")
    if kind == "phone":
        return phone(value, region or None).replace("+", "" if word == "meta" else "+")
    if kind == "name":
        kept = "".join(c for c in lower(value) if word == "google" or c.isalnum() or c in SPACES or unicodedata.category(c)[0] == "M")
        return lower(kept)
    if word in ("google", "liveramp"):
        joined = re.sub(f"[{SPACES}]+", "", value)
        return email(lower(joined), ("gmail.com", "googlemail.com") if word == "google" else ())
    if word == "meta":
        return email(lower(value), ())
    return email(re.sub("[A-Z]", lambda c: c[0].lower(), trim(value)), ("gmail.com",) if word == "uid2" else ())


def is_accent(mark):
    place = unicodedata.combining(mark)
    return place == 1 or 10 <= place <= 36 or place >= 200


def name(value):
    value = "".join(c for c in value if c.isascii() or c in SPACES or unicodedata.normalize("NFKD", c)[0] != " ")
    value = unicodedata.normalize("NFKD", value).casefold()
    kept = []
    for c in unicodedata.normalize("NFKD", value):
        if re.fullmatch(f"[{UNSEEN}{APOSTROPHES}]", c):
            continue
        is_mark = unicodedata.category(c).startswith("M")
        if (not is_accent(c)) if is_mark else (c.isalnum() or c in SPACES):
            kept.append(c)
    return collapse(nfc("".join(kept)))


def phone(value, region):
    value = re.sub(f"^[{APOSTROPHES}]+", "", bare(value))
    value = typed(re.sub("^tel:", "", value, flags=re.IGNORECASE))
    # Letters are not digits here, and numbers with decimal places are not telephone numbers.
    if re.search("[A-Za-z]", value) or re.fullmatch(r"[+-]?\d+\.0+", value):
        return ""
    if "+" in value:
        value = re.sub(r"^[^\d+]*", "", value.replace("(0)", ""))
    try:
        number = phonenumbers.parse(value, region)
    except phonenumbers.NumberParseException:
        return ""
    if number.extension or not phonenumbers.is_valid_number(number):
        return ""
    digits, code = re.sub(r"\D", "", value), str(number.country_code)
    national = phonenumbers.national_significant_number(number)
    if "+" not in value and digits == national and digits.startswith(code):
        other = phonenumbers.parse("+" + digits, None)
        if phonenumbers.is_valid_number(other):
            return ""
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


ZONE = r"(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?(?::00)?)?"


def without_midnight(value):
    """The text before a midnight, or all of it."""
    found = re.fullmatch(rf"(.*?) *[Tt ](\d\d?):00(?::00)?(?:[.,]0*)? *(?:{ZONE}|(am))", value, re.IGNORECASE | re.DOTALL)
    if not found or int(found[2]) != (12 if found[4] else 0) or re.sub(r"[\D0]", "", found[3] or ""):
        return value
    return found[1]


def date(value, form):
    value = typed(bare(value))
    return day(value, form) or day(without_midnight(value), form)


def day(value, form):
    if form is None:
        form = "%Y-%m-%d"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            return ""
    try:
        return datetime.strptime(value, form).date().isoformat()
    except ValueError:
        return ""


def timestamp(value, ahead):
    """By Python's own reader, which has microseconds; what it takes beyond the rule is not asked for."""
    value = re.sub(rf" *{ZONE}$", lambda zone: zone[1] or "", typed(bare(value)), flags=re.IGNORECASE)
    whole, point, fraction = re.sub(r",", ".", value).partition(".")
    places = re.match(r"\d*", fraction)[0]
    zone = fraction[len(places):] if point else ""
    if len(places.rstrip("0")) > 9 or not re.match(r"\d{4}-\d\d-\d\d($|[Tt ])", whole):
        return ""
    try:
        at = datetime.fromisoformat((whole + zone).upper().replace("UTC", "Z").replace("GMT", "Z"))
        at = at if at.tzinfo else at.replace(tzinfo=datetime.fromisoformat(f"2000-01-01T00:00{ahead or 'Z'}").tzinfo)
        utc = at.astimezone(timezone.utc).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        return ""
    places = places.rstrip("0")
    return f"{utc}{'.' if places else ''}{places}Z"


def number(value, marks):
    thousands, point = (MARKS[mark] for mark in (marks or "none-point").split("-"))
    group = re.escape(thousands)
    grouped = f"|{DIGITS}{{1,3}}(?:{group}{DIGITS}{{3}})+" if thousands else ""
    pattern = f"([+-]?)({DIGITS}+{grouped})?(?:{re.escape(point)}({DIGITS}*))?"
    found = re.fullmatch(pattern, typed(bare(value)))
    if not found or not (found[2] or found[3]):
        return ""
    sign, whole, places = found[1], (found[2] or "0").replace(thousands, "") if thousands else found[2] or "0", found[3] or "0"
    exact = Decimal(f"{sign}{whole}.{places}")
    return "0" if exact == 0 else format(exact.normalize(Context(prec=200)), "f")


def postcode(value, country):
    code = re.sub(f"[{SPACES}{UNSEEN}-]", "", typed(value)).upper()
    if country not in ("CA", "GB"):
        marks = "|".join([country, *ENVELOPES.get(country, [])])
        code = re.sub(rf"^(?:{marks})(?=\d)", "", code, flags=re.ASCII)
    if not re.fullmatch(POSTCODES[country].replace("d", DIGITS).replace(f"[A-Z{DIGITS}]", "[A-Z0-9]"), code):
        return ""
    return code[:5] if country == "US" else code


def digest(value):
    """The 32 bytes that a value writes in hexadecimal digits or in base64; empty if it does not."""
    value = re.sub(r"^(0|\\)[xX](?=.{64}$)", "", bare(value))
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
            return email(lower(value), () if given == "plain" else ("gmail.com",))
        case "name":
            return name(value)
        case "phone":
            return phone(value, given or None)
        case "date":
            return date(value, given or None)
        case "timestamp":
            return timestamp(value, given or None)
        case "google" | "meta" | "uid2" | "liveramp" | "pair":
            return partner(value, word, given)
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
