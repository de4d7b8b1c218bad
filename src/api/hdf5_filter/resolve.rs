//! Which libhdf5 is calling? A process may hold several (a Python with h5py and netCDF4 does), mostly out of sight of
//! the global symbol scope, and an id from one means nothing, or worse something else, to another. So the filter looks
//! where the call returns to, and takes the functions of that very object.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::ptr::{NonNull, null, null_mut};

use super::abi::{Hid, Table};
use crate::error::{Result, fail};
use crate::host::fork::between_forks;

/// An object of this process, kept loaded as long as this value lives.
///
/// The loader is asked while forks are free to come: the C library gives a child a loader that nobody waits in (glibc
/// always, musl since
/// 1.2.2). Were forks held up meanwhile, another thread that loads a library, whose constructor forks or calls us,
/// would wait for this one, and this one for the loader.
pub struct Object {
    handle: NonNull<c_void>,
    base: *mut c_void,
}

impl Object {
    /// The object that holds the code at `address`.
    pub fn at(address: *const c_void) -> Option<Object> {
        let info = lookup(address)?;
        let object = Object::open(info.dli_fname).or_else(|| Object::open(null()));
        object.map(|mut o| {
            o.base = info.dli_fbase;
            o
        })
    }

    /// The one loaded object that defines `symbol`; `None` if there are several.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    pub fn only_with(symbol: &CStr) -> Option<Object> {
        let mut found = None;
        for name in loaded_objects() {
            let Some(mut object) = Object::open(if name.is_empty() { null() } else { name.as_ptr() }) else { continue };
            let Some(own_base) = object.find(symbol).and_then(|p| base_of(p.as_ptr())) else { continue };
            match &found {
                // A handle also finds what the object's dependencies define: the same object may come up again.
                Some(Object { base, .. }) if *base == own_base => {}
                Some(_) => return None,
                None => {
                    object.base = own_base;
                    found = Some(object);
                }
            }
        }
        found
    }

    /// The one loaded object that defines `symbol`: this system cannot list the objects.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    pub fn only_with(_symbol: &CStr) -> Option<Object> {
        None
    }

    /// The address of `symbol` in the object or its dependencies.
    pub fn find(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), symbol.as_ptr()) })
    }

    /// The address of `symbol` if the object itself defines it: a dependency's would be of another HDF5.
    fn find_own(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        self.find(symbol).filter(|p| base_of(p.as_ptr()) == Some(self.base))
    }

    /// Opens what is loaded already; null is the main program.
    fn open(name: *const std::ffi::c_char) -> Option<Object> {
        let load = if name.is_null() { 0 } else { libc::RTLD_NOLOAD };
        // SAFETY: `name` is null or a C string that the dynamic linker or a CString gave us. Nothing is loaded.
        let handle = NonNull::new(unsafe { libc::dlopen(name, libc::RTLD_LAZY | load) })?;
        Some(Object { handle, base: null_mut() })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened once in `open`, closed once here.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

/// Where the object that holds `address` begins.
pub fn base_of(address: *const c_void) -> Option<*mut c_void> {
    lookup(address).map(|info| info.dli_fbase)
}

fn lookup(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = std::mem::MaybeUninit::uninit();
    // SAFETY: dladdr takes any address, and fills `info` unless it returns 0.
    unsafe { if libc::dladdr(address, info.as_mut_ptr()) != 0 { Some(info.assume_init()) } else { None } }
}

/// The names under which the dynamic linker knows the loaded objects; the main program's is empty.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn loaded_objects() -> Vec<CString> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> libc::c_int {
        // SAFETY: `names` is the vector below, and the name is null or a C string.
        unsafe {
            if !(*info).dlpi_name.is_null() {
                (*names.cast::<Vec<CString>>()).push(CStr::from_ptr((*info).dlpi_name).to_owned());
            }
        }
        0
    }
    let mut names = Vec::new();
    // The list has a lock of its own, which glibc leaves as it was in a child; no constructor runs under it.
    // SAFETY: `add` has the required type and the vector outlives the call.
    between_forks(|| unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut names).cast()) });
    names
}

