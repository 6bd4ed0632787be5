//! Commands of repeated runs with a partner, or among several.

use super::CommandHelp;

/// Commands for partners under an agreement.
pub(super) const PARTNERS: &[CommandHelp] = &[
    CommandHelp {
        command: "init",
        usage: &[],
        short: &[],
        examples: &[
            ("Make a project in this directory", "vesica init"),
            ("Make a project in a directory of its own", "vesica init partners"),
        ],
    },
    CommandHelp {
        command: "invite",
        usage: &["vesica invite <NAME> --key <COLS> --learns <WHO> [OPTIONS]"],
        short: &[
            "name",
            "project",
            "input",
            "key",
            "address",
            "relay",
            "answer",
            "learns",
            "normalize",
            "send",
            "receive",
            "min-result",
            "max-runs-per-day",
            "expires",
            "output",
        ],
        examples: &[
            (
                "Propose to find the rows with the same mail address; both sides learn them",
                "vesica invite acme --input customers.csv --key email --normalize email --learns both --address data.example.org:7788",
            ),
            (
                "Propose a count, with limits for every run",
                "vesica invite acme --input customers.csv --key email --normalize email --learns both --answer count --min-result 50 --max-runs-per-day 1 --address data.example.org:7788",
            ),
            (
                "Propose a count among three parties, which shop learns",
                "vesica invite study --parties shop,club,bank --me shop --leader shop --pivot bank --input customers.csv --key email --normalize email --answer count --address data.example.org:7788",
            ),
        ],
    },
    CommandHelp {
        command: "accept",
        usage: &["vesica accept <INVITATION> --key <COLS> [OPTIONS]"],
        short: &[
            "invitation",
            "project",
            "partner",
            "output",
            "name",
            "yes",
            "address",
            "input",
            "key",
            "field",
            "column",
            "normalize",
            "send",
            "max-peer-rows",
            "values",
        ],
        examples: &[
            (
                "Look at an invitation, and accept it",
                "vesica accept acme.invite --input members.csv --key mail",
            ),
            (
                "Accept an invitation to several parties as one of them",
                "vesica accept study.invite --me club --input members.csv --key mail",
            ),
            (
                "Accept a join in which this side sends two columns",
                "vesica accept acme.invite --input members.csv --key mobile --send tier,since",
            ),
        ],
    },
    CommandHelp {
        command: "gather",
        usage: &[],
        short: &[],
        examples: &[
            (
                "Gather the replies of two other parties",
                "vesica gather study.invite club.reply bank.reply",
            ),
            (
                "Gather replies from another directory",
                "vesica gather study.invite replies/club.reply replies/bank.reply",
            ),
        ],
    },
    CommandHelp {
        command: "confirm",
        usage: &[],
        short: &[],
        examples: &[
            ("Compare the six words on the phone, and confirm", "vesica confirm acme.reply"),
            (
                "Confirm for a project elsewhere",
                "vesica confirm acme.reply --project partners/vesica.toml",
            ),
        ],
    },
    CommandHelp {
        command: "agreement",
        usage: &[],
        short: &[],
        examples: &[
            ("Show an agreement", "vesica agreement acme.agreement"),
            (
                "Propose another agreement with the same terms for the next year",
                "vesica agreement renew acme --name acme2 --expires 2028-12-31",
            ),
            ("Permit no more runs", "vesica agreement revoke acme"),
        ],
    },
    CommandHelp {
        command: "agreement renew",
        usage: &[],
        short: &[
            "job",
            "name",
            "project",
            "min-set",
            "min-result",
            "max-result",
            "max-runs-per-day",
            "max-runs",
            "hours",
            "expires",
        ],
        examples: &[
            (
                "Propose the same for another year",
                "vesica agreement renew acme --name acme2 --expires 2028-12-31",
            ),
            (
                "Propose the same with stricter limits",
                "vesica agreement renew acme --name acme2 --min-result 100 --max-runs 12",
            ),
        ],
    },
    CommandHelp {
        command: "jobs",
        usage: &[],
        short: &[],
        examples: &[
            ("Show when each partner was compared last, and when it may be next", "vesica jobs"),
            ("The same for a program", "vesica jobs --json"),
        ],
    },
    CommandHelp {
        command: "serve",
        usage: &[],
        short: &[],
        examples: &[
            ("Serve all jobs in which this side listens", "vesica serve"),
            (
                "Serve two partners at a time, with a log for machines and metrics",
                "vesica serve --runs 2 --log json --metrics 127.0.0.1:9788",
            ),
        ],
    },
    CommandHelp {
        command: "relay",
        usage: &[],
        short: &[],
        examples: &[
            (
                "Relay between two parties",
                "vesica relay --listen 0.0.0.0:7799 --address relay.example.org:7799 --admit FINGERPRINT FINGERPRINT",
            ),
            (
                "Relay at most 10 GiB of a pair, and close a pair that is silent for a minute",
                "vesica relay --listen relay.example.org:7799 --admit FINGERPRINT FINGERPRINT --quota 10G --idle 60",
            ),
        ],
    },
    CommandHelp {
        command: "ledger",
        usage: &[],
        short: &[],
        examples: &[
            ("List the runs of this project", "vesica ledger show"),
            (
                "Check that no run was changed or removed",
                "vesica ledger verify --record acme.record globex.record",
            ),
            ("Print all runs as JSON", "vesica ledger export"),
        ],
    },
    CommandHelp {
        command: "verify",
        usage: &[],
        short: &[],
        examples: &[
            (
                "Check a record with the identity of this side and the fingerprint of the partner",
                "vesica verify acme.record --with vesica.identity --with FINGERPRINT",
            ),
            (
                "Check a record between two others",
                "vesica verify acme.record --with FINGERPRINT --with FINGERPRINT",
            ),
        ],
    },
    CommandHelp {
        command: "report",
        usage: &[],
        short: &[],
        examples: &[
            ("Make a page of a record", "vesica report acme.record --html acme.html"),
            ("Print the page", "vesica report acme.record --html -"),
        ],
    },
];
