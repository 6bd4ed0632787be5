//! Checks that names cited in documents exist: constants, items, flags, commands, tasks, packages and benchmarks.
//!
//! Code between backticks and commands in code blocks are compared with the sources, with the generated reference of
//! the program's commands, and with the usage of `cargo xtask`. The changelog and the notes are about the past, so they
//! are left out.

use std::collections::{BTreeMap, HashSet};

use super::Finding;
use crate::repository::Tree;

/// The generated reference of the program's commands.
const REFERENCE: &str = "docs/reference/cli.md";

/// The section of the reference on flags that limit what a run may reveal.
const POLICY: &str = "Policy";

/// The source with the usage of `cargo xtask`.
const TASKS: &str = "xtask/src/main.rs";

/// Documents about the past, and documents of other programs.
const LEFT_OUT: [&str; 3] = ["CHANGELOG.md", "docs/notes/", "fuzz/corpus/"];

/// The endings of files whose words are names: sources, manifests and scripts.
const SOURCES: [&str; 12] = [
    ".rs", ".py", ".pyi", ".toml", ".js", ".mjs", ".ts", ".yml", ".yaml", ".sh", ".in", ".service",
];

/// Flags of other programs that documents cite without the program.
const OTHER_FLAGS: &[&str] = &[
    "--archives",
    "--command",
    "--conf",
    "--features",
    "--ignored",
    "--locked",
    "--nocapture",
    "--py-files",
    "--release",
    "--skip",
];

/// Prefixes of names that the program composes, or that only libraries read: variables of stores and databases, and
/// metrics.
const COMPOSED: [&str; 5] = ["AWS_", "AZURE_", "GOOGLE_", "VESICA_ADBC_", "vesica_"];

/// Flags that every command of the program has.
const EVERY_COMMAND: [&str; 2] = ["--help", "--version"];

/// Finds cited names that do not exist.
pub(super) fn cited_names_exist(tree: &Tree) -> Vec<Finding> {
    let names = Vocabulary::of(tree);
    let mut findings = Vec::new();
    let is_current = |path: &str| LEFT_OUT.iter().all(|left| !path.starts_with(left));
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".md") && is_current(path)) {
        for CodeSpan { line, text } in codes(text) {
            let missing = names.missing(&text).into_iter();
            findings.extend(missing.map(|what| Finding::new(path, line, what)));
        }
    }
    findings
}

/// Code in a document: a span between backticks, or a command in a block.
struct CodeSpan {
    line: usize,
    text: String,
}

/// Lists a document's code spans, which may extend over several lines of a paragraph, and the lines of its code blocks.
fn codes(document: &str) -> Vec<CodeSpan> {
    let mut codes = Vec::new();
    let mut lines = (1..).zip(document.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        if line.trim_start().starts_with("```") {
            let mut block =
                lines.by_ref().take_while(|(_, line)| !line.trim_start().starts_with("```"));
            while let Some((number, line)) = block.next() {
                let mut text = line.trim().trim_start_matches("$ ").to_owned();
                while let Some(begun) = text.strip_suffix('\\') {
                    let more = block.next().map_or("", |(_, line)| line.trim());
                    text = format!("{begun}{more}");
                }
                if ["vesica ", "cargo "].iter().any(|program| text.starts_with(program)) {
                    codes.push(CodeSpan { line: number, text });
                }
            }
            continue;
        }
        let mut paragraph = line.to_owned();
        let goes_on = |line: &str| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with("```") && !line.starts_with('|')
        };
        while !line.starts_with('|')
            && let Some((_, line)) = lines.next_if(|(_, line)| goes_on(line))
        {
            paragraph = paragraph + "\n" + line;
        }
        let mut at = number;
        for (index, part) in paragraph.split('`').enumerate() {
            if index % 2 == 1 {
                codes.push(CodeSpan { line: at, text: part.replace('\n', " ") });
            }
            at += part.matches('\n').count();
        }
    }
    codes
}

/// All names that a document may cite.
struct Vocabulary<'a> {
    /// The words of all sources.
    words: HashSet<&'a str>,
    /// The words of each crate's sources.
    crates: BTreeMap<String, HashSet<&'a str>>,
    commands: BTreeMap<&'a str, Command<'a>>,
    /// The tasks of `cargo xtask` and their flags.
    tasks: HashSet<&'a str>,
    packages: HashSet<&'a str>,
    /// The names of benchmarks, examples and test programs, which equal the names of their files or folders.
    targets: HashSet<&'a str>,
}

