"""Every vector of tests/vectors, which docs/spec/vectors.md describes. None is skipped."""

import hashlib
import json

import numpy as np
import pytest
from conftest import vectors
from wire import code, connection, dh, extension, gf128, group, keys, lists, okvs, ot, replay, rr22, run, trees, vole
from wire.channel import Bytes, Channel, Session, frame
from wire.draws import NamedDraws
from wire.errors import Aborted, Closed, Refused
from wire.primitives import (
    aes_bytes, blocks, ccr, cr, counters, derive, from_numbers, hash_of, keyed, le64, numbers, pack, prg, row_hash, tcr,
    to_bytes, transpose, unpack,
)  # fmt: skip

H = bytes.fromhex


def cases(name, *path):
    found = vectors(name)
    for step in path:
        found = found[step]
    return found


def same(data, expected):
    assert replay.matches(to_bytes(data) if isinstance(data, np.ndarray) else data, expected)


# primitives.json


@pytest.mark.parametrize("v", cases("primitives", "aes"))
def test_aes(v):
    key, x = H(v["key"]), blocks(H(v["x"]))
    assert aes_bytes(key, H(v["x"])).hex() == v["aes"]
    assert to_bytes(cr(key, x)).hex() == v["cr"]
    assert (to_bytes(cr(key, x)) + to_bytes(cr(H(v["other_key"]), x))).hex() == v["double"]
    assert to_bytes(prg(key, 0, 3)).hex() == v["prg_3_blocks"]
    assert to_bytes(ccr(key, x)).hex() == v["ccr"]
    assert to_bytes(tcr(key, counters(v["tweak"], 1), x)).hex() == v["tcr"]


def test_blake3():
    v = cases("primitives", "blake3")
    m = H(v["message"])
    assert hash_of(m).hex() == v["hash"]
    assert keyed(b"\x01" * 32, m).hex() == v["keyed_with_32_bytes_01"]
    assert derive(v["derive_context"], m, 64).hex() == v["derive_64_bytes"]


def test_items_of_dh():
    v = cases("primitives", "dh")
    h = group.encode(dh.h(H(v["item"])))
    assert h.hex() == v["h"]
    assert dh.t_of(h).hex() == v["t_of_h"]


@pytest.mark.parametrize("v", cases("primitives", "gf128"))
def test_products(v):
    a, b = blocks(H(v["a"])), blocks(H(v["b"]))
    assert to_bytes(gf128.products(a, b)).hex() == v["product"]
    assert to_bytes(gf128.times(a, numbers(b)[0])).hex() == v["product"]
    assert gf128.product(numbers(a)[0], numbers(b)[0]) == int.from_bytes(H(v["product"]), "little")


def test_group():
    v = cases("primitives", "group")
    for case in v["hash_to_group"]:
        assert group.encode(group.hash_to_group(case["context"], H(case["message"]))).hex() == case["element"]
    for case in v["products"]:
        scalar = int.from_bytes(H(case["scalar"]), "little")
        for point in (group.OF_GENERATOR.times(scalar), group.multiply(scalar, group.GENERATOR)):
            assert group.encode(point).hex() == case["times_generator"]
        assert group.encode(group.decode(H(case["times_generator"]))).hex() == case["times_generator"]
    for case in v["refused"]:
        with pytest.raises(Refused):
            group.decode(H(case["bytes"]))


@pytest.mark.parametrize("v", cases("primitives", "packing"))
def test_packing(v):
    many = from_numbers([int(n, 16) for n in v["numbers"]])
    assert pack(many, v["bits"]).hex() == v["packed"]
    assert np.array_equal(unpack(H(v["packed"]), len(many), v["bits"]), many)


@pytest.mark.parametrize("v", cases("primitives", "row_hash"))
def test_row_hash(v):
    assert row_hash(H(v["k"]), H(v["u"]), H(v["y"]), H(v["z"])).hex() == v["row"]


def test_transposition():
    v = cases("primitives", "transposition")
    columns = blocks(H(v["columns"])).reshape(128, -1, 2)
    assert to_bytes(transpose(columns)).hex() == v["rows"]


# connection.json