/// The functions of one HDF5, which stays loaded meanwhile.
pub struct Hdf5<T: Table> {
    functions: T,
    _object: Option<Object>,
}

impl<T: Table> std::ops::Deref for Hdf5<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.functions
    }
}

impl<T: Table> Hdf5<T> {
    /// The HDF5 whose code is at `caller`; null stands for a machine where the return address cannot be had.
    ///
    /// `None` if it hides its functions, as a stripped program that holds HDF5 by static linking does.
    pub fn of_caller(caller: *const c_void) -> Result<Option<Hdf5<T>>> {
        let object = if caller.is_null() { Object::only_with(c"H5Pmodify_filter") } else { Object::at(caller) };
        // SAFETY: the object has called a filter, or is alone in having H5Pmodify_filter: it is HDF5; its version is
        // checked below.
        let loaded = object.and_then(|o| unsafe { T::load(|name| o.find_own(name)) }.ok().map(|f| (f, Some(o))));
        Hdf5::new(loaded.or_else(|| in_program(caller, "H5Z").map(|f| (f, None))))
    }

    /// The HDF5 that the program or library with the code at `caller` uses. One that is not linked to any, as a
    /// foreign-function interface is not, uses the only one there is.
    pub fn of_user(caller: *const c_void) -> Result<Hdf5<T>> {
        let own = if caller.is_null() { None } else { Object::at(caller) };
        let linked = own.and_then(Hdf5::used_by);
        let found = linked.or_else(|| in_program(caller, "").map(|f| (f, None)));
        let found = found.or_else(|| Object::only_with(c"H5Dwrite").and_then(Hdf5::used_by));
        match Hdf5::new(found)? {
            Some(hdf5) => Ok(hdf5),
            None => fail!(
                Hdf5,
                "no HDF5 is in sight of the caller, or several are; link the code that calls to HDF5, as a shared \
                library if its \
                 symbols are stripped"
            ),
        }
    }

    /// The HDF5 that the program or library at `address` is linked to, or holds.
    pub fn linked_to(address: *const c_void) -> Result<Hdf5<T>> {
        let linked = Object::at(address).and_then(Hdf5::used_by);
        match Hdf5::new(linked.or_else(|| in_program(address, "").map(|f| (f, None))))? {
            Some(hdf5) => Ok(hdf5),
            None => fail!(
                Hdf5,
                "at {address:?}, which sleek_h5d_user() was given, is no program or library that is linked to HDF5"
            ),
        }
    }

    /// The functions that `object` finds in itself and what it is linked to, all of one library.
    fn used_by(object: Object) -> Option<(T, Option<Object>)> {
        let base = base_of(object.find(c"H5get_libversion")?.as_ptr())?;
        // A program at a fixed address may have stubs of its own for functions whose address it takes. H5DO... are in
        // libhdf5_hl.
        let fits = |name: &CStr, at: NonNull<c_void>| {
            let at = base_of(at.as_ptr());
            at == Some(base) || at == Some(object.base) || name.to_bytes().starts_with(b"H5DO")
        };
        // SAFETY: functions of HDF5's names in the library that has H5get_libversion; the version is checked by `new`.
        let functions = unsafe { T::load(|name| object.find(name).filter(|at| fits(name, *at))) }.ok()?;
        Some((functions, Some(object)))
    }

