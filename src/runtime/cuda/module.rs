//! The kernels: the loaded modules of each context, by codec, element type and part.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::result::{self, DriverError, function};
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSOR_COUNT,
};
use cudarc::driver::sys::{CUfunction, CUfunction_attribute, CUmodule, CUresult};

use super::driver::{Session, attribute, check, describe};
use super::image::{self, PTX};
use crate::dtype::DType;
use crate::error::{Result, fail};

/// A kernel, and how many threads its blocks have.
#[derive(Clone, Copy)]
pub struct Kernel {
    function: CUfunction,
    threads: u32,
    /// Bytes that a block shares besides what the kernel itself names.
    shared: u32,
    /// Multiprocessors of the device, and blocks that each holds at once, or is to hold of one array.
    processors: u32,
    on_each: u32,
    alone: u32,
}

/// A kernel whose blocks have as many warps as the work needs, and share some bytes and more for each warp.
#[derive(Clone, Copy)]
pub struct Warps {
    kernel: Kernel,
    all: usize,
    each: usize,
}

impl Warps {
    /// With blocks of up to as many warps as the kernel's.
    pub fn of_kernel(kernel: Kernel) -> Warps {
        Warps { kernel, all: 0, each: 0 }
    }

    /// The kernel for so many pieces of work, each for a warp: with fewer of them blocks are smaller, so that all
    /// multiprocessors have some.
    pub fn kernel(&self, pieces: u64) -> Result<Kernel> {
        let warps = pieces.div_ceil(self.kernel.processors.into()).clamp(1, self.kernel.warps().into()) as u32;
        self.of(warps, self.all + warps as usize * self.each)
    }

    /// The kernel with blocks of so many warps, which share so many bytes.
    pub fn of(&self, warps: u32, shared: usize) -> Result<Kernel> {
        let threads = 32 * warps;
        let on_each = resident_blocks(self.kernel.function, threads, shared)?;
        Ok(Kernel { threads, shared: shared as u32, on_each, alone: on_each, ..self.kernel })
    }
}

// SAFETY: a function handle may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads / 32
    }

    /// The same with so many blocks on a multiprocessor at most where it works on one array.
    pub fn at_most(self, blocks: u32) -> Kernel {
        Kernel { alone: self.alone.min(blocks), ..self }
    }

    /// Blocks that the device holds at once.
    fn resident(&self) -> u32 {
        self.on_each * self.processors
    }

    /// Blocks for so many work slots: no more than the device holds at once.
    pub fn blocks(&self, work_slots: u64) -> u32 {
        work_slots.clamp(1, self.resident().into()) as u32
    }

    /// Work slots for one array of `chunks`.
    pub fn work_slots_alone(&self, chunks: u64) -> u64 {
        chunks.min((self.alone * self.processors).into())
    }

    /// Work slots for one of some arrays, of whose chunks it has so many: as many as the device holds blocks, in
    /// proportion, but one at least.
    pub fn work_slots(&self, chunks: u64, of_all: u64) -> u64 {
        (chunks.saturating_mul(self.resident().into()) / of_all.max(1)).clamp(1, chunks.max(1)).min(chunks)
    }

    /// Blocks for `items` arrays that have at most `pieces` pieces of work each, the same number for each array.
    pub fn blocks_each(&self, items: u32, pieces: u64) -> u32 {
        items * pieces.clamp(1, u64::from(self.resident() / items).max(1)) as u32
    }

    /// Launches `grid` blocks with the argument struct `args`.
    ///
    /// # Safety
    /// `args` is the kernel's argument struct, and what it points to stays valid until the stream has passed the
    /// kernel.
    pub unsafe fn launch<A>(&self, session: &Session, grid: u32, args: &A) -> Result<()> {
        let mut params = [ptr::from_ref(args).cast_mut().cast::<c_void>()];
        // SAFETY: one parameter, which the driver copies before it returns; the rest is the contract.
        let done = unsafe {
            let threads = (self.threads, 1, 1);
            result::launch_kernel(self.function, (grid, 1, 1), threads, self.shared, session.stream, &mut params)
        };
        check(done, "starting a kernel")
    }
}

