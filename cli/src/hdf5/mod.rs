//! HDF5 files, through a libhdf5 that is looked up when it is needed: the command is built and starts without one.

pub mod abi;
pub mod about;
mod chunk;
mod coarse;
pub mod coordinates;
pub mod dataset;
pub mod filters;
pub mod libraries;
pub mod losses;
mod missing;
pub mod object;
pub mod parallel;
pub mod rim;
mod stored;
pub mod values;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use abi::{Functions, Herr, Hid};

/// What HDF5 says of what is of a version that it does not know. Damage where nothing has a checksum may look the same.
const NEWER: [&str; 1] = ["version"];
/// What it says of a file that somebody else has open for writing: it is locked, or says so itself.
const IN_USE: [&str; 2] = ["Resource temporarily unavailable", "already open for"];

/// The oldest HDF5 of which files are rewritten.
const OLDEST: (u32, u32, u32) = (1, 10, 5);

/// Files that a library may need besides those that the loader finds.
const NEEDED: usize = 8;

/// An object file that was loaded, and stays so until the process ends.
pub struct Loaded {
    handle: *mut c_void,
    name: String,
}

impl Loaded {
    /// Out of the global scope, as a Python module loads its libraries: the hardest case for a plugin. What it needs
    /// may lie beside it, in a wheel that says so in its modules alone; that is loaded before.
    pub fn open(file: &Path) -> Result<Loaded, String> {
        let mut loaded = Loaded::open_alone(file);
        for _ in 0..NEEDED {
            let Err(complaint) = &loaded else { break };
            // The loader's words begin with the name of what it did not find.
            let name = complaint.split(':').next().unwrap_or_default();
            let beside = file.with_file_name(name);
            if name.contains('/') || beside == *file || !beside.is_file() || Loaded::open(&beside).is_err() {
                break;
            }
            loaded = Loaded::open_alone(file);
        }
        loaded
    }

    fn open_alone(file: &Path) -> Result<Loaded, String> {
        let path = c_string(file.as_os_str().as_bytes())?;
        // SAFETY: initialisers of the library run, as in every program that is linked to it.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure dlerror returns a string.
            return Err(unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned());
        }
        Ok(Loaded { handle, name: file.display().to_string() })
    }

    pub fn symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle is open.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if address.is_null() { Err(format!("{} has no {}", self.name, name.to_string_lossy())) } else { Ok(address) }
    }

    /// # Safety
    /// The function of this name has type `F`, a function pointer.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        let address = self.symbol(name)?;
        // SAFETY: same size by the assertion, right type by the contract.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }

    /// Starts the library; its version.
    pub fn hdf5_version(&self) -> Result<(u32, u32, u32), String> {
        // SAFETY: these functions have these types in every HDF5, and write three integers.
        unsafe {
            let open: unsafe extern "C" fn() -> c_int = self.function(c"H5open")?;
            let version: unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int =
                self.function(c"H5get_libversion")?;
            let mut v = [0; 3];
            let [major, minor, release] = v.each_mut().map(|x| x as *mut c_uint);
            if open() < 0 || version(major, minor, release) < 0 {
                return Err(format!("{}: HDF5 does not start", self.name));
            }
            Ok((v[0], v[1], v[2]))
        }
    }
}

/// Functions that changed their names, or came late.
type GetInfo3 = unsafe extern "C" fn(Hid, *mut c_void, c_uint) -> Herr;
type GetInfo = unsafe extern "C" fn(Hid, *mut c_void) -> Herr;
type LinkInfo = unsafe extern "C" fn(Hid, *const c_char, *mut c_void, Hid) -> Herr;
type Iterate = unsafe extern "C" fn(Hid, c_int, c_int, *mut u64, abi::NameVisit, *mut c_void) -> Herr;
type ReadChunk = unsafe extern "C" fn(Hid, Hid, *const u64, *mut u32, *mut c_void) -> Herr;