def test_fingerprints():
    v = cases("connection", "fingerprints")
    f = connection.fingerprint(H(v["certificate"]))
    assert connection.fingerprint_text(f) == v["text"]
    for text in [v["text"], *v["also_read"]]:
        assert connection.read_fingerprint(text) == f
    for case in v["refused"]:
        with pytest.raises(Refused, match=case["why"]):
            connection.read_fingerprint(case["text"])


@pytest.mark.parametrize("v", cases("connection", "frames", "written"))
def test_frames_written(v):
    data = frame(v["label"], bytes(i % 251 for i in range(v["payload_bytes"])))
    assert len(data) == v["frame_bytes"]
    assert hash_of(data).hex() == v["frame_blake3"]
    assert data.startswith(H(v["frame_begins"])) and data.endswith(H(v["frame_ends"]))


@pytest.mark.parametrize("v", cases("connection", "frames", "received"), ids=lambda v: v["what"])
def test_frames_received(v):
    channel = Channel(Bytes(H(v["bytes"])))
    (outcome, expected), = v["outcome"].items()
    if outcome == "payload":
        assert channel.receive("step", 4).hex() == expected
    elif outcome == "refused":
        with pytest.raises(Refused, match=expected):
            channel.receive("step", 4)
    elif outcome == "aborted":
        with pytest.raises(Aborted) as caught:
            channel.receive("step", 4)
        assert caught.value.code == expected
    else:
        assert outcome == "closed"
        with pytest.raises(Closed):
            channel.receive("step", 4)


def test_session():
    first, *steps = cases("connection", "session")
    session = Session()
    assert session.sid.hex() == first["sid"]
    for step in steps:
        assert session.bind(step["label"], H(step["fact"])).hex() == step["sid"]


# keys.json


def test_default_null_values():
    assert cases("keys", "null_values") == keys.DEFAULT_NULLS


@pytest.mark.parametrize("v", cases("keys", "profiles"), ids=lambda v: v["offered"])
def test_profiles(v):
    assert keys.agreed_name(v["offered"]) == v["agreed"]
    profile = v["offered"].rpartition("@")[0]
    for case in v["values"]:
        if profile.startswith("hashed:"):
            assert keys.hashed(case["value"]).hex() == (case["digest"] or ""), case
            continue
        assert keys.normalise(profile, case["value"]) == case["normalised"], case
        if case["digest"] is not None:
            assert hashlib.sha256(case["normalised"].encode()).hexdigest() == case["digest"]


@pytest.mark.parametrize("v", cases("keys", "rows"))
def test_rows(v):
    counts = v["identifiers"] or [len(v["profiles"])]
    for row in v["rows"]:
        columns = [keys.column(profile, value) for profile, value in zip(v["profiles"], row["fields"], strict=True)]
        first = 0
        for i, (count, expected) in enumerate(zip(counts, row["keys"], strict=True)):
            part = columns[first : first + count]
            first += count
            if expected is None:
                assert None in part
                continue
            encoding = keys.encoding(part, i if v["identifiers"] else None)
            assert encoding.hex() == expected["encoding"]
            assert hash_of(encoding).hex() == expected["digest"]


# terms.json


@pytest.mark.parametrize("v", cases("terms", "offers"), ids=lambda v: v["what"])
def test_offers(v):
    if v["outcome"] == "accepted":
        run.read_offer(v["offer"].encode())
        return
    with pytest.raises(Refused):
        run.read_offer(v["offer"].encode())


@pytest.mark.parametrize("v", cases("terms", "terms", "cases"), ids=lambda v: v["what"])
def test_terms(v):
    a, b = (run.read_offer(v[offer].encode()) for offer in ("offer_of_a", "offer_of_b"))
    prints = [cases("terms", "terms", name) for name in ("fingerprint_of_a", "fingerprint_of_b")]
    if "terms" not in v["outcome"]:
        with pytest.raises(Refused):
            run.agree(a, b, *prints)
        return
    terms = run.agree(a, b, *prints)
    assert run.canonical(terms) == v["outcome"]["terms"]
    assert run.terms_hash(terms).hex() == v["outcome"]["hash"]
    assert ("A" if terms["a_learns"] else "B") == v["outcome"]["receiver"]


