//! What a file holds: objects, and the links that name them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use super::abi::{self, Herr};
use super::{Id, c_string, h5, h5_id};
use crate::progress::some_of;

/// Said of objects that a newer HDF5 may have.
pub const UNKNOWN_KIND: &str = "is not known to this command";

/// Which object it is, whatever its name: its file's number and its address there, as this HDF5 gives them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u64; 3]);

pub struct Object {
    pub kind: ObjectKind,
    /// The shortest way to it by hard links.
    pub path: CString,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    Group,
    Dataset,
    NamedType,
}

pub struct Link {
    pub name: CString,
    /// Of the name's characters: ASCII or UTF-8.
    pub encoding: c_int,
    pub to: Target,
}

#[derive(PartialEq)]
pub enum Target {
    /// The place of an object in the contents.
    Object(usize),
    /// A soft link and what it says.
    Soft(Vec<u8>),
    /// An external or user-defined link: its class and what it says.
    Other(c_int, Vec<u8>),
}

/// The name of a link, and the place of the object that it leads to.
pub type Way = (String, usize);

/// Every object that can be reached from the root by hard links; the root is the first.
pub struct Contents {
    pub objects: Vec<Object>,
    /// The links of each object that is a group, in the order of their creation if the group knows it, else by name.
    pub links: Vec<Vec<Link>>,
    places: BTreeMap<Key, usize>,
}

impl Object {
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

impl Contents {
    pub fn read(file: &Id) -> Result<Contents, String> {
        let root = open_object(file, c"/")?;
        let mut contents = Contents { objects: Vec::new(), links: Vec::new(), places: BTreeMap::new() };
        let mut waiting = VecDeque::new();
        contents.enter(&root, c"/", &mut waiting)?;
        while let Some(group) = waiting.pop_front() {
            contents.read_group(file, group, &mut waiting).map_err(|e| {
                let path = contents.objects[group].name();
                format!("group {path}: {e}")
            })?;
        }
        Ok(contents)
    }

    /// The places of the dataset of this path, or else of all that a group leads to so; an error where there is none.
    pub fn variables(&self, file: &Id, name: &str) -> Result<Vec<usize>, String> {
        let path = name.trim_start_matches('/').as_bytes();
        if let Some(place) = self.dataset_at(file, path)? {
            return Ok(vec![place]);
        }
        let mut found = BTreeSet::new();
        for group in self.objects.iter().filter(|o| o.kind == ObjectKind::Group) {
            found.extend(self.dataset_at(file, &[group.path.as_bytes(), b"/", path].concat())?);
        }
        if found.is_empty() {
            let datasets = self.objects.iter().filter(|o| o.kind == ObjectKind::Dataset);
            let names = some_of(datasets.map(Object::name));
            return Err(format!("{name}: there is no such variable; there are {names}"));
        }
        Ok(found.into_iter().collect())
    }

    /// The place of the one dataset of this name.
    pub fn variable(&self, file: &Id, name: &str) -> Result<usize, String> {
        match self.variables(file, name)?[..] {
            [place] => Ok(place),
            ref places => {
                let names = some_of(places.iter().map(|place| self.objects[*place].name()));
                Err(format!("{name}: may be {names}; name one of them"))
            }
        }
    }

    /// The place of the dataset at a path, through any links, if there is one in this file.
    pub fn dataset_at(&self, file: &Id, path: &[u8]) -> Result<Option<usize>, String> {
        let object = file.hdf5.forgive(open_object(file, &c_string(path)?));
        let place = object.map(|object| self.place_of(&object)).transpose()?.flatten();
        Ok(place.filter(|place| self.objects[*place].kind == ObjectKind::Dataset))
    }

    /// Of each object, the names of its links and the places that they lead to; the last way leads to the root.
    pub fn ways(&self, file: &Id) -> Result<Vec<Vec<Way>>, String> {
        let mut ways = Vec::new();
        for (group, links) in self.links.iter().enumerate() {
            let mut of_group = Vec::new();
            for link in links {
                let place = self.target(file, group, link)?;
                of_group.extend(place.map(|place| (link.name.to_string_lossy().into_owned(), place)));
            }
            ways.push(of_group);
        }
        ways.push(vec![(String::new(), 0)]);
        Ok(ways)
    }

