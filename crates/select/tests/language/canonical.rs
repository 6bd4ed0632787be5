//! The canonical text of random queries.

use rand::{SeedableRng, rngs::StdRng};
use vesica_select::{Keys, Select, Side};

use crate::{oracle::columns, random::Writer, tables::declared};

#[test]
fn random_queries_have_one_canonical_text() {
    let mut rng = StdRng::seed_from_u64(2);
    let columns = columns(1);
    let sides = Side::BOTH.map(|side| declared(&columns[side.index()], Keys::Unique));
    let mut changed = 0;
    for _ in 0..10_000 {
        let text = Writer::new(&columns, &mut rng).query(true);
        let query: Select = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let canonical = query.to_string();
        assert!(!canonical.contains(char::is_control), "{canonical}");
        let again: Select =
            canonical.parse().unwrap_or_else(|error| panic!("{canonical}: {error}"));
        assert_eq!(again, query, "{text}");
        assert_eq!(again.to_string(), canonical);
        changed += u32::from(canonical != text.trim());
        let mirrored = query.mirrored();
        assert_eq!(mirrored.mirrored(), query);
        assert_eq!(mirrored.to_string().parse().as_ref(), Ok(&mirrored));
        let shape = query
            .check(&sides[0], &sides[1])
            .unwrap_or_else(|error| panic!("{canonical}: {error}"));
        let mirror = mirrored.check(&sides[1], &sides[0]).unwrap();
        assert_eq!((shape.groups, shape.sums.len()), (mirror.groups, mirror.sums.len()));
        assert!(!query.phrases("shop", "bank", Some(&shape))[0].is_empty());
    }
    assert!(changed > 9_900, "{changed}");
}
