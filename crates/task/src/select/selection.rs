//! A query in the language of queries, with the columns that both sides declare.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vesica_core::parties::Role;
use vesica_keyset::query_columns::QueryColumns;
use vesica_select::{Declared, Keys, LabelShape, LabelValues, Select, Shape, Side};

use super::by_rules;

/// A side's table in a query: its letter, and the columns that the side declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTable {
    /// The letter of the table.
    pub side: Side,
    /// The declarations; `None` if the side has yet to make them.
    pub declared: Option<Declared>,
}

/// The form of a [`QueryTable`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableForm {
    table: String,
    keys: Option<String>,
    columns: Vec<String>,
}

impl Serialize for QueryTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let declared = self.declared.as_ref();
        let columns = declared.map(Declared::columns).unwrap_or_default();
        TableForm {
            table: self.side.to_string(),
            keys: declared.map(|declared| declared.keys().to_string()),
            columns: columns.iter().map(ToString::to_string).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for QueryTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let TableForm { table, keys, columns } = TableForm::deserialize(deserializer)?;
        let side = Side::BOTH.into_iter().find(|side| side.to_string() == table);
        let side = side.ok_or_else(|| de::Error::custom("not a table of a query"))?;
        let declared = match keys {
            Some(keys) => {
                let keys: Keys = keys.parse().map_err(de::Error::custom)?;
                let declared = Declared::parse(&columns, keys).map_err(de::Error::custom)?;
                let canonical = declared.columns().iter().map(ToString::to_string);
                if !canonical.eq(columns) {
                    return Err(de::Error::custom("a declaration is not in its canonical form"));
                }
                Some(declared)
            }
            None if columns.is_empty() => None,
            None => return Err(de::Error::custom("columns without a word on keys")),
        };
        Ok(Self { side, declared })
    }
}

/// A query with the tables of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    select: Arc<Select>,
    /// The role of the side that has table `a`.
    a: Role,
    declared: [Option<Declared>; 2],
    shape: Option<Shape>,
}

impl Selection {
    /// Judges a query by the columns that both sides declare. The side with the role `a` has the first table.
    ///
    /// # Errors
    /// The reason why the query does not fit.
    pub fn new(
        select: Arc<Select>,
        a: Role,
        declared: [Option<Declared>; 2],
    ) -> Result<Self, String> {
        let shape = match &declared {
            [Some(a), Some(b)] => {
                let shape = select.check(a, b).map_err(|error| error.to_string())?;
                let private = |side| shape.labels.iter().any(|label| is_private(label, side));
                if Side::BOTH.into_iter().all(private) {
                    let message = "the query groups by labels of both sides that only one knows: list the labels of one side, as in \
                                   --column 'region:{north,south}'";
                    return Err(message.to_owned());
                }
                // Only the side with the table of circuit PSI has texts.
                let later = select.as_of().map(|as_of| as_of.later);
                if let Some(later) = later.filter(|later| private(*later)) {
                    return Err(format!(
                        "with ASOF JOIN, labels of side {later} must be known to both: list them, as in --column \
                         'region:{{north,south}}'"
                    ));
                }
                Some(shape)
            }
            _ => None,
        };
        Ok(Self { select, a, declared, shape })
    }

    /// Judges a query by the tables of the sides with these roles.
    ///
    /// # Errors
    /// The reason why the query does not fit, also if both sides have the same table.
    pub fn of_roles(select: Arc<Select>, tables: [&QueryTable; 2]) -> Result<Self, String> {
        let [of_a, of_b] = tables;
        if of_a.side == of_b.side {
            return Err(format!("both sides have table `{}` of the query", of_a.side));
        }
        let (a, first, second) = match of_a.side {
            Side::A => (Role::A, of_a, of_b),
            Side::B => (Role::B, of_b, of_a),
        };
        Self::new(select, a, [first.declared.clone(), second.declared.clone()])
    }