/// One libhdf5, with our filter registered in it.
pub struct Hdf5 {
    /// Its functions by their names.
    pub call: Functions,
    object_info_by_token: Option<GetInfo3>,
    object_info: Option<GetInfo>,
    link_info: LinkInfo,
    iterate_links: Iterate,
    /// Visits the chunks that are stored (1.12.3, 1.14 and newer).
    iterate_chunks: Option<stored::IterateChunks>,
    /// Reads a chunk as it is stored.
    read_chunk: ReadChunk,
    loaded: Loaded,
    version: (u32, u32, u32),
    /// The last error, unless it was forgiven.
    failure: RefCell<Option<String>>,
}

/// Why a file could not be read.
pub enum Unread {
    /// No HDF5 is here, or another program has the file open.
    NotNow(String),
    /// What is in it is of a version, or of a kind, that no HDF5 here knows.
    Newer(String),
    Damaged(String),
}

impl From<Unread> for String {
    fn from(unread: Unread) -> String {
        let (Unread::NotNow(why) | Unread::Newer(why) | Unread::Damaged(why)) = unread;
        why
    }
}

/// Calls a function of HDF5; a negative answer is an error with HDF5's own words.
macro_rules! h5 {
    ($hdf5:expr, $name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: ids are alive, names end with a zero, pointers lead to as much memory as the function takes.
        let answer = unsafe { ($hdf5.call.$name)($($arg),*) };
        if answer < 0 { Err($hdf5.complaint(stringify!($name))) } else { Ok(answer) }
    }};
}
pub(crate) use h5;

/// The same for an answer that is a new id.
macro_rules! h5_id {
    ($hdf5:expr, $name:ident($($arg:expr),* $(,)?)) => {
        $crate::hdf5::h5!($hdf5, $name($($arg),*)).map(|id| $crate::hdf5::Id::new($hdf5, id))
    };
}
pub(crate) use h5_id;

/// An id of HDF5 that is given back when it goes out of scope. After an error it is not: HDF5 would try to write what
/// it could not write before, and crash.
pub struct Id<'a> {
    pub hdf5: &'a Hdf5,
    pub id: Hid,
}

impl<'a> Id<'a> {
    pub fn new(hdf5: &'a Hdf5, id: Hid) -> Id<'a> {
        Id { hdf5, id }
    }

    /// Gives the id back; an error if HDF5 cannot, say because a full disk keeps it from writing what it held back.
    pub fn close(self) -> Result<(), String> {
        let (hdf5, id) = (self.hdf5, self.id);
        std::mem::forget(self);
        if let Some(failure) = hdf5.failure.borrow().clone() {
            return Err(failure); // of an id that went out of scope
        }
        h5!(hdf5, H5Idec_ref(id)).map(drop)
    }
}

impl Id<'_> {
    /// Bytes that a dataset has in the file; 0 where HDF5 cannot tell, for then nothing is stored.
    pub fn storage_size(&self) -> u64 {
        // SAFETY: the id is alive.
        unsafe { (self.hdf5.call.H5Dget_storage_size)(self.id) }
    }
}

impl Drop for Id<'_> {
    fn drop(&mut self) {
        if self.hdf5.failure.borrow().is_none() {
            let _ = h5!(self.hdf5, H5Idec_ref(self.id)); // `close` of the file will tell
        }
    }
}

impl Hdf5 {
    /// The library that is named, else the first that serves.
    pub fn find(named: Option<&Path>) -> Result<Hdf5, String> {
        if let Some(file) = named {
            return Hdf5::load(file).map_err(|e| format!("--library {}: {e}", file.display()));
        }
        let mut reasons = Vec::new();
        for file in libraries::by_preference() {
            match Hdf5::load(&file) {
                Ok(hdf5) => return Ok(hdf5),
                Err(e) => reasons.push(format!("{}: {e}", file.display())),
            }
        }
        let advice =
            "install one (Debian, Ubuntu: hdf5-tools; Fedora: hdf5; conda, brew: hdf5), or name it with --library FILE";
        Err(match reasons.first() {
            None => format!("an HDF5 file needs libhdf5, and none was found: {advice}"),
            Some(first) => format!("an HDF5 file needs libhdf5 1.10.5 or newer, and none serves ({first}): {advice}"),
        })
    }

