//! Names of other files in a file: in external links and views. HDF5 looks for a relative one where the file lies that
//! has it, so that in another folder it would lead nowhere, or to another file.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::hdf5::abi::{self, Hid};
use crate::hdf5::{Id, c_string, h5, h5_id};

/// The class of external links.
pub const EXTERNAL_LINK: i32 = 64;
/// What stands for the file itself in a view.
const ITSELF: &[u8] = b".";

/// Where the names are to lead from.
pub struct Elsewhere {
    /// The folder of the old file; none where the new one lies in the same.
    old: Option<PathBuf>,
}

impl Elsewhere {
    /// Of a file that is written from one place to another.
    pub fn new(from: &Path, to: &Path) -> Elsewhere {
        let [old, new] = [from, to].map(folder);
        Elsewhere { old: old.filter(|old| new.as_ref() != Some(old)) }
    }

    /// The name under which the new file finds what the old one finds under this; none if that is the same.
    fn name(&self, name: &[u8], is_pattern: bool) -> Option<Vec<u8>> {
        let old = self.old.as_ref().filter(|_| name != ITSELF && !name.starts_with(b"/"))?;
        let first = if is_pattern { first_of(name) } else { name.to_vec() };
        // What leads nowhere stays as it is.
        if !old.join(OsStr::from_bytes(&first)).exists() {
            return None;
        }
        let folder = old.as_os_str().as_bytes();
        let folder = if is_pattern { doubled(folder) } else { folder.to_vec() };
        Some([&folder, &b"/"[..], name].concat())
    }

    /// What an external link is to say: a byte of flags, the name of a file and that of an object in it.
    pub fn link(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (flags, names) = value.split_first()?;
        let end = names.iter().position(|byte| *byte == 0)?;
        let name = self.name(&names[..end], false)?;
        Some([&[*flags], &name[..], &names[end..]].concat())
    }

    /// How a view is to be made that shows the same; none if it is as it should be.
    pub fn view<'a>(&self, dataset: &Id<'a>) -> Result<Option<Id<'a>>, String> {
        let hdf5 = dataset.hdf5;
        let creation = h5_id!(hdf5, H5Dget_create_plist(dataset.id))?;
        if self.old.is_none() || h5!(hdf5, H5Pget_layout(creation.id))? != abi::VIRTUAL {
            return Ok(None);
        }
        let mut count = 0;
        h5!(hdf5, H5Pget_virtual_count(creation.id, &raw mut count))?;
        let sources = (0..count).map(|i| VirtualSource::of(&creation, i)).collect::<Result<Vec<_>, _>>()?;
        let renamed: Vec<_> = sources.iter().map(|source| self.name(source.file.as_bytes(), true)).collect();
        if renamed.iter().all(Option::is_none) {
            return Ok(None);
        }
        h5!(hdf5, H5Pset_layout(creation.id, abi::CHUNKED))?; // forgets the sources
        for (source, name) in sources.iter().zip(renamed) {
            let file = name.map_or(Ok(source.file.clone()), |name| c_string(&name))?;
            let (own, file, dataset) = (source.own.id, file.as_ptr(), source.dataset.as_ptr());
            h5!(hdf5, H5Pset_virtual(creation.id, own, file, dataset, source.there.id)).map_err(|e| self.stuck(&e))?;
        }
        Ok(Some(creation))
    }

    /// Why a view has to stay in its folder.
    fn stuck(&self, why: &str) -> String {
        let folder = self.old.as_deref().unwrap_or(Path::new(".")).display();
        format!(
            "a view of files in {folder}, which HDF5 cannot make again in another folder ({why}); write OUT into that \
             folder"
        )
    }
}

/// A part of a view.
struct VirtualSource<'a> {
    file: CString,
    dataset: CString,
    /// What it takes of the view.
    own: Id<'a>,
    /// What that is in the source.
    there: Id<'a>,
}