/// A command of the program.
#[derive(Default)]
struct Command<'a> {
    flags: HashSet<&'a str>,
    /// Whether it has subcommands, whose flags the reference does not list.
    has_commands: bool,
    /// Whether it also has the flags of the section on policies.
    has_policy: bool,
}

impl<'a> Vocabulary<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut names = Self {
            words: HashSet::new(),
            crates: BTreeMap::new(),
            commands: commands(tree.text(REFERENCE).unwrap_or_default()),
            tasks: tasks(tree.text(TASKS).unwrap_or_default()),
            packages: HashSet::new(),
            targets: HashSet::new(),
        };
        let is_source = |path: &str| SOURCES.iter().any(|ending| path.ends_with(ending));
        for (path, text) in tree.files().filter(|(path, _)| is_source(path)) {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words = || text.split(move |c| !is_word(c)).filter(|word| !word.is_empty());
            names.words.extend(words());
            let mut parts = path.split('/');
            if parts.next() == Some("crates")
                && let Some(folder) = parts.next()
            {
                names.crates.entry(folder.replace('-', "_")).or_default().extend(words());
            }
            if path.ends_with("Cargo.toml") {
                let values = text.lines().filter_map(|line| line.strip_prefix("name = \""));
                names.packages.extend(values.map(|value| value.trim_end_matches('"')));
            }
            names.targets.extend(target(path));
        }
        names
    }

    /// Describes the unknown names in code of a document.
    fn missing(&self, code: &str) -> Vec<String> {
        let words: Vec<&str> = shell_words(code);
        match &words[..] {
            ["vesica", command, rest @ ..] if is_command(command) => self.of_program(command, rest),
            ["cargo", "xtask", task, rest @ ..] => {
                let mut cited = vec![*task];
                cited.extend(rest.iter().filter(|word| word.starts_with("--")));
                let unknown =
                    cited.into_iter().filter(|word| is_plain(word) && !self.tasks.contains(word));
                unknown.map(|word| format!("`cargo xtask` has no `{word}`")).collect()
            }
            ["cargo", rest @ ..] => self.of_cargo(rest),
            [flag] if is_flag(flag) => {
                let flag = flag.split(['=', '[']).next().unwrap_or_default();
                let known = self.has_flag(flag);
                if known { Vec::new() } else { vec![format!("no command has the flag `{flag}`")] }
            }
            [flag, ..] if is_flag(flag) => {
                let flags = words.iter().filter(|word| is_flag(word) && !self.has_flag(word));
                flags.map(|flag| format!("no command has the flag `{flag}`")).collect()
            }
            [name] => self.unknown(name).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Describes the faults in a call of the program.
    fn of_program(&self, command: &str, args: &[&str]) -> Vec<String> {
        if let [subcommand, args @ ..] = args
            && let command = format!("{command} {subcommand}")
            && self.commands.contains_key(command.as_str())
        {
            return self.of_program(&command, args);
        }
        let is_text =
            args.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let Some(Command { flags, has_commands, has_policy }) = self.commands.get(command) else {
            // Domain separators look like commands: `vesica list 2`.
            let what = format!("`vesica` has no command `{command}`");
            return if is_text { Vec::new() } else { vec![what] };
        };
        if *has_commands {
            return Vec::new();
        }
        let flag = |word: &&str| word.split('=').next().unwrap_or_default().to_owned();
        let cited = args.iter().filter(|word| is_flag(word)).map(flag);
        let policy = self.commands.get(POLICY).filter(|_| *has_policy);
        let is_known = |flag: &str| {
            flags.contains(flag)
                || EVERY_COMMAND.contains(&flag)
                || policy.is_some_and(|policy| policy.flags.contains(flag))
        };
        let unknown = cited.filter(|flag| !is_known(flag));
        unknown.map(|flag| format!("`vesica {command}` has no flag `{flag}`")).collect()
    }

    /// Describes the faults in a call of cargo: a package or a program that does not exist.
    fn of_cargo(&self, args: &[&str]) -> Vec<String> {
        let mut missing = Vec::new();
        for pair in args.windows(2) {
            let [option, value] = *pair else { continue };
            if !is_plain(value) {
                continue;
            }
            let known = match option {
                "-p" | "--package" => self.packages.contains(value),
                "--bench" | "--example" | "--test" => self.targets.contains(value),
                _ => continue,
            };
            if !known {
                missing.push(format!("`cargo {option} {value}`: `{value}` does not exist"));
            }
        }
        missing
    }

    /// Returns whether any command of the program or of `cargo xtask` has the flag, or it is a known flag of other
    /// programs.
    fn has_flag(&self, flag: &str) -> bool {
        let flag = flag.split('=').next().unwrap_or_default();
        self.commands.values().any(|command| command.flags.contains(flag))
            || self.tasks.contains(flag)
            || EVERY_COMMAND.contains(&flag)
            || OTHER_FLAGS.contains(&flag)
    }

    /// Reports a constant, an item of a crate or a test that is in no source.
    fn unknown(&self, cited: &str) -> Option<String> {
        let name = cited.split(['=', '(']).next()?.trim_start_matches('$');
        let parts: Vec<&str> = name.split("::").collect();
        if !parts.iter().all(|part| is_identifier(part)) {
            return None;
        }
        let (first, last) = (parts[0], *parts.last()?);
        let folder = first.strip_prefix("vesica_").unwrap_or(first);
        if COMPOSED.iter().any(|prefix| parts.len() == 1 && name.starts_with(prefix)) {
            return None;
        }
        let absent = match (&parts[..], self.crates.get(folder)) {
            ([_, rest @ ..], Some(words)) if !rest.is_empty() => {
                rest.iter().any(|part| !words.contains(part))
            }
            ([_, _, ..], _) => parts.iter().any(|part| !self.words.contains(part)),
            _ => (is_constant(last) || is_sentence(last)) && !self.words.contains(last),
        };
        absent.then(|| format!("`{name}` is in no source"))
    }
}

/// Reads the reference: a heading for each command, its usage, and rows that begin with a flag.
fn commands(reference: &str) -> BTreeMap<&str, Command<'_>> {
    let mut commands: BTreeMap<&str, Command<'_>> = BTreeMap::new();
    let mut name = "";
    for line in reference.lines() {
        if line.starts_with("##") {
            let heading = line.trim_start_matches(['#', ' ']);
            name = heading.strip_prefix("vesica ").unwrap_or(heading);
        }
        let command = commands.entry(name).or_default();
        command.has_commands |= line.starts_with("vesica ") && line.ends_with("<COMMAND>");
        command.has_policy |= line.contains("(#policy)");
        let is_list = line.starts_with("As in [vesica ");
        if is_list || line.starts_with("| `") {
            let words = line.split([' ', '|']).map(|word| word.trim_matches(['`', ',', '.']));
            let words = words.skip_while(|word| is_list && !is_flag(word) || word.is_empty());
            let words = words.take_while(|word| word.starts_with(['-', '<']));
            command.flags.extend(words.filter(|word| is_flag(word)));
        }
    }
    commands
}

