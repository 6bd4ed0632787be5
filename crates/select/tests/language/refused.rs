//! The rest of SQL, which is refused by name.

use vesica_select::{MAX_BYTES, Select};

/// A text, the column of the fault in its first line, and the advice.
const REFUSED: &[(&str, usize, &str)] = &[
    ("", 1, "a query begins with SELECT"),
    ("UPDATE a SET x = 1", 1, "a query begins with SELECT"),
    ("WITH t AS (SELECT 1) SELECT count(*)", 1, "common table expressions are not supported"),
    ("SELECT * FROM a JOIN b USING (key)", 8, "`SELECT *` is not supported"),
    ("SELECT a.* FROM a JOIN b USING (key)", 10, "`*` is supported only in count(*)"),
    ("SELECT DISTINCT a.x FROM a", 8, "DISTINCT is supported only in count(DISTINCT key)"),
    ("SELECT 1 FROM a", 8, "expected a label or an aggregate instead of a number"),
    ("SELECT (SELECT 1) FROM a", 8, "subqueries are not supported"),
    ("SELECT spend FROM a", 8, "write a.spend or b.spend: each column needs its side"),
    ("SELECT \"my spend\" FROM a", 8, "write a.\"my spend\" or b.\"my spend\""),
    ("SELECT c.spend FROM a", 8, "unknown table `c`: the tables are a and b"),
    ("SELECT a.key FROM a", 10, "the key cannot be a column of a query"),
    ("SELECT sum(spend) FROM a", 12, "write a.spend or b.spend"),
    ("SELECT mean(a.x) FROM a", 8, "the function `mean` is not supported: use avg"),
    ("SELECT STDDEV(a.x) FROM a", 8, "use var_samp"),
    ("SELECT least(a.x, 1) FROM a", 8, "use bucket"),
    ("SELECT median(a.x) FROM a", 8, "the functions are count, sum, avg, var_samp and bucket"),
    ("SELECT sum(abs(a.x)) FROM a", 12, "the function `abs` is not supported"),
    ("SELECT count(DISTINCT a.x) FROM a", 23, "only in count(DISTINCT key)"),
    ("SELECT count(key) FROM a", 14, "write count(DISTINCT key) or count(*)"),
    ("SELECT count(1) FROM a", 14, "write count(*)"),
    ("SELECT sum(DISTINCT a.x) FROM a", 12, "DISTINCT is supported only in"),
    ("SELECT sum(a.x + a.y) FROM a", 16, "arithmetic is supported only as the product"),
    ("SELECT sum(a.x * a.y * a.z) FROM a", 22, "arithmetic is supported only"),
    ("SELECT avg(a.x * a.y) FROM a", 16, "arithmetic is supported only"),
    ("SELECT sum(a.x) / count(*) FROM a", 17, "arithmetic is supported only"),
    ("SELECT sum(CASE WHEN a.x THEN 1 END) FROM a", 12, "CASE is not supported"),
    ("SELECT sum(a.x::int) FROM a", 15, "casts are not supported"),
    ("SELECT sum(a.x) OVER () FROM a", 17, "window functions are not supported"),
    ("SELECT sum(a.x) FILTER (WHERE b.y) FROM a", 17, "FILTER is not supported: use WHERE"),
    ("SELECT count(*) n FROM a", 17, "write AS before the name `n`"),
    ("SELECT count(*) AS FROM a", 25, "expected FROM a JOIN b USING (key) instead of `a`"),
    ("SELECT count(*)", 16, "expected a comma or FROM instead of the end of the query"),
    ("SELECT count(*) FROM customers", 22, "expected table a instead of `customers`"),
    ("SELECT count(*) FROM a AS x JOIN b USING (key)", 24, "names for tables are not supported"),
    ("SELECT count(*) FROM a, b", 23, "the only join is FROM a JOIN b USING (key)"),
    ("SELECT count(*) FROM a LEFT JOIN b USING (key)", 24, "the only join is"),
    ("SELECT count(*) FROM a INNER JOIN b USING (key)", 24, "write JOIN instead of INNER JOIN"),
    ("SELECT count(*) FROM b JOIN a USING (key)", 22, "expected table a instead of `b`"),
    ("SELECT count(*) FROM a JOIN b ON a.x = b.x", 31, "write USING (key) instead of ON"),
    ("SELECT count(*) FROM a JOIN b USING (email)", 38, "write USING (key)"),
    ("SELECT count(*) FROM a JOIN b USING (key, x)", 41, "write USING (key)"),
    ("SELECT count(*) FROM (SELECT 1) JOIN b", 22, "subqueries are not supported"),
    ("SELECT a.x FROM a JOIN b USING (key) GROUP BY a.x", 8, "the SELECT list needs an aggregate"),
    ("SELECT a.x, a.x, count(*) FROM a", 13, "the label a.x is named twice"),
    (
        "SELECT count(*), count(*) FROM a JOIN b USING (key)",
        18,
        "two columns of the result have the name `count(*)`",
    ),
    ("SELECT count(*) AS \"\" FROM a", 20, "a name cannot be empty"),
    ("SELECT bucket(a.x), count(*) FROM a", 18, "expected a comma and the edges of the buckets"),
    ("SELECT bucket(a.x, 2, 2.0), count(*) FROM a", 23, "the edges of buckets must ascend"),
    (
        "SELECT bucket(a.x, 1e3), count(*) FROM a",
        20,
        "write numbers with digits and a decimal point only",
    ),
    ("SELECT bucket(a.x, 0.1234567890123456789), count(*)", 20, "18 after it"),
    (
        "SELECT bucket(a.x, .5), count(*) FROM a",
        20,
        "expected a number as the edge of a bucket instead of `.`",
    ),
];

