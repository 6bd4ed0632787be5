"""run.md: a run step by step, of whole sets (one partition)."""

import json
import re
from dataclasses import dataclass, field

from . import dh, keys, lists, rr22
from .draws import SystemDraws
from .errors import Refused
from .primitives import derive, hash_of, keyed, le64

VERSION = 15
TERMS_DIFFER = 2
MOST = 1 << 40
PROTOCOLS = ["dh", "rr22", "rr22-malicious"]
LEVELS = ["semi-honest", "malicious"]

MEMBERS = {
    "version": int,
    "protocol": (str, type(None)),
    "security": str,
    "keys": list,
    "identifiers": list,
    "rules": (dict, type(None)),
    "a_learns": bool,
    "b_learns": bool,
    "max_peer_rows": int,
    "allow_research": bool,
    "wanted": (str, dict),
    "brings_values": bool,
    "table": (dict, type(None)),
    "sends": (dict, type(None)),
    "minimum": int,
    "noise": (dict, type(None)),
    "null_values": list,
    "scale": int,
    "diagnose": bool,
    "align": bool,
    "agreement": (str, type(None)),
}


@dataclass
class Offer:
    protocol: str | None
    keys: list
    a_learns: bool
    b_learns: bool
    security: str = "semi-honest"
    max_peer_rows: int = 100_000_000
    align: bool = False
    null_values: list = field(default_factory=list)

    def members(self):
        return {
            "version": VERSION,
            "protocol": self.protocol,
            "security": self.security,
            "keys": self.keys,
            "identifiers": [],
            "rules": None,
            "a_learns": self.a_learns,
            "b_learns": self.b_learns,
            "max_peer_rows": self.max_peer_rows,
            "allow_research": False,
            "wanted": "rows",
            "brings_values": False,
            "table": None,
            "sends": None,
            "minimum": 0,
            "noise": None,
            "null_values": self.null_values,
            "scale": 0,
            "diagnose": False,
            "align": self.align,
            "agreement": None,
        }


def read_offer(data):
    """Section 1.2: the members of an offer, or a refusal."""
    try:
        offer = json.loads(data)
    except ValueError:
        raise Refused("the terms are not JSON") from None
    if not isinstance(offer, dict) or type(offer.get("version")) is not int:
        raise Refused("the terms have no version")
    if offer["version"] != VERSION:
        raise Refused(f"the other side speaks version {offer['version']}", TERMS_DIFFER)
    if offer.keys() != MEMBERS.keys():
        raise Refused("the terms have other members")
    for member, kind in MEMBERS.items():
        # True is an int of Python, and not a number of JSON.
        if not isinstance(offer[member], kind) or (kind is int and isinstance(offer[member], bool)):
            raise Refused(f"{member} of the terms has another type")
    if offer["security"] not in LEVELS:
        raise Refused("an unknown security")
    for name in offer["keys"]:
        if not isinstance(name, str) or not 1 <= len(name) <= 64 or not all(" " <= c <= "~" for c in name):
            raise Refused("a name of a profile is malformed")
    if offer["protocol"] is not None and not re.fullmatch("[A-Za-z0-9_-]{1,32}", offer["protocol"]):
        raise Refused("the protocol's name is not valid")
    if not is_query(offer["wanted"]):
        raise Refused("an unknown query")
    if any(not 0 <= offer[member] < 1 << 64 for member in ("max_peer_rows", "minimum", "scale")):
        raise Refused("a number is out of bounds")
    if not 1 <= len(offer["keys"]) <= 32 or not (offer["a_learns"] or offer["b_learns"]):
        raise Refused("the terms mean nothing")
    counts = offer["identifiers"]
    if any(type(n) is not int or n < 1 for n in counts):
        raise Refused("identifiers are no numbers of columns")
    if counts and (not 2 <= len(counts) <= 32 or sum(counts) != len(offer["keys"])):
        raise Refused("the identifiers do not add up to the key columns")
    if offer["rules"] is not None:
        fields = offer["rules"].get("fields")
        strings = isinstance(fields, list) and all(isinstance(field, str) for field in fields)
        if not strings or len(fields) != len(offer["keys"]):
            raise Refused("the rules are not about the key columns")
    if offer["align"] and (counts or not (offer["a_learns"] and offer["b_learns"])):
        raise Refused("a common order for a query that has none")
    if offer["wanted"] == "rows" and (offer["sends"] is not None or offer["noise"] is not None):
        raise Refused("what a query for rows cannot have")
    if offer["agreement"] is not None and not re.fullmatch("[0-9a-fA-F]{64}", offer["agreement"]):
        raise Refused("an agreement is no hash")
    nulls = offer["null_values"]
    if any(not isinstance(v, str) or not v or keys.lower(v) != v for v in nulls):
        raise Refused("null_values are not normalised")
    if not all(keys.is_plain(v) for v in nulls):
        raise Refused("null_values are not plain")
    coded = [v.encode() for v in nulls]
    if sorted(set(coded)) != coded or sum(len(v) + 1 for v in coded) > 1024:
        raise Refused("null_values are not in order")
    return offer


