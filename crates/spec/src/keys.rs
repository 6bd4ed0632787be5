//! The keys of a table by rules, on the fields that it declares.

use vesica_agree::rule_terms::RuleTerms;
use vesica_linkage::{MatchField, Rules, rules_of};
use vesica_normalize::normalize::Normalize;

use crate::{Error, Fault, Result, Table, linked::FieldColumn};

impl Table {
    /// Returns the rules of these texts on this table's fields.
    ///
    /// # Errors
    /// [`Fault::Value`] for rules that do not fit the fields, and [`Fault::Unfit`] for a field without a normalisation.
    pub fn rules<T: AsRef<str>>(&self, texts: &[T]) -> Result<Rules> {
        let fields = self.field.iter().map(declared).collect::<Result<Vec<_>>>()?;
        let made = rules_of(texts, &fields).and_then(|rules| Rules::new(rules, fields));
        Ok(made.map_err(|error| Fault::Value { option: "match", said: error.to_string() })?)
    }

    /// Returns the columns of the keys, in the order of an offer with these rules, or with none.
    ///
    /// # Errors
    /// [`Fault::Value`] if a field of the rules is not declared.
    pub fn key_columns(&self, rules: Option<&RuleTerms>) -> Result<Vec<String>> {
        rules.map_or_else(|| Ok(self.key.concat()), |rules| self.columns_of_fields(rules.fields()))
    }

    fn field_of(&self, name: &str) -> Option<&FieldColumn> {
        self.field.iter().find(|field| field.name == name)
    }

    fn columns_of_fields(&self, names: &[String]) -> Result<Vec<String>> {
        let column = |name: &String| {
            let missing = || {
                let said = format!("the rules name `{name}`: declare it, as in {name}=COLUMN");
                Error::from(Fault::Value { option: "field", said })
            };
            self.field_of(name).map(|field| field.column.clone()).ok_or_else(missing)
        };
        names.iter().map(column).collect()
    }

    /// Returns the normalisation of the fields of agreed rules, which may have other parameters than the given one.
    ///
    /// # Errors
    /// As [`Table::key_columns`].
    pub fn profiles(&self, rules: &RuleTerms, given: &[Normalize]) -> Result<Vec<Normalize>> {
        self.columns_of_fields(rules.fields())?;
        Ok(self.profiles_of_fields(rules.fields(), given))
    }

    /// Returns the normalisation of fields with these names, in their order: this side's own, or else the given one.
    pub(crate) fn profiles_of_fields(
        &self,
        names: &[String],
        keys: &[Normalize],
    ) -> Vec<Normalize> {
        let profile = |(name, given): (&String, &Normalize)| {
            let own = self.field_of(name).and_then(|field| field.normalize.clone());
            own.unwrap_or_else(|| given.clone())
        };
        names.iter().zip(keys).map(profile).collect()
    }
}

/// Returns a field with its normalisation.
fn declared(field: &FieldColumn) -> Result<MatchField> {
    let why = "lacks a normalisation: write it after the column, as in first=Vorname:name";
    let normalize = field.normalize.clone().ok_or(Fault::Unfit { option: "field", why })?;
    let declared = MatchField::new(&field.name, &field.column, normalize);
    Ok(declared.map_err(|error| Fault::Value { option: "field", said: error.to_string() })?)
}
