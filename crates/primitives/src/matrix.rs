//! Bit matrices that are built by columns and used by rows, or vice versa.

use crate::{Block, arch::Backend};

/// Blocks of a column that are transposed at once: a cache line's worth. Columns are often a power of two
/// apart, so that half-read cache lines would be evicted before they are needed again.
const TILES: usize = 4;

/// Turns columns of bits into rows.
///
/// `columns` holds one column after another, each `rows / 128` blocks long; `rows` is a multiple of
/// 128. Row `r` is written to `out[r * stride..]`, ⌈width / 128⌉ blocks of it, where `width` is the number of
///      columns; bits beyond the width are 0, and blocks beyond those are left as they are. `out` may have room
///      for fewer rows, and then gets the first ones.
///
/// # Panics
/// If a length does not fit the others.
pub fn columns_to_rows(columns: &[Block], rows: usize, out: &mut [Block], stride: usize) {
    assert!(rows.is_multiple_of(128), "rows come in groups of 128");
    let column_blocks = rows / 128;
    if rows == 0 {
        return;
    }
    assert!(columns.len().is_multiple_of(column_blocks), "every column has {rows} bits");
    let fits = out.len().is_multiple_of(stride) && out.len() <= rows * stride;
    assert!(fits, "at most {rows} rows of {stride} blocks");
    let backend = Backend::current();
    let width = columns.len() / column_blocks;
    assert!(width.div_ceil(128) <= stride, "{width} columns fit {stride} blocks");

    let mut tiles = [[Block::ZERO; 128]; TILES];
    for (across, group) in columns.chunks(128 * column_blocks).enumerate() {
        for (i, out) in out.chunks_mut(TILES * 128 * stride).enumerate() {
            let first = i * TILES;
            let taken = TILES.min(column_blocks - first);
            if group.len() < 128 * column_blocks {
                tiles.as_flattened_mut().fill(Block::ZERO);
            }
            for (row, column) in group.chunks_exact(column_blocks).enumerate() {
                for (tile, block) in tiles.iter_mut().zip(&column[first..first + taken]) {
                    tile[row] = *block;
                }
            }
            for (tile, out) in tiles.iter_mut().zip(out.chunks_mut(128 * stride)) {
                backend.transpose(tile);
                for (row, transposed) in out.chunks_exact_mut(stride).zip(&*tile) {
                    row[across] = *transposed;
                }
            }
        }
    }
}

/// Turns rows of bits into columns: the inverse of [`columns_to_rows`].
///
/// Row `r` starts at `rows[r * stride]`; there is a multiple of 128 of them. The first `width` columns are
/// written to `out` one after another.
///
/// # Panics
/// If a length does not fit the others.
pub fn rows_to_columns(rows: &[Block], stride: usize, width: usize, out: &mut [Block]) {
    let count = rows.len() / stride;
    assert!(count.is_multiple_of(128), "rows come in groups of 128");
    assert!(width.div_ceil(128) <= stride, "{width} columns fit {stride} blocks");
    let column_blocks = count / 128;
    assert_eq!(out.len(), width * column_blocks, "{width} columns of {count} bits");
    let backend = Backend::current();

    let mut tile = [Block::ZERO; 128];
    for (down, group) in rows.chunks_exact(128 * stride).enumerate() {
        for (across, columns) in out.chunks_mut(128 * column_blocks).enumerate() {
            for (bits, row) in tile.iter_mut().zip(group.chunks_exact(stride)) {
                *bits = row[across];
            }
            backend.transpose(&mut tile);
            for (column, transposed) in columns.chunks_exact_mut(column_blocks).zip(&tile) {
                column[down] = *transposed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_arrives() {
        for (width, rows, stride) in [
            (1, 128, 1),
            (128, 256, 1),
            (130, 640, 2),
            (440, 384, 4),
            (128, 1152, 1),
            (512, 128, 5),
            (0, 128, 1),
        ] {
            let mut rng = rand::rng();
            let columns: Vec<Block> =
                (0..width * rows / 128).map(|_| Block::random(&mut rng)).collect();
            let mut out = vec![Block(7); rows * stride];
            columns_to_rows(&columns, rows, &mut out, stride);
            for r in 0..rows {
                for c in 0..width.next_multiple_of(128) {
                    let expected = if c < width {
                        columns[c * rows / 128 + r / 128].0 >> (r % 128) & 1
                    } else {
                        0
                    };
                    assert_eq!(out[r * stride + c / 128].0 >> (c % 128) & 1, expected);
                }
                let untouched = &out[r * stride..][..stride][width.div_ceil(128)..];
                assert!(untouched.iter().all(|block| *block == Block(7)));
            }
            for fewer in [0, 1, rows - 1] {
                let mut some = vec![Block(7); fewer * stride];
                columns_to_rows(&columns, rows, &mut some, stride);
                assert_eq!(some, out[..fewer * stride]);
            }
            let mut back = vec![Block::ZERO; columns.len()];
            rows_to_columns(&out, stride, width, &mut back);
            assert_eq!(back, columns);
        }
    }
}