    /// The library that is named, else the first that can read all objects and attributes of this file. If none knows
    /// all attributes it is the first that reads the objects: a newer HDF5 may have made the file.
    pub fn for_file(named: Option<&Path>, path: &Path) -> Result<Hdf5, Unread> {
        let first = Hdf5::find(named).map_err(Unread::NotNow)?;
        let judged = |hdf5: &Hdf5, why: String| {
            let is_newer = hdf5.failed_by(&NEWER) || why.contains(object::UNKNOWN_KIND);
            let unread = match is_newer {
                _ if is_one_of_several(path) => {
                    Unread::NotNow(format!("{why}: HDF5's driver wrote it in several files"))
                }
                true => Unread::Newer(why),
                false => Unread::Damaged(why),
            };
            Some((hdf5.version, unread))
        };
        // What the newest of them says that cannot read it.
        let mut unread = match first.can_read(path) {
            Ok(true) => return Ok(first),
            Ok(false) => None,
            Err(why) if first.failed_by(&IN_USE) => {
                return Err(Unread::NotNow(format!("{why}: the file is in use, another program may write it")));
            }
            Err(why) => judged(&first, why),
        };
        let mut tried = vec![dotted(first.version)];
        for file in libraries::by_preference().filter(|_| named.is_none()) {
            let Ok(hdf5) = Hdf5::load(&file) else { continue };
            tried.push(dotted(hdf5.version));
            match (hdf5.version > first.version).then(|| hdf5.can_read(path)) {
                Some(Ok(all)) if all || unread.is_some() => return Ok(hdf5),
                Some(Err(why)) if unread.as_ref().is_some_and(|(newest, _)| hdf5.version > *newest) => {
                    unread = judged(&hdf5, why);
                }
                _ => {}
            }
        }
        tried.sort();
        tried.dedup();
        let tried = tried.join(", ");
        match unread {
            None => Ok(first),
            Some((_, Unread::Newer(why))) => Err(Unread::Newer(format!(
                "{why}; if the file is whole it needs a newer HDF5 than {tried}: name its libhdf5 with --library FILE"
            ))),
            Some((_, unread)) => Err(unread),
        }
    }

    /// Opens the file and every object in it; whether their attributes are of versions that this HDF5 knows.
    pub fn can_read(&self, path: &Path) -> Result<bool, String> {
        let file = self.open(path)?;
        let knows_attributes = |contents: object::Contents| {
            let mut all = true;
            for object in &contents.objects {
                let read = object::decode_attributes(&object::open_object(&file, &object.path)?);
                all &= read.is_ok() || !self.failed_by(&NEWER);
                self.forgive(read);
            }
            Ok(all)
        };
        let read = object::Contents::read(&file).and_then(knows_attributes);
        read.map_err(|e| format!("{}: {e} ({})", path.display(), self.name()))
    }

    fn load(file: &Path) -> Result<Hdf5, String> {
        let loaded = Loaded::open(file)?;
        let version = loaded.hdf5_version()?;
        if version < OLDEST {
            return Err(format!("is HDF5 {}; 1.10.5 or newer is needed", dotted(version)));
        }
        let hdf5 = Hdf5::of(loaded, version)?;
        // Errors are told in our own words, not printed by HDF5.
        h5!(hdf5, H5Eset_auto2(abi::DEFAULT, null_mut(), null_mut()))?;
        h5!(hdf5, H5Zregister(sleek::hdf5::class()))?;
        Ok(hdf5)
    }

