//! Tables that take some options of another table.

/// Defines a table of options that has only those options of another table that are named.
macro_rules! selection {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident of $table:ty { $($option:literal),* $(,)? }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name(pub $table);

        impl $name {
            const NAMES: &[&str] = &[$($option),*];
        }

        impl std::ops::Deref for $name {
            type Target = $table;

            fn deref(&self) -> &$table {
                &self.0
            }
        }

        impl $crate::options::Options for $name {
            fn described() -> Vec<$crate::options::Described> {
                let all = <$table as $crate::options::Options>::described().into_iter();
                all.filter(|known| Self::NAMES.contains(&known.name)).collect()
            }

            fn set(
                &mut self,
                name: &str,
                value: &serde_json::Value,
            ) -> Result<(), $crate::fault::Fault> {
                match Self::NAMES.contains(&name) {
                    true => $crate::options::Options::set(&mut self.0, name, value),
                    false => Err($crate::fault::Fault::Unknown { option: name.to_owned() }),
                }
            }

            fn set_texts(
                &mut self,
                name: &str,
                texts: &[&std::ffi::OsStr],
            ) -> Result<(), $crate::fault::Fault> {
                match Self::NAMES.contains(&name) {
                    true => $crate::options::Options::set_texts(&mut self.0, name, texts),
                    false => Err($crate::fault::Fault::Unknown { option: name.to_owned() }),
                }
            }

            fn write_to(&self, object: &mut serde_json::Map<String, serde_json::Value>) {
                $crate::options::Options::write_to(&self.0, object);
            }
        }
    };
}

pub(crate) use selection;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Fault, MemoryLimit, Options, Resources};

    #[test]
    fn selection_has_only_named_options() {
        let names: Vec<_> = MemoryLimit::described().iter().map(|known| known.name).collect();
        assert_eq!(names, ["memory"]);
        let mut limit = MemoryLimit::default();
        assert_eq!(limit.set("memory", &json!("2G")), Ok(()));
        assert_eq!(limit.memory, Some(2 << 30));
        let unknown = Fault::Unknown { option: "threads".to_owned() };
        assert_eq!(limit.set("threads", &json!(2)), Err(unknown));
        assert!(Resources::default().set("threads", &json!(2)).is_ok());
    }
}
