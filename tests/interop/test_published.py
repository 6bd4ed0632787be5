"""Every vector of published-lists.json: the reader of lists that was written from docs/spec/published-lists.md."""

import pytest
from conftest import vectors
from wire import published, voprf
from wire.draws import NamedDraws
from wire.errors import Refused
from wire.group import ORDER
from wire.primitives import hash_of

H = bytes.fromhex
V = vectors("published-lists")


def test_no_kind_of_vectors_is_left_out():
    assert set(V) == {
        "items", "values", "terms", "labels", "labels_malformed", "tables", "tables_refused", "lists", "heads_refused", "heads_unexpected",
        "logs_refused", "parts_refused", "questions", "questions_refused", "answers_refused",
    }  # fmt: skip


# RFC 9497, appendix A.1.2: the mode VOPRF, with the seed and the info of the appendix.
RFC_BLINDS = [
    "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
]
RFC_RANDOM = "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c"
RFC_PROOF = (
    "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a"
    "5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08"
)
RFC_OUTPUTS = [
    "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
    "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
    "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60"
    "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
]


def test_the_function_is_that_of_the_rfc():
    key = voprf.derive_key(b"\xa3" * 32, b"test key")
    assert key.to_bytes(32, "little").hex() == "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909"
    public = voprf.public_key(key)
    assert public.hex() == "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e"
    inputs = [b"\x00", b"\x5a" * 17]
    blinds = [int.from_bytes(H(blind), "little") for blind in RFC_BLINDS]
    blinded = [voprf.blind(*pair) for pair in zip(inputs, blinds)]
    proof, evaluated = voprf.blind_evaluate(key, blinded, int.from_bytes(H(RFC_RANDOM), "little"))
    assert proof.hex() == RFC_PROOF
    voprf.verify(public, blinded, evaluated, proof)
    outputs = [voprf.unblind(*each) for each in zip(inputs, blinds, evaluated)]
    assert [output.hex() for output in outputs] == RFC_OUTPUTS
    assert outputs == [voprf.evaluate(key, each) for each in inputs]


@pytest.mark.parametrize("v", V["items"])
def test_items(v):
    key = voprf.derive_key(H(v["seed"]), published.epoch_info(v["epoch"]))
    assert voprf.public_key(key).hex() == v["public_key"]
    item = published.item_of(H(v["digest"]), H(v["public_key"]))
    assert item.hex() == v["item"]
    assert voprf.evaluate(key, item).hex() == v["value"]


@pytest.mark.parametrize("v", V["values"])
def test_values(v):
    value = H(v["value"])
    assert published.tag_of(value, v["t"]) == int(v["tag"], 16)
    assert published.label_key_of(value).hex() == v["label_key"]


@pytest.mark.parametrize("v", V["labels"])
def test_labels(v):
    key, place = H(v["label_key"]), (v["epoch"], v["sequence"])
    assert published.seal_label(H(v["label"]), key, *place).hex() == v["sealed"]
    assert published.open_label(H(v["sealed"]), key, *place) == H(v["label"])
    assert published.open_label(H(v["sealed"]), key, v["epoch"], v["sequence"] + 1) is None
    assert published.open_label(H(v["sealed"]), bytes(16), *place) is None
    # No changed label opens.
    for at in range(len(H(v["sealed"]))):
        other = bytearray(H(v["sealed"]))
        other[at] ^= 1
        assert published.open_label(bytes(other), key, *place) is None


@pytest.mark.parametrize("v", V["labels_malformed"], ids=lambda v: v["what"])
def test_labels_that_are_malformed_are_missing(v):
    assert published.label_values(H(v["label"]), v["columns"]) is None


@pytest.mark.parametrize("v", V["terms"], ids=lambda v: v["what"])
def test_terms(v):
    head = published.read_head(v["head"])
    assert published.terms(head).hex() == v["terms"]
    assert [one["terms"] for one in V["terms"]].count(v["terms"]) == 1


def drawn_tags(v):
    draws = NamedDraws(v["draws"])
    return sorted(int.from_bytes(draws.block(), "little") >> (128 - v["t"]) for _ in range(v["n"]))


@pytest.mark.parametrize("v", V["tables"])
def test_tables(v):
    tags = drawn_tags(v)
    table = published.write_table(tags, v["t"])
    expected = v["table"]
    if isinstance(expected, dict):
        assert (len(table), hash_of(table).hex()) == (expected["bytes"], expected["blake3"])
    else:
        assert table.hex() == expected
    found, rest = published.read_table(table, v["n"], v["t"], 0)
    assert ([tag for tag, _ in found], rest) == (tags, b"")


