//! HDF5's own way.

use std::ffi::c_void;

use super::dataset::Dataset;
use super::plan::{Direction, Plan};
use crate::api::hdf5_filter::abi;
use crate::error::{Result, fail};

/// `H5Dwrite` or `H5Dread` of the selection.
///
/// # Safety
/// `array` holds, or has room for, the selection in host memory, in elements of the plan's memory type.
pub unsafe fn transfer(dataset: &Dataset, plan: &Plan, way: Direction, array: *mut u8) -> Result<()> {
    let spaces = if plan.start.is_empty() { None } else { Some(dataset.spaces(&plan.start, &plan.count)?) };
    let (memory, file) = spaces.as_ref().map_or((abi::DEFAULT, abi::DEFAULT), |(m, f)| (m.id, f.id));
    let (f, id, kind, dxpl, array) =
        (&dataset.hdf5.data, dataset.id, plan.mem_type, dataset.dxpl, array.cast::<c_void>());
    // SAFETY: the contract; ids of the dataset's library.
    let (status, name) = unsafe {
        match way {
            Direction::Write => ((f.H5Dwrite)(id, kind, memory, file, dxpl, array.cast_const()), "H5Dwrite"),
            Direction::Read => ((f.H5Dread)(id, kind, memory, file, dxpl, array), "H5Dread"),
        }
    };
    if status >= 0 {
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
