//! Packed text: gzip and Zstandard.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use flate2::{read::MultiGzDecoder, write::GzEncoder};

/// What a text is packed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, also of several members.
    Gzip,
    /// Zstandard, also of several frames.
    Zstd,
}

impl Compression {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// What the first bytes of a file say; `Err` where more of them are needed.
    pub(crate) fn of_beginning(head: &[u8]) -> Result<Option<Self>, ()> {
        for (beginning, packed) in
            [(&b"\x1f\x8b"[..], Self::Gzip), (b"\x28\xb5\x2f\xfd", Self::Zstd)]
        {
            if head.starts_with(beginning) {
                return Ok(Some(packed));
            }
            if beginning.starts_with(head) {
                return Err(());
            }
        }
        Ok(None)
    }

    /// What a file's name promises.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let is = |wanted: &str| extension.eq_ignore_ascii_case(wanted);
        if is("gz") { Some(Self::Gzip) } else { is("zst").then_some(Self::Zstd) }
    }

    /// Unpacks what is read, and holds about `held_bytes` for that. Input that is damaged, cut short, or asks for
    /// more is an error of any kind but [`io::ErrorKind::Interrupted`].
    pub(crate) fn unpack(
        self,
        packed: impl Read + Send + 'static,
        held_bytes: u64,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(packed)?;
                // Of 8 MiB, which every decoder should have (RFC 8878, section 3.1.1.1.2), to 128 MiB.
                let window = held_bytes.max(1).ilog2().clamp(23, 27);
                decoder.window_log_max(window)?;
                Box::new(decoder)
            }
        })
    }

    /// Packs what `write` writes.
    pub(crate) fn pack<E: From<io::Error>>(
        self,
        out: &mut (dyn Write + Send),
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Gzip => {
                let mut packed = GzEncoder::new(out, flate2::Compression::default());
                write(&mut packed)?;
                packed.finish()?;
            }
            Self::Zstd => {
                let mut packed = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                packed.include_checksum(true)?;
                write(&mut packed)?;
                packed.finish()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_what_is_cut_is_refused() {
        let text: Vec<u8> = (0..100_000u32).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        for packing in [Compression::Gzip, Compression::Zstd] {
            let mut packed = Vec::new();
            packing.pack(&mut packed, |out| out.write_all(&text)).unwrap();
            assert!(packed.len() < text.len());
            assert_eq!(Compression::of_beginning(&packed), Ok(Some(packing)));
            let unpacked = |packed: Vec<u8>| {
                let mut bytes = Vec::new();
                packing.unpack(io::Cursor::new(packed), 1 << 30)?.read_to_end(&mut bytes)?;
                io::Result::Ok(bytes)
            };
            // Two of them are as good as one.
            assert!(
                unpacked([packed.clone(), packed.clone()].concat()).unwrap()
                    == [&text[..], &text].concat()
            );
            for kept in [10, packed.len() / 2, packed.len() - 1] {
                assert!(unpacked(packed[..kept].to_vec()).is_err(), "{packing:?} {kept}");
            }
            let mut damaged = packed.clone();
            damaged[packed.len() / 2] ^= 1;
            assert!(unpacked(damaged).is_err(), "{packing:?}");
            assert_eq!(Compression::of_beginning(&packed[..1]), Err(()));
        }
        assert_eq!(Compression::of_beginning(b"k,v"), Ok(None));
    }

    #[test]
    fn names_promise_a_packing() {
        let of = |name| Compression::of_name(Path::new(name));
        assert_eq!(of("a.csv.GZ"), Some(Compression::Gzip));
        assert_eq!(of("a.zst"), Some(Compression::Zstd));
        assert_eq!((of("a.csv"), of("-"), of("gz")), (None, None, None));
    }
}
