//! The functions of an HDF5 that is linked statically into the main program. The dynamic linker does not know them, yet
//! such programs are common (`h5cc` makes them on some systems), so they are looked up in the program file's own symbol
//! table. A stripped program has none.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use super::abi::Table;
use super::loaded::base_of;
use crate::host::fork;

/// The main program's HDF5 if the code at `caller` is part of it, in a function whose name begins with `prefix`: else
/// the table and what is loaded do not fit each other.
pub fn functions<T: Table>(caller: *const c_void, prefix: &str) -> Option<T> {
    let base = base_of(caller)? as usize;
    // SAFETY: asks for a number; it is an address in the main program.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) } as *const c_void;
    base_of(program).filter(|p| *p as usize == base)?;
    let found = fork::found(T::of_program(), || {
        let symbols = Symbols::of_program()?;
        symbols.symbol_at(caller as usize)?.to_bytes().starts_with(prefix.as_bytes()).then_some(())?;
        // SAFETY: these are functions of the HDF5 in the program; resolve.rs checks its version.
        Some((base, unsafe { T::load(|name| symbols.find(name)) }.ok()?))
    });
    found.filter(|(b, _)| *b == base).map(|(_, functions)| functions)
}

/// The symbol table of an ELF file, 64 bits.
struct Symbols {
    table: Vec<u8>,
    names: Vec<u8>,
    /// What loading added to the addresses in the file.
    bias: usize,
}

const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const SYMTAB: u32 = 2;
const VARIABLE: u8 = 1;
const FUNCTION: u8 = 2;

impl Symbols {
    fn of_program() -> Option<Symbols> {
        let file = File::open("/proc/self/exe").ok()?;
        let header = read(&file, 0..64)?;
        if header[..5] != [0x7f, b'E', b'L', b'F', 2] {
            return None;
        }
        let (at, count) = (word(&header, 40)?, usize::from(u16_at(&header, 60)?));
        let sections = read(&file, at..at + (count * SECTION_BYTES) as u64)?;
        let section = |i: usize| sections.get(i * SECTION_BYTES..(i + 1) * SECTION_BYTES);
        let body = |s: &[u8]| read(&file, word(s, 24)?..word(s, 24)?.checked_add(word(s, 32)?)?);
        let symtab = (0..count).filter_map(section).find(|s| u32_at(s, 4) == Some(SYMTAB))?;
        let names = section(u32_at(symtab, 40)? as usize)?;
        Some(Symbols { table: body(symtab)?, names: body(names)?, bias: program_bias()? })
    }

    /// Name, address and bytes of every function and variable.
    fn symbols(&self) -> impl Iterator<Item = (&CStr, Range<usize>)> {
        self.table.chunks_exact(SYMBOL_BYTES).filter(|s| matches!(s[4] & 15, VARIABLE | FUNCTION)).filter_map(|s| {
            let name = CStr::from_bytes_until_nul(self.names.get(u32_at(s, 0)? as usize..)?).ok()?;
            let (start, size) = (word(s, 8)? as usize, word(s, 16)? as usize);
            // An address of 0 belongs to a symbol of another file.
            (start != 0)
                .then(|| (name, start.wrapping_add(self.bias)..start.wrapping_add(self.bias).wrapping_add(size)))
        })
    }

    fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let (_, at) = self.symbols().find(|(n, _)| *n == name)?;
        NonNull::new(at.start as *mut c_void)
    }

    fn symbol_at(&self, address: usize) -> Option<&CStr> {
        self.symbols().find(|(_, at)| at.contains(&address)).map(|(name, _)| name)
    }
}

/// The main program is the first object that the dynamic linker lists.
fn program_bias() -> Option<usize> {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, bias: *mut c_void) -> libc::c_int {
        // SAFETY: `info` is valid during the call, `bias` is the variable below.
        unsafe { *bias.cast::<Option<usize>>() = Some((*info).dlpi_addr as usize) };
        1
    }
    let mut bias: Option<usize> = None;
    // SAFETY: `first` has the required type and the variable outlives the call.
    fork::between_forks(|| unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) });
    bias
}

fn read(file: &File, at: Range<u64>) -> Option<Vec<u8>> {
    // A bad size in the file must not make us reserve more than the file has.
    let len = usize::try_from(at.end.min(file.metadata().ok()?.len()).checked_sub(at.start)?).ok()?;
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at.start).ok()?;
    (len as u64 == at.end - at.start).then_some(bytes)
}

// A program's file has the byte order of the machine it runs on.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_finds_its_own_functions() {
        let symbols = Symbols::of_program().unwrap();
        let ours = read as *const () as usize;
        let name = symbols.symbol_at(ours).unwrap();
        assert!(name.to_str().unwrap().contains("symtab"), "{name:?}");
        assert_eq!(symbols.find(name).unwrap().as_ptr() as usize, ours);
        assert_eq!(symbols.find(c"no_such_function"), None);
    }
}
