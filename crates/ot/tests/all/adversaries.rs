//! Exactly the extensions that are called malicious have the marker trait.

use vesica_ot::{
    CotReceiver, CotSender, Malicious,
    extension::{
        alsz13, iknp03, kos15, precomputed, silent,
        softspoken::{malicious, semi_honest},
    },
};
use vesica_params::Adversary;

/// Compiles for pairs of malicious parties.
fn malicious_pair<S: CotSender + Malicious, R: CotReceiver + Malicious>() {
    assert_eq!([S::ADVERSARY, R::ADVERSARY], [Adversary::Malicious; 2]);
}

fn semi_honest_pair<S: CotSender, R: CotReceiver>() {
    assert_eq!([S::ADVERSARY, R::ADVERSARY], [Adversary::SemiHonest; 2]);
}

#[test]
fn the_marker_and_the_constant_agree() {
    malicious_pair::<kos15::Sender, kos15::Receiver>();
    malicious_pair::<malicious::Sender, malicious::Receiver>();
    malicious_pair::<precomputed::Sender<kos15::Sender>, precomputed::Receiver<malicious::Receiver>>(
    );
    malicious_pair::<silent::Sender<malicious::Sender>, silent::Receiver<kos15::Receiver>>();
    semi_honest_pair::<iknp03::Sender, iknp03::Receiver>();
    semi_honest_pair::<alsz13::Sender, alsz13::Receiver>();
    semi_honest_pair::<semi_honest::Sender, semi_honest::Receiver>();
    semi_honest_pair::<
        precomputed::Sender<alsz13::Sender>,
        precomputed::Receiver<semi_honest::Receiver>,
    >();
}
