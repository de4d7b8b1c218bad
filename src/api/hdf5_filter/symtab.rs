//! The functions of an HDF5 that is linked statically into the main program. The dynamic linker does not know them, yet
//! such programs are common (`h5cc` makes them on some systems), so they are looked up in the program file's own symbol
//! table. A stripped program has none.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::ptr::NonNull;
use std::sync::OnceLock;

use object::read::elf::ElfFile64;
use object::{NativeEndian, Object, ObjectSegment, ObjectSymbol, ReadCache};

use super::abi::Tables;
use super::loaded::base_of;
use crate::host::fork;

/// The main program's HDF5 if the code at `caller` is part of it, in a function whose name begins with `prefix`: else
/// the table and what is loaded do not fit each other.
pub fn functions(caller: *const c_void, prefix: &str) -> Option<Tables> {
    static FOUND: OnceLock<Option<(usize, Tables)>> = OnceLock::new();
    let base = base_of(caller)? as usize;
    // SAFETY: asks for a number; it is an address in the main program.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) } as *const c_void;
    base_of(program).filter(|p| *p as usize == base)?;
    let found = fork::found(&FOUND, || {
        let file = ReadCache::new(File::open("/proc/self/exe").ok()?);
        let symbols = Symbols::new(&file, base)?;
        symbols.name_at(caller as usize)?.starts_with(prefix.as_bytes()).then_some(())?;
        // SAFETY: these are functions of the HDF5 in the program; resolve.rs checks its version.
        Some((base, unsafe { Tables::load(&|name| symbols.find(name)) }?))
    });
    found.filter(|(b, _)| *b == base).map(|(_, functions)| functions)
}

/// The symbol table of the main program's file.
struct Symbols<'a> {
    file: ElfFile64<'a, NativeEndian, &'a ReadCache<File>>,
    /// What loading added to the addresses in the file.
    bias: usize,
}

impl<'a> Symbols<'a> {
    /// Of a program that is loaded from `base` on, where the page of its first segment is.
    fn new(file: &'a ReadCache<File>, base: usize) -> Option<Symbols<'a>> {
        let file = ElfFile64::parse(file).ok()?;
        let first = file.segments().map(|segment| segment.address() as usize & !0xfff).min()?;
        Some(Symbols { file, bias: base.wrapping_sub(first) })
    }

    fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let mut symbols = self.file.symbols().filter(|symbol| symbol.is_definition());
        let found = symbols.find(|symbol| symbol.name_bytes() == Ok(name.to_bytes()))?;
        NonNull::new((found.address() as usize).wrapping_add(self.bias) as *mut c_void)
    }

    fn name_at(&self, address: usize) -> Option<&[u8]> {
        let at = address.wrapping_sub(self.bias) as u64;
        let mut symbols = self.file.symbols().filter(|symbol| symbol.is_definition());
        symbols.find(|symbol| at.wrapping_sub(symbol.address()) < symbol.size())?.name_bytes().ok()
    }
}
