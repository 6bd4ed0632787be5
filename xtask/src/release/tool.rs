//! Commands of other programs. If one is missing, the error says what to install.

use std::{
    io::ErrorKind,
    path::Path,
    process::{Command, Output},
};

use crate::Failure;

/// Runs a command, and returns its output. `package` is what to install if the program is missing.
///
/// # Errors
/// If the program is missing, or fails. The message then contains its output.
pub fn run(command: &mut Command, package: &str) -> Result<String, Failure> {
    let Output { status, stdout, stderr } = output(command, package)?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => Err(format!(
            "`{}` ended with {status}: {}{}",
            name(command),
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr),
        )),
    }
}

fn output(command: &mut Command, package: &str) -> Result<Output, Failure> {
    command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("`{}` is missing: install {package}", name(command)),
        _ => format!("`{}` cannot be started: {error}", name(command)),
    })
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Describes an error of a file.
pub fn at(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_what_to_install() {
        let told = run(&mut Command::new("vesica-no-such-program"), "the package `such`");
        let told = told.unwrap_err();
        assert_eq!(told, "`vesica-no-such-program` is missing: install the package `such`");
    }
}