    /// Returns the query.
    pub fn select(&self) -> &Select {
        &self.select
    }

    /// Returns the sums that answer the query; `None` if a side has yet to declare its columns.
    pub fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    /// Returns the role of the side with a table.
    pub fn role(&self, side: Side) -> Role {
        match side {
            Side::A => self.a,
            Side::B => self.a.other(),
        }
    }

    /// Returns the table of the side with a role.
    pub fn side(&self, role: Role) -> Side {
        if role == self.a { Side::A } else { Side::B }
    }

    /// Returns the columns that the owner of a table declares.
    pub fn declared(&self, side: Side) -> Option<&Declared> {
        self.declared[side.index()].as_ref()
    }

    /// Returns the columns that the side with a role reads; `None` if a side has yet to declare its columns.
    pub fn columns(&self, role: Role) -> Option<QueryColumns> {
        let side = self.side(role);
        Some(QueryColumns::new(&self.select, self.shape()?, side, self.declared(side)?))
    }

    /// Returns the side that has the table of circuit PSI if rows are looked up, or if there are groups: the one whose
    /// rows are found, or the one with labels. If both have some, it is the one whose labels are private, the one whose
    /// numbers are not added up, or the one with more groups. By rules, it is the side with labels or numbers.
    pub fn labeller(&self, by_rules: bool) -> Option<Role> {
        if by_rules {
            return by_rules::counted(&self.select).map(|side| self.role(side));
        }
        if let Some(as_of) = self.select.as_of() {
            return Some(self.role(as_of.earlier()));
        }
        let labels = self.select.labels();
        let first = labels.first()?.column().side;
        if labels.iter().all(|label| label.column().side == first) {
            return Some(self.role(first));
        }
        let rank = |side: Side| {
            let labels = self.shape.iter().flat_map(|shape| &shape.labels);
            let own = labels.filter(|label| label.side == side);
            let is_private = own.clone().any(|label| is_private(label, side));
            let adds_up = self.select.columns(side).iter().any(|column| column.is_number);
            (is_private, !adds_up, own.map(LabelShape::count).product::<u64>())
        };
        Some(self.role(if rank(Side::B) > rank(Side::A) { Side::B } else { Side::A }))
    }

    /// Returns whether the query takes numbers or labels of a side, and not only conditions.
    pub fn takes_numbers_or_labels(&self, side: Side) -> bool {
        by_rules::takes(&self.select, side)
    }

    /// Returns whether only the owner of a label knows it.
    pub fn has_private_labels(&self) -> bool {
        let labels = self.shape.iter().flat_map(|shape| &shape.labels);
        let mut values = labels.map(|label| &label.values);
        values.any(|values| matches!(values, LabelValues::Private { .. }))
    }

    /// Returns the letters of both tables with names for their owners, first `a` and then `b`.
    pub(crate) fn names<'n>(&self, name: impl Fn(Role) -> &'n str) -> [&'n str; 2] {
        Side::BOTH.map(|side| name(self.role(side)))
    }
}

/// Returns whether a label is one of a side, and only that side knows it.
fn is_private(label: &LabelShape, side: Side) -> bool {
    label.side == side && matches!(label.values, LabelValues::Private { .. })
}

/// The form of a [`Selection`] in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectionForm {
    query: String,
    a: QueryTable,
    b: QueryTable,
}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [a, b] = [Role::A, Role::B].map(|role| {
            let side = self.side(role);
            QueryTable { side, declared: self.declared(side).cloned() }
        });
        SelectionForm { query: self.select.to_string(), a, b }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let SelectionForm { query, a, b } = SelectionForm::deserialize(deserializer)?;
        let select: Select = query.parse().map_err(de::Error::custom)?;
        if select.to_string() != query {
            return Err(de::Error::custom("the query is not in its canonical form"));
        }
        Self::of_roles(Arc::new(select), [&a, &b]).map_err(de::Error::custom)
    }
}