    /// The place of the object that a link of a group leads to, if it is in the same file.
    pub fn target(&self, file: &Id, group: usize, link: &Link) -> Result<Option<usize>, String> {
        match &link.to {
            Target::Object(place) => Ok(Some(*place)),
            Target::Other(..) => Ok(None),
            Target::Soft(_) => {
                let group = open_object(file, &self.objects[group].path)?;
                let object = file.hdf5.forgive(open_object(&group, &link.name));
                Ok(object.map(|object| self.place_of(&object)).transpose()?.flatten())
            }
        }
    }

    /// The place of an object that is open; `None` if no hard links lead to it.
    pub fn place_of(&self, object: &Id) -> Result<Option<usize>, String> {
        Ok(self.places.get(&identify(object)?.0).copied())
    }

    /// Takes in an object unless it is known; its place.
    fn enter(&mut self, object: &Id, path: &CStr, waiting: &mut VecDeque<usize>) -> Result<usize, String> {
        let (key, kind) = identify(object)?;
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let place = self.objects.len();
        self.places.insert(key, place);
        self.objects.push(Object { kind, path: path.to_owned() });
        self.links.push(Vec::new());
        if kind == ObjectKind::Group {
            waiting.push_back(place);
        }
        Ok(place)
    }

    fn read_group(&mut self, file: &Id, place: usize, waiting: &mut VecDeque<usize>) -> Result<(), String> {
        let path = self.objects[place].path.clone();
        let group = open_object(file, &path)?;
        for name in link_names(&group)? {
            let (class, encoding, size) = link_info(&group, &name)?;
            let to = match class {
                abi::HARD => {
                    let separator: &[u8] = if path.as_bytes() == b"/" { b"" } else { b"/" };
                    let path = c_string(&[path.as_bytes(), separator, name.as_bytes()].concat())?;
                    Target::Object(self.enter(&open_object(&group, &name)?, &path, waiting)?)
                }
                abi::SOFT => Target::Soft(link_value(&group, &name, size)?),
                class => Target::Other(class, link_value(&group, &name, size)?),
            };
            self.links[place].push(Link { name, encoding, to });
        }
        Ok(())
    }
}

/// Shows a type, and all types that it is made of.
pub fn each_type(kind: &Id, see: &mut impl FnMut(&Id) -> Result<(), String>) -> Result<(), String> {
    let hdf5 = kind.hdf5;
    see(kind)?;
    match h5!(hdf5, H5Tget_class(kind.id))? {
        abi::COMPOUND => {
            let members = h5!(hdf5, H5Tget_nmembers(kind.id))? as c_uint;
            (0..members).try_for_each(|i| each_type(&h5_id!(hdf5, H5Tget_member_type(kind.id, i))?, see))
        }
        abi::ARRAY | abi::VARIABLE => each_type(&h5_id!(hdf5, H5Tget_super(kind.id))?, see),
        _ => Ok(()),
    }
}

/// Whether a type is one of strings of any length.
pub fn is_variable_text(kind: &Id) -> Result<bool, String> {
    let is_text = h5!(kind.hdf5, H5Tget_class(kind.id))? == abi::STRING;
    Ok(is_text && h5!(kind.hdf5, H5Tis_variable_str(kind.id))? > 0)
}

pub fn open_object<'a>(at: &Id<'a>, path: &CStr) -> Result<Id<'a>, String> {
    h5_id!(at.hdf5, H5Oopen(at.id, path.as_ptr(), abi::DEFAULT))
}

