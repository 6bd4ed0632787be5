//! Advice about the parts of SQL that are not supported.

/// Words of SQL that are not supported, each with the advice.
const WORDS: [(&str, &str); 60] = [
    ("all", "ALL is not supported"),
    ("any", "ANY is not supported: use IN (...)"),
    ("asc", "ORDER BY is not supported: sort the result"),
    ("asof", AS_OF),
    ("between", "BETWEEN needs a column before it: a.age BETWEEN 18 AND 30"),
    ("by", "BY stands only after GROUP"),
    ("case", "CASE is not supported: use bucket(x.col, ...) or prepare a column in the table"),
    ("cast", "CAST is not supported: declare the type of the column"),
    ("collate", "COLLATE is not supported: text is compared byte by byte"),
    ("create", ONE_QUERY),
    ("cross", JOINS),
    ("cube", GROUPINGS),
    ("delete", ONE_QUERY),
    ("desc", "ORDER BY is not supported: sort the result"),
    ("distinct", "DISTINCT is supported only in count(DISTINCT key)"),
    ("drop", ONE_QUERY),
    ("escape", LIKE),
    ("except", "EXCEPT is not supported: run two queries"),
    ("exclude", "`SELECT *` is not supported: name labels and aggregates"),
    ("exists", SUBQUERIES),
    ("extract", "functions of dates are not supported: prepare a column in the table"),
    ("false", BOOLEANS),
    ("fetch", "FETCH is not supported: every group that passes HAVING is in the result"),
    ("filter", "FILTER is not supported: use WHERE"),
    ("for", "FOR is not supported"),
    ("full", JOINS),
    ("glob", LIKE),
    ("grouping", GROUPINGS),
    ("ilike", LIKE),
    ("inner", "write JOIN instead of INNER JOIN"),
    ("insert", ONE_QUERY),
    ("intersect", "INTERSECT is not supported: run two queries"),
    ("interval", "write intervals as numbers of days: a.ordered_at - b.shown_at <= 14"),
    ("isnull", "write IS NULL"),
    ("lateral", JOINS),
    ("left", JOINS),
    ("like", LIKE),
    ("limit", "LIMIT is not supported: every group that passes HAVING is in the result"),
    ("natural", JOINS),
    ("notnull", "write IS NOT NULL"),
    ("null", "a comparison with NULL is never true: write IS NULL or IS NOT NULL"),
    ("offset", "OFFSET is not supported: every group that passes HAVING is in the result"),
    ("on", "write USING (key) instead of ON: the columns of the key are not part of the query"),
    ("order", "ORDER BY is not supported: sort the result"),
    ("outer", JOINS),
    ("over", "window functions are not supported"),
    ("qualify", "QUALIFY is not supported: use HAVING count(*) >= N"),
    ("right", JOINS),
    ("rollup", GROUPINGS),
    ("select", SUBQUERIES),
    ("semi", JOINS),
    ("similar", LIKE),
    ("some", "SOME is not supported: use IN (...)"),
    ("true", BOOLEANS),
    ("union", "UNION is not supported: run two queries"),
    ("update", ONE_QUERY),
    ("values", "VALUES is not supported: a query reads the tables a and b"),
    ("window", "window functions are not supported"),
    ("with", "WITH is supported only as WITH REMAINDER at the end of the query"),
    ("within", "WITHIN GROUP is not supported"),
];

const JOINS: &str = "the only join is FROM a JOIN b USING (key)";
const AS_OF: &str = "write FROM a ASOF JOIN b ON a.key = b.key AND a.ordered_at >= b.shown_at";
const GROUPINGS: &str = "GROUP BY takes the labels of the SELECT list only";
const SUBQUERIES: &str = "subqueries are not supported";
const LIKE: &str = "patterns are not supported: use =, IN or BETWEEN";
const BOOLEANS: &str = "TRUE and FALSE are not supported: write a.x or NOT a.x";
const ONE_QUERY: &str = "a query begins with SELECT";

/// Names of functions that are not supported, each with the nearest one that is.
const FUNCTIONS: [(&str, &str); 22] = [
    ("approx_count_distinct", "count(DISTINCT key)"),
    ("average", "avg"),
    ("count_distinct", "count(DISTINCT key)"),
    ("counts", "count"),
    ("covar_samp", "sum(a.x * b.y)"),
    ("fsum", "sum"),
    ("greatest", "bucket"),
    ("histogram", "bucket"),
    ("least", "bucket"),
    ("mean", "avg"),
    ("ntile", "bucket"),
    ("std", "var_samp"),
    ("stddev", "var_samp"),
    ("stddev_pop", "var_samp"),
    ("stddev_samp", "var_samp"),
    ("stdev", "var_samp"),
    ("sumproduct", "sum(a.x * b.y)"),
    ("total", "sum"),
    ("var", "var_samp"),
    ("var_pop", "var_samp"),
    ("variance", "var_samp"),
    ("width_bucket", "bucket"),
];

/// Returns the advice about a word of SQL, if it is one that is not supported.
pub fn of_word(word: &str) -> Option<&'static str> {
    let known = WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
    known.map(|(_, advice)| *advice)
}

/// Returns the advice about a symbol of SQL that is not supported.
pub fn of_symbol(symbol: &str) -> Option<&'static str> {
    match symbol {
        "+" | "-" | "*" | "/" | "%" => {
            Some("arithmetic is supported only as the product of two columns: sum(a.x * b.y)")
        }
        "||" => Some("concatenation is not supported: prepare a column in the table"),
        "::" => Some("casts are not supported: declare the type of the column"),
        "!=" => Some("write <> instead of !="),
        "{" | "}" | "[" | "]" | "?" | ":" => {
            Some("lists, structures and parameters are not supported")
        }
        _ => None,
    }
}

/// Says that a function is not supported, and names the nearest one.
pub fn of_function(name: &str) -> String {
    let nearest = FUNCTIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    match nearest {
        Some((_, nearest)) => format!("the function `{name}` is not supported: use {nearest}"),
        None => format!(
            "the function `{name}` is not supported: the functions are count, sum, avg, var_samp and bucket"
        ),
    }
}
