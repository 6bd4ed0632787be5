//! Compressed text: gzip and Zstandard.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    mem,
    path::Path,
};

use flate2::{bufread::GzDecoder, write::GzEncoder};

/// The rest of the number at the beginning of a skippable frame, after its first byte.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// The compression of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames.
    Zstd,
}

impl Compression {
    /// Returns the name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Recognizes the compression by the first bytes of a file; `Err` if more of them are needed.
    pub(crate) fn of_beginning(head: &[u8]) -> Result<Option<Self>, ()> {
        // A Zstandard file may begin with a skippable frame, which has sixteen kinds (RFC 8878, section 3.1.2).
        if let [kind, rest @ ..] = head
            && kind & 0xf0 == 0x50
            && !rest.is_empty()
        {
            if rest.starts_with(SKIPPABLE) {
                return Ok(Some(Self::Zstd));
            }
            if SKIPPABLE.starts_with(rest) {
                return Err(());
            }
        }
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

    /// Returns the compression that a file's name promises.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let is = |wanted: &str| extension.eq_ignore_ascii_case(wanted);
        if is("gz") { Some(Self::Gzip) } else { is("zst").then_some(Self::Zstd) }
    }

    /// Whether an error means that unpacking needs more memory than allowed.
    pub(crate) fn is_too_large(self, error: &io::Error) -> bool {
        self == Self::Zstd && error.to_string().contains("too much memory")
    }

    /// Unpacks the text, with about `held_bytes` of memory. Input that is damaged, cut short, or needs more is an error
    /// of any kind but [`io::ErrorKind::Interrupted`].
    pub(crate) fn unpack(
        self,
        packed: impl Read + Send + 'static,
        held_bytes: u64,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(CompressedMembers::new(packed)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(packed)?;
                // From 8 MiB, which every decoder should support (RFC 8878, section 3.1.1.1.2), to 128 MiB.
                let window = held_bytes.max(1).ilog2().clamp(23, 27);
                decoder.window_log_max(window)?;
                Box::new(decoder)
            }
        })
    }

    /// Packs the bytes that `write` writes.
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

/// A reader of the members of a gzip file, one after the other. Zeros after a member are padding, from a tape or a
/// block device, which gzip ignores as well.
enum CompressedMembers<R> {
    /// Within a member.
    Inside(Box<GzDecoder<BufReader<R>>>),
    /// At the end, or after an error.
    Done,
}

impl<R: Read> CompressedMembers<R> {
    fn new(packed: R) -> Self {
        Self::Inside(Box::new(GzDecoder::new(BufReader::with_capacity(1 << 16, packed))))
    }

    /// Goes on to the next member, if there is one.
    fn next(&mut self) -> io::Result<()> {
        let Self::Inside(member) = mem::replace(self, Self::Done) else { return Ok(()) };
        let mut packed = member.into_inner();
        loop {
            let rest = packed.fill_buf()?;
            if rest.is_empty() {
                return Ok(());
            }
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let has_more = zeros < rest.len();
            packed.consume(zeros);
            if has_more {
                *self = Self::Inside(Box::new(GzDecoder::new(packed)));
                return Ok(());
            }
        }
    }
}

impl<R: Read> Read for CompressedMembers<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            let Self::Inside(member) = self else { return Ok(0) };
            match member.read(to)? {
                0 => self.next()?,
                read => return Ok(read),
            }
        }
    }
}

/// Returns the extension of a file's name in lower case; `csv` for a packed `a.csv.gz`.
pub(crate) fn ending(path: &Path) -> Option<String> {
    let packed = Compression::of_name(path).is_some();
    let name = if packed { path.file_stem().map(Path::new)? } else { path };
    Some(name.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_text_is_unpacked_and_cut_text_is_refused() {
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
            // Two members or frames are as good as one.
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
    fn padding_and_skippable_frames_are_ignored() {
        let packed = |packing: Compression, text: &[u8]| {
            let mut packed = Vec::new();
            packing.pack(&mut packed, |out| out.write_all(text)).unwrap();
            packed
        };
        let unpacked = |packing: Compression, packed: Vec<u8>| {
            let mut bytes = Vec::new();
            packing.unpack(io::Cursor::new(packed), 1 << 30)?.read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        let [one, other] = [&b"k\n1\n"[..], b"2\n"].map(|text| packed(Compression::Gzip, text));
        for zeros in [1, 511, 1 << 17] {
            let filled = [&one[..], &vec![0; zeros], &other, &vec![0; zeros]].concat();
            assert_eq!(unpacked(Compression::Gzip, filled).unwrap(), b"k\n1\n2\n", "{zeros}");
        }
        assert!(unpacked(Compression::Gzip, [&one[..], b"\0x"].concat()).is_err());
        let frame = packed(Compression::Zstd, b"k\n1\n");
        for kind in [0x50, 0x5f] {
            let skipped = [&[kind][..], SKIPPABLE, &[3, 0, 0, 0], b"abc"].concat();
            let all = [&skipped[..], &frame, &skipped].concat();
            assert_eq!(Compression::of_beginning(&all), Ok(Some(Compression::Zstd)));
            assert_eq!(Compression::of_beginning(&all[..3]), Err(()));
            assert_eq!(unpacked(Compression::Zstd, all).unwrap(), b"k\n1\n");
        }
        assert_eq!(Compression::of_beginning(b"P*M,k\n"), Ok(None));
    }

    /// Tests a window of 2 GiB, as from `zstd --long=31`.
    #[test]
    fn a_window_that_is_too_large_differs_from_damage() {
        let large = b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";
        let mut bytes = Vec::new();
        let unpacked = Compression::Zstd.unpack(io::Cursor::new(large.to_vec()), 1 << 30);
        let error = unpacked.unwrap().read_to_end(&mut bytes).unwrap_err();
        assert!(Compression::Zstd.is_too_large(&error), "{error}");
        let damaged = b"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
        let unpacked = Compression::Zstd.unpack(io::Cursor::new(damaged.to_vec()), 1 << 30);
        let error = unpacked.unwrap().read_to_end(&mut bytes).unwrap_err();
        assert!(!Compression::Zstd.is_too_large(&error), "{error}");
    }

    #[test]
    fn names_promise_a_packing() {
        let of = |name| Compression::of_name(Path::new(name));
        assert_eq!(of("a.csv.GZ"), Some(Compression::Gzip));
        assert_eq!(of("a.zst"), Some(Compression::Zstd));
        assert_eq!((of("a.csv"), of("-"), of("gz")), (None, None, None));
    }
}