    /// A library of 1.10.5 or newer as it is, without our filter.
    pub fn of(loaded: Loaded, version: (u32, u32, u32)) -> Result<Hdf5, String> {
        // SAFETY: these are HDF5's functions, of a version that has them in this form.
        unsafe {
            Ok(Hdf5 {
                call: Functions::load(|name| loaded.symbol(name))?,
                object_info_by_token: loaded.function(c"H5Oget_info3").ok(),
                object_info: loaded.function(c"H5Oget_info1").or_else(|_| loaded.function(c"H5Oget_info")).ok(),
                link_info: loaded.function(c"H5Lget_info2").or_else(|_| loaded.function(c"H5Lget_info"))?,
                iterate_links: loaded.function(c"H5Literate2").or_else(|_| loaded.function(c"H5Literate"))?,
                iterate_chunks: loaded.function(c"H5Dchunk_iter").ok(),
                read_chunk: loaded.function(c"H5Dread_chunk").or_else(|_| loaded.function(c"H5Dread_chunk1"))?,
                loaded,
                version,
                failure: RefCell::new(None),
            })
        }
    }

    /// Version and place, for messages.
    pub fn name(&self) -> String {
        format!("HDF5 {}, {}", dotted(self.version), self.loaded.name)
    }

    /// An id that the library keeps in a variable.
    pub fn constant(&self, name: &CStr) -> Result<Hid, String> {
        // SAFETY: H5open has set these variables, which are of type hid_t.
        Ok(unsafe { self.loaded.symbol(name)?.cast::<Hid>().read() })
    }

    pub fn properties(&self, class: &CStr) -> Result<Id<'_>, String> {
        h5_id!(self, H5Pcreate(self.constant(class)?))
    }

    pub fn open(&self, path: &Path) -> Result<Id<'_>, String> {
        let name = c_string(path.as_os_str().as_bytes())?;
        h5_id!(self, H5Fopen(name.as_ptr(), 0, abi::DEFAULT))
            .map_err(|e| format!("{}: {e} ({})", path.display(), self.name()))
    }

    /// What went wrong in `function`. From here on nothing is given back or closed, unless that is forgiven.
    pub fn complaint(&self, function: &str) -> String {
        let message = self.last_error(function);
        self.failure.replace(Some(message.clone()));
        message
    }

    /// Whether HDF5's own words of the last failure, in which no names are, have one of these.
    fn failed_by(&self, words: &[&str]) -> bool {
        self.failure.borrow().as_ref().is_some_and(|said| words.iter().any(|word| said.contains(word)))
    }

    /// What came of a call that may fail without harm.
    pub fn forgive<T>(&self, result: Result<T, String>) -> Option<T> {
        if result.is_err() {
            self.failure.replace(None);
        }
        result.ok()
    }

    /// HDF5's innermost sentence is the cause.
    fn last_error(&self, function: &str) -> String {
        unsafe extern "C" fn take(_: c_uint, record: *const abi::ErrorRecord, out: *mut c_void) -> Herr {
            // SAFETY: `out` is the vector below; HDF5 gives a record with a sentence or null.
            unsafe {
                if !(*record).sentence.is_null() {
                    let sentence = CStr::from_ptr((*record).sentence).to_string_lossy().into_owned();
                    (*out.cast::<Vec<String>>()).push(sentence);
                }
            }
            0
        }
        let mut sentences: Vec<String> = Vec::new();
        // SAFETY: `take` has the required type, and the vector outlives the call.
        unsafe { (self.call.H5Ewalk2)(abi::DEFAULT, 0, take, (&raw mut sentences).cast()) };
        let Some(cause) = sentences.first() else { return format!("{function} failed") };
        match (system_says(cause), sentences.last()) {
            (Some(said), _) => format!("{function}: {said}"),
            (None, Some(effect)) if cause != effect => format!("{function}: {effect}: {cause}"),
            _ => format!("{function}: {cause}"),
        }
    }
}

/// What the system says in HDF5's sentence on a failed call of it, which also has time and addresses, on two lines.
fn system_says(sentence: &str) -> Option<&str> {
    let (_, rest) = sentence.split_once("error message = '")?;
    rest.split_once('\'').map(|(said, _)| said)
}

fn dotted((major, minor, release): (u32, u32, u32)) -> String {
    format!("{major}.{minor}.{release}")
}

