//! HDF5's own way.

use super::dataset::Dataset;
use super::plan::Plan;
use crate::api::hdf5_filter::abi::{self, Herr, Hid};
use crate::error::{Result, fail};

/// # Safety
/// `src` holds the selection in host memory, in elements of the plan's memory type.
pub unsafe fn write(dataset: &Dataset, plan: &Plan, src: *const u8) -> Result<()> {
    let (id, kind, dxpl) = (dataset.id, plan.mem_type, dataset.dxpl);
    // SAFETY: the contract; ids of the dataset's library.
    let call = |memory, file| unsafe { (dataset.hdf5.data.H5Dwrite)(id, kind, memory, file, dxpl, src.cast()) };
    transfer(dataset, plan, "H5Dwrite", call)
}

/// # Safety
/// `dst` has room for the selection in host memory, in elements of the plan's memory type.
pub unsafe fn read(dataset: &Dataset, plan: &Plan, dst: *mut u8) -> Result<()> {
    let (id, kind, dxpl) = (dataset.id, plan.mem_type, dataset.dxpl);
    // SAFETY: the contract; ids of the dataset's library.
    let call = |memory, file| unsafe { (dataset.hdf5.data.H5Dread)(id, kind, memory, file, dxpl, dst.cast()) };
    transfer(dataset, plan, "H5Dread", call)
}

/// Makes the call with the spaces in memory and in the file.
fn transfer(dataset: &Dataset, plan: &Plan, name: &str, call: impl FnOnce(Hid, Hid) -> Herr) -> Result<()> {
    let spaces = if plan.start.is_empty() { None } else { Some(dataset.spaces(&plan.start, &plan.count)?) };
    let (memory, file) = spaces.as_ref().map_or((abi::DEFAULT, abi::DEFAULT), |(m, f)| (m.id, f.id));
    if call(memory, file) >= 0 {
        return Ok(());
    }
    let advice = match plan.shared {
        true => {
            "a file shared by MPI ranks needs transfer properties with H5FD_MPIO_COLLECTIVE, and every rank must call"
        }
        false => "HDF5's error stack says why",
    };
    fail!(Hdf5, "{name} failed; {advice}")
}