def is_query(wanted):
    """Queries other than for rows are not specified: they are known by name alone, and refused when terms are compared."""
    if isinstance(wanted, dict):
        return wanted.keys() == {"at-least"} and type(wanted["at-least"]) is int and wanted["at-least"] >= 0
    return wanted in ("rows", "linked", "count", "sum", "products", "join", "shares")


def agree(a, b, fingerprint_a, fingerprint_b):
    """Sections 1.2 and 1.3: the terms, from both offers and both fingerprints as text."""
    differ = [
        m
        for m in "identifiers rules wanted scale noise align agreement a_learns b_learns null_values".split()
        if a[m] != b[m]
    ]
    agreed = [keys.agreed_name(name) for name in a["keys"]]
    if agreed != [keys.agreed_name(name) for name in b["keys"]]:
        differ.append("keys")
    if a["protocol"] and b["protocol"] and a["protocol"] != b["protocol"]:
        differ.append("protocol")
    protocol = a["protocol"] or b["protocol"]
    security = max(a["security"], b["security"], key=LEVELS.index)
    if protocol not in [None, *PROTOCOLS]:
        differ.append("protocol")
    if security == "malicious" and protocol in ("dh", "rr22"):
        differ.append("security")
    # What this implementation does not do.
    for offer in (a, b):
        if offer["wanted"] != "rows" or offer["brings_values"] or offer["table"] or offer["sends"] or offer["minimum"] or offer["agreement"] or offer["rules"]:
            differ.append("wanted")
    if a["diagnose"] and b["diagnose"]:
        differ.append("diagnose")
    if differ:
        raise Refused("the terms differ in " + ", ".join(differ), TERMS_DIFFER)
    return {
        "version": VERSION,
        "protocol": protocol,
        "security": security,
        "keys": agreed,
        "keys_of_a": a["keys"],
        "keys_of_b": b["keys"],
        "identifiers": a["identifiers"],
        "rules": a["rules"],
        "a_learns": a["a_learns"],
        "b_learns": a["b_learns"],
        "wanted": a["wanted"],
        "a_brings_values": a["brings_values"],
        "b_brings_values": b["brings_values"],
        "a_table": a["table"],
        "b_table": b["table"],
        "a_sends": a["sends"],
        "b_sends": b["sends"],
        "minimum": max(a["minimum"], b["minimum"]),
        "noise": a["noise"],
        "null_values": a["null_values"],
        "scale": a["scale"],
        "diagnose": False,
        "align": a["align"],
        "agreement": a["agreement"],
        "max_rows_of_a": b["max_peer_rows"],
        "max_rows_of_b": a["max_peer_rows"],
        "fingerprint_of_a": fingerprint_a,
        "fingerprint_of_b": fingerprint_b,
    }


def canonical(terms):
    """Section 1.4."""
    return json.dumps(terms, ensure_ascii=False, separators=(",", ":"))


def terms_hash(terms):
    return derive("vesica 1 terms", canonical(terms).encode())