/// The condition of WHERE in the second line of a query, the column of the fault, and the advice.
const REFUSED_CONDITIONS: &[(&str, usize, &str)] = &[
    ("x = 1", 7, "write a.x or b.x"),
    ("'DE' = a.x", 7, "write the column before the constant"),
    ("a.x = b.y", 13, "a column can be compared only with a constant"),
    (
        "a.x = 1 OR b.y = 1",
        18,
        "a predicate may use the columns of one side only, since neither sees the other's",
    ),
    ("a.x AND NOT (b.y OR a.z)", 27, "a predicate may use the columns of one side only"),
    ("a.x = \"DE\"", 13, "write texts in single quotes"),
    ("a.x = NULL", 13, "a comparison with NULL is never true"),
    ("a.x = TRUE", 13, "TRUE and FALSE are not supported: write a.x or NOT a.x"),
    ("a.x IS TRUE", 14, "IS is supported only as IS NULL and IS NOT NULL"),
    ("a.x != 1", 11, "write <> instead of !="),
    ("a.x == 1", 12, "expected a number or a text in single quotes instead of `=`"),
    ("a.x + 1 > 2", 11, "arithmetic is supported only"),
    ("a.x > 2 * 3", 15, "arithmetic is supported only"),
    ("a.x || 'y' = 'z'", 11, "concatenation is not supported"),
    ("a.x LIKE 'D%'", 11, "patterns are not supported: use =, IN or BETWEEN"),
    ("a.x NOT LIKE 'D%'", 15, "patterns are not supported"),
    ("a.x IN (1, 'y')", 18, "these constants must be all numbers or all texts"),
    ("a.x BETWEEN 1 AND 'y'", 25, "these constants must be all numbers or all texts"),
    ("a.x IN (SELECT 1)", 14, "subqueries are not supported"),
    ("a.x IN ()", 15, "expected a number or a text in single quotes instead of `)`"),
    ("EXISTS (SELECT 1)", 7, "subqueries are not supported"),
    ("lower(a.x) = 'y'", 7, "the function `lower` is not supported"),
    ("(a.x", 11, "expected a closing parenthesis, AND or OR instead of the end of the query"),
    ("a.x = 'y", 13, "this quotation mark has no closing '"),
    ("a.x = 'y\u{202e}z'", 15, "control characters and invisible characters are not supported"),
    ("a.größe = 1", 11, "put names with letters other than a to z in double quotes"),
    ("a.x = $1", 13, "unexpected character `$`"),
    ("a.x = ?", 13, "lists, structures and parameters are not supported"),
    ("a.x /* of ours */", 11, "write comments as `-- comment`"),
];

