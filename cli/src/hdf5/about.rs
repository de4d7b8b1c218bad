//! What a dataset says of itself for people: its long name and its units.

use super::Id;
use super::coordinates::text_of;
use super::dataset::Field;

impl Field<'_> {
    /// Its long name, else its standard name, and its units; empty without. What cannot be read is left out, for
    /// nothing depends on it.
    pub fn about(&self) -> [String; 2] {
        let text = |name| self.dataset.hdf5.forgive(text_of(&self.dataset, name)).flatten().unwrap_or_default();
        let title = [text(c"long_name"), text(c"standard_name")].into_iter().find(|title| !title.is_empty());
        [title.unwrap_or_default(), text(c"units")]
    }
}

/// Whether a dataset holds nothing but stands for a dimension without coordinates, as netCDF says in its name.
pub fn is_bare_dimension(dataset: &Id) -> Result<bool, String> {
    Ok(text_of(dataset, c"NAME")?.is_some_and(|name| name.starts_with("This is a netCDF dimension")))
}
