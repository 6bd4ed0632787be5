//! What somebody asks for by its name.

use crate::Failure;

/// The one of this name. `kind` says what all of them are, as in "step".
///
/// # Errors
/// That there is none, and which there are.
pub fn find<T>(
    kind: &str,
    wanted: &str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
) -> Result<T, Failure> {
    let mut others = Vec::new();
    for one in all {
        if name(&one) == wanted {
            return Ok(one);
        }
        others.push(format!("`{}`", name(&one)));
    }
    Err(format!("there is no {kind} `{wanted}`; there are {}", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_an_error_that_says_what_is() {
        let find = |name| find("step", name, ["clippy", "tests"], |step| step);
        assert_eq!(find("tests"), Ok("tests"));
        let said = "there is no step `test`; there are `clippy`, `tests`";
        assert_eq!(find("test"), Err(said.to_owned()));
    }
}
