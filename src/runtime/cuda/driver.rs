//! The CUDA driver as far as this library uses it: found at run time, asked without noise, and left as it was.

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError, ctx};
use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUmemoryPool, CUresult, CUstream};

use crate::error::{Error, Kind, Result, fail};
use crate::exec::MemorySpace;
use crate::host::fork;
use crate::host::memory::expect_room;

/// An error where the driver reports one.
pub fn check<T>(result: std::result::Result<T, DriverError>, what: &str) -> Result<T> {
    result.map_err(|error| {
        let is_short = error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let kind = if is_short { Kind::OutOfMemory } else { Kind::Device };
        Error::new(kind, format!("{what}: {}", name(error)))
    })
}

fn name(error: DriverError) -> String {
    let unknown = |_| format!("CUDA error {}", error.0 as u32);
    error.error_name().map_or_else(unknown, |name| name.to_string_lossy().into_owned())
}

/// Whether some part of this process has loaded the driver. Only then can a device pointer exist.
#[cfg(not(target_os = "linux"))]
fn loaded() -> bool {
    false
}

/// Whether some part of this process has loaded the driver. Only then can a device pointer exist. Its name is sought
/// among those of loaded objects: `dlopen` would look for its file in all folders of libraries at each call.
#[cfg(target_os = "linux")]
fn loaded() -> bool {
    static YES: AtomicBool = AtomicBool::new(false);
    /// Objects that had ever been loaded when the driver was not among them.
    static NOT_AMONG: AtomicU64 = AtomicU64::new(0);
    const FOUND: c_int = 1;
    const NOTHING_NEW: c_int = 2;

    /// Looks at one object; other than 0 ends the search.
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker gives a valid object, whose name is null or a C string, and `loaded` a number.
        let (objects, path) = unsafe {
            let path = (*info).dlpi_name;
            *objects.cast::<u64>() = (*info).dlpi_adds;
            ((*info).dlpi_adds, if path.is_null() { c"" } else { CStr::from_ptr(path) })
        };
        match path.to_bytes().rsplit(|b| *b == b'/').next() {
            Some(name) if name.starts_with(b"libcuda.so") => FOUND,
            _ if objects == NOT_AMONG.load(Ordering::Relaxed) => NOTHING_NEW,
            _ => 0,
        }
    }

    // The driver is never unloaded.
    if YES.load(Ordering::Relaxed) {
        return true;
    }
    let mut objects = 0u64;
    // SAFETY: `visit` takes such a pointer, and the number outlives the call.
    let ended = fork::between_forks(|| unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut objects).cast()) });
    match ended {
        FOUND => YES.store(true, Ordering::Relaxed),
        _ => NOT_AMONG.store(objects, Ordering::Relaxed),
    }
    ended == FOUND
}

/// What the search for the driver's library takes at most: the names that it may have.
const SEARCH_BYTES: usize = 256 << 10;

/// Loads and initialises the driver: the newest CUDA that it supports, in thousands and tens of its version, and how
/// many devices there are; why not, if it cannot be used. Asked once per process, or by each thread that comes first.
pub fn usable() -> Result<(c_int, c_int)> {
    static USABLE: OnceLock<std::result::Result<(c_int, c_int), String>> = OnceLock::new();
    if USABLE.get().is_none() {
        expect_room(SEARCH_BYTES)?;
    }
    let state = fork::found(&USABLE, || {
        // SAFETY: tries to open the library by name, which runs no code of ours.
        if !unsafe { sys::is_culib_present() } {
            return Err("no CUDA driver (libcuda.so.1) on this machine".into());
        }
        let asked = result::init().and_then(|()| {
            let mut version = 0;
            // SAFETY: the library is present; a live local.
            unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
            Ok((version, result::device::get_count()?))
        });
        match asked {
            Err(error) => Err(format!("the CUDA driver cannot be used: {}", name(error))),
            Ok((version, _)) if version < 12000 => Err(format!(
                "the CUDA driver supports CUDA {}.{}; 12.0 (driver 525) or newer is needed",
                version / 1000,
                version % 1000 / 10
            )),
            Ok((_, count)) if count < 1 => Err("the CUDA driver finds no device".into()),
            Ok(found) => Ok(found),
        }
    });
    match state {
        Ok(found) => Ok(*found),
        Err(why) => fail!(Device, "{why}"),
    }
}

