//! Memory of the caller, wherever it lies.

use super::driver::{Buffer, Session, place};
use crate::container::constants::ALIGN;
use crate::error::{Result, fail};
use crate::exec::MemorySpace;
use crate::host::memory::filled;

/// Whether a pointer is aligned as streams are.
pub fn is_aligned(pointer: *const u8) -> bool {
    (pointer as usize).is_multiple_of(ALIGN)
}

/// Memory of the caller as a kernel can use it: in place, or a copy on the device.
pub struct Operand {
    copy: Option<Buffer>,
    /// Where the kernel finds it.
    pub pointer: *mut u8,
}

impl Operand {
    /// What a kernel reads.
    ///
    /// # Safety
    /// `pointer` is readable for `bytes`, and stays so until the stream has passed.
    pub unsafe fn input(session: &Session, pointer: *const u8, bytes: usize, align: usize) -> Result<Operand> {
        let operand = Operand::output(session, pointer.cast_mut(), bytes, align)?;
        if operand.copy.is_some() {
            // SAFETY: the contract; the buffer holds `bytes`.
            unsafe { session.copy(operand.pointer, pointer, bytes) }?;
        }
        Ok(operand)
    }

    /// What a kernel writes; [`put_back`](Operand::put_back) brings it to `pointer`.
    pub fn output(session: &Session, pointer: *mut u8, bytes: usize, align: usize) -> Result<Operand> {
        let reachable = match place(pointer.cast()) {
            MemorySpace::Device(d) | MemorySpace::Managed(d) => d == session.ordinal,
            MemorySpace::Host => false,
        };
        if reachable && (pointer as usize).is_multiple_of(align) {
            return Ok(Operand { copy: None, pointer });
        }
        let buffer = session.allocate(bytes)?;
        let pointer = buffer.start();
        Ok(Operand { copy: Some(buffer), pointer })
    }

    /// The first bytes of an output are at `pointer` afterwards.
    ///
    /// # Safety
    /// `pointer` is the one that this was made of, writable for `bytes`.
    pub unsafe fn put_back(&self, session: &Session, pointer: *mut u8, bytes: usize) -> Result<()> {
        if self.copy.is_none() {
            return Ok(());
        }
        // SAFETY: the contract.
        unsafe { session.copy(pointer, self.pointer, bytes) }?;
        session.wait()
    }
}

/// A copy in host memory.
///
/// # Safety
/// `src` holds `bytes`, wherever it is.
pub unsafe fn host_copy(session: &Session, src: *const u8, bytes: usize) -> Result<Vec<u8>> {
    let mut host = filled(bytes, 0u8)?;
    // SAFETY: the contract; the vector lives until the wait is over.
    unsafe { session.copy(host.as_mut_ptr(), src, bytes) }?;
    session.wait()?;
    Ok(host)
}

/// Bytes of a device's memory, as host memory.
///
/// # Safety
/// `src` holds `bytes` of device memory.
pub unsafe fn download(src: *const u8, bytes: usize, ordinal: i32) -> Result<Vec<u8>> {
    let session = Session::enter(ordinal, std::ptr::null_mut())?;
    // SAFETY: the contract.
    unsafe { host_copy(&session, src, bytes) }
}

/// The device that all pointers of an asynchronous call lie on; each comes with its alignment and its name.
pub fn common_ordinal(pointers: &[(*mut u8, usize, &str)]) -> Result<i32> {
    let mut found = None;
    for (pointer, align, name) in pointers {
        if !(*pointer as usize).is_multiple_of(*align) {
            return fail!(InvalidArgument, "{name} must be aligned to {align} bytes in an asynchronous call");
        }
        match place(pointer.cast_const().cast()) {
            MemorySpace::Device(d) | MemorySpace::Managed(d) if found.is_none_or(|f| f == d) => found = Some(d),
            MemorySpace::Host => return fail!(InvalidArgument, "{name} must be device memory in an asynchronous call"),
            _ => return fail!(InvalidArgument, "{name} lies on another device than the other pointers"),
        }
    }
    found.map_or_else(|| fail!(Internal, "no pointer was given"), Ok)
}
