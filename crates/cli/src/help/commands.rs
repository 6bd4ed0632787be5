//! The commands in their groups, with their usage, the options of their short help, and examples.

mod partners;

use self::partners::PARTNERS;

/// A group of commands.
pub struct Group {
    pub name: &'static str,
    pub commands: &'static [CommandHelp],
}

/// The help of a command beyond its options.
pub struct CommandHelp {
    /// The words of the command after `vesica`.
    pub command: &'static str,
    /// The forms of the command, if its options do not show them.
    pub usage: &'static [&'static str],
    /// The options that the short help shows; all, if none are named.
    pub short: &'static [&'static str],
    /// Examples: the purpose of each, and its command line.
    pub examples: &'static [(&'static str, &'static str)],
}

/// All commands, in the order of help texts.
pub const GROUPS: [Group; 5] = [
    Group { name: "Run", commands: RUN },
    Group { name: "Partners", commands: PARTNERS },
    Group { name: "Published lists", commands: PUBLISHED_LISTS },
    Group { name: "Cluster", commands: CLUSTER },
    Group { name: "Tools", commands: TOOLS },
];

/// Commands for two parties that meet for one run.
const RUN: &[CommandHelp] = &[
    CommandHelp {
        command: "demo",
        usage: &[],
        short: &[],
        examples: &[
            ("Run both parties on this machine", "vesica demo"),
            ("Use other sizes, and keep the files", "vesica demo --rows 1000 --out demo"),
        ],
    },
    CommandHelp {
        command: "keygen",
        usage: &[],
        short: &[],
        examples: &[
            ("Create an identity in this directory", "vesica keygen me.identity"),
            ("Create an identity for a service", "vesica keygen /etc/vesica/service.identity"),
        ],
    },
    CommandHelp {
        command: "fingerprint",
        usage: &[],
        short: &[],
        examples: &[
            ("Print the fingerprint of this party", "vesica fingerprint me.identity"),
            ("Print the fingerprint of a project", "vesica fingerprint partners/vesica.identity"),
        ],
    },
    CommandHelp {
        command: "check",
        usage: &["vesica check <TABLE> --key <COLS> [OPTIONS]", "vesica check <TABLE> --columns"],
        short: &[],
        examples: &[
            (
                "Count the rows, keys and repetitions of a table",
                "vesica check customers.csv --key email --normalize email",
            ),
            ("Check the table of a job of vesica.toml", "vesica check acme"),
            ("List the columns of a table", "vesica check customers.parquet --columns"),
        ],
    },
    CommandHelp {
        command: "match-quality",
        usage: &[
            "vesica match-quality <TABLE> [SECOND] --truth <COL> --field <NAME=COL:HOW> --match <RULE> [OPTIONS]",
        ],
        short: &[],
        examples: &[
            (
                "Judge rules on two tables that have a number of each person",
                "vesica match-quality a.csv b.csv --truth person_id --field first=Vorname:name --field last=Nachname:name --field dob=Geburtstag:date --match person",
            ),
            (
                "Judge a rule on the known duplicates of one table",
                "vesica match-quality customers.csv --truth customer_id --field last=name:name --field dob=birthday:date --match last,dob",
            ),
        ],
    },
    CommandHelp {
        command: "preview",
        usage: &[
            "vesica preview <JOB> [OPTIONS]",
            "vesica preview --identity <FILE> --input <FILE> --key <COLS> [OPTIONS]",
        ],
        short: &[
            "job",
            "project",
            "identity",
            "peer",
            "agreement",
            "input",
            "key",
            "answer",
            "learns",
            "normalize",
            "send",
            "receive",
            "json",
            "dpia",
        ],
        examples: &[
            ("Say what the next run of a job will disclose", "vesica preview acme"),
            (
                "Say what a run without an agreement would disclose",
                "vesica preview --identity shop.identity --input customers.csv --key email --learns both",
            ),
            ("Draft a data protection impact assessment", "vesica preview acme --dpia"),
        ],
    },
    CommandHelp {
        command: "run",
        usage: &[
            "vesica run <JOB> [OPTIONS]",
            "vesica run --identity <FILE> --input <FILE> --key <COLS> [OPTIONS]",
        ],
        short: &[
            "job",
            "project",
            "identity",
            "peer",
            "agreement",
            "listen",
            "connect",
            "input",
            "key",
            "answer",
            "learns",
            "normalize",
            "send",
            "receive",
            "output",
        ],
        examples: &[
            ("Run a job of vesica.toml", "vesica run acme"),
            (
                "Wait for a partner that connects, and find the rows that both have",
                "vesica run --listen 0.0.0.0:7788 --identity me.identity --peer FINGERPRINT --input customers.csv --key email --normalize email --learns both --output shared.csv",
            ),
            (
                "Connect to a partner that listens, and count the rows",
                "vesica run --connect partner.example.org:7788 --identity me.identity --peer FINGERPRINT --input members.csv --key mail --normalize email --learns both --answer count",
            ),
        ],
    },
];

