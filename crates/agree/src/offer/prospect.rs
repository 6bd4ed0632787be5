//! The request that an offer would lead to, for planning.

use std::sync::Arc;

use vesica_core::{
    error::{Error, Misuse, Result},
    parties::{Learns, Role},
};
use vesica_planner::Candidate;
use vesica_psi::Sizes;
use vesica_table::sent_columns::DEFAULT_BYTES;
use vesica_task::{
    interface::{Method, Request},
    select::{QueryTable, Selection},
};

use super::Offer;
use crate::rule_terms::RuleTerms;

impl Offer {
    /// Returns the request if the other side made a matching offer, for these numbers of distinct keys in a partition.
    /// If nobody learns, or both do, this side is taken for the receiver. In a query over both tables, `peer` is the
    /// other side's.
    ///
    /// # Errors
    /// [`Error::Usage`] for a query that does not fit both tables.
    pub fn request(
        &self,
        mine: usize,
        theirs: usize,
        partitions: usize,
        peer: Option<&QueryTable>,
    ) -> Result<Request> {
        // This side has the role of the connecting one.
        let selection = self.selection(peer)?;
        let learner = if self.learns == Learns::Peer { Role::B } else { Role::A };
        let labeller = selection.as_ref();
        let labeller = labeller.and_then(|selection| selection.labeller(self.rules.is_some()));
        let receiver_role = labeller.unwrap_or(learner);
        let learner = if self.learns == Learns::Both { receiver_role } else { learner };
        let peer_brings = self.query.peer_brings_values(self.brings_values);
        let (receiver, sender) = ((mine, self.brings_values), (theirs, peer_brings));
        let (receiver, sender) = match receiver_role {
            Role::B => (sender, receiver),
            Role::A => (receiver, sender),
        };
        Ok(Request {
            partitions,
            sizes: Sizes { sender: sender.0, receiver: receiver.0 },
            number: self.query.number(),
            minimum: self.minimum,
            noise: self.noise,
            scale: self.scale,
            rules: self.rules.as_ref().map(|rules| rules.rules().len()),
            sender_brings: sender.1,
            receiver_brings: receiver.1,
            payload_len: self.sends.as_ref().map_or(DEFAULT_BYTES as usize, |sent| {
                RuleTerms::payload_len(self.rules.as_ref(), sent)
            }),
            selection,
            receiver: receiver_role,
            learner,
        })
    }

    /// Returns every method for real data that may answer this [request](Self::request).
    pub fn candidates(&self, request: &Request) -> Vec<Candidate> {
        let fits = |method: &dyn Method| {
            method.status().is_for_use()
                && method.adversary() >= self.security.adversary()
                && !method.tells_size()
                && (request.partitions == 1 || method.splits())
        };
        let methods = self.query.kind.task.methods();
        let fitting = methods.iter().filter(|method| fits(&***method));
        fitting.filter_map(|method| method.candidate(request).ok()).collect()
    }

    /// Returns the query over both tables, if this is one.
    fn selection(&self, peer: Option<&QueryTable>) -> Result<Option<Arc<Selection>>> {
        let (Some(select), Some(mine)) = (self.query.selected(), &self.table) else {
            return Ok(None);
        };
        let undeclared = QueryTable { side: mine.side.other(), declared: None };
        let peer = peer.unwrap_or(&undeclared);
        let judged = Selection::of_roles(select.clone(), [mine, peer])
            .and_then(|selection| selection.judge(&self.part()).map(|()| selection));
        let selection = judged.map_err(|why| Error::usage(Misuse::Query, why))?;
        Ok(Some(Arc::new(selection)))
    }
}
