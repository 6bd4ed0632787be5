"""dh.md: Diffie–Hellman over ristretto255."""

from . import group
from .lists import receive_list, send_list, tag_bits, tag_of
from .primitives import derive

BATCH = 1024


def h(item):
    return group.hash_to_group("vesica dh item v1", item)


def t_of(encoded):
    return derive("vesica dh tag v1", encoded)[:16]


def points(data):
    return [group.decode(data[i : i + 32]) for i in range(0, len(data), 32)]


def receiver(channel, draw, items, n_s, security=40):
    """R: the places of its items that S has."""
    t = tag_bits(len(items), n_s, security)
    batches = [range(i, min(i + BATCH, len(items))) for i in range(0, len(items), BATCH)]
    scalars, returned = [], []

    def answer(batch):
        returned.extend(points(channel.receive("dh/returned", 32 * len(batch))))

    for number, batch in enumerate(batches):
        blinded = []
        for i in batch:
            scalars.append(draw.scalar())
            blinded.append(group.encode(group.add(group.double(h(items[i])), group.OF_GENERATOR.times(scalars[i]))))
            channel.busy()
        channel.send("dh/blinded", b"".join(blinded))
        channel.flush()
        if number > 0:
            answer(batches[number - 1])
    if batches:
        answer(batches[-1])
    of_key = group.Multiples(group.decode(channel.receive("dh/key", 32)))
    tags = receive_list(channel, "dh/tags", n_s, t)
    found = []
    for i, point in enumerate(returned):
        value = t_of(group.encode(group.double(group.subtract(point, of_key.times(scalars[i])))))
        channel.busy()
        if tag_of(value, t) in tags:
            found.append(i)
    return found


def sender(channel, draw, items, n_r, security=40):
    """S: learns nothing."""
    t = tag_bits(n_r, len(items), security)
    four_alpha = draw.scalar()
    alpha = four_alpha * pow(4, -1, group.ORDER) % group.ORDER
    for first in range(0, n_r, BATCH):
        data = channel.receive("dh/blinded", 32 * min(BATCH, n_r - first))
        returned = []
        for point in points(data):
            returned.append(group.encode(group.multiply(alpha, point)))
            channel.busy()
        channel.send("dh/returned", b"".join(returned))
        channel.flush()
    channel.send("dh/key", group.encode(group.OF_GENERATOR.times(alpha)))
    values = []
    for item in items:
        values.append(t_of(group.encode(group.multiply(four_alpha, h(item)))))
        channel.busy()
    send_list(channel, "dh/tags", values, t)
    channel.flush()