/// The second line of a query, the column of the fault in it, and the advice.
const REFUSED_CLAUSES: &[(&str, usize, &str)] = &[
    ("GROUP BY a.x", 10, "the label a.x must also be in the SELECT list"),
    ("GROUP BY 1", 10, "write the label itself in GROUP BY, not its number"),
    ("GROUP BY ALL", 10, "ALL is not supported"),
    ("HAVING sum(a.x) > 5", 8, "the only condition of HAVING is count(*) >= N"),
    ("HAVING count(*) > 5", 8, "the only condition of HAVING is count(*) >= N"),
    ("HAVING count(a.x) >= 5", 8, "the only condition of HAVING is count(*) >= N"),
    ("HAVING count(*) >= 0", 8, "with N from 1 to 2^28"),
    ("HAVING count(*) >= 1.5", 8, "with N from 1 to 2^28"),
    (
        "HAVING count(*) >= 5 AND count(*) >= 6",
        22,
        "expected the end of the query instead of `AND`",
    ),
    (
        "HAVING count(*) >= 5 WITH REMAINDER",
        22,
        "WITH REMAINDER needs GROUP BY and HAVING count(*) >= N",
    ),
    ("WITH ROLLUP", 1, "WITH is supported only as WITH REMAINDER"),
    ("ORDER BY count(*)", 1, "ORDER BY is not supported: sort the result"),
    ("LIMIT 5", 1, "LIMIT is not supported: every group that passes HAVING is in the result"),
    ("UNION SELECT 1", 1, "UNION is not supported: run two queries"),
    ("JOIN c USING (key)", 1, "expected the end of the query instead of `JOIN`"),
    ("; SELECT 1", 3, "subqueries are not supported"),
];

#[test]
fn the_rest_of_sql_is_refused_with_its_place() {
    for (text, column, words) in REFUSED {
        assert_refused(text, 1, *column, words);
    }
    let query = "SELECT count(*) FROM a JOIN b USING (key)";
    for (condition, column, words) in REFUSED_CONDITIONS {
        assert_refused(&format!("{query}\nWHERE {condition}"), 2, *column, words);
    }
    for (clause, column, words) in REFUSED_CLAUSES {
        assert_refused(&format!("{query}\n{clause}"), 2, *column, words);
    }
    let labels = "SELECT a.x, count(*) FROM a JOIN b USING (key)";
    assert_refused(labels, 1, 47, "GROUP BY must name the label a.x");
    assert_refused(&format!("{labels} GROUP BY a.x, a.x"), 1, 62, "the label a.x is named twice");
}

#[track_caller]
fn assert_refused(text: &str, line: usize, column: usize, words: &str) {
    let error = text.parse::<Select>().expect_err(text).to_string();
    assert!(error.starts_with(&format!("line {line}, column {column}: ")), "{text}: {error}");
    assert!(error.contains(words), "{text}: {error}");
}

#[test]
fn length_and_nesting_are_bounded() {
    let query = "SELECT count(*) FROM a JOIN b USING (key)";
    let padded = |len: usize| format!("{query}{}", " ".repeat(len - query.len()));
    assert_eq!(padded(MAX_BYTES).parse::<Select>().unwrap().to_string(), query);
    assert_refused(
        &padded(MAX_BYTES + 1),
        1,
        1,
        "the text has 8193 bytes, and at most 8192 are supported",
    );
    let nested =
        |depth: usize| format!("{query} WHERE {}a.x{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(nested(31).parse::<Select>().unwrap().to_string(), format!("{query} WHERE a.x"));
    assert_refused(&nested(32), 1, query.len() + 8 + 32, "nested at most 32 times");
    assert_refused(
        &format!("{query} WHERE {}a.x", "NOT ".repeat(4000)[..7000].to_owned()),
        1,
        177,
        "nested at most",
    );
}