@pytest.mark.parametrize("v", V["tables_refused"], ids=lambda v: v["what"])
def test_tables_that_are_refused(v):
    with pytest.raises(Refused):
        _, rest = published.read_table(H(v["table"]), v["n"], v["t"], 0)
        if rest:
            raise Refused("the content is too long")


@pytest.mark.parametrize("v", V["lists"], ids=["plain", "labelled"])
def test_lists(v):
    """Each version is accepted after those before it, and tells of each key what the publisher says."""
    known = None
    for one in v["versions"]:
        fingerprint = H(v["fingerprint"])
        head = published.accept_head(one["head"], fingerprint, 1_800_000_000, ["email@1"], None, known, ["n/a"])
        assert published.has_to_read_log(head, known) and not published.has_to_read_log(head, head)
        end = known and (known["log"]["entries"], known["log"]["digest"])
        published.check_log(one["log"], head, end)
        whole = published.List(head, [H(part) for part in one["parts"]])
        for case in one["lookups"]:
            is_in, label = whole.look_up(H(case["value"]))
            assert is_in == case["is_in"]
            assert label == (case["label"] and H(case["label"]))
            if label is not None:
                assert published.label_values(label, len(head["labels"]["columns"]))[1] is None
        known = head
    assert any(case["is_in"] for case in one["lookups"]) and not all(case["is_in"] for case in one["lookups"])


@pytest.mark.parametrize("v", V["heads_refused"], ids=lambda v: v["what"])
def test_heads_that_are_refused(v):
    with pytest.raises(Refused):
        published.read_head(v["head"])


@pytest.mark.parametrize("v", V["heads_unexpected"], ids=lambda v: v["what"])
def test_heads_that_are_not_expected(v):
    known = v["known"] and published.read_head(v["known"])
    expected = (v["head"], H(v["publisher"]), v["now"], v["keys"], v["budget"], known, v["null_values"])
    published.read_head(v["head"])
    if v["error"] is None:
        published.accept_head(*expected)
        return
    with pytest.raises(Refused) as caught:
        published.accept_head(*expected)
    words = {
        "replayed": "replayed", "expired": "expired", "another publisher": "by another publisher",
        "forked": "contradicts what was seen", "other null values": "counts other values as empty",
    }  # fmt: skip
    for ours, theirs in words.items():
        assert (ours in str(caught.value)) == (theirs in v["error"])


@pytest.mark.parametrize("v", V["logs_refused"], ids=lambda v: v["what"])
def test_logs_that_are_refused(v):
    known = v["known"] and (v["known"][0], H(v["known"][1]))
    with pytest.raises(Refused):
        published.check_log(v["log"], published.read_head(v["head"]), known)


def part_of(v, head):
    entry = {**v["entry"], "digest": H(v["entry"]["digest"]), "previous": H(v["previous"])}
    return entry, lambda: published.check_file(H(v["file"]), entry), head


@pytest.mark.parametrize("v", V["parts_refused"]["downloads"], ids=lambda v: v["what"])
def test_files_that_are_refused(v):
    _, check, _ = part_of(v, None)
    with pytest.raises(Refused):
        check()


@pytest.mark.parametrize("v", V["parts_refused"]["contents"], ids=lambda v: v["what"])
def test_parts_that_are_refused(v):
    """Their files are what the entry says: what is in them is refused."""
    entry, check, head = part_of(v, published.read_head(V["parts_refused"]["head"]))
    content = check()
    with pytest.raises(Refused):
        published.Part(content, head, entry)


def asked(v, count):
    items = [published.item_of(H(digest), H(v["public_key"])) for digest in v["digests"][:count]]
    draws = NamedDraws(f"published/blinds/{count}")
    return published.Question(items, [draws.scalar() for _ in items], H(v["public_key"]))


@pytest.mark.parametrize("v", V["questions"], ids=lambda v: str(len(v["digests"])))
def test_questions(v):
    question = asked(v, len(v["digests"]))
    assert question.bytes().hex() == v["question"]
    key = voprf.derive_key(H(v["seed"]), published.epoch_info(1))
    assert published.answer(key, H(v["question"]), NamedDraws(v["proof"]).scalar()).hex() == v["answer"]
    assert [value.hex() for value in question.finish(H(v["answer"]))] == v["values"]


@pytest.mark.parametrize("v", V["questions_refused"], ids=lambda v: v["what"])
def test_questions_that_are_refused(v):
    with pytest.raises(Refused):
        published.answer(7, H(v["question"]), ORDER - 5)


@pytest.mark.parametrize("v", V["answers_refused"], ids=lambda v: v["what"])
def test_answers_that_are_refused(v):
    with pytest.raises(Refused):
        asked(V["questions"][1], 2).finish(H(v["answer"]))
