//! The tutorials and the guide to several parties, word for word: their commands run in a terminal for each party, and
//! print the lines of the page.

use std::{
    fs,
    iter::Peekable,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    harness::{Running, vesica},
    partners::free_port,
};

const PAGE: &str = include_str!("../../../../docs/start/tutorial.md");

/// The address of the page, which another program may use on the machine of the test.
const ADDRESS: &str = "127.0.0.1:7788";

/// The line that stands for any lines.
const ANY_LINES: &str = "…";

/// A block of a page: what one of the terminals shows.
struct Block {
    terminal: usize,
    /// The end of the output of a command that an earlier block began.
    rest: Vec<String>,
    commands: Vec<Shown>,
}

/// A command, and the output below it.
struct Shown {
    command: String,
    output: Vec<String>,
}

/// The blocks of a page, in order.
fn blocks(page: &str, names: &[&str]) -> Vec<Block> {
    let fences = page.split("```console ").skip(1);
    fences
        .map(|block| {
            let (terminal, text) = block.split_once('\n').unwrap();
            let terminal = names.iter().position(|name| *name == terminal).unwrap();
            let mut lines = text.split("```").next().unwrap().lines().peekable();
            let rest = output(&mut lines);
            let mut commands = Vec::new();
            while let Some(line) = lines.next() {
                let mut command = line.strip_prefix("$ ").unwrap().to_owned();
                while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                    command += &format!("\n{}", &more[2..]);
                }
                commands.push(Shown { command, output: output(&mut lines) });
            }
            Block { terminal, rest, commands }
        })
        .collect()
}

/// The lines before the next command.
fn output<'a>(lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> Vec<String> {
    let mut output = Vec::new();
    while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
        output.push(line.to_owned());
    }
    output
}

/// A terminal: its directory, and the command that is still running, with the lines that the page has shown of it.
struct Terminal {
    directory: PathBuf,
    running: Option<(Running, Vec<String>)>,
}

impl Terminal {
    fn shell(&self, script: &str) -> Command {
        let program = vesica();
        let programs = Path::new(program.get_program()).parent().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&self.directory);
        shell.env("PATH", format!("{}:{path}", programs.display())).env("LC_ALL", "C");
        shell
    }

    /// Runs a command that is not of the program, such as `cd`, and returns its output.
    fn run(&mut self, command: &str) -> Vec<String> {
        let output = self.shell(&format!("{command}\nprintf '\\n'; pwd")).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
        let mut lines: Vec<_> =
            String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        self.directory = lines.pop().unwrap().into();
        // The line end before the directory ends an output that has none, and otherwise makes an empty line.
        lines.pop_if(|line| line.is_empty());
        lines
    }

    /// Starts the program, with standard output and standard error in one stream.
    fn start(&mut self, command: &str) {
        let running = Running::start(self.shell(&format!("exec >&2\nexec {command}")));
        assert!(self.running.replace((running, Vec::new())).is_none(), "two commands at once");
    }

    /// Waits until the program has printed these lines.
    fn wait(&mut self, lines: &[String]) {
        let (running, shown) = self.running.as_mut().unwrap();
        for line in lines {
            running.until(line);
        }
        shown.extend_from_slice(lines);
    }

    /// Waits for the program's end, and returns all that it printed.
    #[track_caller]
    fn end(&mut self, rest: &[String]) -> Vec<String> {
        let (running, mut shown) = self.running.take().expect("a command of an earlier block runs");
        shown.extend_from_slice(rest);
        let printed: Vec<_> = running.end().err.lines().map(str::to_owned).collect();
        assert_same(&shown, &printed);
        printed
    }
}

