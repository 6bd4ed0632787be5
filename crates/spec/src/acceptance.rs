//! The specification of this side's part in an agreement.

use crate::{
    form::{
        basic::{File, Flag, Maybe, Text, Whole},
        domain::Columns,
    },
    job::{Connection, Limits, Table, Terms},
    options::{options, sections},
    selection::selection,
};

sections! {
    /// An invitation to an agreement, as `vesica invite` makes it, but for its name.
    pub struct Invited {
        /// The project, and the partner in it.
        partner: PartnerJob,
        /// The place where the two sides meet.
        place: Meeting,
        /// The relay in its place.
        relay: MeetingRelay,
        /// The parties, if there are three or more.
        circle: InvitedParties,
        /// This side's table.
        table: JobTable,
        /// The terms that are proposed.
        terms: Terms,
        /// The limits that are proposed.
        limits: Limits,
    }
}

sections! {
    /// The acceptance of an invitation, as `vesica accept` makes it.
    pub struct Acceptance {
        /// The project, and the partner in it.
        partner: PartnerJob,
        /// The place where the two sides meet.
        place: Meeting,
        /// This side among several parties.
        own: OwnPart,
        /// This side's table.
        table: JobTable,
        /// The terms that are this side's own.
        terms: AcceptedTerms,
        /// The consent.
        consent: Consent,
    }
}

options! {
    /// The entry for a partner in the project of this side.
    pub struct PartnerJob in "Parties and agreement" {
        /// The project file.
        ///
        /// [default: vesica.toml]
        "FILE" project: Maybe<File> = None;
        /// This side's name for the other party, on pages and in lists.
        "NAME" partner: Maybe<Text> = None;
        /// The file for this side's result.
        ///
        /// It is for a side that learns [default: named like the job, in the format of the input].
        "FILE" output: Maybe<File> = None;
    }
}

options! {
    /// The place where the two sides meet.
    pub struct Meeting in "Connection" {
        /// The address at which the other side reaches this one.
        ///
        /// This side listens there, as in data.example.org:7788. One of the two sides listens.
        "ADDR" address: Maybe<Text> = None;
    }
}

options! {
    /// The relay at which the two sides meet.
    pub struct MeetingRelay in "Connection" {
        /// The relay to which both sides connect, if neither can listen.
        "ADDR" relay: Maybe<Text> = None;
    }
}

options! {
    /// The parties of an agreement among three or more.
    pub struct InvitedParties in "Parties and agreement" {
        /// The names of all parties of an agreement among three or more.
        ///
        /// This one is among them. Their order is the same on all sides. The others accept with --me.
        "NAMES" parties: Maybe<Columns> = None;
        /// With --parties: this party's name.
        "NAME" me: Maybe<Text> = None;
        /// With --parties: the one that learns the result.
        "NAME" leader: Maybe<Text> = None;
        /// With --parties: the one with which the leader ends the run.
        ///
        /// If these two pool what they received, they learn which keys of the leader all others have.
        "NAME" pivot: Maybe<Text> = None;
        /// With --parties: find the leader's keys that at least K others have.
        ///
        /// In place of --pivot, from 2 on. The leader's rows get a column with the holders' names.
        "K" at_least: Maybe<Whole<usize>> = None;
        /// With --parties: others that learn the result too, or all.
        ///
        /// Commas separate their names. The leader learns first and shows them the result.
        "NAMES" learners: Maybe<Columns> = None;
    }
}

options! {
    /// This side's part in an agreement among three or more parties.
    pub struct OwnPart in "Parties and agreement" {
        /// In an agreement among three or more: this party's name.
        "NAME" me: Maybe<Text> = None;
    }
}

sections! {
    /// The confirmation of an agreement, as `vesica confirm` makes it.
    pub struct Confirmation {
        /// The project.
        project: OwnProject,
        /// The meeting of several parties.
        meeting: ConfirmMeeting,
        /// The consent.
        consent: ConfirmConsent,
    }
}

selection! {
    /// The project of a confirmation.
    pub struct OwnProject of PartnerJob { "project" }
}

selection! {
    /// The meeting in which several parties confirm.
    pub struct ConfirmMeeting of Connection { "listen", "wait" }
}

options! {
    /// The consent to a reply, or to the parts of several parties.
    pub struct ConfirmConsent in "Parties and agreement" {
        /// Confirm without asking.
        "" yes: Flag = false;
    }
}

selection! {
    /// The table of a job under an agreement.
    pub struct JobTable of Table { "input", "delimiter", "key", "field" }
}

sections! {
    /// The terms that are the accepting side's own.
    pub struct AcceptedTerms {
        /// The terms of a run.
        run: OwnTerms,
        /// The values.
        values: OwnValues,
    }
}

selection! {
    /// The terms of a run that the accepting side sets.
    pub struct OwnTerms of Terms {
        "normalize", "send", "send-bytes", "column", "repeated-keys", "max-peer-rows", "allow-research",
    }
}

options! {
    /// The values of the accepting side.
    pub struct OwnValues in "Terms" {
        /// This side's column of values, if the answer needs one.
        "COL" values: Maybe<Text> = None;
    }
}

options! {
    /// The consent of the accepting side.
    pub struct Consent in "Parties and agreement" {
        /// The name of this side's job and files for the agreement.
        ///
        /// [default: the name that the inviting side proposes]
        "NAME" name: Maybe<Text> = None;
        /// Accept without asking.
        "" yes: Flag = false;
    }
}
