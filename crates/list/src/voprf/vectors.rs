//! All test vectors of RFC 9497, appendices A.1.1 and A.1.2, and inputs that must be refused.

use curve25519_dalek::Scalar;
use rand::{SeedableRng, rngs::StdRng};
use zeroize::Zeroizing;

use super::*;

struct Vector {
    inputs: &'static [&'static str],
    blinds: &'static [&'static str],
    blinded: &'static [&'static str],
    evaluated: &'static [&'static str],
    /// The proof and its random scalar.
    proof: Option<(&'static str, &'static str)>,
    outputs: &'static [&'static str],
}

struct Group {
    mode: Mode,
    /// The secret key; the seed is 32 times 0xa3 and the info `test key`.
    key: &'static str,
    public: Option<&'static str>,
    vectors: &'static [Vector],
}

const GROUPS: [Group; 2] = [
    Group {
        mode: Mode::Oprf,
        key: "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e",
        public: None,
        vectors: &[
            Vector {
                inputs: &["00"],
                blinds: &["64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"],
                blinded: &["609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c"],
                evaluated: &["7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e"],
                proof: None,
                outputs: &[
                    "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6",
                ],
            },
            Vector {
                inputs: &["5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"],
                blinds: &["64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"],
                blinded: &["da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418"],
                evaluated: &["b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25"],
                proof: None,
                outputs: &[
                    "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73",
                ],
            },
        ],
    },
    Group {
        mode: Mode::Voprf,
        key: "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909",
        public: Some("c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e"),
        vectors: &[
            Vector {
                inputs: &["00"],
                blinds: &["64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"],
                blinded: &["863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945"],
                evaluated: &["aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e"],
                proof: Some((
                    "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd066d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
                    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
                )),
                outputs: &[
                    "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7da4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
                ],
            },
            Vector {
                inputs: &["5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"],
                blinds: &["64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"],
                blinded: &["cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c"],
                evaluated: &["60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468"],
                proof: Some((
                    "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
                    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
                )),
                outputs: &[
                    "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
                ],
            },
            Vector {
                inputs: &["00", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"],
                blinds: &[
                    "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
                    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
                ],
                blinded: &[
                    "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
                    "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654",
                ],
                evaluated: &[
                    "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
                    "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a",
                ],
                proof: Some((
                    "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08",
                    "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c",
                )),
                outputs: &[
                    "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7da4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
                    "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
                ],
            },
        ],
    },
];

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn fixed<const N: usize>(hex: &str) -> [u8; N] {
    bytes(hex).try_into().unwrap()
}

fn scalar(hex: &str) -> Scalar {
    Scalar::from_canonical_bytes(fixed(hex)).unwrap()
}

fn elements(hex: &[&str]) -> Vec<WireElement> {
    hex.iter().map(|hex| fixed(hex)).collect()
}

fn test_key(mode: Mode) -> ServerKey {
    ServerKey::derive(&[0xa3; 32], b"test key", mode).unwrap()
}

#[test]
fn vectors_of_the_rfc() {
    let mut batches = 0;
    for group in &GROUPS {
        let key = test_key(group.mode);
        assert_eq!(
            *key.public(),
            (curve25519_dalek::RistrettoPoint::mul_base(&scalar(group.key))).compress().0
        );
        assert!(group.public.is_none_or(|public| *key.public() == fixed(public)));
        for vector in group.vectors {
            let inputs: Vec<_> = vector.inputs.iter().map(|hex| bytes(hex)).collect();
            let blinds = vector.blinds.iter().map(|hex| scalar(hex)).collect();
            let blinded =
                Blinded::with_blinds(inputs.clone(), group.mode, Zeroizing::new(blinds)).unwrap();
            assert_eq!(blinded.elements(), elements(vector.blinded));
            let random = vector.proof.map_or(Scalar::ONE, |(_, random)| scalar(random));
            let evaluated = key.blind_evaluate_with(blinded.elements(), &random).unwrap();
            assert_eq!(evaluated.elements, elements(vector.evaluated));
            assert_eq!(evaluated.proof, vector.proof.map(|(proof, _)| fixed(proof)));
            let outputs = match &evaluated.proof {
                Some(proof) => blinded.finalize(key.public(), &evaluated.elements, proof),
                None => blinded.finalize_unproved(&evaluated.elements),
            };
            let outputs = outputs.unwrap();
            let expected: Vec<[u8; 64]> = vector.outputs.iter().map(|hex| fixed(hex)).collect();
            assert!(outputs.iter().map(FunctionValue::as_bytes).eq(&expected));
            assert!(key.evaluate(&inputs).unwrap() == outputs);
            batches += 1;
        }
    }
    assert_eq!(batches, 5);
}

#[test]
fn batches_of_any_size_agree_with_the_key() {
    let mut rng = StdRng::seed_from_u64(1);
    let key = test_key(Mode::Voprf);
    for count in [1, 2, 63, 64, 65, 513, 1100] {
        let inputs: Vec<[u8; 2]> = (0..count as u16).map(u16::to_le_bytes).collect();
        let blinded = Blinded::new(inputs.clone(), Mode::Voprf, &mut rng).unwrap();
        let Evaluated { elements, proof } =
            key.blind_evaluate(blinded.elements(), &mut rng).unwrap();
        let outputs = blinded.finalize(key.public(), &elements, &proof.unwrap()).unwrap();
        assert!(outputs == key.evaluate(&inputs).unwrap(), "{count}");
    }
    let none: Vec<[u8; 2]> = Vec::new();
    assert!(matches!(Blinded::new(none, Mode::Voprf, &mut rng), Err(Error::Count)));
    assert_eq!(key.blind_evaluate(&[], &mut rng), Err(Error::Count));
    let long = [vec![0; 1 << 16]];
    assert!(matches!(key.evaluate(&long), Err(Error::Input(0))));
}

#[test]
fn another_key_and_a_changed_answer_are_refused() {
    let mut rng = StdRng::seed_from_u64(2);
    let (key, other) =
        (test_key(Mode::Voprf), ServerKey::derive(&[1; 32], b"", Mode::Voprf).unwrap());
    let answer = |by: &ServerKey, change: &dyn Fn(&mut Vec<WireElement>, &mut Proof)| {
        let mut rng = StdRng::seed_from_u64(3);
        let blinded = Blinded::new(vec![b"a", b"b", b"c"], Mode::Voprf, &mut rng).unwrap();
        let evaluated = by.blind_evaluate(blinded.elements(), &mut rng).unwrap();
        let (mut elements, mut proof) = (evaluated.elements, evaluated.proof.unwrap());
        change(&mut elements, &mut proof);
        blinded.finalize(key.public(), &elements, &proof).err()
    };
    assert_eq!(answer(&key, &|_, _| {}), None);
    assert_eq!(answer(&other, &|_, _| {}), Some(Error::Proof));
    assert_eq!(answer(&key, &|elements, _| elements.swap(0, 1)), Some(Error::Proof));
    assert_eq!(answer(&key, &|elements, _| elements[2] = elements[1]), Some(Error::Proof));
    assert_eq!(answer(&key, &|elements, _| elements.truncate(2)), Some(Error::Count));
    assert_eq!(answer(&key, &|elements, _| elements[1] = [0; 32]), Some(Error::Element(1)));
    assert_eq!(answer(&key, &|elements, _| elements[1] = [0xff; 32]), Some(Error::Element(1)));
    for bit in 0..8 * PROOF_BYTES {
        let flip =
            move |_: &mut Vec<WireElement>, proof: &mut Proof| proof[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(answer(&key, &flip), Some(Error::Proof), "bit {bit}");
    }
    // One element of a large batch under another key.
    let blinded = Blinded::new(vec![[7u8; 4]; 600], Mode::Voprf, &mut rng).unwrap();
    let mut evaluated = key.blind_evaluate(blinded.elements(), &mut rng).unwrap();
    evaluated.elements[599] =
        other.blind_evaluate(&blinded.elements()[599..], &mut rng).unwrap().elements[0];
    let finalized = blinded.finalize(key.public(), &evaluated.elements, &evaluated.proof.unwrap());
    assert_eq!(finalized.err(), Some(Error::Proof));
    assert_eq!(key.blind_evaluate(&[[0; 32]], &mut rng), Err(Error::Element(0)));
}