def test_seed():
    v = cases("terms", "seed")
    r_a, r_b = H(v["r_a"]), H(v["r_b"])
    assert run.commitment(0, r_a).hex() == v["commitment_of_a"]
    assert run.commitment(1, r_b).hex() == v["commitment_of_b"]
    seed = run.item_seed(r_a, r_b)
    assert seed.hex() == v["seed"]
    assert [keyed(seed, H(digest)).hex() for digest in v["digests"]] == v["images"]
    assert Session().bind("vesica/open", seed).hex() == v["sid_bound_to_the_seed_alone"]


def test_partitions():
    for v in cases("terms", "partitions"):
        for count in (2, 64):
            assert run.partition(H(v["image"]), count) == v[f"of_{count}"]


# parameters.json


@pytest.mark.parametrize("protocol", ["rr22", "rr22-malicious"])
def test_shapes_and_dimensions(protocol):
    malicious = protocol == "rr22-malicious"
    for v in cases("parameters", protocol):
        shape = okvs.shape(v["n_R"], malicious, 40 + (v["partitions"] - 1).bit_length())
        assert [shape.clusters, shape.capacity, shape.sparse, shape.dense, shape.columns] == [
            v[name] for name in ("clusters", "capacity", "sparse", "dense", "columns")
        ], v
        assert (v["columns"] <= vole.SHORT) == (v["vole"] == "short"), v
        if v["vole"] == "short":
            continue
        d = vole.dimensions(v["columns"], malicious)
        assert {"B": d.size, "p": d.pieces, "t": d.blocks, "tree_ots": d.tree_ots} == v["vole"], v


def test_lengths():
    for v in cases("parameters", "lengths"):
        t = lists.tag_bits(v["n_R"], v["n_S"])
        assert t == v["t"]
        assert lists.tag_bits(v["n_R"], v["n_S"], 43) == v["t_in_8_partitions"]
        assert rr22.entry_bits(v["n_S"]) == v["l"]
        assert rr22.entry_bits(v["n_S"], 43) == v["l_in_8_partitions"]
        assert lists.rice_parameter(v["n_S"], t) == v["rice"]
        assert lists.list_length(v["n_S"], t) == v["list_bytes"]


def test_loads():
    for v in cases("parameters", "loads"):
        for security in (40, 41):
            assert okvs.max_load(v["n"], v["c"], security) == v[f"maxload_{security}"], v


# lists.json


@pytest.mark.parametrize("v", cases("lists", "written"))
def test_lists(v):
    tags = sorted(int(tag, 16) for tag in v["tags"])
    assert lists.rice_parameter(v["n"], v["t"]) == v["r"]
    same(lists.encode_list(tags, v["t"]), v["list"])
    if isinstance(v["list"], str):
        assert lists.decode_list(H(v["list"]), v["n"], v["t"]) == tags


@pytest.mark.parametrize("v", cases("lists", "refused"), ids=lambda v: v["what"])
def test_lists_refused(v):
    with pytest.raises(Refused):
        lists.decode_list(H(v["list"]), v["n"], v["t"])


# trees.json


@pytest.mark.parametrize("v", cases("trees"), ids=lambda v: f"{v['T']}/{v['L']}")
def test_trees(v):
    t, leaves, d = v["T"], v["L"], v["D"]
    points = np.array(v["points"])
    assert trees.depth(leaves) == d
    assert trees.choices(points, leaves).tolist() == v["choices"]
    pairs = blocks(H(v["keys"])).reshape(t, d, 2, 2)
    chosen = np.take_along_axis(pairs, np.array(v["choices"]).reshape(t, d, 1, 1), axis=2)[:, :, 0]

    def giver(channel):
        given = trees.give(channel, NamedDraws(f"trees/{t}/{leaves}/S"), pairs, leaves)
        return given, trees.prove(channel, given)

    def chooser(channel):
        got = trees.choose(channel, chosen, points, leaves)
        return got, trees.check(channel, got, points)

    ((given, given_after), (got, got_after)), (channel, _) = replay.both(giver, chooser)
    same(given, v["leaves"])
    same(given_after, v["leaves_after_the_check"])
    same(got, v["leaves_of_the_chooser"])
    same(got_after, v["leaves_of_the_chooser_after_the_check"])
    assert replay.compare(channel, v["sent_by_the_giver"]) == 4


