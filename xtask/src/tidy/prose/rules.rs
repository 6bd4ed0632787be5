//! The turns of phrase, each with advice.

use super::text::Passage;

/// A turn of phrase.
pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Returns whether the turn begins at this word of a block.
    pub(super) begins: fn(&Passage<'_>, usize) -> bool,
    pub(super) advice: &'static str,
}

/// The name of the rule for comments that are not wrapped.
pub(super) const LONG_LINE: &str = "long-line";

/// Beginnings of the names of tests that are clauses.
pub(super) const TEST_NAME: [&str; 7] =
    ["what_", "who_", "whoever_", "whatever_", "where_", "that_", "it_"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "what-doc",
        begins: |block, at| {
            at == 0
                && block.is_doc
                && block.is(at, &WHAT)
                && block.capital(at)
                && !block.is_question()
        },
        advice: "begin a type's documentation with a noun, a function's with a verb",
    },
    Rule {
        name: "so-many",
        begins: |block, at| {
            block.follow(at, &[&["so"], &["many", "much"]])
                && !block.is(at + 2, &["more", "faster", "that"])
        },
        advice: "name the number, or write `that many`",
    },
    Rule {
        name: "of-which",
        begins: |block, at| block.follow(at, &[&["of"], &["which", "whom"]]),
        advice: "write two sentences, or `whose`",
    },
    Rule {
        name: "those-of",
        begins: |block, at| block.follow(at, &[&["those", "that"], &["of"]]),
        advice: "repeat the noun, or use a possessive",
    },
    Rule {
        name: "alone",
        begins: |block, at| {
            block.is(at + 1, &["alone"])
                && block.joined(at + 1)
                && !block.is(at, &LEFT_ALONE)
                && !block.is(at + 2, &["can", "will", "may"])
        },
        advice: "write `only`, or `by itself`",
    },
    Rule {
        name: "whoever",
        begins: |block, at| block.is(at, &["whoever", "whatever"]),
        advice: "name the subject",
    },
    Rule {
        name: "tell",
        begins: |block, at| block.is(at, &["tell", "tells", "told", "telling"]),
        advice: "write reveals, reports, says, shows or names",
    },
    Rule {
        name: "is-no",
        begins: |block, at| {
            let there = at > 0 && block.is(at - 1, &["there"]);
            block.follow(at, &[&["is", "are", "was", "were"], &["no", "none"]])
                && !there
                && !block.capital(at + 1)
                && !block.is(at + 2, &["longer", "more", "less", "later", "fewer", "other"])
        },
        advice: "write `is not a`, `has no` or `does not`",
    },
    Rule {
        name: "where-if",
        begins: |block, at| {
            let begins_doc = at == 0 && block.is_doc;
            block.opens(at)
                && !begins_doc
                && block.is(at, &["where"])
                && block.capital(at)
                && block.follow(at + 1, &[&AFTER_WHERE])
        },
        advice: "write `If` or `When`, unless it is a place",
    },
    Rule {
        name: "bear",
        begins: |block, at| block.is(at, &BEAR),
        advice: "write has, contains, contributes or provides",
    },
    Rule {
        name: "old",
        begins: |block, at| {
            block.is(at, &OLD)
                || block.follow(at, &[&["in"], &["haste"]])
                || block.follow(at, &[&["for"], &["ever"]])
        },
        advice: "write the everyday word: again, quickly, forever, fix",
    },
    Rule {
        name: "has-to",
        begins: |block, at| block.follow(at, &[&["has", "have", "had"], &["to"], &["be"]]),
        advice: "write `must be`",
    },
    Rule {
        name: "some-N",
        begins: |block, at| {
            block.is(at, &["some"])
                && block.joined(at + 1)
                && (block.is_number(at + 1) || block.follow(at + 1, &[&["one"], &["of"]]))
        },
        advice: "write `about N`, or `one of`",
    },
    Rule {
        name: "otherwise-called",
        begins: |block, at| {
            let say: &[&str] = &["say", "says", "said"];
            block.follow(at, &[say, &["of"]])
                || block.follow(at, &[say, &["that"], &["it"], &["is"]])
        },
        advice: "state it directly",
    },
];

const WHAT: [&str; 8] = ["what", "where", "who", "whose", "whoever", "those", "that", "how"];

/// Verbs before `alone`, with which it has another meaning.
const LEFT_ALONE: [&str; 7] = ["let", "leave", "leaves", "left", "stand", "stands", "is"];

const AFTER_WHERE: [&str; 10] =
    ["a", "an", "the", "there", "this", "that", "it", "both", "neither", "no"];

const BEAR: [&str; 7] = ["bear", "bears", "bore", "borne", "bring", "brings", "brought"];

const OLD: [&str; 12] = [
    "anew", "mend", "mends", "mended", "mending", "thereof", "therein", "hitherto", "whither",
    "thither", "aught", "naught",
];
