"""ot.md, section 1: base oblivious transfers. The giver gets both blocks of each, the chooser the one it chose."""

from . import group
from .primitives import derive, le64

PER_MESSAGE = 32


def output(name, sid, i, j, a, m, z):
    return derive(f"vesica {name} output v1", sid + le64(i) + bytes([j]) + a + m + group.encode(z))[:16]


# NP01


def np01_constant():
    return group.double(group.hash_to_group("vesica np01 constant v1", b""))


def np01_chooser(channel, draw, choices):
    c = np01_constant()
    secrets, sent = [], []
    for choice in choices:
        k = 2 * draw.scalar() % group.ORDER
        q = group.OF_GENERATOR.times(k)
        secrets.append(k)
        sent.append(group.encode(group.subtract(c, q) if choice else q))
    channel.send("np01/receiver-points", b"".join(sent))
    a = channel.receive("np01/sender-point", 32)
    of_a = group.Multiples(group.decode(a))
    return [
        output("np01", channel.sid, i, choice, a, m, of_a.times(k))
        for i, (choice, k, m) in enumerate(zip(choices, secrets, sent))
    ]


def np01_giver(channel, draw, count):
    scalar = draw.scalar()
    data = channel.receive("np01/receiver-points", 32 * count)
    ms = [data[32 * i : 32 * i + 32] for i in range(count)]
    points = [group.decode(m) for m in ms]
    a = group.encode(group.OF_GENERATOR.times(scalar))
    channel.send("np01/sender-point", a)
    ac = group.multiply(scalar, np01_constant())
    results = []
    for i, (m, p) in enumerate(zip(ms, points)):
        z0 = group.multiply(scalar, p)
        zs = (z0, group.subtract(ac, z0))
        results.append(tuple(output("np01", channel.sid, i, j, a, m, zs[j]) for j in (0, 1)))
    return results


# MR19


def mask(sid, i, j, element):
    return group.hash_to_group("vesica mr19 mask v1", sid + bytes([j]) + le64(i) + element)


def mr19_chooser(channel, draw, choices):
    secrets = [draw.scalar() for _ in choices]
    others = [group.double(draw.element()) for _ in choices]
    sent = []
    for i, (choice, k, other) in enumerate(zip(choices, secrets, others)):
        encoded = group.encode(other)
        own = group.encode(group.subtract(group.OF_GENERATOR.times(k), mask(channel.sid, i, choice, encoded)))
        sent.append(encoded + own if choice else own + encoded)
    for i in range(0, len(sent), PER_MESSAGE):
        channel.send("mr19/receiver-points", b"".join(sent[i : i + PER_MESSAGE]))
    a = channel.receive("mr19/sender-point", 32)
    of_a = group.Multiples(group.decode(a))
    return [
        output("mr19", channel.sid, i, choice, a, m, of_a.times(k))
        for i, (choice, k, m) in enumerate(zip(choices, secrets, sent))
    ]


def mr19_giver(channel, draw, count):
    scalar = draw.scalar()
    ms = []
    for i in range(0, count, PER_MESSAGE):
        data = channel.receive("mr19/receiver-points", 64 * min(PER_MESSAGE, count - i))
        ms += [data[k : k + 64] for k in range(0, len(data), 64)]
    pairs = [(group.decode(m[:32]), group.decode(m[32:])) for m in ms]
    a = group.encode(group.OF_GENERATOR.times(scalar))
    channel.send("mr19/sender-point", a)
    results = []
    for i, (m, r) in enumerate(zip(ms, pairs)):
        encoded = (m[:32], m[32:])
        zs = [group.multiply(scalar, group.add(r[j], mask(channel.sid, i, j, encoded[1 - j]))) for j in (0, 1)]
        results.append(tuple(output("mr19", channel.sid, i, j, a, m, zs[j]) for j in (0, 1)))
    return results