def test_trees_refused():
    """A tag sum with another bit."""
    v = cases("trees")[1]
    payloads = {m["label"]: bytearray(H(m["payload"])) for m in v["sent_by_the_giver"]}
    payloads["pprf/tag-sums"][0] ^= 1
    data = b"".join(frame(label, bytes(payload)) for label, payload in payloads.items())
    channel = Channel(Bytes(data))
    pairs = blocks(H(v["keys"])).reshape(v["T"], v["D"], 2, 2)
    chosen = np.take_along_axis(pairs, np.array(v["choices"]).reshape(v["T"], v["D"], 1, 1), axis=2)[:, :, 0]
    points = np.array(v["points"])
    got = trees.choose(channel, chosen, points, v["L"])
    with pytest.raises(Refused):
        trees.check(channel, got, points)


# half-trees.json


@pytest.mark.parametrize("v", cases("half-trees"), ids=lambda v: f"{v['T']}/{v['L']}")
def test_half_trees(v):
    t, leaves, d = v["T"], v["L"], v["D"]
    points = np.array(v["points"])
    assert trees.choices(points, leaves).tolist() == v["choices"]
    q, delta = blocks(H(v["q"])).reshape(t, d, 2), blocks(H(v["delta"]))
    draw = NamedDraws(f"half-trees/{t}/{leaves}/S")

    def giver(channel):
        keys, first = draw.bytes(32), draw.blocks(t)
        sums, given = trees.give_halves(keys, first, delta, leaves)
        channel.send("half-tree/keys", keys)
        channel.send("half-tree/sums", to_bytes(sums ^ q))
        return given

    def chooser(channel):
        return trees.choose_halves(channel, blocks(H(v["t"])).reshape(t, d, 2), points, leaves)

    (given, got), (channel, _) = replay.both(giver, chooser)
    same(given, v["leaves"])
    same(got, v["leaves_of_the_chooser"])
    assert replay.compare(channel, v["sent_by_the_giver"]) == 2


# code.json


@pytest.mark.parametrize("v", cases("code", "permutations"), ids=lambda v: str(v["N"]))
def test_permutations(v):
    for case in v["permutations"]:
        found = code.permutation(v["N"], case["rho"])
        assert found[: len(case["first"])].tolist() == case["first"]
        same(found.astype("<u4"), case["all_as_u32"])


@pytest.mark.parametrize("v", cases("code", "compress"), ids=lambda v: v["z"])
def test_compress(v):
    z = NamedDraws(v["z"]).blocks(v["t"] * v["B"])
    assert to_bytes(z).hex().startswith(v["first_of_z"])
    result = code.compress(z, v["B"])
    same(result, v["all"])
    assert to_bytes(result).hex().startswith(v["first"])
    if "whole" in v:
        assert to_bytes(result).hex() == v["whole"]


# okvs.json


@pytest.mark.parametrize("v", cases("okvs", "decoded"), ids=lambda v: v["draws"])
def test_decoding(v):
    draw = NamedDraws(v["draws"])
    shape = okvs.shape(v["n_R"], v["protocol"] == "rr22-malicious")
    seed, its_keys, columns = draw.block(), draw.blocks(6), draw.blocks(shape.columns)
    same(seed, v["seed"])
    same(its_keys, v["keys"])
    same(columns, v["columns"])
    same(okvs.Rows(shape, seed, its_keys).decode(columns), v["values"])


@pytest.mark.parametrize("v", cases("okvs", "encoded"), ids=lambda v: f"{v['protocol']}/{v['n_R']}")
def test_encoding(v):
    shape = okvs.shape(v["n_R"], v["protocol"] == "rr22-malicious")
    seed, its_keys, values = H(v["seed"]), blocks(H(v["keys"])), blocks(H(v["values"]))
    rows = okvs.Rows(shape, seed, its_keys)
    assert np.array_equal(rows.decode(blocks(H(v["a_solution"]))), values)
    own = okvs.encode(shape, seed, its_keys, values, NamedDraws("free"))
    assert np.array_equal(rows.decode(own), values)


# ot.json