/// Whether kernels were compiled into this build.
pub fn is_built() -> bool {
    cfg!(kernels_are_built)
}

/// A row of `kernels/modules.toml`.
pub struct KernelRow {
    folder: &'static str,
    codec: u8,
    name: &'static str,
    dtypes: &'static [&'static str],
    part: &'static str,
    /// Role and kernel.
    entries: &'static [(&'static str, &'static str)],
    /// Architecture, and the stream that has the module's image; nothing where the library was built without kernels.
    packed: &'static [(u8, &'static [u8])],
}

// MODULES, every row, as the build script read them.
include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// The module of a codec that has `part` of its kernels for an element type, if the codec has such a part.
pub fn find(codec: u8, dtype: DType, part: &str) -> Option<&'static KernelRow> {
    MODULES.iter().find(|row| row.codec == codec && row.part == part && row.dtypes.contains(&dtype.name()))
}

/// The same, which the codec must have.
pub fn need(codec: u8, dtype: DType, part: &str) -> Result<&'static KernelRow> {
    match find(codec, dtype, part) {
        Some(row) => Ok(row),
        None => fail!(
            UnsupportedFormat,
            "codec {codec} has no {part} kernels for {}; the CPU may know it (device cpu)",
            dtype.name()
        ),
    }
}

/// The module of this name that belongs to no codec.
pub fn shared(name: &str) -> Result<&'static KernelRow> {
    match MODULES.iter().find(|row| row.codec == 0 && row.name == name) {
        Some(row) => Ok(row),
        None => fail!(Internal, "there is no module {name} of kernels"),
    }
}

impl KernelRow {
    /// The image for a device of this compute capability, and the architecture that it is for.
    fn image(&self, capability: (i32, i32)) -> Result<(u8, Vec<u8>)> {
        let arch = image::best(self.packed.iter().map(|(arch, _)| *arch), capability);
        Ok((arch, self.image_for(arch)?))
    }

    fn image_for(&self, arch: u8) -> Result<Vec<u8>> {
        match self.packed.iter().find(|(packed_for, _)| *packed_for == arch) {
            Some((_, packed)) => image::unpack(packed, self.name),
            None => fail!(Device, "this library was built without kernels: make kernels, and build it again"),
        }
    }
}

/// What a codec made of its modules, for each context; a static of the codec's.
pub struct Loaded<T>(Mutex<Option<HashMap<Key, T>>>);

/// A context, and the folder and the name of a module.
type Key = (u64, &'static str, &'static str);

impl<T: Copy> Loaded<T> {
    /// Nothing yet.
    pub const fn none() -> Loaded<T> {
        Loaded(Mutex::new(None))
    }

    /// What there is for the session's context and a module; loaded and made at the first call.
    pub fn get(
        &self,
        session: &Session,
        row: &'static KernelRow,
        make: impl FnOnce(&Opened) -> Result<T>,
    ) -> Result<T> {
        let key = (session.context_id, row.folder, row.name);
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = loaded.get_or_insert_default();
        if let Some(found) = all.get(&key) {
            return Ok(*found);
        }
        let opened = open(session, row)?;
        let made = make(&opened)?;
        all.insert(key, made);
        opened.keep();
        Ok(made)
    }
}

/// A module that was loaded into a context. It stays loaded as long as the context if it is kept, else till the drop.
pub struct Opened {
    handle: CUmodule,
    ordinal: i32,
    row: &'static KernelRow,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: loaded by `open`, unloaded once; whatever was found in it is forgotten.
        let _ = unsafe { result::module::unload(self.handle) };
    }
}

