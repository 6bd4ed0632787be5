//! Announcements of the two sets: their sizes, and in a join the types of the columns that one side sends.

use vesica_core::error::Result;
use vesica_psi::Sizes;
use vesica_table::{rows::MAX_ROWS, sent_types::SentType};

use super::{READY, Session};

const TYPES: &str = "vesica/types";

impl Session<'_> {
    /// Sets the types of the columns that this side sends in a join.
    pub(crate) fn set_sent_types(&mut self, types: Vec<SentType>) {
        self.sent_types = types;
    }

    /// Announces the set of this side.
    pub(super) fn announce(&mut self, items: u64) -> Result<()> {
        self.channel.send(READY, &items.to_le_bytes())?;
        self.send_types()
    }

    /// Sends a byte for each column that this side sends: its type.
    fn send_types(&mut self) -> Result<()> {
        let Some(sent) = self.terms.sent_columns() else { return Ok(()) };
        if !self.terms.sends(self.parties.role) {
            return Ok(());
        }
        let mut types = self.sent_types.clone();
        types.resize(sent.columns.len(), SentType::Text);
        let bytes: Vec<_> = types.into_iter().map(SentType::byte).collect();
        Ok(self.channel.send(TYPES, &bytes)?)
    }

    /// Receives the types of the columns that the other side sends.
    pub(super) fn receive_types(&mut self) -> Result<Vec<SentType>> {
        let Some(sent) = self.terms.sent_columns() else { return Ok(Vec::new()) };
        if self.terms.sends(self.parties.role) {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; sent.columns.len()];
        self.channel.recv_into(TYPES, &mut bytes)?;
        let types = bytes.into_iter().map(SentType::from_byte).collect::<Option<_>>();
        types.ok_or_else(|| self.channel.malformed(TYPES, "not a type of this version").into())
    }

    /// Exchanges the types of the columns that one side sends.
    pub(super) fn exchange_types(&mut self) -> Result<Vec<SentType>> {
        self.send_types()?;
        self.receive_types()
    }

    /// Returns the sizes of both sets, checked against the terms, and the size of the other side's set.
    pub(super) fn sizes(&mut self, mine: u64) -> Result<(Sizes, u64)> {
        let role = self.parties.role;
        let peers = self.ready()?;
        self.terms.check_sizes(role, mine, peers)?;
        let (sender, receiver) = if self.receives() { (peers, mine) } else { (mine, peers) };
        Ok((Sizes { sender: sender as usize, receiver: receiver as usize }, peers))
    }

    /// Waits until the other side has its set too, and returns its size.
    fn ready(&mut self) -> Result<u64> {
        let mut peers = [0; 8];
        self.channel.recv_into(READY, &mut peers)?;
        let peers = u64::from_le_bytes(peers);
        if peers > MAX_ROWS {
            return Err(self.channel.malformed(READY, "more items than a set may have").into());
        }
        Ok(peers)
    }
}