/// Returns the tasks and flags in the usage of `cargo xtask`. A line about a task is indented by two spaces.
fn tasks(main: &str) -> HashSet<&str> {
    let usage = main.split_once("const USAGE: &str = \"").map_or("", |(_, rest)| rest);
    let usage = usage.split_once("\";").map_or("", |(usage, _)| usage);
    let lines = usage.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    lines
        .flat_map(|line| {
            let mut words = line.split_whitespace();
            let task = words.next();
            let flags = words.map(|word| word.trim_start_matches('[')).filter(|word| is_flag(word));
            task.into_iter().chain(flags)
        })
        .chain(["help"])
        .collect()
}

/// Returns the benchmark, example or test program whose file, or root file, this is.
fn target(path: &str) -> Option<&str> {
    let (folder, file) = path.rsplit_once('/')?;
    let stem = file.strip_suffix(".rs")?;
    let (above, name) = if stem == "main" { folder.rsplit_once('/')? } else { (folder, stem) };
    let kind = above.rsplit('/').next()?;
    ["benches", "examples", "tests"].contains(&kind).then_some(name)
}

/// Returns the words of a command, up to a comment or another program.
fn shell_words(code: &str) -> Vec<&str> {
    let is_end = |word: &&str| ["#", "|", "&&", ">", "||", "--", "…"].contains(word);
    code.split_whitespace().take_while(|word| !is_end(word)).collect()
}

/// Returns whether a word is a command, and neither an option nor a placeholder.
fn is_command(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

/// Returns whether a word is a long flag.
fn is_flag(word: &str) -> bool {
    let name =
        word.strip_prefix("--").map(|name| name.split(['=', '[']).next().unwrap_or_default());
    name.is_some_and(|name| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    })
}

