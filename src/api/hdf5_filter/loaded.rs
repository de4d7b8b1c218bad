//! The programs and libraries that are loaded into this process.

use std::ffi::{CStr, CString, c_void};
use std::ptr::{NonNull, null, null_mut};

use crate::host::fork::between_forks;

/// An object of this process, kept loaded as long as this value lives.
///
/// The loader is asked while forks are free to come: the C library gives a child a loader that nobody waits in (glibc
/// always, musl since 1.2.2). Were forks held up meanwhile, another thread that loads a library, whose constructor
/// forks or calls us, would wait for this one, and this one for the loader.
pub struct Object {
    handle: NonNull<c_void>,
    /// Where it begins.
    pub base: *mut c_void,
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
    pub fn find_own(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
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
