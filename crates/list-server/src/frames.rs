//! Counts the frames of a WebSocket before the library assembles messages. A client waits its turn once for each
//! message, so without a limit it could send endless empty frames in one message.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of frames in a message. A question has at most 2^17 bytes, which browsers send in two or three
/// frames.
const MOST: u32 = 64;

/// Length of the longest frame header: two bytes, a length of eight and a mask of four.
const LONGEST_HEAD: usize = 14;

/// A connection that fails on a message with too many frames.
pub(crate) struct FrameCounter<I> {
    io: I,
    frames: Frames,
}

impl<I> FrameCounter<I> {
    pub(crate) fn new(io: I) -> Self {
        Self { io, frames: Frames::default() }
    }
}

/// The parser's position in a stream of frames.
#[derive(Default)]
struct Frames {
    head: [u8; LONGEST_HEAD],
    /// Bytes of the header received so far.
    came: usize,
    /// Remaining bytes of the payload.
    payload: u64,
    /// Frames of the current message.
    count: u32,
}

impl Frames {
    /// Processes the next bytes. Returns `false` if a message has too many frames.
    fn allow(&mut self, mut bytes: &[u8]) -> bool {
        loop {
            let skipped = self.payload.min(bytes.len() as u64);
            self.payload -= skipped;
            bytes = &bytes[skipped as usize..];
            let Some((byte, rest)) = bytes.split_first() else { return true };
            self.head[self.came] = *byte;
            self.came += 1;
            bytes = rest;
            let is_whole = self.came >= 2 && self.came == self.head_bytes();
            if is_whole && !self.begin() {
                return false;
            }
        }
    }

    /// Returns the length of the header, given its first two bytes.
    fn head_bytes(&self) -> usize {
        let length = match self.head[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if self.head[1] & 0x80 != 0 { 4 } else { 0 };
        2 + length + mask
    }

    /// Begins a frame whose header is complete. Returns `false` if its message has too many frames.
    fn begin(&mut self) -> bool {
        let long = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        self.payload = match self.head[1] & 0x7f {
            126 => long(&self.head[2..4]),
            127 => long(&self.head[2..10]),
            short => short.into(),
        };
        self.came = 0;
        let (is_control, is_last) = (self.head[0] & 0x08 != 0, self.head[0] & 0x80 != 0);
        // Each control frame is a separate message, even between the frames of another message.
        if is_control {
            return true;
        }
        self.count += 1;
        let is_allowed = self.count <= MOST;
        if is_last {
            self.count = 0;
        }
        is_allowed
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for FrameCounter<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) && !self.frames.allow(&buffer.filled()[before..]) {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FrameCounter<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: u8 = 2;
    const PING: u8 = 9;

    fn frame(first: u8, payload: usize) -> Vec<u8> {
        let length = match payload {
            0..126 => vec![0x80 | payload as u8],
            126..0x1_0000 => [&[0x80 | 126][..], &(payload as u16).to_be_bytes()].concat(),
            _ => [&[0x80 | 127][..], &(payload as u64).to_be_bytes()].concat(),
        };
        // The payloads look like headers of continuation frames.
        [&[first][..], &length, &[7; 4], &vec![0; payload]].concat()
    }

    /// Checks whether frames are allowed. The result must not depend on how the bytes are split.
    fn allowed(bytes: &[u8]) -> bool {
        let ends = [1, 3, 7, 4096, usize::MAX].map(|step| {
            let mut frames = Frames::default();
            bytes.chunks(step).all(|piece| frames.allow(piece))
        });
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
        ends[0]
    }

    #[test]
    fn a_message_has_so_many_frames_and_no_more() {
        let message = |going_on: usize, payload| {
            let more =
                (0..going_on).flat_map(|nth| frame(if nth == 0 { BINARY } else { 0 }, payload));
            more.chain(frame(0x80, payload)).collect::<Vec<_>>()
        };
        for payload in [0, 1, 125, 126, 3000, 70_000] {
            let most = MOST as usize - 1;
            assert!(allowed(&message(most, payload)), "{payload}");
            assert!(allowed(&message(most, payload).repeat(3)), "{payload}");
            assert!(!allowed(&message(most + 1, payload)), "{payload}");
            assert!(allowed(&frame(0x80 | BINARY, payload).repeat(100)), "{payload}");
        }
        // A message that never ends, with pings between its frames.
        let endless = [frame(0, 0), frame(0x80 | PING, 4)].concat();
        assert!(allowed(&endless.repeat(MOST as usize)));
        assert!(!allowed(&endless.repeat(MOST as usize + 1)));
    }
}