/// Returns whether a word may be a name in lower case, and not a placeholder.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
}

fn is_identifier(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether this is the name of a constant or of an environment variable.
fn is_constant(name: &str) -> bool {
    name.contains('_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns whether this is the name of a test, which is a sentence.
fn is_sentence(name: &str) -> bool {
    name.matches('_').count() > 2 && name.chars().all(|c| !c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    const REFERENCE_TEXT: &str = "\
## vesica run

| `--key <COLS>` | Key |
| `-h, --quiet` | Less |

## vesica ledger

vesica ledger <COMMAND>

## vesica ledger verify

| `--record <FILE>` | Record |

## Tools

### vesica plan

| `<FILE>` | File |
| `--all` | All |

As in [vesica run](#vesica-run): `--wait`, `--threads`.

Also the options of a [policy](#policy).

## Policy

| `--max-runs <N>` | Runs |
";

    const FILES: [(&str, &str); 6] = [
        (REFERENCE, REFERENCE_TEXT),
        (TASKS, "const USAGE: &str = \"\\\n  quick [CRATE]\n  docs --check   x\";\n"),
        (
            "crates/table/src/lib.rs",
            "mod disk; const MAX_ROWS: u8 = 3; fn a_table_is_read_once() {}",
        ),
        ("crates/table/Cargo.toml", "name = \"vesica-table\"\n"),
        ("crates/table/benches/okvs.rs", "struct Method; fn splits() {}"),
        ("crates/table/examples/load/main.rs", ""),
    ];

    fn of(path: &'static str, text: &str) -> Vec<String> {
        let [a, b, c, d, e, f] = FILES;
        says(cited_names_exist, [a, b, c, d, e, f, (path, text)])
    }

    #[test]
    fn names_that_exist_may_be_cited() {
        let text = "\
`MAX_ROWS`, `MAX_ROWS=1`, `--key`, `--key COLS`, `--all`, `--locked`, `vesica run --key a --help`, `vesica COMMAND`,
`cargo xtask quick psi`, `cargo xtask docs --check`, `cargo bench -p vesica-table --bench okvs -- --all-of-it`, `cargo
run -p vesica-table --example load`, `vesica_table::disk`, `table::disk`, `Method::splits`, `std::fs`,
`a_table_is_read_once`, `KEY`, `key_id`, `vesica ledger page --html a`, `AWS_REGION_OF_IT`, `vesica list 2`, `vesica
plan --all --wait --threads --max-runs 3`.

```sh
$ vesica run \\
    --key a | grep --wild
other --flag
```
";
        assert_eq!(of("docs/a.md", &text.replace(", `std::fs`", "")), [""; 0]);
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        for (code, what) in [
            ("MAX_COLS", "`MAX_COLS` is in no source"),
            ("--keys", "no command has the flag `--keys`"),
            ("--key a --keys b", "no command has the flag `--keys`"),
            ("vesica runs", "`vesica` has no command `runs`"),
            ("vesica run --max-runs", "`vesica run` has no flag `--max-runs`"),
            ("vesica plan --key", "`vesica plan` has no flag `--key`"),
            ("vesica ledger verify --html", "`vesica ledger verify` has no flag `--html`"),
            ("cargo xtask quack", "`cargo xtask` has no `quack`"),
            ("cargo xtask docs --chuck", "`cargo xtask` has no `--chuck`"),
            (
                "cargo test -p vesica-tables",
                "`cargo -p vesica-tables`: `vesica-tables` does not exist",
            ),
            ("cargo bench --bench load_all", "`cargo --bench load_all`: `load_all` does not exist"),
            ("vesica_table::disc", "`vesica_table::disc` is in no source"),
            ("table::splices", "`table::splices` is in no source"),
            ("Method::splices", "`Method::splices` is in no source"),
            ("a_table_is_read_twice", "`a_table_is_read_twice` is in no source"),
        ] {
            assert_eq!(
                of("README.md", &format!("one\n\ntwo\n`{code}`\n")),
                [format!("README.md:4: {what}")]
            );
        }
        let block = "```console\nvesica run \\\n  --keys a\n```\n";
        assert_eq!(of("README.md", block), ["README.md:2: `vesica run` has no flag `--keys`"]);
    }

    #[test]
    fn the_past_may_cite_names_that_are_gone() {
        assert_eq!(of("CHANGELOG.md", "`--gone`"), [""; 0]);
        assert_eq!(of("docs/notes/a.md", "`--gone`"), [""; 0]);
    }
}