@pytest.mark.parametrize("name", ["np01", "mr19", "mr19_of_33"])
def test_base_ots(name):
    v = cases("ot", name)
    kind = name[:4]
    give, choose = getattr(ot, kind + "_giver"), getattr(ot, kind + "_chooser")
    choices = v["choices"]
    (given, got), (giver, chooser) = replay.both(
        lambda channel: give(channel, NamedDraws(v["draws_of_the_giver"]), len(choices)),
        lambda channel: choose(channel, NamedDraws(v["draws_of_the_chooser"]), choices),
    )
    replay.compare(giver, v["sent_by_the_giver"])
    replay.compare(chooser, v["sent_by_the_chooser"])
    same(b"".join(m for pair in given for m in pair), v["outputs"])
    same(b"".join(got), v["chosen"])


@pytest.mark.parametrize("protocol", ["rr22", "rr22-malicious"])
def test_extension(protocol):
    v = cases("ot", protocol)
    malicious = protocol == "rr22-malicious"

    def receiver(channel):
        side = extension.Receiver(channel, NamedDraws(v["draws_of_R"]), malicious)
        results = []
        for call in v["calls"]:
            choices = (np.arange(call["n"]) % call["choice_is_1_if_divisible_by"] == 0).astype(np.uint8)
            results.append((side.random if call["kind"] == "random" else side.correlated)(choices))
        return results

    def sender(channel):
        side = extension.Sender(channel, NamedDraws(v["draws_of_S"]), malicious)
        assert side.delta_bytes.hex() == v["delta"]
        return [(side.random if call["kind"] == "random" else side.correlated)(call["n"]) for call in v["calls"]]

    (of_r, of_s), (r, s) = replay.both(receiver, sender)
    replay.compare(r, v["sent_by_R"])
    replay.compare(s, v["sent_by_S"])
    for call, mine, theirs in zip(v["calls"], of_r, of_s, strict=True):
        same(mine, call["R"])
        same(theirs, call["S"])


# vole.json


@pytest.mark.parametrize(
    "protocol, v",
    [(p, v) for p in ("rr22", "rr22-malicious") for v in cases("vole", p)],
    ids=lambda x: x if isinstance(x, str) else str(x["m"]),
)
def test_vole(protocol, v):
    malicious = protocol == "rr22-malicious"

    def receiver(channel):
        draw = NamedDraws(v["draws_of_R"])
        a, checked = vole.receiver(extension.Receiver(channel, draw, malicious), draw, v["m"], v["l"])
        return a, checked()

    def sender(channel):
        draw = NamedDraws(v["draws_of_S"])
        side = extension.Sender(channel, draw, malicious)
        return side.delta, vole.sender(side, draw, v["m"], v["l"])

    ((a, c), (delta, b)), (r, s) = replay.both(receiver, sender)
    replay.compare(r, v["sent_by_R"])
    replay.compare(s, v["sent_by_S"])
    assert np.array_equal(c, gf128.times(a, delta) ^ b)
    for name, share in (("a", a), ("b", b), ("c", c)):
        same(share, v[name]["all"])
        assert to_bytes(share).hex().startswith(v[name]["first_10"])


@pytest.mark.parametrize("malicious", [False, True])
def test_levels(monkeypatch, malicious):
    """With shorter pieces than the vectors have: the values of seven pieces come from three, and theirs from one."""
    monkeypatch.setattr(vole, "LONGEST", 2500)
    m, bits = 16_000, 128 if malicious else 44
    assert [d.pieces for d in vole.levels(m, malicious)] == [7, 3, 1]

    def receiver(channel):
        draw = NamedDraws("levels/R")
        a, checked = vole.receiver(extension.Receiver(channel, draw, malicious), draw, m, bits)
        return a, checked()

    def sender(channel):
        draw = NamedDraws("levels/S")
        side = extension.Sender(channel, draw, malicious)
        return side.delta, vole.sender(side, draw, m, bits)

    ((a, c), (delta, b)), (r, s) = replay.both(receiver, sender)
    assert np.array_equal(c, gf128.times(a, delta) ^ b)
    sent = [[label for label, _ in replay.sent(channel)] for channel in (r, s)]
    assert sent[1].count("noise/corrections") == 11
    assert sent[0][-3:] == (["noise/challenge"] * 3 if malicious else ["softspoken/corrections"] * 3)
    assert sent[1].count("extension/challenge") == (1 if malicious else 0)
    assert sent[1].count("noise/answer") == (3 if malicious else 0)