/// Commands for published lists.
const PUBLISHED_LISTS: &[CommandHelp] = &[
    CommandHelp {
        command: "publish",
        usage: &[
            "vesica publish --input <FILE> --key <COLS> --list <DIR> --identity <FILE> [OPTIONS]",
        ],
        short: &[
            "input",
            "list",
            "identity",
            "key",
            "normalize",
            "labels",
            "name",
            "queries",
            "lambda",
            "capacity",
            "valid",
            "new-epoch",
            "format",
            "delimiter",
            "memory",
            "progress",
        ],
        examples: &[
            (
                "Create a list of blocked accounts, or update it",
                "vesica publish --input blocked.csv --key iban --list blocked --identity me.identity",
            ),
            (
                "Give a column to clients that ask for a key",
                "vesica publish --input blocked.csv --key iban --labels reason --list blocked --identity me.identity",
            ),
        ],
    },
    CommandHelp {
        command: "serve-list",
        usage: &["vesica serve-list --list <DIR> --listen <ADDR> --identity <FILE> [OPTIONS]"],
        short: &[
            "list",
            "origin",
            "demo",
            "identity",
            "tls-certificate",
            "tls-key",
            "no-tls",
            "proxied",
            "client-rate",
            "rate",
            "clients",
            "listen",
            "metrics",
            "log",
        ],
        examples: &[
            (
                "Serve a list with the certificate of its publisher",
                "vesica serve-list --list blocked --identity me.identity --listen 0.0.0.0:8443",
            ),
            (
                "Serve a list behind a proxy that has a certificate, to clients with a token",
                "vesica serve-list --list blocked --no-tls --proxied --listen 127.0.0.1:8080 --clients tokens",
            ),
        ],
    },
    CommandHelp {
        command: "lookup",
        usage: &[
            "vesica lookup --list <PLACE> --publisher <FINGERPRINT> --input <FILE> --key <COLS> [OPTIONS]",
        ],
        short: &[
            "list",
            "ask",
            "publisher",
            "token",
            "input",
            "key",
            "value",
            "normalize",
            "output",
            "all",
            "batch",
            "quiet",
        ],
        examples: &[
            (
                "Find the rows whose key is in a list",
                "vesica lookup --list https://lists.example.org/v1 --publisher FINGERPRINT --input payments.csv --key iban --output found.csv",
            ),
            (
                "Look one key up in a copy of a list",
                "vesica lookup --list blocked/public --ask https://lists.example.org/v1 --publisher FINGERPRINT --value DE02120300000000202051",
            ),
        ],
    },
];

/// Commands for a cluster.
const CLUSTER: &[CommandHelp] = &[CommandHelp {
    command: "gateway",
    usage: &[
        "vesica gateway --agreement <FILE> --identity <FILE> --cluster <ADDR> --token <FILE> --journal <FILE> [OPTIONS]",
    ],
    short: &[
        "agreement",
        "identity",
        "cluster",
        "token",
        "journal",
        "task-memory",
        "listen",
        "connect",
        "wait",
        "min-result",
        "max-result",
        "record",
        "report",
        "log",
    ],
    examples: &[
        (
            "Admit the cluster of this side, and meet the other side as the agreement says",
            "vesica gateway --agreement acme.agreement --identity vesica.identity --cluster 0.0.0.0:7790 --token cluster.token --journal acme.journal",
        ),
        (
            "Give a task of the cluster up to 4 GiB, and keep the signed record",
            "vesica gateway --agreement acme.agreement --identity vesica.identity --cluster 0.0.0.0:7790 --token cluster.token --journal acme.journal --task-memory 4G --record acme.record",
        ),
    ],
}];

/// Commands about the program and the machine.
const TOOLS: &[CommandHelp] = &[
    CommandHelp {
        command: "plan",
        usage: &["vesica plan --mine <N> --theirs <N> [OPTIONS]"],
        short: &[
            "mine",
            "theirs",
            "runs",
            "bandwidth",
            "rtt",
            "learns",
            "answer",
            "security",
            "prices",
            "memory",
            "all",
            "json",
        ],
        examples: &[
            (
                "Compare the protocols for a million keys against a hundred million",
                "vesica plan --mine 1M --theirs 100M --bandwidth 1000 --rtt 20",
            ),
            (
                "Find the protocol that costs least between two regions",
                "vesica plan --mine 1M --theirs 1M --prices Virginia,Paris",
            ),
            (
                "Compare the protocols for a count that holds against a side that cheats",
                "vesica plan --mine 100,000 --theirs 100,000 --security malicious --learns both",
            ),
        ],
    },
    CommandHelp {
        command: "calibrate",
        usage: &[],
        short: &[],
        examples: &[
            ("Measure the quick protocols at two sizes", "vesica calibrate"),
            (
                "Measure one protocol at every size, for at most 20 seconds a run",
                "vesica calibrate --full --only rr22 --limit 20",
            ),
        ],
    },
    CommandHelp {
        command: "protocols",
        usage: &[],
        short: &[],
        examples: &[
            ("List all protocols", "vesica protocols"),
            ("The same for a program", "vesica protocols --json"),
        ],
    },
    CommandHelp {
        command: "bench",
        usage: &[],
        short: &[
            "protocols",
            "answers",
            "ot",
            "structures",
            "primitives",
            "sizes",
            "link",
            "threads",
            "repeat",
            "separate_processes",
            "results",
            "json",
            "paper",
            "report",
            "output",
        ],
        examples: &[
            (
                "Compare two protocols for sets of 65,536",
                "vesica bench --protocols rr22,kkrt16 --sizes 2^16 --repeat 3",
            ),
            (
                "Compare them over a slow link, each run in a process of its own",
                "vesica bench --protocols rr22,dh --sizes 1000 --link 100,80 --separate-processes",
            ),
        ],
    },
    CommandHelp {
        command: "completions",
        usage: &[],
        short: &[],
        examples: &[
            ("Complete commands in bash", "vesica completions bash"),
            ("Complete commands in zsh", "vesica completions zsh"),
        ],
    },
    CommandHelp {
        command: "man",
        usage: &[],
        short: &[],
        examples: &[
            ("Write manual pages below this directory", "vesica man man"),
            ("Write them where the system finds them", "vesica man /usr/local/share/man/man1"),
        ],
    },
];
