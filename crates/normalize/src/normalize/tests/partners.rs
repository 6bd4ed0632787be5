//! Tests of digests, and of the rules of companies that exchange them.

use super::*;

#[test]
fn digests_by_table() {
    // UID2's example of an address and its digest.
    let hex = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    let digest = profile("sha256:email").digest("user@example.com").unwrap();
    assert_eq!(sha256::hex(&digest), hex);
    let upper = hex.to_uppercase();
    let padded = "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=";
    let url = padded.replace('/', "_").replace('=', "");
    let marked = ["0x", "0X", "\\x"].map(|mark| format!("{mark}{upper}\u{200b}"));
    for held in [hex, &upper, padded, &padded[..43], &url, &format!(" {url}=\n")]
        .into_iter()
        .chain(marked.iter().map(String::as_str))
    {
        assert_eq!(profile("hashed:email").apply(held), hex, "{held}");
        assert_eq!(profile("hashed:email").digest(held), Some(digest));
    }
    let bad = hex.replace('b', "g");
    for held in [
        "",
        "user@example.com",
        &hex[1..],
        &bad,
        &padded[1..],
        &padded.replace('/', "!"),
        "null",
        "0x",
        "éx",
    ] {
        assert_eq!(profile("hashed:email").apply(held), "", "{held}");
    }
    assert_eq!(profile("sha256:email").apply(" USER@example.com"), "user@example.com");
    assert_eq!(profile("sha256:email").apply("nobody"), "");
    for name in ["sha256", "hashed", "sha256:hashed:email", "hashed:sha256:email", "sha256:rot13"] {
        assert!(name.parse::<Normalize>().is_err(), "{name}");
    }
}

/// Tests the examples that the companies publish with their rules.
#[test]
fn rules_of_partners_by_table() {
    assert_table(
        "google:email",
        &[
            ("cloudy.sanfrancisco+shopping@gmail.com", "cloudysanfrancisco@gmail.com"),
            ("user.name+NYC@Example.com", "user.name+nyc@example.com"),
            ("Jane.Doe+x@GoogleMail.com", "janedoe@googlemail.com"),
            (" ja ne@x.org ", "jane@x.org"),
            ("nobody", ""),
        ],
    );
    assert_table("google:name", &[(" Zoë ", "zoë"), ("Pérez Jr.", "pérez jr.")]);
    assert_table(
        "meta:email",
        &[("John_Smith@gmail.com", "john_smith@gmail.com"), ("a.b+c@gmail.com", "a.b+c@gmail.com")],
    );
    assert_table(
        "meta:name",
        &[("Mary", "mary"), ("정", "정"), ("Valéry", "valéry"), ("O'Neill-Smith", "oneillsmith")],
    );
    assert_table(
        "uid2:email",
        &[
            ("JANESaoirse@gmail.com", "janesaoirse@gmail.com"),
            ("jane.doe@gmail.com", "janedoe@gmail.com"),
            ("JaneDoe+home@gmail.com", "janedoe@gmail.com"),
            ("JÄNE@x.org", "jÄne@x.org"),
        ],
    );
    assert_table(
        "liveramp:email",
        &[("MyName@liveramp.com ", "myname@liveramp.com"), ("my name@x.org", "myname@x.org")],
    );
    assert_table(
        "pair:email",
        &[("User@example.com", "user@example.com"), ("a.b+c@gmail.com", "a.b+c@gmail.com")],
    );
    // Published digests.
    let digest = |name: &str, value: &str| {
        let profile = profile(&format!("sha256:{name}"));
        profile.digest(&profile.apply(value)).map(|digest| sha256::hex(&digest))
    };
    let user = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    for (name, value, expected) in [
        ("pair:email", "USER@example.com", user),
        ("uid2:email", "USER@example.com", user),
        (
            "meta:email",
            "John_Smith@gmail.com",
            "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f",
        ),
        ("meta:name", "Mary", "6915771be1c5aa0c886870b6951b03d7eafc121fea0e80a5ea83beb7c449f4ec"),
        ("meta:name", "정", "8fa8cd9c440be61d0151429310034083132b35975c4bea67fdd74158eb51db14"),
        ("meta:name", "Valéry", "08e1996b5dd49e62a4b4c010d44e4345592a863bb9f8e3976219bac29417149c"),
    ] {
        assert_eq!(digest(name, value).as_deref(), Some(expected), "{name} {value}");
    }
    // UID2 publishes its digests in base64.
    let uid2 = sha256::read("ku4mBX7Z3qJTXWyLFB1INzkyR2WZGW4ANSJUiW21iI8=")
        .map(|digest| sha256::hex(&digest));
    assert_eq!(digest("uid2:email", "JANESaoirse@gmail.com"), uid2);
    for name in [
        "google",
        "google:",
        "google:x",
        "google:email:x",
        "meta:date",
        "liveramp:phone",
        "uid2:name",
    ] {
        assert!(name.parse::<Normalize>().is_err(), "{name}");
    }
}

#[cfg(feature = "phone")]
#[test]
fn telephone_numbers_of_partners_by_table() {
    assert_table(
        "google:phone:US",
        &[("(800)555-0100", "+18005550100"), ("1-800-555-0100", "+18005550100")],
    );
    assert_table(
        "meta:phone:US",
        &[("(650)555-1212", "16505551212"), ("+44 20 7946 0018", "442079460018"), ("12", "")],
    );
    assert_table("uid2:phone:US", &[("1 (234) 567-8901", "+12345678901")]);
    assert_table("pair:phone", &[("+44 20 7946 0018", "+442079460018")]);
    let meta = profile("sha256:meta:phone:US");
    let digest = meta.digest(&meta.apply("(650)555-1212")).map(|digest| sha256::hex(&digest));
    let expected = "e323ec626319ca94ee8bff2e4c87cf613be6ea19919ed1364124e16807ab3176";
    assert_eq!(digest.as_deref(), Some(expected));
    assert_eq!(meta.agreed(), "sha256:meta:phone@1+plan9.0.33");
}
