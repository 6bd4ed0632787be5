//! Telephone numbers.

use super::*;

#[test]
fn telephone_numbers_by_table() {
    // Numbers that regulators keep free for examples, and those in E.164's and libphonenumber's documentation.
    assert_table(
        "phone:GB",
        &[
            ("020 7946 0018", "+442079460018"),
            ("+44 (0)20 7946 0018", "+442079460018"),
            ("0044 20 7946 0018", "+442079460018"),
            ("+1 650-253-0000", "+16502530000"),
            ("00 1 650 253 0000", "+16502530000"),
            ("07400 000000", "+447400000000"),
            ("999", ""),
            ("020 7946 0018 ext. 5", ""),
            ("020 7946 0018 x5", ""),
            ("0207 CALL NOW", ""),
            ("n/a", ""),
            ("", ""),
        ],
    );
    assert_table(
        "phone:DE",
        &[
            ("030 123456", "+4930123456"),
            ("(030) 12 34 56", "+4930123456"),
            ("030/123456", "+4930123456"),
            ("0151 12345678", "+4915112345678"),
            // An Italian number keeps the zero that a German one would lose.
            ("+39 02 3661 8300", "+390236618300"),
            ("0039 02 3661 8300", "+390236618300"),
            ("12", ""),
            // One digit more than the plan has.
            ("0900 1 2345675", ""),
            ("+49 900 1 2345675", ""),
            // A column of floating-point numbers.
            ("30123456.0", ""),
            ("030123456.00", ""),
            ("301\u{feff}23456.0", ""),
            ("4930123456.0", ""),
            ("030.123456", "+4930123456"),
            // The plus sign in brackets, links, and the punctuation and the digits of other scripts.
            ("(+49) 30 123456", "+4930123456"),
            ("tel:+49-30-123456", "+4930123456"),
            ("TEL:030123456", "+4930123456"),
            ("+49[30]123456", "+4930123456"),
            ("030\u{2212}123456", "+4930123456"),
            ("\u{202a}+4930123456\u{202c}", "+4930123456"),
            ("+49\u{200b}30123456", "+4930123456"),
            ("'+4930123456", "+4930123456"),
            ("+\u{664}\u{669}30123456", "+4930123456"),
            ("49+30123456", ""),
            ("++4930123456", ""),
            // Either of two numbers.
            ("4915112345678", ""),
        ],
    );
    assert_table("phone:JP", &[("\u{ff10}\u{ff13}-1234-5678", "+81312345678")]);
    assert_table("phone:IT", &[("390236618300", "+390236618300")]);
    assert_table(
        "phone:US",
        &[("(650) 253-0000", "+16502530000"), ("011 44 20 7946 0018", "+442079460018")],
    );
    assert_table("phone:CH", &[("044 668 18 00", "+41446681800")]);
    // These numbers begin with the digit that is also dialled before an area code.
    let free = "+78005553535";
    assert_table("phone:RU", &[("8 (800) 555-35-35", free), (free, free), ("800 555-35-35", free)]);
    assert_table("phone:BR", &[("0049 30 123456", ""), ("0 11 2345-6789", "+551123456789")]);
    assert_table(
        "phone",
        &[
            ("+41 44 668 18 00", "+41446681800"),
            ("044 668 18 00", ""),
            ("+", ""),
            ("+999123456", ""),
        ],
    );
    for name in ["phone:XX", "phone:de", "phone:", "phone:D", "phone:DEU", "phone:\u{e4}"] {
        let refused = name.parse::<Normalize>().unwrap_err();
        assert!(refused.contains("is not a region"), "{refused}");
    }
}
