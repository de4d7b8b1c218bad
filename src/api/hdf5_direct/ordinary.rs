//! HDF5's own way.

use super::dataset::Dataset;
use super::plan::Plan;
use crate::api::hdf5_filter::abi;
use crate::error::{Result, fail};

/// # Safety
/// `src` holds the selection in host memory, in elements of the plan's memory type.
pub unsafe fn write(dataset: &Dataset, plan: &Plan, src: *const u8) -> Result<()> {
    let spaces = if plan.start.is_empty() { None } else { Some(dataset.spaces(&plan.start, &plan.count)?) };
    let (memory, file) = spaces.as_ref().map_or((abi::DEFAULT, abi::DEFAULT), |(m, f)| (m.id, f.id));
    // SAFETY: the contract; ids of the dataset's library.
    let status =
        unsafe { (dataset.hdf5.data.H5Dwrite)(dataset.id, plan.mem_type, memory, file, dataset.dxpl, src.cast()) };
    if status < 0 { fail!(Hdf5, "H5Dwrite failed; {}", advice(plan)) } else { Ok(()) }
}

/// # Safety
/// `dst` has room for the selection in host memory, in elements of the plan's memory type.
pub unsafe fn read(dataset: &Dataset, plan: &Plan, dst: *mut u8) -> Result<()> {
    let spaces = if plan.start.is_empty() { None } else { Some(dataset.spaces(&plan.start, &plan.count)?) };
    let (memory, file) = spaces.as_ref().map_or((abi::DEFAULT, abi::DEFAULT), |(m, f)| (m.id, f.id));
    // SAFETY: the contract; ids of the dataset's library.
    let status =
        unsafe { (dataset.hdf5.data.H5Dread)(dataset.id, plan.mem_type, memory, file, dataset.dxpl, dst.cast()) };
    if status < 0 { fail!(Hdf5, "H5Dread failed; {}", advice(plan)) } else { Ok(()) }
}

fn advice(plan: &Plan) -> &'static str {
    if plan.shared {
        "a file shared by MPI ranks needs transfer properties with H5FD_MPIO_COLLECTIVE, and every rank must call"
    } else {
        "HDF5's error stack says why"
    }
}
