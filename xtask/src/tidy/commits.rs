//! Checks that the subjects of the newest commits are short, begin with a verb in the imperative, and do not end with a
//! period.

use super::Finding;
use crate::repository::Repository;

/// The number of commits to check.
const NEWEST: &str = "-20";

/// Maximum length of a subject, in characters.
const LENGTH: usize = 72;

/// Endings of words that are not imperatives.
const OTHER_FORMS: [&str; 2] = ["ed", "ing"];

/// Imperatives with such an ending.
const IMPERATIVES: [&str; 9] =
    ["Bring", "Embed", "Exceed", "Feed", "Need", "Proceed", "Ring", "Seed", "Speed"];

/// Checks the subjects of the newest commits. In sources without history, reports this and finds nothing.
pub(super) fn subjects_can_be_skimmed(repository: &Repository) -> Vec<Finding> {
    match repository.git(&["log", NEWEST, "--no-merges", "--format=%h %s"]) {
        Ok(log) => findings(&log),
        Err(_) => {
            println!("tidy: without a history, subjects of commits were not checked");
            Vec::new()
        }
    }
}

/// Finds the faults in lines with a commit's name and its subject.
fn findings(log: &str) -> Vec<Finding> {
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    let faults = commits.flat_map(|(name, subject)| {
        faults(subject).map(move |fault| (name, format!("{fault}: {subject}")))
    });
    faults.map(|(name, what)| Finding::new(&format!("commit {name}"), 0, what)).collect()
}

/// Lists the faults of a subject.
fn faults(subject: &str) -> impl Iterator<Item = String> {
    let first = subject.split(' ').next().unwrap_or_default();
    let is_other_form =
        OTHER_FORMS.iter().any(|ending| first.ends_with(ending)) && !IMPERATIVES.contains(&first);
    let rules = [
        (
            subject.chars().count() > LENGTH,
            format!("the subject is longer than {LENGTH} characters"),
        ),
        (
            !first.starts_with(char::is_uppercase) || is_other_form,
            "the subject must begin with a capitalised imperative, such as `Add`".to_owned(),
        ),
        (subject.ends_with('.'), "the subject ends in a period".to_owned()),
    ];
    rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, fault)| fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(subject: &str) -> Vec<String> {
        findings(&format!("abc123 {subject}\n")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn short_imperatives_pass() {
        for subject in
            ["Add a rule for subjects", "Seed the sample", &format!("A{}", "b".repeat(71))]
        {
            assert_eq!(says(subject), [""; 0]);
        }
    }

    #[test]
    fn other_subjects_are_found() {
        let imperative = "the subject must begin with a capitalised imperative, such as `Add`";
        let long = format!("A{}", "ü".repeat(72));
        for (subject, fault) in [
            (long.as_str(), "the subject is longer than 72 characters"),
            ("add a rule", imperative),
            ("Added a rule", imperative),
            ("Adding a rule", imperative),
            ("Add a rule.", "the subject ends in a period"),
        ] {
            assert_eq!(says(subject), [format!("commit abc123: {fault}: {subject}")]);
        }
    }

    #[test]
    fn sources_without_history_pass() {
        let folder = std::env::temp_dir();
        let nowhere = Repository::at(folder.join("vesica-tidy-no-such-folder"));
        assert_eq!(subjects_can_be_skimmed(&nowhere), []);
    }
}
