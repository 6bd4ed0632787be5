"""A party: a connection, a run on it, and an abort if this side refuses."""

from . import connection, keys, run
from .errors import Refused


def key_set(values, profile, nulls):
    """The digests of values, each with the values that have it."""
    result = {}
    for value in values:
        column = keys.column(profile, value, nulls)
        if column is not None:
            result.setdefault(keys.digest([column]), []).append(value)
    return result


def take_part(identity, peer, values, profile="none", protocol="dh", learns="both", address=None, listener=None, **more):
    """Runs as A, if there is an address to connect to, or as B on a listening socket. `learns` is me, peer or both.
    Returns the values of this side that are shared, or None if this side does not learn them."""
    is_a = address is not None
    me, other = learns in ("me", "both"), learns in ("peer", "both")
    nulls = [] if profile == "none" else keys.DEFAULT_NULLS
    offer = run.Offer(
        protocol=protocol,
        keys=[keys.versioned(profile)],
        a_learns=me if is_a else other,
        b_learns=other if is_a else me,
        null_values=nulls,
        **more,
    )
    rows = key_set(values, profile, nulls)
    peer = connection.read_fingerprint(peer)
    channel = connection.connect(address, identity, peer) if is_a else connection.listen(listener, identity, peer)
    try:
        found = run.run(channel, is_a, identity.text, connection.fingerprint_text(peer), offer, rows)
    except Refused as refusal:
        channel.abort(refusal.code)
        raise
    finally:
        channel.stream.close()
    return None if found is None else [value for digest in found for value in rows[digest]]