    fn new(found: Option<(T, Option<Object>)>) -> Result<Option<Hdf5<T>>> {
        let Some((functions, object)) = found else { return Ok(None) };
        let (major, minor, release) = functions.version();
        if (major, minor) < (1, 10) {
            return fail!(Hdf5, "this is HDF5 {major}.{minor}.{release}; the filter needs 1.10 or newer");
        }
        Ok(Some(Hdf5 { functions, _object: object }))
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use super::symtab::functions as in_program;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn in_program<T: Table>(_caller: *const c_void, _prefix: &str) -> Option<T> {
    None
}

/// Defines an `extern "C"` function that passes its arguments and then its own return address on to another, by these
/// instructions.
macro_rules! with_return_address {
    (
        $(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty
        => $to:path, $x86:literal, $arm:literal
    ) => {
        #[cfg(target_arch = "x86_64")]
        $(#[$attr])*
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            std::arch::naked_asm!($x86, to = sym $to)
        }
        #[cfg(target_arch = "aarch64")]
        $(#[$attr])*
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            std::arch::naked_asm!($arm, to = sym $to)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        $(#[$attr])*
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: the same contract; null says that the caller is not known.
            unsafe { $to($($arg,)* std::ptr::null()) }
        }
    };
}

#[cfg(feature = "plugin")]
pub(crate) use with_return_address;

/// The body of a naked `extern "C"` function of eight integers or pointers that passes them and its own return address
/// on.
macro_rules! pass_return_address {
    ($to:ident($($arg:ident),*)) => {{
        // The seventh argument and those after it lie on the stack, behind the return address; so must those of the
        // other call.
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "push [rsp]", "push [rsp + 24]", "push [rsp + 24]", "call {to}", "add rsp, 24", "ret", to = sym $to
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "sub sp, sp, #32", "stp x29, x30, [sp, #16]", "str x30, [sp]", "bl {to}", "ldp x29, x30, [sp, #16]",
            "add sp, sp, #32", "ret", to = sym $to
        );
        // SAFETY: the same contract; null says that the caller is not known.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $to($($arg,)* std::ptr::null()) }
    }};
}
pub(crate) use pass_return_address;

with_return_address! {
    /// `H5Z_set_local_func_t`. A fourth argument goes into a register that the caller leaves free.
    pub fn set_local(dcpl: Hid, type_id: Hid, space: Hid) -> i32
        => super::filter::set_local, "mov rcx, [rsp]\njmp {to}", "mov x3, x30\nb {to}"
}

with_return_address! {
    /// `H5Z_func_t`. A seventh argument goes onto the stack of x86.
    pub fn filter(
        flags: c_uint, cd_nelmts: usize, cd_values: *const c_uint, nbytes: usize, buf_size: *mut usize,
        buf: *mut *mut c_void
    ) -> usize => super::filter::filter, "push [rsp]\ncall {to}\nadd rsp, 8\nret", "mov x6, x30\nb {to}"
}

with_return_address! {
    /// Registers the filter with the HDF5 that the calling program or library is linked to, as
    /// `H5Zregister(sleek_h5_class())` would: 0, or `SLEEK_ERR_HDF5` if no HDF5 can be found or it refuses. Needed
    /// before writing to an existing dataset, where HDF5 loads no plugins, and where no plugin path is set. May be
    /// called many times.
    #[unsafe(no_mangle)]
    pub fn sleek_h5_register() -> i32 => super::filter::register, "mov rdi, [rsp]\njmp {to}", "mov x0, x30\nb {to}"
}

#[cfg(test)]
mod tests {
    use super::super::abi::{DatasetFunctions, Functions};
    use super::*;

    #[test]
    fn objects_are_found_by_address_and_by_symbol() {
        let here = Object::at(objects_are_found_by_address_and_by_symbol as *const c_void).unwrap();
        let there = Object::only_with(c"dlopen").unwrap();
        assert_eq!(Some(there.base), base_of(there.find(c"dlopen").unwrap().as_ptr()));
        // The test program uses dlopen but does not define it.
        assert!(here.base != there.base && here.find(c"dlopen").is_some() && here.find_own(c"dlopen").is_none());
        assert!(Object::only_with(c"no_such_function").is_none());
        assert!(Object::at(std::ptr::dangling()).is_none());
    }

    #[test]
    fn no_hdf5_is_no_error() {
        let caller = no_hdf5_is_no_error as *const c_void;
        assert!(Hdf5::<Functions>::of_caller(caller).is_ok_and(|h| h.is_none()));
        assert!(Hdf5::<Functions>::of_caller(null()).is_ok_and(|h| h.is_none()));
        assert!(Hdf5::<DatasetFunctions>::of_user(caller).is_err());
        for address in [caller, std::ptr::dangling()] {
            let error = Hdf5::<DatasetFunctions>::linked_to(address).err().expect("no HDF5 in this program");
            assert!(error.message.contains("sleek_h5d_user"), "{error}");
        }
    }
}
