//! Writes all of a list in the order of tags, from records in another order.

use std::io;

use rayon::prelude::*;
use tempfile::NamedTempFile;
use vesica_core::error::Result;
use vesica_list::{
    part::{Entry, Header},
    writing::PartWriter,
};

use super::directory::failed;

/// Calls a function with each tag of 128 bits and its sealed label.
pub(super) type Source<'a> =
    dyn FnMut(&mut dyn FnMut(u128, &[u8]) -> Result<()>) -> Result<()> + 'a;

/// Writes the part with this header into a file. Reads the source once, and then as often as needed to sort it within
/// this many bytes of memory.
///
/// # Errors
/// Errors of the source, and [`Error::Output`](vesica_core::error::Error::Output).
pub(super) fn write(
    mut file: NamedTempFile,
    header: Header,
    memory: u64,
    source: &mut Source<'_>,
) -> Result<(NamedTempFile, Entry)> {
    let path = file.path().to_owned();
    let failed = failed(&path);
    let malformed = |_| failed(io::ErrorKind::InvalidInput.into());
    let [removed, shape] = header.shapes().map_err(malformed)?;
    let shift = 128 - header.tag_bits;
    let mut counts = vec![0u32; shape.segments()];
    source(&mut |tag, _| {
        counts[shape.segment_of(tag >> shift)] += 1;
        Ok(())
    })?;
    let out = io::BufWriter::with_capacity(1 << 20, file.as_file_mut());
    let mut writer = PartWriter::new(out, header, [vec![0; removed.segments()], counts.clone()])
        .map_err(&failed)?;
    (0..removed.segments()).try_for_each(|_| writer.segment(&[], &[])).map_err(&failed)?;
    let label = header.label as usize;
    // A tag, its index among the labels, and its label.
    let of_one = (size_of::<(u128, u32)>() + label) as u64;
    let mut begin = 0;
    while begin < counts.len() {
        let (mut end, mut sum) = (begin, 0);
        while end < counts.len() {
            let next = sum + u64::from(counts[end]);
            if end > begin && (next * of_one > memory || next > u64::from(u32::MAX)) {
                break;
            }
            (end, sum) = (end + 1, next);
        }
        let mut tags: Vec<(u128, u32)> = Vec::with_capacity(sum as usize);
        let mut labels = Vec::with_capacity(sum as usize * label);
        source(&mut |tag, sealed| {
            if (begin..end).contains(&shape.segment_of(tag >> shift)) {
                tags.push((tag, tags.len() as u32));
                labels.extend_from_slice(sealed);
            }
            Ok(())
        })?;
        tags.par_sort_unstable();
        let mut rest = &tags[..];
        for count in &counts[begin..end] {
            let (these, others) = rest.split_at(*count as usize);
            rest = others;
            let short: Vec<u128> = these.iter().map(|(tag, _)| tag >> shift).collect();
            let place = |at: &u32| &labels[*at as usize * label..][..label];
            let sealed: Vec<&[u8]> = these.iter().map(|(_, at)| place(at)).collect();
            writer.segment(&short, &sealed.concat()).map_err(&failed)?;
        }
        begin = end;
    }
    let (out, entry) = writer.finish().map_err(&failed)?;
    drop(out);
    Ok((file, entry))
}
