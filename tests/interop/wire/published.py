"""published-lists.md: heads, logs, parts, tables, labels, looking up, questions and answers."""

import base64
import hashlib
import json
import re
from math import ceil, log2

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import keys, voprf
from .errors import Refused
from .lists import decode_list, encode_list, list_length, pow2
from .primitives import derive, hash_of, keyed, le64

MEDIA_TYPE = "application/vnd.vesica.list+json"
CHUNK = 2**20
HEADER = 96
MOST = 2**32
MOST_OF_SEGMENT = 2**16
OVERHEAD = 16


# 1. The function


def item_of(digest, public_key):
    return keyed(derive("vesica 1 list item seed", public_key), digest)


def tag_of(value, t):
    return int.from_bytes(value[:16], "big") >> (128 - t)


def label_key_of(value):
    return value[16:32]


def epoch_info(epoch):
    """What the publisher of the vectors derives its key with."""
    return b"vesica 1 list epoch " + epoch.to_bytes(8, "big")


# 3. Head


def _base64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused("not base64") from error
    if base64.b64encode(data).decode() != text:
        raise Refused("not base64")
    return data


def _hex(text):
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise Refused("not 64 hexadecimal digits")
    return bytes.fromhex(text)


def _once(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused("a member twice")
    return members


ENVELOPE = """{
  "payloadType": "application/vnd.vesica.list+json",
  "payload": "%s",
  "signatures": [
    {
      "keyid": "%s",
      "sig": "%s"
    }
  ]
}
"""


def _envelope(text):
    if len(text.encode()) > 2**18:
        raise Refused("too long")
    b64 = "[A-Za-z0-9+/=]*"
    found = re.fullmatch(re.escape(ENVELOPE).replace("%s", "(%s)") % (b64, "[0-9a-f]{64}", b64), text)
    if not found:
        raise Refused("not an envelope")
    payload, keyid, signature = found.groups()
    return _base64(payload), _hex(keyid), _base64(signature)


SPKI = bytes.fromhex("302a300506032b6570032100")


def _verify(certificate, keyid, signature, payload):
    if len(certificate) > 2**12 or certificate.count(SPKI) != 1:
        raise Refused("the certificate has not one key")
    place = certificate.index(SPKI) + len(SPKI)
    key = certificate[place : place + 32]
    if len(key) != 32 or hashlib.sha256(certificate).digest() != keyid:
        raise Refused("the certificate is not that of the signature")
    message = f"DSSEv1 {len(MEDIA_TYPE)} {MEDIA_TYPE} {len(payload)} ".encode() + payload
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise Refused("the signature does not hold") from error


def _number(value):
    if type(value) is not int or not 0 <= value < 2**64:
        raise Refused("not a whole number")
    return value


def _text(value):
    if not isinstance(value, str):
        raise Refused("not a text")
    return value


def _texts(value):
    if not isinstance(value, list):
        raise Refused("not a list of texts")
    return [_text(text) for text in value]


def _object(value, **members):
    if not isinstance(value, dict) or set(value) != set(members):
        raise Refused("not an object with these members")
    return {name: read(value[name]) for name, read in members.items()}


def _labels(value):
    return None if value is None else _object(value, columns=_texts, bytes=_number)


def _parts(value):
    if not isinstance(value, list):
        raise Refused("not a list of parts")
    return [
        _object(part, sequence=_number, removed=_number, added=_number, bytes=_number, digest=_hex)
        for part in value
    ]


def _log_end(value):
    return _object(value, entries=_number, digest=_hex)


def tag_bits(head):
    logs = log2(max(1, head["queries"])) + log2(max(1, head["capacity"]))
    return max(32, ceil(head["lambda"] + logs))


def state_after(previous, digest, epoch, sequence):
    return derive("vesica 1 list state", previous + digest + le64(epoch) + le64(sequence))


def _list_of_texts(texts):
    encoded = [text.encode() for text in texts]
    return le64(len(encoded)) + b"".join(le64(len(text)) + text for text in encoded)


def terms(head):
    """What stays the same in an epoch: the state before the first part."""
    labels = head["labels"] or {"bytes": 0, "columns": []}
    numbers = (head["epoch"], head["lambda"], head["queries"], head["capacity"], head["tag_bits"], labels["bytes"])
    texts = ([head["suite"]], head["keys"], head["null_values"], labels["columns"])
    data = b"".join(map(le64, numbers)) + head["public_key"] + b"".join(map(_list_of_texts, texts))
    return derive("vesica 1 list terms", data)


def sealed_label(head):
    """Bytes of a sealed label."""
    return head["labels"]["bytes"] + OVERHEAD if head["labels"] else 0


def file_bytes(entry):
    return 32 * -(-entry["bytes"] // CHUNK) + entry["bytes"]


def version(head):
    return head["epoch"], head["parts"][-1]["sequence"]


def read_head(text):
    """A signed head: 1 to 11 of section 3.3."""
    payload, keyid, signature = _envelope(text)
    try:
        value = json.loads(payload, object_pairs_hook=_once)
    except ValueError as error:
        raise Refused("the payload is not JSON") from error
    head = _object(
        value,
        version=_number,
        name=_text,
        publisher=_text,
        suite=_text,
        epoch=_number,
        public_key=_hex,
        issued=_number,
        expires=_number,
        keys=_texts,
        null_values=_texts,
        queries=_number,
        capacity=_number,
        tag_bits=_number,
        items=_number,
        labels=_labels,
        parts=_parts,
        state=_hex,
        log=_log_end,
        **{"lambda": _number},
    )
    if head["version"] != 2:
        raise Refused("another version of the format")
    head["certificate"] = _base64(head["publisher"])
    _verify(head["certificate"], keyid, signature, payload)
    _check(head)
    return head


def _check(head):
    labels = head["labels"]
    columns = labels["columns"] if labels else []
    texts = [head["name"], *head["keys"], *head["null_values"], *columns]
    if not all(keys.is_plain(text) for text in texts):
        raise Refused("a character that is not seen")
    if head["suite"] != "ristretto255-SHA512":
        raise Refused("another suite")
    if not head["keys"] or not 1 <= len(head["parts"]) <= 2**10:
        raise Refused("no keys or no parts, or too many")
    if head["lambda"] > 128 or head["items"] > head["capacity"] or max(head["capacity"], head["queries"]) > MOST:
        raise Refused("numbers")
    if labels and (labels["bytes"] == 0 or labels["bytes"] + OVERHEAD > 2**16):
        raise Refused("bytes of a label")
    if not tag_bits(head) <= head["tag_bits"] <= 128:
        raise Refused("bits of a tag")
    items, state = 0, terms(head)
    for nth, part in enumerate(head["parts"]):
        if nth and part["sequence"] != head["parts"][nth - 1]["sequence"] + 1:
            raise Refused("parts out of order")
        if max(part["added"], part["removed"]) > MOST or not HEADER <= part["bytes"] < 2**48:
            raise Refused("numbers of a part")
        if part["removed"] > items:
            raise Refused("more is removed than there is")
        items += part["added"] - part["removed"]
        part["previous"] = state
        state = state_after(state, part["digest"], head["epoch"], part["sequence"])
    if items != head["items"] or state != head["state"]:
        raise Refused("the parts are not those of the head")


def accept_head(text, publisher, now, keys=None, budget=None, known=None, null_values=()):
    """A signed head of this publisher (its fingerprint): all of section 3.3. Null values are the client's own."""
    head = read_head(text)
    if hashlib.sha256(head["certificate"]).digest()[:20] != publisher:
        raise Refused("another publisher")
    if head["expires"] <= now:
        raise Refused("expired")
    if known:
        if version(head) < version(known) or head["log"]["entries"] < known["log"]["entries"]:
            raise Refused("replayed")
        same_version, same_state = version(head) == version(known), head["state"] == known["state"]
        if same_version != same_state:
            raise Refused("forked")
        if head["epoch"] == known["epoch"] and terms(head) != terms(known):
            raise Refused("forked")
        if same_state and head["log"] != known["log"]:
            raise Refused("forked")
        if not same_state and head["log"]["entries"] == known["log"]["entries"]:
            raise Refused("forked")
    if keys is not None and keys != head["keys"]:
        raise Refused("other keys")
    if list(null_values) != head["null_values"]:
        raise Refused("other null values")
    if budget is not None and sum(file_bytes(part) for part in head["parts"]) > budget:
        raise Refused("too long")
    return head


# 4. Log

NUMBER = "0|[1-9][0-9]*"
LINE = re.compile(f"({NUMBER}) ({NUMBER}) ({NUMBER}) ({NUMBER}) ([0-9a-f]{{64}}) ([0-9a-f]{{64}})")


def has_to_read_log(head, known):
    """Whether the log has to be read, after a head was accepted before."""
    return known is None or known["state"] != head["state"]


def check_log(text, head, known=None):
    """A log, with the end of that which was seen before: the number of its lines and the last digest."""
    if len(text.encode()) > 2**28:
        raise Refused("too long")
    digest, seen, found = bytes(32), known is None or known[0] == 0, False
    before = (-1, -1)
    lines = text.split("\n")
    if lines.pop():
        raise Refused("no line feed at the end")
    for n, line in enumerate(lines, 1):
        parts = LINE.fullmatch(line)
        if not parts or int(parts[1]) != n:
            raise Refused("not a line")
        digest = derive("vesica 1 list log", digest + line.rpartition(" ")[0].encode())
        if digest.hex() != parts[6]:
            raise Refused("a digest is not right")
        if (int(parts[2]), int(parts[3])) <= before:
            raise Refused("a version is not later than the one before")
        before = int(parts[2]), int(parts[3])
        seen = seen or (n, digest) == known
        if seen and {"entries": n, "digest": digest} == head["log"] and bytes.fromhex(parts[5]) == head["state"]:
            found = True
    if not seen or not found:
        raise Refused("a line is not there")


# 5. Parts


def check_file(file, entry):
    """The content of a part's file."""
    if len(file) != file_bytes(entry):
        raise Refused("another length")
    front = len(file) - entry["bytes"]
    digests, content = file[:front], file[front:]
    if derive("vesica 1 list part", le64(entry["bytes"]) + digests) != entry["digest"]:
        raise Refused("a digest is not right")
    chunks = [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]
    if b"".join(hash_of(chunk) for chunk in chunks) != digests:
        raise Refused("a chunk is not right")
    return content


def header_of(head, entry):
    numbers = (head["epoch"], entry["sequence"], entry["removed"], entry["added"], head["tag_bits"], sealed_label(head))
    return b"vesica list 2" + bytes(3) + b"".join(map(le64, numbers)) + entry["previous"]


class Part:
    """A part with its tables read whole: tags, each with its sealed labels."""

    def __init__(self, content, head, entry):
        if content[:HEADER] != header_of(head, entry):
            raise Refused("the header is not what the head says")
        t, label = head["tag_bits"], sealed_label(head)
        self.sequence = entry["sequence"]
        self.removed, rest = read_table(content[HEADER:], entry["removed"], t, 0)
        self.added, rest = read_table(rest, entry["added"], t, label)
        if rest:
            raise Refused("the content is too long")


# 6. Tables


def prefix_bits(n):
    return max(0, pow2(max(1, n)).bit_length() - 1 - 12)


def read_table(data, n, t, label):
    """A table's tags with their sealed labels, in order, and what is behind it."""
    p = prefix_bits(n)
    front = 4 * 2**p
    if len(data) < front:
        raise Refused("the content is too short")
    counts = [int.from_bytes(data[at : at + 4], "little") for at in range(0, front, 4)]
    if sum(counts) != n:
        raise Refused("numbers of tags that do not add up")
    if max(counts) > MOST_OF_SEGMENT:
        raise Refused("too many tags in a segment")
    found, data = [], data[front:]
    for segment, count in enumerate(counts):
        length = list_length(count, t - p)
        if len(data) < length + count * label:
            raise Refused("the content is too short")
        tags = decode_list(data[:length], count, t - p)
        labels = data[length : length + count * label]
        for i, tag in enumerate(tags):
            found.append((segment << (t - p) | tag, labels[i * label : (i + 1) * label]))
        data = data[length + count * label :]
    return found, data


def write_table(tags, t):
    """A table of tags without labels."""
    p = prefix_bits(len(tags))
    segments = [[] for _ in range(2**p)]
    for tag in sorted(tags):
        segments[tag >> (t - p)].append(tag & (2 ** (t - p) - 1))
    front = b"".join(len(segment).to_bytes(4, "little") for segment in segments)
    return front + b"".join(encode_list(segment, t - p) for segment in segments)


# 7. Labels


def _xor_stream(label, key, vector):
    stream = derive("vesica 1 list label stream", key + vector, len(label)) if label else b""
    return bytes(a ^ b for a, b in zip(label, stream))


def _vector(label, key, epoch, sequence):
    return derive("vesica 1 list label vector", key + le64(epoch) + le64(sequence) + label, OVERHEAD)


def seal_label(label, key, epoch, sequence):
    vector = _vector(label, key, epoch, sequence)
    return vector + _xor_stream(label, key, vector)


def open_label(sealed, key, epoch, sequence):
    """The label, or None if it is that of another item."""
    vector = sealed[:OVERHEAD]
    label = _xor_stream(sealed[OVERHEAD:], key, vector)
    return label if _vector(label, key, epoch, sequence) == vector else None


def label_values(label, columns):
    """The values of the columns, or None where the label is malformed: it counts as a missing one."""
    values = []
    for _ in range(columns):
        if len(label) < 2:
            return None
        number, label = int.from_bytes(label[:2], "little"), label[2:]
        if number == 1:
            values.append(None)
            continue
        if number == 0 or number - 2 > len(label):
            return None
        try:
            values.append(label[: number - 2].decode())
        except UnicodeDecodeError:
            return None
        label = label[number - 2 :]
    return None if any(label) else values


# 8. Looking up


class List:
    """A head that was accepted, and the contents of its parts."""

    def __init__(self, head, files):
        self.head = head
        contents = [check_file(file, entry) for file, entry in zip(files, head["parts"], strict=True)]
        self.parts = [Part(content, head, entry) for content, entry in zip(contents, head["parts"])]

    def look_up(self, value):
        """Whether the item of this value is in the list, and its label."""
        tag, key, epoch = tag_of(value, self.head["tag_bits"]), label_key_of(value), self.head["epoch"]
        count, label = 0, None
        for part in self.parts:
            count -= sum(other == tag for other, _ in part.removed)
            for other, sealed in part.added:
                if other == tag:
                    count += 1
                    if self.head["labels"]:
                        opened = open_label(sealed, key, epoch, part.sequence)
                        label = label if opened is None else opened
        if count <= 0 or (self.head["labels"] and label is None):
            return False, None
        return True, label


# 9. Asking


class Question:
    """A question about items, with a blind for each."""

    def __init__(self, items, blinds, public_key):
        assert 1 <= len(items) <= 2**12
        self.items, self.blinds, self.public_key = items, blinds, public_key
        self.elements = [voprf.blind(item, blind) for item, blind in zip(items, blinds, strict=True)]

    def bytes(self):
        return b"".join(self.elements)

    def finish(self, answer):
        """The values of the items."""
        if len(answer) != voprf.PROOF + voprf.ELEMENT * len(self.items):
            raise Refused("another length")
        proof, elements = answer[: voprf.PROOF], _elements(answer[voprf.PROOF :])
        voprf.verify(self.public_key, self.elements, elements, proof)
        return [voprf.unblind(*each) for each in zip(self.items, self.blinds, elements)]


def _elements(data):
    return [data[at : at + voprf.ELEMENT] for at in range(0, len(data), voprf.ELEMENT)]


def answer(key, question, random):
    """What the publisher answers, with a random scalar."""
    if len(question) % voprf.ELEMENT or not 1 <= len(question) // voprf.ELEMENT <= 2**12:
        raise Refused("not a question")
    proof, evaluated = voprf.blind_evaluate(key, _elements(question), random)
    return proof + b"".join(evaluated)
