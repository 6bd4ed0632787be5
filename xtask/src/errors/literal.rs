//! String literals in Rust sources.

/// An `#[error(…)]` attribute.
pub struct ErrorText {
    /// The enum or struct.
    pub of: String,
    /// The variant; empty for a struct.
    pub variant: String,
    /// The text; `None` for a transparent error.
    pub text: Option<String>,
}

/// A string literal, as it is written.
pub struct Literal<'a> {
    written: &'a str,
    /// The place after the closing quote.
    end: usize,
}

impl<'a> Literal<'a> {
    /// Returns the literal at the beginning of the code, after white space.
    pub fn at(code: &'a str) -> Option<Self> {
        let start = code.len() - code.trim_start().len();
        let inner = code[start..].strip_prefix('"')?;
        let mut escaped = false;
        let end = inner.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        })?;
        Some(Self { written: &inner[..end], end: start + end + 2 })
    }

    /// Returns the text, whose positional placeholders have the names of the arguments that follow in `code[start..]`.
    pub fn text(&self, code: &str, start: usize) -> String {
        let rest = arguments(&code[start + self.end..]);
        let rest: Vec<_> = rest.iter().map(|argument| argument.trim()).collect();
        let values = rest.iter().filter(|argument| !argument.is_empty());
        let values: Vec<_> = values.map(|argument| placeholder(argument)).collect();
        let text = named(&unescaped(self.written), &values);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the places after each occurrence of a text.
pub fn after<'a>(code: &'a str, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(text).map(move |(at, _)| at + text.len())
}

/// Divides the arguments of a call, up to its closing parenthesis.
pub fn arguments(code: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        if let Some(literal) = rest.starts_with('"').then(|| Literal::at(rest)).flatten() {
            at += literal.end;
            continue;
        }
        match rest.as_bytes()[0] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => {
                all.push(&code[start..at]);
                return all;
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                all.push(&code[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    all
}

/// Returns the text of an argument: a literal, a `format!`, or a variable that one of them was bound to just before.
pub fn argument(code: &str, before: &str) -> Option<String> {
    let code = code.trim().trim_start_matches('&');
    let formatted = code.strip_prefix("format!(");
    if let Some(text) = Literal::at(formatted.unwrap_or(code)) {
        return Some(text.text(formatted.unwrap_or(code), 0));
    }
    let is_name = !code.is_empty() && code.chars().all(|c| c.is_alphanumeric() || c == '_');
    let binding = format!("let {code} =");
    let at = before.rfind(&binding).filter(|at| is_name && before.len() - at < 900)?;
    let bound = before[at + binding.len()..].split(";\n").next().unwrap_or_default();
    let bound = bound.trim_start().trim_start_matches("|| ").trim_start();
    (bound.starts_with('"') || bound.starts_with("format!(")).then(|| argument(bound, ""))?
}

/// Returns the `#[error(…)]` attributes, in order.
pub fn errors(code: &str) -> Vec<ErrorText> {
    let attribute = "#[error(";
    after(code, attribute)
        .map(|at| {
            let before = &code[..at - attribute.len()];
            let text = Literal::at(&code[at..]).map(|literal| literal.text(code, at));
            let length = arguments(&code[at..]).join(",").len();
            let following = code[at + length..].trim_start_matches([')', ']']);
            let mut lines = following.lines().map(str::trim);
            let line = lines.find(|line| !line.is_empty() && !line.starts_with(['#', '/']));
            let word = |text: &str| {
                text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
            };
            let line = line.unwrap_or_default();
            match line.split_once("struct ").or(line.split_once("enum ")) {
                Some((_, name)) => ErrorText { of: word(name), variant: String::new(), text },
                None => {
                    let of = before.rsplit("pub enum ").next().or(before.rsplit("enum ").next());
                    ErrorText { of: word(of.unwrap_or_default()), variant: word(line), text }
                }
            }
        })
        .collect()
}

/// Returns a literal without its escapes.
fn unescaped(written: &str) -> String {
    let mut text = String::new();
    let mut rest = written.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('\n')) => while rest.next_if(|c| c.is_whitespace()).is_some() {},
            ('\\', Some('n')) => text.push(' '),
            ('\\', Some(other)) => text.push(other),
            (c, _) => text.push(c),
        }
    }
    text
}

/// Returns the name for the value of an expression: its first word that is not a function.
fn placeholder(expression: &str) -> String {
    let expression = expression.trim().trim_start_matches(['&', '*']);
    if let Some(literal) = Literal::at(expression) {
        return literal.written.to_owned();
    }
    let expression = expression.split_once(" = ").map_or(expression, |(name, _)| name);
    if let Some((function, inner)) = expression.split_once('(')
        && function.chars().all(|c| c.is_alphanumeric() || "_:!".contains(c))
        && !inner.starts_with(')')
    {
        return placeholder(
            &arguments(inner).first().map_or(String::new(), |first| (*first).to_owned()),
        );
    }
    let path = expression.split(['(', ' ', '[', '?']).next().unwrap_or_default();
    let words = path.split('.').filter(|word| !["self", "", "0", "args"].contains(word));
    let word = words.map(|word| word.trim_end_matches('!')).next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_word { word.to_owned() } else { "…".to_owned() }
}

/// Names the placeholders of a format, in words.
fn named(format: &str, values: &[String]) -> String {
    let (mut text, mut rest, mut next) = (String::new(), format, 0);
    while let Some(at) = rest.find(['{', '}']) {
        text += &rest[..at];
        let doubled = rest[at..].starts_with("{{") || rest[at..].starts_with("}}");
        if doubled || rest[at..].starts_with('}') {
            text += &rest[at..=at];
            rest = &rest[at + 1 + usize::from(doubled)..];
            continue;
        }
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end);
        let name = rest[at + 1..end].split(':').next().unwrap_or_default();
        let value = match name.parse::<usize>() {
            Ok(number) => values.get(number).cloned(),
            Err(_) if name.is_empty() => {
                next += 1;
                values.get(next - 1).cloned()
            }
            Err(_) => Some(name.to_owned()),
        };
        text += &format!("{{{}}}", value.unwrap_or_else(|| "…".to_owned()).replace('_', " "));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_have_names_of_their_values() {
        for (expression, name) in [
            ("doing(phase)", "phase"),
            ("path.display()", "path"),
            ("self.file.display()", "file"),
            ("counted(rows.read, \"row\")", "rows"),
            (".0", "…"),
            ("listed(.0)", "…"),
            ("&name", "name"),
            ("notation(\"key\")", "key"),
        ] {
            assert_eq!(placeholder(expression), name, "{expression}");
        }
    }

    #[test]
    fn literals_end_at_their_quote() {
        let code = r#""a \"b\" {x} \
            c", y)"#;
        let literal = Literal::at(code).unwrap();
        assert_eq!(literal.text(code, 0), "a \"b\" {x} c");
        assert!(Literal::at("x").is_none() && Literal::at("\"x").is_none());
    }

    #[test]
    fn arguments_are_divided_at_commas_outside_of_brackets() {
        assert_eq!(arguments("a, f(b, c), \"d, )\") + e"), ["a", " f(b, c)", " \"d, )\""]);
    }
}