/// A line without what differs from run to run: seconds, megabytes, moments, names of records, fingerprints and words.
fn without_what_varies(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let is_word = |word: &&&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    if line.starts_with("  ") && words.len() == 8 && words.iter().filter(is_word).count() == 6 {
        return "  six words".to_owned();
    }
    let units = words.iter().skip(1).chain([&""]);
    let shown = words.iter().zip(units).map(|(word, unit)| match *word {
        word if word.parse::<f64>().is_ok() && ["s,", "MB"].contains(unit) => "#",
        word if word.starts_with("vesica1-") => "vesica1-#",
        word if word.contains(".record") => "#.record",
        word if word.len() == 20 && word.starts_with("20") && word.ends_with('Z') => "#",
        word => word,
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// A command prints the lines of the page.
#[track_caller]
fn assert_same(page: &[String], printed: &[String]) {
    let plain = |lines: &[String]| lines.iter().map(|line| without_what_varies(line)).collect();
    let (pattern, lines): (Vec<String>, Vec<String>) = (plain(page), plain(printed));
    let is_same = match pattern.iter().position(|line| line == ANY_LINES) {
        Some(at) => {
            let (head, tail) = (&pattern[..at], &pattern[at + 1..]);
            lines.len() > head.len() + tail.len()
                && lines.starts_with(head)
                && lines.ends_with(tail)
        }
        None => pattern == lines,
    };
    assert!(is_same, "the page shows\n{}\n\nfor\n{}", page.join("\n"), printed.join("\n"));
}

/// Runs the commands of a page in the terminals with these names, and compares what they print with the page. Returns
/// the number of runs that waited for a later block, and the words that people compare.
#[track_caller]
fn carried_out(page: &str, names: &[&str]) -> (usize, Vec<String>) {
    let scratch = tempfile::tempdir().unwrap();
    let directory = fs::canonicalize(scratch.path()).unwrap();
    let terminal = |_: &&str| Terminal { directory: directory.clone(), running: None };
    let mut terminals: Vec<_> = names.iter().map(terminal).collect();
    let blocks = blocks(&page.replace(ADDRESS, &format!("127.0.0.1:{}", free_port())), names);
    let mut six_words = Vec::new();
    let mut runs = 0;
    for (number, block) in blocks.iter().enumerate() {
        let terminal = &mut terminals[block.terminal];
        if !block.rest.is_empty() {
            terminal.end(&block.rest);
        }
        for (index, Shown { command, output }) in block.commands.iter().enumerate() {
            if !command.starts_with("vesica ") {
                assert_same(output, &terminal.run(command));
                continue;
            }
            terminal.start(command);
            let later = blocks[number + 1..].iter().find(|b| b.terminal == block.terminal);
            let is_last = index + 1 == block.commands.len();
            if is_last && later.is_some_and(|block| !block.rest.is_empty()) {
                terminal.wait(output);
                runs += 1;
                continue;
            }
            let printed = terminal.end(output);
            let words =
                printed.iter().skip_while(|line| !line.ends_with("the same on both sides:"));
            six_words.extend(words.skip(1).take(1).cloned());
        }
    }
    (runs, six_words)
}

#[test]
fn the_tutorial_prints_its_own_output() {
    let (runs, six_words) = carried_out(PAGE, &["shop", "club"]);
    assert_eq!(runs, 3, "runs of the page");
    assert!(six_words.len() == 2 && six_words[0] == six_words[1], "{six_words:?}");
}

#[test]
fn three_hospitals_print_what_their_page_shows() {
    let page = include_str!("../../../../docs/guides/parties.md");
    let (runs, _) = carried_out(page, &["ash", "birch", "cedar"]);
    assert_eq!(runs, 2, "runs that wait for the last party");
}

#[test]
fn two_hospitals_print_what_their_page_shows() {
    let page = include_str!("../../../../docs/start/two-hospitals.md");
    let (runs, _) = carried_out(page, &["north", "south"]);
    assert_eq!(runs, 1, "runs of the page");
}

#[test]
fn a_page_that_shows_another_output_is_noticed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let differ = |page: &str, printed: &str| {
        let (page, printed) = (lines(page), lines(printed));
        std::panic::catch_unwind(|| assert_same(&page, &printed)).is_err()
    };
    let summary = "dh (semi-honest), 0.01 s, 0.00 MB sent";
    assert!(!differ(summary, "dh (semi-honest), 1.50 s, 0.02 MB sent"));
    assert!(differ(summary, "rr22 (semi-honest), 0.01 s, 0.00 MB sent"));
    assert!(differ("2 of 3 keys match", "1 of 3 keys match"));
    assert!(differ("a\nb", "a"));
    assert!(!differ("a\n…\nd", "a\nb\nc\nd"));
    assert!(differ("a\n…\nd", "a\nd"));
    assert!(differ("a\n…\nd", "b\nc\nd"));
}