/// Where a pointer leads. Loads no driver, initialises none, creates no context; whatever the driver does not know is
/// host memory.
pub fn place(pointer: *const c_void) -> MemorySpace {
    if pointer.is_null() || !loaded() {
        return MemorySpace::Host;
    }
    let ask = |attribute, value: *mut c_void| {
        // SAFETY: the driver is loaded; `value` is a live local of the attribute's size (4 bytes each).
        unsafe { sys::cuPointerGetAttribute(value, attribute, pointer as CUdeviceptr) == CUresult::CUDA_SUCCESS }
    };
    use sys::CUpointer_attribute::*;
    let (mut memory, mut managed, mut ordinal) = (0u32, 0u32, 0i32);
    if !ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut memory).cast()) {
        return MemorySpace::Host;
    }
    ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, (&raw mut managed).cast());
    if !ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast()) {
        return MemorySpace::Host;
    }
    match (memory, managed) {
        (_, m) if m & 1 == 1 => MemorySpace::Managed(ordinal),
        (2, _) => MemorySpace::Device(ordinal),
        _ => MemorySpace::Host,
    }
}

/// The caller's current context, or none, which comes back on drop.
struct Restore(Option<CUcontext>);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: the context that was current when the guard was made; null is none.
        let _ = unsafe { ctx::set_current(self.0.unwrap_or(ptr::null_mut())) };
    }
}

/// A context of a device made current for the length of a call, and the caller's stream in it.
pub struct Session {
    _restore: Restore,
    /// The stream that everything runs on; null is the default one.
    pub stream: CUstream,
    /// Identifies the context among all that ever were in this process.
    pub context_id: u64,
    /// The device.
    pub ordinal: i32,
}

impl Session {
    /// Enters the context of the stream, else the current context if it belongs to the device, else the device's
    /// primary one.
    pub fn enter(ordinal: i32, stream: *mut c_void) -> Result<Session> {
        usable()?;
        let stream = stream as CUstream;
        let current = current()?;
        let restore = Restore(current);
        let mut context = current.filter(|context| device_of(*context).is_ok_and(|device| device == ordinal));
        // 0, 1 and 2 are the default streams of whatever context is current.
        if stream as usize > 2 {
            let mut of_stream = ptr::null_mut();
            // SAFETY: a live local, and a stream of the caller's.
            check(unsafe { sys::cuStreamGetCtx(stream, &mut of_stream) }.result(), "asking for the stream's context")?;
            if device_of(of_stream)? != ordinal {
                return fail!(
                    InvalidArgument,
                    "the stream belongs to another device than the data, which lies on device {ordinal}"
                );
            }
            context = Some(of_stream);
        }
        let (context, mut context_id) = (context.map_or_else(|| primary(ordinal), Ok)?, 0);
        // SAFETY: a live context and local.
        unsafe {
            check(ctx::set_current(context), "entering the device's context")?;
            check(sys::cuCtxGetId(context, &mut context_id).result(), "asking for the context's number")?;
        }
        Ok(Session { _restore: restore, stream, context_id, ordinal })
    }