impl<'a> VirtualSource<'a> {
    fn of(creation: &Id<'a>, i: usize) -> Result<VirtualSource<'a>, String> {
        let (hdf5, call) = (creation.hdf5, &creation.hdf5.call);
        let own = h5_id!(hdf5, H5Pget_virtual_vspace(creation.id, i))?;
        let mut there = h5_id!(hdf5, H5Pget_virtual_srcspace(creation.id, i))?;
        // A file keeps no lengths of a source that is taken whole, but HDF5 wants as many elements.
        if h5!(hdf5, H5Sget_select_type(there.id))? == abi::SELECTS_ALL {
            let count = elements(&own)?;
            there = h5_id!(hdf5, H5Screate_simple(1, &raw const count, std::ptr::null()))?;
        }
        let file = text(creation, call.H5Pget_virtual_filename, i)?;
        Ok(VirtualSource { file, dataset: text(creation, call.H5Pget_virtual_dsetname, i)?, own, there })
    }
}

/// Elements of a selection, or of a single block of one without an end.
fn elements(space: &Id) -> Result<u64, String> {
    let hdf5 = space.hdf5;
    // SAFETY: the id is alive. A selection without an end has no number of points.
    let points = unsafe { (hdf5.call.H5Sget_select_npoints)(space.id) };
    if let Ok(points) = u64::try_from(points) {
        return Ok(points);
    }
    let rank = h5!(hdf5, H5Sget_simple_extent_ndims(space.id))? as usize;
    let [mut start, mut stride, mut count, mut block] = [(); 4].map(|()| vec![0u64; rank]);
    let [a, b, c, d] = [&mut start, &mut stride, &mut count, &mut block].map(|lens| lens.as_mut_ptr());
    h5!(hdf5, H5Sget_regular_hyperslab(space.id, a, b, c, d))?;
    Ok(count.iter().chain(&block).filter(|len| **len != abi::UNLIMITED).product())
}

/// Property list, number of the source, room or null, bytes of the room; bytes of the text.
type Text = unsafe extern "C" fn(Hid, usize, *mut std::ffi::c_char, usize) -> isize;

fn text(creation: &Id, get: Text, i: usize) -> Result<CString, String> {
    // SAFETY: the id is alive; null asks for the length.
    let len = unsafe { get(creation.id, i, std::ptr::null_mut(), 0) };
    let len = usize::try_from(len).map_err(|_| creation.hdf5.complaint("H5Pget_virtual_filename"))?;
    let mut bytes = vec![0u8; len + 1];
    // SAFETY: the same, and room for the text and its end.
    unsafe { get(creation.id, i, bytes.as_mut_ptr().cast(), bytes.len()) };
    Ok(CStr::from_bytes_until_nul(&bytes).map_err(|e| e.to_string())?.to_owned())
}

/// The folder that a file lies in, or will.
fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().ok()
}

/// The first file that a pattern of a view stands for: %b is a number, and %% a per cent sign.
fn first_of(pattern: &[u8]) -> Vec<u8> {
    let (mut name, mut rest) = (Vec::new(), pattern);
    while let Some((byte, more)) = rest.split_first() {
        rest = match (byte, more.first()) {
            (b'%', Some(b'b')) => {
                name.push(b'0');
                &more[1..]
            }
            (b'%', Some(b'%')) => {
                name.push(b'%');
                &more[1..]
            }
            _ => {
                name.push(*byte);
                more
            }
        };
    }
    name
}

/// A name as a pattern that stands for it alone.
fn doubled(name: &[u8]) -> Vec<u8> {
    name.iter().flat_map(|byte| std::iter::repeat_n(*byte, if *byte == b'%' { 2 } else { 1 })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert_eq!(first_of(b"a-%b.h5"), b"a-0.h5");
        assert_eq!(first_of(b"50%% of %b%"), b"50% of 0%");
        assert_eq!(first_of(&doubled(b"5%b%")), b"5%b%");
    }

    #[test]
    fn relative_names_lead_where_they_led() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("there.h5"), b"").unwrap();
        let to = root.join("new/out.h5");
        let moved = Elsewhere::new(&root.join("in.h5"), &to);
        let absolute = [root.as_os_str().as_bytes(), b"/there.h5"].concat();
        assert_eq!(moved.name(b"there.h5", true).as_ref(), Some(&absolute));
        assert_eq!(moved.link(b"\0there.h5\0/a\0"), Some([b"\0", &absolute[..], b"\0/a\0"].concat()));
        for same in [&b"."[..], b"nowhere.h5", &absolute] {
            assert_eq!(moved.name(same, true), None);
        }
        assert_eq!(Elsewhere::new(&root.join("in.h5"), &root.join("out.h5")).name(b"there.h5", true), None);
    }
}