def run(channel, is_a, own_fingerprint, peer_fingerprint, offer, rows, staged=lambda found: None, draw=None):
    """Runs to the end. `rows` maps digests to whatever the caller wants; returns the digests that are shared, or None if
    this side does not learn them. Fingerprints are texts."""
    draw = draw or SystemDraws()
    own = offer.members()
    channel.send("vesica/terms", canonical(own).encode())
    other = read_offer(channel.receive_at_most("vesica/terms", 196608))
    a, b = (own, other) if is_a else (other, own)
    prints = (own_fingerprint, peer_fingerprint) if is_a else (peer_fingerprint, own_fingerprint)
    terms = agree(a, b, *prints)
    channel.session.bind("vesica/terms", terms_hash(terms).hex().encode())

    digests = list(rows)
    n_own = len(digests)
    part = draw.bytes(32)
    role = 0 if is_a else 1
    channel.send("vesica/ready", le64(n_own))
    channel.send("vesica/resume", bytes(41))
    channel.send("vesica/commit", commitment(role, part))
    n_other = int.from_bytes(channel.receive("vesica/ready", 8), "little")
    if n_other > MOST:
        raise Refused("an impossible size")
    n_a, n_b = (n_own, n_other) if is_a else (n_other, n_own)
    if n_a > terms["max_rows_of_a"] or n_b > terms["max_rows_of_b"]:
        raise Refused("a set is larger than agreed", TERMS_DIFFER)

    resume = channel.receive("vesica/resume", 41)
    if resume != bytes(41):
        malformed = resume[0] > 2 or (resume[0] < 2 and any(resume[1:]))
        raise Refused("the other side expects a journal", 4 if malformed else TERMS_DIFFER)

    committed = channel.receive("vesica/commit", 32)
    protocol, seed = choose(channel, is_a, terms, (n_a, n_b), part, committed)

    size = 32 if protocol == "rr22-malicious" else 16
    items = [keyed(seed, digest)[:size] for digest in digests]
    is_r = is_a == (terms["a_learns"])
    n_s = n_other if is_r else n_own
    n_r = n_own if is_r else n_other
    channel.session.bind("psi/size", hash_of(protocol.encode()) + le64(n_s) + le64(n_r))

    found = None
    if is_r:
        found = receiver(protocol)(channel, draw, items, n_s)
        if terms["a_learns"] and terms["b_learns"]:
            lists.reveal(channel, draw, [items[i] for i in found], n_r, n_s)
    else:
        sender(protocol)(channel, draw, items, n_r)
        if terms["a_learns"] and terms["b_learns"]:
            found = lists.learn(channel, items, n_r)

    result = None if found is None else [digests[i] for i in found]
    staged(result)
    channel.exchange("vesica/staged")
    channel.exchange("vesica/written")
    channel.exchange("end")
    return result


def receiver(protocol):
    return {"dh": dh.receiver, "rr22": rr22.receiver, "rr22-malicious": rr22.malicious_receiver}[protocol]


def sender(protocol):
    return {"dh": dh.sender, "rr22": rr22.sender, "rr22-malicious": rr22.malicious_sender}[protocol]


def choose(channel, is_a, terms, sizes, part, committed):
    """Sections 4 to 6, for sets that both sides have the memory to compare as a whole: the protocol and the seed."""
    n_a, n_b = sizes
    if max(n_a, n_b) > 1 << 23:
        raise Refused("this implementation has no partitions", TERMS_DIFFER)
    if terms["protocol"]:
        candidates = [terms["protocol"]]
    else:
        candidates = PROTOCOLS if terms["security"] == "semi-honest" else ["rr22-malicious"]
    most = min(12, max(1, max(n_a, n_b) // 1024).bit_length() - 1)
    channel.send("vesica/open", part)
    channel.send("vesica/room", bytes(len(candidates)))
    if is_a and len(candidates) > 1:
        channel.send("vesica/echo", b"")

    other = channel.receive("vesica/open", 32)
    if commitment(1 if is_a else 0, other) != committed:
        raise Refused("seed commitment")
    seed = item_seed(*((part, other) if is_a else (other, part)))
    channel.session.bind("vesica/open", seed)

    theirs = channel.receive("vesica/room", len(candidates))
    if any(byte > most and byte != 0xFF for byte in theirs):
        raise Refused("a rung that does not exist")
    remaining = [c for c, byte in zip(candidates, theirs) if byte != 0xFF]
    whole = [c for c, byte in zip(candidates, theirs) if byte == 0]
    if not whole:
        raise Refused("the other side has not the memory for whole sets", TERMS_DIFFER)

    if len(candidates) > 1:
        channel.receive("vesica/echo", 0)
        if not is_a:
            channel.send("vesica/echo", b"")
            channel.flush()
    if len(remaining) == 1:
        return remaining[0], seed
    if is_a:
        # Any of the remaining ones is right. The round trip only affects the program's choice.
        channel.send("vesica/choice", whole[0].encode())
        return whole[0], seed
    choice = channel.receive_at_most("vesica/choice", 32).decode("ascii", "replace")
    for _ in range(3):
        if choice:
            break
        channel.send("vesica/echo", b"")
        channel.flush()
        choice = channel.receive_at_most("vesica/choice", 32).decode("ascii", "replace")
    if choice not in remaining:
        raise Refused("a protocol that is no candidate")
    if choice not in whole:
        raise Refused("this implementation has no partitions", TERMS_DIFFER)
    return choice, seed


def commitment(role, r):
    return derive("vesica 1 seed commitment", bytes([role]) + r)


def item_seed(r_a, r_b):
    return derive("vesica 1 item seed", r_a + r_b)


def partition(image, count):
    """Section 9.1."""
    return int.from_bytes(image[24:32], "little") * count >> 64