/// Which object this is, and of which kind.
fn identify(object: &Id) -> Result<(Key, ObjectKind), String> {
    // Of H5O_info_t and H5O_info2_t only the first members count: file number, then an address of 8 bytes or a token of
    // 16, then the kind. The whole structures take less than this.
    let mut info = [0u64; 64];
    let at = info.as_mut_ptr().cast::<c_void>();
    // SAFETY: the id is alive, the functions are HDF5's, and the structure fits.
    let answer = unsafe {
        match (object.hdf5.object_info_by_token, object.hdf5.object_info) {
            (Some(by_token), _) => by_token(object.id, at, 1), // H5O_INFO_BASIC
            (None, Some(by_address)) => by_address(object.id, at),
            (None, None) => return Err("this HDF5 has no H5Oget_info".into()),
        }
    };
    if answer < 0 {
        return Err(object.hdf5.complaint("H5Oget_info"));
    }
    let (rest, kind_at) = if object.hdf5.object_info_by_token.is_some() { (info[2], 3) } else { (0, 2) };
    let [a, b, c, d, ..] = info[kind_at].to_ne_bytes();
    let kind = match c_int::from_ne_bytes([a, b, c, d]) {
        abi::GROUP => ObjectKind::Group,
        abi::DATASET => ObjectKind::Dataset,
        abi::NAMED_TYPE => ObjectKind::NamedType,
        other => return Err(format!("an object of kind {other} {UNKNOWN_KIND}")),
    };
    Ok((Key([info[0], info[1], rest]), kind))
}

/// Appends a name to a vector of names.
unsafe extern "C" fn take_name(_: abi::Hid, name: *const c_char, _: *const c_void, out: *mut c_void) -> Herr {
    // SAFETY: HDF5 gives a name, and `out` is the vector of the caller.
    unsafe { (*out.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned()) };
    0
}

/// Names of a group's links, in the order of creation where that is tracked.
fn link_names(group: &Id) -> Result<Vec<CString>, String> {
    let hdf5 = group.hdf5;
    let properties = h5_id!(hdf5, H5Gget_create_plist(group.id))?;
    let mut order = 0;
    h5!(hdf5, H5Pget_link_creation_order(properties.id, &raw mut order))?;
    let mut names: Vec<CString> = Vec::new();
    let index = c_int::from(order & abi::ORDER_TRACKED != 0);
    // SAFETY: `take_name` has the required type, and the vector outlives the call.
    let answer =
        unsafe { (hdf5.iterate_links)(group.id, index, 0, std::ptr::null_mut(), take_name, (&raw mut names).cast()) };
    if answer < 0 { Err(hdf5.complaint("H5Literate")) } else { Ok(names) }
}

/// Has HDF5 decode each attribute of an object. A walk over those in the object's header crashes HDF5 1.10 where it
/// cannot decode them. A question for a name decodes them, too, and comes first. Others are walked in no order.
pub fn decode_attributes(object: &Id) -> Result<(), String> {
    h5!(object.hdf5, H5Aexists(object.id, c"sleek: none".as_ptr()))?;
    let mut names: Vec<CString> = Vec::new();
    let out = (&raw mut names).cast();
    h5!(object.hdf5, H5Aiterate2(object.id, 0, abi::NATIVE_ORDER, std::ptr::null_mut(), take_name, out)).map(drop)
}

/// Names of an object's attributes, in the order of creation if `ordered`.
pub fn attribute_names(object: &Id, ordered: bool) -> Result<Vec<CString>, String> {
    let mut names: Vec<CString> = Vec::new();
    let out = (&raw mut names).cast();
    h5!(object.hdf5, H5Aiterate2(object.id, c_int::from(ordered), 0, std::ptr::null_mut(), take_name, out))?;
    Ok(names)
}

/// Class, encoding of the name, and bytes of the value of a link.
fn link_info(group: &Id, name: &CStr) -> Result<(c_int, c_int, usize), String> {
    // H5L_info_t and H5L_info2_t alike: class, a flag, creation order at 8, encoding at 16, address or size of the
    // value at 24.
    let mut info = [0u64; 8];
    // SAFETY: the id is alive, the function is HDF5's, and the structure fits.
    let answer = unsafe { (group.hdf5.link_info)(group.id, name.as_ptr(), info.as_mut_ptr().cast(), abi::DEFAULT) };
    if answer < 0 {
        return Err(group.hdf5.complaint("H5Lget_info"));
    }
    let int = |word: u64| {
        let [a, b, c, d, ..] = word.to_ne_bytes();
        c_int::from_ne_bytes([a, b, c, d])
    };
    Ok((int(info[0]), int(info[2]), info[3] as usize))
}

fn link_value(group: &Id, name: &CStr, size: usize) -> Result<Vec<u8>, String> {
    let mut value = vec![0u8; size];
    h5!(group.hdf5, H5Lget_val(group.id, name.as_ptr(), value.as_mut_ptr().cast(), size, abi::DEFAULT))?;
    Ok(value)
}
