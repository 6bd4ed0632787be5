"""keys.md, section 3, `phone`: numbers in the form of E.164, by the tables of libphonenumber."""

import re

import phonenumbers
from phonenumbers import PhoneMetadata, NumberParseException
from phonenumbers.data import _COUNTRY_CODE_TO_REGION_CODE as REGIONS

FILLERS = " \t-()[]./~\u2053\u223c\u30fc"
KINDS = "fixed_line mobile toll_free premium_rate shared_cost voip personal_number pager uan voicemail".split()


def plan(region, code):
    if region == "001":
        return PhoneMetadata.metadata_for_nongeo_region(code)
    return PhoneMetadata.metadata_for_region(region)


def has(region, code, number):
    """Whether a plan has a national number."""
    data = plan(region, code)
    if data is None or (data.leading_digits and not re.match(data.leading_digits, number)):
        return False
    if not re.fullmatch(data.general_desc.national_number_pattern, number):
        return False
    for kind in KINDS:
        desc = getattr(data, kind)
        if desc is None or not desc.national_number_pattern:
            continue
        lengths = [n for n in desc.possible_length if n > 0] or list(data.general_desc.possible_length)
        if len(number) in lengths and re.fullmatch(desc.national_number_pattern, number):
            return True
    return False


def any_has(code, number):
    return any(has(region, code, number) for region in REGIONS.get(code, ()))


def parsed(text, region):
    try:
        found = phonenumbers.parse(text, region)
    except NumberParseException:
        return ""
    number = phonenumbers.national_significant_number(found)
    if found.extension or not any_has(found.country_code, number):
        return ""
    return f"+{found.country_code}{number}"


def international(text):
    """Of a number with a plus sign."""
    for length in (1, 2, 3):
        code = text[1 : 1 + length]
        if len(code) == length and any_has(int(code), text[1 + length :]):
            return text
    return parsed(text, None)


def phone(text, country, unseen=""):
    """The normalised value of a trimmed and typed one, in which `unseen` characters are as good as none."""
    text = "".join(c for c in text if c not in unseen)
    if len(text) > 40 or re.fullmatch(r"[+-]?[0-9]+\.0+", text):
        return ""
    if "+" in text:
        text = text.replace("(0)", "", 1)
    digits = "".join(c for c in text if c not in FILLERS)
    if not re.fullmatch("[+]?[0-9]*", digits):
        return ""
    plus, digits = digits.startswith("+"), digits.removeprefix("+")
    if plus:
        return international("+" + digits)
    if not country:
        return ""
    data = PhoneMetadata.metadata_for_region(country)
    prefix = data.international_prefix and re.match(data.international_prefix, digits)
    if prefix:
        found = international("+" + digits[prefix.end() :])
        if found:
            return found
    national = data.national_prefix
    rest = digits.removeprefix(national) if national else digits
    code = str(data.country_code)
    for number in (rest, digits):
        if any_has(data.country_code, number):
            is_direct = not national or not digits.startswith(national)
            if is_direct and number.startswith(code) and any_has(data.country_code, number.removeprefix(code)):
                return ""
            return f"+{data.country_code}{number}"
    if national and digits.startswith(2 * national):
        return ""
    return parsed(digits, country)
