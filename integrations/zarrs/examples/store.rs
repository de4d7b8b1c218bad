//! An array that another program has made, by its metadata: filled from a file of elements, or read into one.
//!
//! `store write ARRAY ELEMENTS`, `store read ARRAY ELEMENTS`

use std::error::Error;
use std::sync::Arc;

use sleek_zarrs as _; // so that zarrs knows the codec
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, array, file] = &arguments[..] else { return Err("store write|read ARRAY ELEMENTS".into()) };
    let array = Array::open(Arc::new(FilesystemStore::new(array)?), "/")?;
    let all = array.subset_all();
    match what.as_str() {
        "write" => {
            array.store_metadata()?;
            array.store_array_subset(&all, ArrayBytes::new_flen(std::fs::read(file)?))?;
        }
        "read" => {
            let elements: ArrayBytes = array.retrieve_array_subset(&all)?;
            std::fs::write(file, elements.into_fixed()?)?;
        }
        _ => return Err(format!("'{what}' is neither write nor read").into()),
    }
    Ok(())
}
