//! The stand-in driver (driver.cpp), and memory of its devices.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The stand-in driver.
pub struct Shim {
    handle: usize,
}

impl Shim {
    /// Builds and loads it once; tests that use it run one after the other, because it counts.
    pub fn get() -> (&'static Shim, MutexGuard<'static, ()>) {
        static SHIM: OnceLock<Shim> = OnceLock::new();
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let shim = SHIM.get_or_init(Shim::load);
        shim.set(4, 0);
        (shim, turn)
    }

    fn load() -> Shim {
        let library = crate::common::stand_in(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        let name = CString::new(library.to_str().unwrap()).unwrap();
        // Loaded under their sonames, they are what later requests for libcuda.so, which the library makes first, and
        // for libcuda.so.1 find: the driver of a machine that has one is not asked.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!handle.is_null());
        let shim = Shim { handle: handle as usize };
        let init: extern "C" fn(u32) -> i32 = unsafe { std::mem::transmute(shim.symbol("cuInit")) };
        assert_eq!(init(0), 0);
        shim
    }

    pub fn symbol(&self, name: &str) -> *mut c_void {
        let c = CString::new(name).unwrap();
        let found = unsafe { libc::dlsym(self.handle as *mut c_void, c.as_ptr()) };
        assert!(!found.is_null(), "{name}");
        found
    }

    pub fn set(&self, blocks: u32, seed: u32) {
        let f: extern "C" fn(u32, u32) = unsafe { std::mem::transmute(self.symbol("shim_set")) };
        f(blocks, seed);
    }

    /// Whether cubins are refused, as by a driver that is too old for them.
    pub fn refuse_cubins(&self, yes: bool) {
        let f: extern "C" fn(u32) = unsafe { std::mem::transmute(self.symbol("shim_refuse_cubins")) };
        f(yes.into());
    }

    /// From now on each context is another one at the place of one that is gone, in which nothing is loaded.
    pub fn renew_contexts(&self) {
        let f: extern "C" fn() = unsafe { std::mem::transmute(self.symbol("shim_renew_contexts")) };
        f();
    }

    /// The call of this number, from now on, fails with `code`, all behind it too if that `stays`; below 0 none does.
    pub fn fail(&self, at: i32, code: i32, stays: bool) {
        let f: extern "C" fn(i32, i32, u32) = unsafe { std::mem::transmute(self.symbol("shim_fail")) };
        f(at, code, stays.into());
    }

    /// What a warp finds to lie between two chunks of an index.
    pub fn units_between(&self, entries: *const u16, begin: u64, end: u64) -> u64 {
        let f: extern "C" fn(*const u16, u64, u64) -> u64 =
            unsafe { std::mem::transmute(self.symbol("shim_units_between")) };
        f(entries, begin, end)
    }

    pub fn number(&self, name: &str) -> i32 {
        let f: extern "C" fn() -> i32 = unsafe { std::mem::transmute(self.symbol(name)) };
        f()
    }

    pub fn current(&self) -> usize {
        let f: extern "C" fn(*mut usize) -> i32 = unsafe { std::mem::transmute(self.symbol("cuCtxGetCurrent")) };
        let mut c = 0;
        f(&mut c);
        c
    }

    pub fn set_current(&self, context: usize) {
        let f: extern "C" fn(usize) -> i32 = unsafe { std::mem::transmute(self.symbol("cuCtxSetCurrent")) };
        f(context);
    }

    /// Memory of a device that holds `bytes` from `offset` on.
    pub fn upload(&'static self, device: usize, bytes: &[u8], offset: usize) -> Memory {
        let m = self.allocate(device, bytes.len() + offset);
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), m.at(offset), bytes.len()) };
        m
    }

    pub fn allocate(&'static self, device: usize, bytes: usize) -> Memory {
        let f: extern "C" fn(*mut u64, usize) -> i32 = unsafe { std::mem::transmute(self.symbol("cuMemAlloc_v2")) };
        let before = self.current();
        self.set_current(0x1000 + device);
        let mut p = 0;
        assert_eq!(f(&mut p, bytes), 0);
        self.set_current(before);
        Memory { shim: self, start: p as *mut u8, bytes }
    }
}

/// Device memory of a test.
pub struct Memory {
    shim: &'static Shim,
    start: *mut u8,
    bytes: usize,
}

impl Memory {
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.bytes);
        unsafe { self.start.add(offset) }
    }

    pub fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        assert!(offset + bytes <= self.bytes);
        unsafe { std::slice::from_raw_parts(self.start.add(offset), bytes) }.to_vec()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let f: extern "C" fn(u64) -> i32 = unsafe { std::mem::transmute(self.shim.symbol("cuMemFree_v2")) };
        f(self.start as u64);
    }
}