    /// Waits for everything on the stream.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the caller's stream, in its context.
        check(unsafe { result::stream::synchronize(self.stream) }, "running on the GPU")
    }

    /// Copies in stream order between any two memories.
    ///
    /// # Safety
    /// Both ranges are valid until the stream has passed the copy.
    pub unsafe fn copy(&self, to: *mut u8, from: *const u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the contract; with unified addressing the driver tells host from device memory by the address.
        check(unsafe { sys::cuMemcpyAsync(to as u64, from as u64, bytes, self.stream) }.result(), "copying")
    }

    /// Fills device memory with zeros in stream order.
    ///
    /// # Safety
    /// The range is valid until the stream has passed the operation.
    pub unsafe fn clear(&self, at: *mut u8, bytes: usize) -> Result<()> {
        // SAFETY: the contract.
        check(unsafe { result::memset_d8_async(at as u64, 0, bytes, self.stream) }, "clearing device memory")
    }

    /// Device memory that is freed in stream order when dropped.
    pub fn allocate(&self, bytes: usize) -> Result<Buffer> {
        // SAFETY: a live pool; the stream is the caller's.
        let done = unsafe { result::mem_pool::alloc_async(self.pool()?, bytes.max(16), self.stream) };
        let pointer = check(done, &format!("allocating {bytes} bytes on the GPU"))?;
        Ok(Buffer { pointer, stream: self.stream })
    }

    /// The pool that the context's memory comes from, which keeps what was freed up to [`KEPT_BYTES`].
    pub fn pool(&self) -> Result<CUmemoryPool> {
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = pools.iter().find(|(id, _)| *id == self.context_id) {
            return Ok(*pool as CUmemoryPool);
        }
        // SAFETY: live locals; all zeros are valid properties, of which these are set.
        let pool = unsafe {
            let mut properties: sys::CUmemPoolProps = std::mem::zeroed();
            properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            properties.location.id = self.ordinal;
            let pool = check(result::mem_pool::create(&properties), "making a pool of device memory")?;
            let (attribute, mut kept) = (sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, KEPT_BYTES);
            check(result::mem_pool::set_attribute(pool, attribute, (&raw mut kept).cast()), "setting up a pool")?;
            pool
        };
        pools.push((self.context_id, pool as usize));
        Ok(pool)
    }
}

/// Memory that was freed is kept for later calls, up to so many bytes: to map it anew takes the driver longer than many
/// kernels run.
const KEPT_BYTES: u64 = 512 << 20;

/// Pools of device memory, by context.
static POOLS: Mutex<Vec<(u64, usize)>> = Mutex::new(Vec::new());

/// Device memory of the length of a call.
pub struct Buffer {
    pointer: CUdeviceptr,
    stream: CUstream,
}

impl Buffer {
    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.pointer as *mut u8
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated on this stream, freed once, after everything that uses it in stream order.
        let _ = unsafe { result::free_async(self.pointer, self.stream) };
    }
}

/// Device memory for the workspace of a call. It is kept for the next call in the same context, since allocating costs
/// more than compressing a small array.
pub struct DeviceScratch {
    pointer: CUdeviceptr,
    context_id: u64,
    idle: bool,
}

/// Workspaces that no call uses, by context.
static IDLE: Mutex<Vec<(u64, CUdeviceptr)>> = Mutex::new(Vec::new());

impl DeviceScratch {
    /// One of `bytes`, the same for all calls.
    pub fn take(session: &Session, bytes: usize) -> Result<DeviceScratch> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = idle.iter().position(|(id, _)| *id == session.context_id) {
            return Ok(DeviceScratch { pointer: idle.swap_remove(i).1, context_id: session.context_id, idle: false });
        }
        drop(idle);
        // SAFETY: nothing is read of it before it is written.
        let pointer = check(unsafe { result::malloc_sync(bytes) }, &format!("allocating {bytes} bytes on the GPU"))?;
        Ok(DeviceScratch { pointer, context_id: session.context_id, idle: false })
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.pointer as *mut u8
    }

    /// To be said when the stream has passed everything that uses it.
    pub fn done(&mut self) {
        self.idle = true;
    }
}

impl Drop for DeviceScratch {
    fn drop(&mut self) {
        if self.idle {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push((self.context_id, self.pointer));
        } else {
            // SAFETY: allocated by `take`, freed once; the driver waits for work that may still use it.
            let _ = unsafe { result::free_sync(self.pointer) };
        }
    }
}

/// Page-locked host memory, which copies fastest and while the host does something else. It is kept for later calls,
/// since locking pages costs more than copying them.
pub struct Pinned {
    start: *mut u8,
    capacity: usize,
}