/// Loads a module: code for the device where there is such, else PTX, which the driver compiles in its own time.
pub fn open(session: &Session, row: &'static KernelRow) -> Result<Opened> {
    let (device, major, minor) = describe(session.ordinal)?;
    if major < 8 {
        return fail!(Device, "{device} has compute capability {major}.{minor}; 8.0 or newer is needed");
    }
    let (arch, image) = row.image((major, minor))?;
    // SAFETY: a whole image, cubin or PTX that ends with a NUL, as the build made it; the driver copies it.
    let load = |image: &[u8]| unsafe { result::module::load_data(image.as_ptr().cast()) };
    let mut loaded = load(&image);
    // A driver that does not take this code may still compile the PTX.
    let is_other = |error: &DriverError| {
        matches!(error.0, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU | CUresult::CUDA_ERROR_INVALID_IMAGE)
    };
    if arch != PTX && loaded.as_ref().is_err_and(is_other) {
        loaded = load(&row.image_for(PTX)?);
    }
    let of = if arch == PTX { String::from("PTX") } else { format!("code for {}.{}", arch / 10, arch % 10) };
    let doing = format!("loading {of} of the {} kernels {} on {device} ({major}.{minor})", row.folder, row.name);
    Ok(Opened { handle: check(loaded, &doing)?, ordinal: session.ordinal, row })
}

impl Opened {
    /// To be said when everything that is needed was found in it.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Whether the module has a kernel for this role.
    fn has(&self, role: &str) -> bool {
        self.row.entries.iter().any(|(r, _)| *r == role)
    }

    /// The kernel for this role, where there is one.
    pub fn optional(&self, role: &str) -> Result<Option<Kernel>> {
        self.has(role).then(|| self.kernel(role)).transpose()
    }

    /// The kernel for this role.
    pub fn kernel(&self, role: &str) -> Result<Kernel> {
        self.kernel_sharing(role, 0)
    }

    /// The kernel for this role, whose blocks have fewer warps for less work.
    pub fn warps(&self, role: &str) -> Result<Warps> {
        self.kernel(role).map(Warps::of_kernel)
    }

    /// The same of a kernel whose blocks share `all` bytes, and `each` for every warp: no more of them than the memory
    /// has room for. None where not one fits, or there is no such kernel.
    pub fn warps_sharing(&self, role: &str, all: usize, each: usize) -> Result<Option<Warps>> {
        if !self.has(role) {
            return Ok(None);
        }
        let warps = self.warps(role)?;
        let of = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: a function of a loaded module.
        let own = unsafe { function::get_function_attribute(warps.kernel.function, of) };
        let own = check(own, "measuring a kernel")?;
        let room = attribute(self.ordinal, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(0) as usize;
        let most = (room.saturating_sub(all + own.max(0) as usize) / each).min(warps.kernel.warps() as usize);
        if most == 0 {
            return Ok(None);
        }
        let kernel = Kernel { threads: 32 * most as u32, ..self.kernel_sharing(role, all + most * each)? };
        Ok(Some(Warps { kernel, all, each }))
    }

    /// The kernel for this role, whose blocks share so many bytes besides what it names itself, and have as many
    /// threads as its launch bound says.
    pub fn kernel_sharing(&self, role: &str, shared: usize) -> Result<Kernel> {
        use CUfunction_attribute::*;
        let Some((_, name)) = self.row.entries.iter().find(|(r, _)| *r == role) else {
            return fail!(Internal, "the {} kernels {} have none for {role}", self.row.folder, self.row.name);
        };
        // SAFETY: the module is loaded, and has the function.
        let prepare = |name| unsafe {
            let function = result::module::get_function(self.handle, name)?;
            let set = |attribute, value| function::set_function_attribute(function, attribute, value);
            if shared > 0 {
                set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared as c_int)?;
            }
            // All of the memory that L1 shares goes to the blocks; the kernels reuse nothing through L1.
            set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100)?;
            Ok((function, function::get_function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?))
        };
        let Ok(text) = CString::new(*name) else { return fail!(Internal, "kernel name {name}") };
        let (function, threads) = check(prepare(text), &format!("preparing kernel {name}"))?;
        let processors = attribute(self.ordinal, MULTIPROCESSOR_COUNT)?.max(1) as u32;
        let (threads, shared_bytes) = (threads as u32, shared as u32);
        let on_each = resident_blocks(function, threads, shared)?;
        Ok(Kernel { function, threads, shared: shared_bytes, processors, on_each, alone: on_each })
    }
}