@pytest.mark.parametrize("level", [0, 1])
def test_levels_refused(monkeypatch, level):
    """A correction with another bit, in a level: R has sent its challenges, and does not get c."""
    monkeypatch.setattr(vole, "LONGEST", 2500)
    seen = []

    def receiver(channel):
        draw = NamedDraws("levels/R")
        _, checked = vole.receiver(extension.Receiver(channel, draw, True), draw, 4000, 128)
        seen.append(sum(label == "noise/challenge" for label, _ in replay.sent(channel)))
        with pytest.raises(Refused, match="one noise and one Δ"):
            checked()

    def sender(channel):
        corrections, send = [], channel.send

        def other(label, payload=b""):
            if label == "noise/corrections":
                corrections.append(label)
                if len(corrections) == (1 if level == 1 else 2):
                    payload = bytes([payload[0] ^ 1]) + payload[1:]
            send(label, payload)

        channel.send = other
        draw = NamedDraws("levels/S")
        vole.sender(extension.Sender(channel, draw, True), draw, 4000, 128)

    replay.both(receiver, sender)
    assert seen == [2]


# dh.json, rr22.json, rr22-malicious.json


@pytest.mark.parametrize(
    "v",
    [v for name in ("dh", "rr22", "rr22-malicious") for v in cases(name)],
    ids=lambda v: v["draws_of_R"],
)
def test_transcripts(v):
    """Both parties repeat the transcript, message by message, from the same randomness."""
    items_r, items_s = ([H(item) for item in v[name]] for name in ("items_of_R", "items_of_S"))
    n_r, n_s = len(items_r), len(items_s)

    def bind(channel):
        channel.session.bind("tls exporter", H(v["exporter"]))
        sid = channel.session.bind("psi/size", hash_of(v["protocol"].encode()) + le64(n_s) + le64(n_r))
        assert sid.hex() == v["sid"]

    def receiver(channel):
        bind(channel)
        draw = NamedDraws(v["draws_of_R"])
        found = run.receiver(v["protocol"])(channel, draw, items_r, n_s)
        lists.reveal(channel, draw, [items_r[i] for i in found], n_r, n_s)
        return found

    def sender(channel):
        bind(channel)
        run.sender(v["protocol"])(channel, NamedDraws(v["draws_of_S"]), items_s, n_r)
        return lists.learn(channel, items_s, n_r)

    with replay.RecordedColumns(v["sent_by_R"]) as columns:
        (found, told), (r, s) = replay.both(receiver, sender)
    assert found == v["found_by_R"]
    assert sorted(told) == sorted(v["told_to_S"])
    assert replay.compare(r, v["sent_by_R"]) == len(v["sent_by_R"])
    assert replay.compare(s, v["sent_by_S"]) == len(v["sent_by_S"])
    assert columns.verified == (0 if v["protocol"] == "dh" else n_r)


# run.json


@pytest.mark.parametrize("v", cases("run"), ids=lambda v: v["protocol"])
def test_runs(v):
    """Whole runs, from terms to the end. The offers are those of the vector."""

    def party(side):
        is_a = side == "a"
        rows = {}
        for mail in v[f"table_of_{side}"].splitlines()[1:]:
            column = keys.column("email", mail)
            if column:
                rows.setdefault(keys.digest([column]), []).append(mail)
        text = json.loads(H(v[f"sent_by_{side}"][0]["payload"]))
        offer = RecordedOffer(text)
        prints = [v["fingerprint_of_a"], v["fingerprint_of_b"]]

        def play(channel):
            channel.session.bind("tls exporter", H(v["exporter"]))
            return run.run(channel, is_a, *prints[:: 1 if is_a else -1], offer, rows, draw=NamedDraws(v[f"draws_of_{side}"]))

        def named(channel):
            found = play(channel)
            return None if found is None else sorted(mail for digest in found for mail in rows[digest])

        return named

    of_r = v["sent_by_a"] if json.loads(H(v["sent_by_a"][0]["payload"]))["a_learns"] else v["sent_by_b"]
    with replay.RecordedColumns(of_r):
        results, channels = replay.both(party("a"), party("b"))
    for side, result, channel in zip("ab", results, channels):
        expected = v[f"result_of_{side}"]
        assert result == (None if expected is None else sorted(expected.splitlines()[1:]))
        replay.compare(channel, v[f"sent_by_{side}"])


class RecordedOffer:
    def __init__(self, members):
        self.text = members

    def members(self):
        return self.text
