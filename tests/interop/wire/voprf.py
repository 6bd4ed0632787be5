"""published-lists.md, section 1: the VOPRF of RFC 9497 with the suite ristretto255-SHA512, both sides of it.

Not constant time: for tests alone.
"""

import hashlib

from . import group
from .errors import Refused
from .group import ORDER

CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"
ELEMENT, PROOF = 32, 64


def expand(message, domain):
    """expand_message_xmd of RFC 9380 with SHA-512, to 64 bytes."""
    suffix = domain + bytes([len(domain)])
    first = hashlib.sha512(bytes(128) + message + b"\x00\x40\x00" + suffix).digest()
    return hashlib.sha512(first + b"\x01" + suffix).digest()


def hash_to_group(message):
    return group.from_uniform(expand(message, b"HashToGroup-" + CONTEXT))


def hash_to_scalar(message, domain=b"HashToScalar-"):
    return int.from_bytes(expand(message, domain + CONTEXT), "little") % ORDER


def prefixed(part):
    return len(part).to_bytes(2, "big") + part


def derive_key(seed, info):
    """DeriveKeyPair."""
    for counter in range(256):
        key = hash_to_scalar(seed + prefixed(info) + bytes([counter]), b"DeriveKeyPair")
        if key:
            return key
    raise Refused("no key can be derived from this seed")


def public_key(key):
    return group.encode(group.OF_GENERATOR.times(key))


def finalize(message, element):
    return hashlib.sha512(prefixed(message) + prefixed(element) + b"Finalize").digest()


def evaluate(key, message):
    """The function, for who has the key."""
    return finalize(message, group.encode(group.multiply(key, hash_to_group(message))))


def blind(message, by):
    return group.encode(group.multiply(by, hash_to_group(message)))


def unblind(message, by, element):
    point = group.multiply(pow(by, -1, ORDER), group.decode(element))
    return finalize(message, group.encode(point))


def _composites(public, blinded, evaluated):
    seed = hashlib.sha512(prefixed(public) + prefixed(b"Seed-" + CONTEXT)).digest()
    m = z = group.IDENTITY
    for i, (c, d) in enumerate(zip(blinded, evaluated, strict=True)):
        text = prefixed(seed) + i.to_bytes(2, "big") + prefixed(c) + prefixed(d) + b"Composite"
        coefficient = hash_to_scalar(text)
        m = group.add(m, group.multiply(coefficient, group.decode(c)))
        z = group.add(z, group.multiply(coefficient, group.decode(d)))
    return m, z


def _challenge(public, *points):
    text = prefixed(public) + b"".join(prefixed(group.encode(point)) for point in points)
    return hash_to_scalar(text + b"Challenge")


def blind_evaluate(key, blinded, random):
    """The proof, with this random scalar, and the evaluated elements."""
    evaluated = [group.encode(group.multiply(key, group.decode(element))) for element in blinded]
    public = public_key(key)
    m, z = _composites(public, blinded, evaluated)
    t2, t3 = group.OF_GENERATOR.times(random), group.multiply(random, m)
    c = _challenge(public, m, z, t2, t3)
    s = (random - c * key) % ORDER
    return c.to_bytes(32, "little") + s.to_bytes(32, "little"), evaluated


def verify(public, blinded, evaluated, proof):
    """Refuses a proof that does not hold."""
    c, s = (int.from_bytes(half, "little") for half in (proof[:32], proof[32:]))
    if max(c, s) >= ORDER:
        raise Refused("a number of the proof is not reduced")
    m, z = _composites(public, blinded, evaluated)
    t2 = group.add(group.OF_GENERATOR.times(s), group.multiply(c, group.decode(public)))
    t3 = group.add(group.multiply(s, m), group.multiply(c, z))
    if _challenge(public, m, z, t2, t3) != c:
        raise Refused("the proof does not hold: another key was used")