/// Blocks of so many threads, which share so many bytes, that a multiprocessor holds at once.
fn resident_blocks(function: CUfunction, threads: u32, shared: usize) -> Result<u32> {
    // SAFETY: a function of a loaded module.
    let blocks = unsafe { result::occupancy::max_active_block_per_multiprocessor(function, threads as c_int, shared) };
    Ok(check(blocks, "measuring a kernel")?.max(1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn modules_are_found_by_codec_type_and_part() {
        for dtype in DType::ALL {
            let base = need(1, dtype, "base").unwrap();
            assert!(base.entries.iter().any(|(role, _)| *role == "decompress"), "{dtype:?}");
            assert_eq!(base.entries.iter().any(|(role, _)| *role == "range"), dtype.size() > 1, "{dtype:?}");
            let general = need(1, dtype, "general").unwrap();
            assert!(general.entries.iter().any(|(role, _)| *role == "compress"), "{dtype:?}");
            assert_eq!(find(1, dtype, "adaptive").is_some(), dtype.size() > 2, "{dtype:?}");
        }
        let unknown = need(200, DType::F32, "base").err().unwrap();
        assert_eq!(unknown.kind, Kind::UnsupportedFormat);
        assert!(unknown.to_string().contains("codec 200 has no base kernels for f32"), "{unknown}");
        assert!(shared("hyperslab").is_ok() && shared("nothing").is_err());
    }

    #[test]
    fn a_library_without_kernels_says_what_to_do() {
        let row = KernelRow { packed: &[], ..*shared("hyperslab").unwrap() };
        let without = row.image((9, 0)).unwrap_err();
        assert!(without.kind == Kind::Device && without.message.contains("built without kernels: make kernels"));
    }

    #[test]
    #[cfg_attr(not(kernels_are_built), ignore = "built without kernels: make kernels")]
    fn compiled_modules_hold_what_the_table_names() {
        for row in MODULES {
            assert_eq!(row.packed.iter().map(|(arch, _)| *arch).collect::<Vec<_>>(), [80, 90, PTX]);
            for (arch, packed) in row.packed {
                let image = image::unpack(packed, row.name).unwrap();
                match *arch {
                    PTX => check_ptx(row, std::str::from_utf8(&image).unwrap()),
                    arch => check_cubin(row, arch, &image),
                }
            }
            for (capability, wanted) in [((8, 0), 80), ((8, 6), 80), ((8, 9), 80), ((9, 0), 90), ((10, 0), PTX)] {
                assert_eq!(row.image(capability).unwrap().0, wanted, "{capability:?}");
            }
        }
    }

    /// For every driver from 525 on, and what ptxas is to make of it.
    fn check_ptx(row: &KernelRow, ptx: &str) {
        let name = row.name;
        assert!(ptx.ends_with('\0') && ptx.contains(".version 8.0\n.target sm_80\n"), "{name}");
        for (_, kernel) in row.entries {
            assert!(ptx.contains(&format!(".visible .entry {kernel}(")), "{name} has no {kernel}");
        }
        // kernels/uniform.py was at work: some branches are taken together, and not all.
        let branches: Vec<&str> = ptx.lines().filter(|l| l.starts_with("\t@%p") && l.contains(" bra")).collect();
        let together = branches.iter().filter(|l| l.contains(" bra.uni")).count();
        assert!(row.folder == "hyperslab" || (together > 0 && together < branches.len()), "{name}: {together}");
        // A contracted product and sum would change bytes, but for those that the sources ask for.
        assert!(!ptx.lines().any(|l| l.contains("fma.rn.f32") && !l.ends_with("// exact")), "{name}");
    }

    /// An ELF file for CUDA (machine 190) and the architecture, with the kernels in it.
    fn check_cubin(row: &KernelRow, arch: u8, cubin: &[u8]) {
        assert!(cubin.starts_with(b"\x7fELF") && cubin[18..20] == [190, 0], "{}", row.name);
        assert_eq!(cubin[48], arch, "{}", row.name);
        for (_, kernel) in row.entries {
            let section = format!(".text.{kernel}\0");
            assert!(cubin.windows(section.len()).any(|w| w == section.as_bytes()), "{} has no {kernel}", row.name);
        }
    }
}