/// Page-locked memory that no call uses, at most so many pieces.
static UNUSED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
const MAX_UNUSED: usize = 6;

impl Pinned {
    /// No memory yet.
    pub fn none() -> Pinned {
        Pinned { start: ptr::null_mut(), capacity: 0 }
    }

    /// Makes room for `bytes`; what was there is lost. Only in a session.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.capacity >= bytes {
            return Ok(());
        }
        drop(std::mem::replace(self, Pinned::none()));
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = unused.iter().position(|(_, capacity)| *capacity >= bytes) {
            let (start, capacity) = unused.swap_remove(i);
            *self = Pinned { start: start as *mut u8, capacity };
            return Ok(());
        }
        drop(unused);
        let capacity = bytes.next_power_of_two().max(1 << 16);
        // SAFETY: nothing is read of it before it is written. The memory is for every context.
        let done = unsafe { result::malloc_host(capacity, sys::CU_MEMHOSTALLOC_PORTABLE) };
        *self = Pinned { start: check(done, &format!("locking {capacity} bytes of host memory"))?.cast(), capacity };
        Ok(())
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: ours; nobody copies to it when it is looked at.
        if self.capacity == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.start, self.capacity) } }
    }

    /// All of it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: ours; nobody copies from or to it when it is written.
        if self.capacity == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(self.start, self.capacity) } }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.start.is_null() {
            return;
        }
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.push((self.start as usize, self.capacity));
        // The smallest piece is missed least.
        unused.sort_unstable_by_key(|(_, capacity)| *capacity);
        if unused.len() > MAX_UNUSED {
            let (start, _) = unused.remove(0);
            // SAFETY: from cuMemHostAlloc, in nobody's use.
            let _ = unsafe { result::free_host(start as *mut c_void) };
        }
    }
}

/// The current context, if there is one.
fn current() -> Result<Option<CUcontext>> {
    check(ctx::get_current(), "asking for the current context")
}

/// The device of a context.
fn device_of(context: CUcontext) -> Result<i32> {
    let (_restore, mut device) = (Restore(current()?), -1);
    // SAFETY: a live context is made current for the question, and the one before comes back; a live local.
    unsafe {
        check(ctx::set_current(context), "entering a context")?;
        check(sys::cuCtxGetDevice(&mut device).result(), "asking for a context's device")?;
    }
    Ok(device)
}

/// The primary context of a device: the one that the CUDA runtime uses. It is retained once per process and device.
fn primary(ordinal: i32) -> Result<CUcontext> {
    static PRIMARY: Mutex<Option<HashMap<i32, usize>>> = Mutex::new(None);
    let mut retained = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
    let retained = retained.get_or_insert_default();
    if let Some(context) = retained.get(&ordinal) {
        return Ok(*context as CUcontext);
    }
    // SAFETY: a device of the driver.
    let context =
        check(unsafe { result::primary_ctx::retain(device(ordinal)?) }, &format!("entering device {ordinal}"))?;
    retained.insert(ordinal, context as usize);
    Ok(context)
}

/// The device of the current context, else the first one.
pub fn default_ordinal() -> i32 {
    current().ok().flatten().and_then(|context| device_of(context).ok()).unwrap_or(0)
}

/// The number of a device, as the driver's other functions take it.
fn device(ordinal: i32) -> Result<sys::CUdevice> {
    check(result::device::get(ordinal), &format!("asking for device {ordinal}"))
}

/// What a device says of itself.
pub fn attribute(ordinal: i32, attribute: sys::CUdevice_attribute) -> Result<c_int> {
    // SAFETY: a device of the driver.
    let done = unsafe { result::device::get_attribute(device(ordinal)?, attribute) };
    check(done, "asking for the device's capability")
}

/// The name and compute capability of a device.
pub fn describe(ordinal: i32) -> Result<(String, i32, i32)> {
    use sys::CUdevice_attribute::*;
    usable()?;
    let name = check(result::device::get_name(device(ordinal)?), "asking for the device's name")?;
    let major = attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok((name, major, attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?))
}
