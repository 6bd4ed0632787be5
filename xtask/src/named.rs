//! Looks up items by name.

use crate::Failure;

/// Finds the item with this name. `kind` describes the items, as in "step".
///
/// # Errors
/// If it does not exist. The message lists the existing ones.
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
    Err(format!("`{wanted}` is not a {kind}; choose one of {}", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_an_error_with_the_known_ones() {
        let find = |name| find("step", name, ["clippy", "tests"], |step| step);
        assert_eq!(find("tests"), Ok("tests"));
        let said = "`test` is not a step; choose one of `clippy`, `tests`";
        assert_eq!(find("test"), Err(said.to_owned()));
    }
}