/// A name for HDF5.
pub fn c_string(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| format!("'{}' holds a zero byte", String::from_utf8_lossy(bytes)))
}

/// File and dataset of `FILE:DATASET`. A colon may be part of either, so what exists decides.
pub fn split(argument: &Path) -> (PathBuf, Option<String>) {
    let text = argument.to_string_lossy();
    if !argument.exists() {
        for (at, _) in text.match_indices(':') {
            if Path::new(&text[..at]).is_file() {
                return (PathBuf::from(&text[..at]), Some(text[at + 1..].to_owned()));
            }
        }
    }
    (argument.to_path_buf(), None)
}

/// What kind of file this is, as far as it matters here.
pub enum FileKind {
    Hdf5,
    /// The older netCDF, which is another format.
    NetcdfClassic,
    Other,
}

pub fn kind_of(path: &Path) -> Result<FileKind, String> {
    let mut file = std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let kind = signature(&mut file).map(|found| found.0);
    kind.map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether a file has a name as HDF5 files have it.
pub fn is_called_so(file: &Path) -> bool {
    const NAMES: [&str; 7] = ["h5", "hdf5", "he5", "hdf", "nc", "nc4", "cdf"];
    file.extension().is_some_and(|end| NAMES.iter().any(|name| end.eq_ignore_ascii_case(name)))
}

/// Whether a path leads to an HDF5 file. A pipe is not looked into: what was read of it would be gone.
pub fn is_hdf5(path: &Path) -> bool {
    path.is_file() && matches!(kind_of(path), Ok(FileKind::Hdf5 | FileKind::NetcdfClassic))
}

/// The version of the superblock of an HDF5 file.
pub fn superblock_version(path: &Path) -> Result<u8, String> {
    let mut file = std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut version = [0];
    let read = signature(&mut file).and_then(|(_, at)| {
        file.seek(SeekFrom::Start(at + 8))?;
        file.read_exact(&mut version)
    });
    read.map(|_| version[0]).map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether a file says that HDF5's family or multi driver, of which split is one kind, wrote it with others.
fn is_one_of_several(path: &Path) -> bool {
    // The name of the driver stands in or right behind the superblock.
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|mut file| {
        let (_, at) = signature(&mut file)?;
        file.seek(SeekFrom::Start(at))?;
        file.take(512).read_to_end(&mut head)
    });
    read.is_ok() && [b"NCSAfami", b"NCSAmult"].iter().any(|name| head.windows(8).any(|part| part == *name))
}

/// Looks for the signatures: HDF5's stands at the start, or behind a block of the user's own of 512, 1024, 2048 …
/// bytes.
fn signature(file: &mut std::fs::File) -> std::io::Result<(FileKind, u64)> {
    let size = file.metadata()?.len();
    let mut at = 0;
    while at + 8 <= size {
        let mut head = [0; 8];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut head)?;
        match &head {
            b"\x89HDF\r\n\x1a\n" => return Ok((FileKind::Hdf5, at)),
            [b'C', b'D', b'F', 1 | 2 | 5, ..] if at == 0 => return Ok((FileKind::NetcdfClassic, 0)),
            _ => at = if at == 0 { 512 } else { 2 * at },
        }
    }
    Ok((FileKind::Other, 0))
}

/// Refuses what is no HDF5 file, with a way out where there is one.
pub fn expect_hdf5(path: &Path) -> Result<(), String> {
    let name = path.display();
    match kind_of(path)? {
        FileKind::Hdf5 => Ok(()),
        FileKind::NetcdfClassic => {
            Err(format!("{name}: is classic netCDF, without HDF5; first: nccopy -k nc4 {name} new.nc"))
        }
        FileKind::Other => Err(format!("{name}: is not an HDF5 file")),
    }
}

/// A libhdf5 by `--library`.
#[derive(clap::Args, Clone, Debug)]
pub struct LibraryArg {
    /// The libhdf5 to use [default: one of this machine]
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}
