//! Writes the new file: groups, links and objects in their order, converted datasets block by block, everything else by
//! HDF5's own copy. Attributes come last, when every object that they may refer to has its new place.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sleek::Params;
use sleek::hdf5::{FILTER_ID, cd_values_of, stream_of_chunk};

use super::args::Args;
use super::decide::Decision;
use super::new_file::{Copy, unused_name};
use super::plan::Item;
use super::provenance::FILTERS;
use super::request::Filter;
use super::{attributes, provenance, views};
use crate::hdf5::abi::{self, DEFAULT};
use crate::hdf5::coordinates::text_of;
use crate::hdf5::dataset::{Block, Field, set_chunk};
use crate::hdf5::filters::{self, DEFLATE, FLETCHER32, SHUFFLE, filter_name, missing_filter, pipeline};
use crate::hdf5::object::{Contents, Link, Object, ObjectKind, Target, open_object};
use crate::hdf5::rim::Rim;
use crate::hdf5::{Id, c_string, h5, h5_id};
use crate::io::tell;
use crate::progress::Progress;

/// Chunks smaller than this are written many at once, by HDF5.
const FEW_BYTES: usize = 1024;

/// Writes the new file over the empty one at `path`.
pub fn file(
    args: &Args,
    from: &Id,
    path: &Path,
    contents: &Contents,
    items: &mut [Option<Item>],
) -> Result<(), String> {
    let input = &args.input;
    let hdf5 = from.hdf5;
    let creation = creation_properties(from)?;
    let access = access_properties(from, input, contents)?;
    let name = c_string(path.as_os_str().as_bytes())?;
    let to = h5_id!(hdf5, H5Fcreate(name.as_ptr(), abi::TRUNCATE, creation.id, access.id))?;
    let mut made = vec![false; contents.objects.len()];
    made[0] = true;
    let (waiting_types, folders) = (unused_name(contents)?, views::Folders::of(input, path));
    let empty = vec![false; made.len()];
    let mut copy = Copy { hdf5, from, to, contents, made, empty, waiting_types, folders, filter: args.filter };
    copy.types()?;
    let total = items.iter().flatten().map(|i| i.raw_bytes).sum();
    let mut progress = Progress::new("writing", Some(total), args.verbosity.quiet);
    for place in 0..contents.objects.len() {
        for link in &contents.links[place] {
            copy.link(place, link, items, &mut progress).map_err(|e| {
                let (group, name) = (contents.objects[place].name(), link.name.to_string_lossy());
                format!("'{name}' in group {group}: {e}")
            })?;
        }
    }
    attributes::copy_all(&copy)?;
    provenance::tell(&copy, items, args.no_attributes)?;
    copy.forget_waiting_types()?;
    copy.to.close()?;
    let mut block = 0;
    h5!(hdf5, H5Pget_userblock(creation.id, &raw mut block))?;
    copy_user_block(input, path, block).map_err(|e| format!("user block: {e}"))
}

/// How the old file was made. What concerns the root as a group is not in the file's own list.
fn creation_properties<'a>(from: &Id<'a>) -> Result<Id<'a>, String> {
    let properties = h5_id!(from.hdf5, H5Fget_create_plist(from.id))?;
    group_properties(&open_object(from, c"/")?, &properties)?;
    Ok(properties)
}

/// Takes over how a group was made. Not by a copy of its list: that has the addresses of the links in the old file too,
/// where a new group would look for its own.
fn group_properties(group: &Id, to: &Id) -> Result<(), String> {
    let hdf5 = group.hdf5;
    let from = h5_id!(hdf5, H5Gget_create_plist(group.id))?;
    let (mut a, mut b) = (0, 0);
    h5!(hdf5, H5Pget_link_creation_order(from.id, &raw mut a))?;
    h5!(hdf5, H5Pset_link_creation_order(to.id, a))?;
    h5!(hdf5, H5Pget_attr_creation_order(from.id, &raw mut a))?;
    h5!(hdf5, H5Pset_attr_creation_order(to.id, a))?;
    h5!(hdf5, H5Pget_link_phase_change(from.id, &raw mut a, &raw mut b))?;
    h5!(hdf5, H5Pset_link_phase_change(to.id, a, b))?;
    h5!(hdf5, H5Pget_attr_phase_change(from.id, &raw mut a, &raw mut b))?;
    h5!(hdf5, H5Pset_attr_phase_change(to.id, a, b)).map(drop)
}

/// Lets HDF5 use what the old file's format has: its superblock tells whether that is 1.8's or 1.10's. In a file that
/// began as an older one objects may be of 1.8's too.
fn access_properties<'a>(from: &Id<'a>, input: &Path, contents: &Contents) -> Result<Id<'a>, String> {
    let hdf5 = from.hdf5;
    let access = hdf5.properties(c"H5P_CLS_FILE_ACCESS_ID_g")?;
    let (mut low, mut high) = (0, 0);
    h5!(hdf5, H5Pget_libver_bounds(access.id, &raw mut low, &raw mut high))?;
    let format = match crate::hdf5::superblock_version(input)? {
        0 | 1 => c_int::from(attributes::need_room(from, contents)?),
        2 => 1,
        _ => 2,
    };
    h5!(hdf5, H5Pset_libver_bounds(access.id, low.max(format), high))?;
    Ok(access)
}

/// What HDF5 keeps before its own part of the file belongs to the user.
fn copy_user_block(input: &Path, path: &Path, bytes: u64) -> std::io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let mut block = Vec::new();
    File::open(input)?.take(bytes).read_to_end(&mut block)?;
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&block)
}

impl<'a> Copy<'a> {
    fn link(
        &mut self,
        group: usize,
        link: &Link,
        items: &mut [Option<Item>],
        progress: &mut Progress,
    ) -> Result<(), String> {
        let hdf5 = self.hdf5;
        let at = open_object(&self.to, &self.contents.objects[group].path)?;
        let properties = hdf5.properties(c"H5P_CLS_LINK_CREATE_ID_g")?;
        h5!(hdf5, H5Pset_char_encoding(properties.id, link.encoding))?;
        let name = link.name.as_ptr();
        match &link.to {
            Target::Soft(value) => {
                let target = c_string(value.strip_suffix(b"\0").unwrap_or(value))?;
                h5!(hdf5, H5Lcreate_soft(target.as_ptr(), at.id, name, properties.id, DEFAULT)).map(drop)
            }
            Target::Other(class, value) => {
                let (start, len) = (value.as_ptr().cast(), value.len());
                h5!(hdf5, H5Lcreate_ud(at.id, name, *class, start, len, properties.id, DEFAULT)).map(drop)
            }
            Target::Object(place) => {
                let object = &self.contents.objects[*place];
                if self.made[*place] {
                    let path = object.path.as_ptr();
                    return h5!(hdf5, H5Lcreate_hard(self.to.id, path, at.id, name, properties.id, DEFAULT)).map(drop);
                }
                self.made[*place] = true;
                let to = Destination { at: &at, link, properties: &properties };
                self.empty[*place] = self.object(*place, &to, items, progress)?;
                Ok(())
            }
        }
    }

    /// Makes an object at its first name; whether it is a dataset that has no data yet.
    fn object(
        &self,
        place: usize,
        to: &Destination,
        items: &mut [Option<Item>],
        progress: &mut Progress,
    ) -> Result<bool, String> {
        let (hdf5, object) = (self.hdf5, &self.contents.objects[place]);
        let (at, name, by) = (to.at.id, to.link.name.as_ptr(), to.properties.id);
        match (object.kind, &mut items[place]) {
            (ObjectKind::Group, _) => {
                let old = open_object(self.from, &object.path)?;
                let creation = hdf5.properties(c"H5P_CLS_GROUP_CREATE_ID_g")?;
                group_properties(&old, &creation)?;
                h5_id!(hdf5, H5Gcreate2(at, name, by, creation.id, DEFAULT)).map(|_| false)
            }
            (ObjectKind::NamedType, _) => {
                let waiting = self.waiting_type(place)?;
                h5!(hdf5, H5Lcreate_hard(self.to.id, waiting.as_ptr(), at, name, by, DEFAULT)).map(|_| false)
            }
            (ObjectKind::Dataset, item) => {
                let found = item
                    .as_mut()
                    .map(|item| (item.field.as_ref(), &item.decision, item.is_restored, &mut item.new_bytes));
                if let Some((Some(field), Decision::Compress(params), is_restored, new_bytes)) = found {
                    *new_bytes = self.convert(field, Some(params).filter(|_| !is_restored), to, progress)?;
                    return Ok(false);
                }
                progress.add(item.as_ref().map_or(0, |i| i.raw_bytes));
                if !item.as_ref().is_some_and(Item::is_restored_by_values) {
                    return self.keep(object, to);
                }
                let old = open_object(self.from, &object.path)?;
                let kind = h5_id!(hdf5, H5Dget_type(old.id))?;
                self.restored(&old, &kind, to).map(|_| true)
            }
        }
    }

    /// Copies a dataset as it is stored, without its attributes; or makes it without data, where that cannot be.
    fn keep(&self, object: &Object, to: &Destination) -> Result<bool, String> {
        let hdf5 = self.hdf5;
        let field = Field::of_any(self.from, object)?;
        let (old, kind, creation) = (&field.dataset, &field.file_type, &field.properties);
        self.folders.check(old)?;
        field.expect_found()?;
        if attributes::goes_by_values(&field)? {
            return self.empty(old, kind, creation, to).map(|_| true);
        }
        // There HDF5's copy ends with an error (2.2). Without a filter that must be there nothing can be made anew.
        if field.has_lost_rim()? {
            // A chunk that is there before keeps which filters it has passed where the new one is as long.
            h5!(hdf5, H5Pset_alloc_time(creation.id, 0))?;
            if let Some(new) = hdf5.forgive(self.empty(old, kind, creation, to)) {
                return copy_chunks(&field, &new).map(|()| false);
            }
        }
        let how = hdf5.properties(c"H5P_CLS_OBJECT_COPY_ID_g")?;
        let mut flags = abi::WITHOUT_ATTRIBUTES;
        if let Some((_, path)) = self.new_type(kind)? {
            flags |= abi::MERGE_NAMED_TYPES;
            h5!(hdf5, H5Padd_merge_committed_dtype_path(how.id, path.as_ptr()))?;
        }
        h5!(hdf5, H5Pset_copy_object(how.id, flags))?;
        let (from, path, name) = (self.from.id, object.path.as_ptr(), to.link.name.as_ptr());
        h5!(hdf5, H5Ocopy(from, path, to.at.id, name, how.id, to.properties.id)).map(|_| false)
    }

    /// Makes a dataset of an old one's type and shape, without its data.
    fn empty(&self, old: &Id, kind: &Id, creation: &Id, place: &Destination) -> Result<Id<'a>, String> {
        let hdf5 = self.hdf5;
        // Where a filter's plugin was not asked for, HDF5 says that it is not there.
        missing_filter(hdf5, creation)?;
        let space = h5_id!(hdf5, H5Dget_space(old.id))?;
        let (kind, name, at, by) = (self.type_for(kind)?, place.link.name.as_ptr(), place.at.id, place.properties.id);
        h5_id!(hdf5, H5Dcreate2(at, name, kind.id, space.id, by, creation.id, DEFAULT))
    }

    /// The same without our filter: with those that it had before or that are asked for, as far as they take it.
    fn restored(&self, old: &Id, kind: &Id, place: &Destination) -> Result<Id<'a>, String> {
        let (creation, missing) = restored_properties(old, self.filter)?;
        let name = place.link.name.to_string_lossy();
        let tell_without = |what: &str| {
            tell(&format!("sleek: warning: {name}: comes back without {what}; --filter deflate=6 puts others there"));
        };
        if !missing.is_empty() {
            tell_without(&format!("{}, which HDF5 does not find", missing.join(" and ")));
        }
        let complaint = match self.empty(old, kind, &creation, place) {
            Err(complaint) if h5!(self.hdf5, H5Pget_nfilters(creation.id))? > 0 => complaint,
            made => return made,
        };
        tell_without(&format!("the filters that it had: {complaint}"));
        self.hdf5.forgive::<()>(Err(complaint));
        h5!(self.hdf5, H5Premove_filter(creation.id, abi::EVERY_FILTER))?;
        self.empty(old, kind, &creation, place)
    }

    /// Writes a dataset anew, by these parameters or without our filter; the bytes that it takes.
    fn convert(
        &self,
        field: &Field,
        params: Option<&Params>,
        place: &Destination,
        progress: &mut Progress,
    ) -> Result<u64, String> {
        let (old, kind) = (&field.dataset, &field.file_type);
        let new = match params {
            Some(params) => self.empty(old, kind, &converted_properties(field, params)?, place)?,
            None => self.restored(old, kind, place)?,
        };
        let by_threads = Rim::of(field).bytes() >= FEW_BYTES && !field.has_plain_rim()?;
        match by_threads && params.is_some() {
            true => write_chunks(field, &new, progress)?,
            false => write_blocks(field, &new, progress)?,
        }
        // The last chunks pass the filter only now.
        new.close()?;
        Ok(open_object(place.at, &place.link.name)?.storage_size())
    }
}

/// Where an object is made: in a group, under a name, with the properties of its link.
struct Destination<'a> {
    at: &'a Id<'a>,
    link: &'a Link,
    properties: &'a Id<'a>,
}

/// Has threads make the streams, and writes them as they are.
fn write_chunks(field: &Field, new: &Id, progress: &mut Progress) -> Result<(), String> {
    let creation = h5_id!(new.hdf5, H5Dget_create_plist(new.id))?;
    // With what the filter has added to them.
    let filter = pipeline(&creation)?.into_iter().find(filters::Filter::is_sleek).ok_or("the filter is not there")?;
    let (rim, chunks) = (Rim::of(field), field.blocks_in_chunks()?);
    let threads = u32::from(Field::threads(chunks.len()) > 1);
    let work = |block: &Block, bytes: Vec<u8>| {
        let raw = bytes.len() as u64;
        let stream = stream_of_chunk(&filter.words, &rim.filled_up(block, bytes)?, threads);
        stream.map(|stream| (raw, stream)).map_err(|e| e.to_string())
    };
    field.each_chunk(&chunks, work, |block, (raw, stream)| {
        progress.add(raw);
        field.write_chunk_to(new, block, &stream, 0)
    })
}

/// Copies chunks as they are stored.
fn copy_chunks(field: &Field, new: &Id) -> Result<(), String> {
    for block in field.blocks_in_chunks()? {
        if let Some(chunk) = field.chunk(&block)? {
            // HDF5 knows by itself that one at the rim has passed none.
            let skipped = if block.count == field.chunk { chunk.skipped } else { 0 };
            field.write_chunk_to(new, &block, &chunk.bytes, skipped)?;
        }
    }
    Ok(())
}

/// Has HDF5 call the filter.
fn write_blocks(field: &Field, new: &Id, progress: &mut Progress) -> Result<(), String> {
    let take = |block: &Block, bytes: Vec<u8>| {
        progress.add(bytes.len() as u64);
        field.write_to(new, block, &bytes)
    };
    field.each_chunk(&field.blocks()?, |_, bytes| Ok(bytes), take)
}

/// The old dataset's properties without our filter, and with those that it had before or that are asked for. Then the
/// names of filters that are not there.
fn restored_properties<'a>(old: &Id<'a>, filter: Filter) -> Result<(Id<'a>, Vec<String>), String> {
    let hdf5 = old.hdf5;
    let creation = h5_id!(hdf5, H5Dget_create_plist(old.id))?;
    let now = filters::pipeline(&creation)?;
    let filters = match filter {
        Filter::Deflate(level) => {
            vec![filters::Filter::new(SHUFFLE, vec![]), filters::Filter::new(DEFLATE, vec![level])]
        }
        _ => match text_of(old, FILTERS)?.and_then(|text| filters::from_words(&text)) {
            Some(before) => before,
            None => now.into_iter().filter(|filter| !filter.is_sleek()).collect(),
        },
    };
    // HDF5 1.10 crashes where one of several is taken out, or another one joins them.
    h5!(hdf5, H5Premove_filter(creation.id, abi::EVERY_FILTER))?;
    let mut missing = Vec::new();
    // One that rounds would move the values away from those of the file that is undone.
    for filter in filters.iter().filter(|filter| filter.gives_every_byte_back()) {
        if h5!(hdf5, H5Zfilter_avail(filter.id))? == 0 {
            missing.push(filter_name(filter.id));
            continue;
        }
        // As HDF5's own functions ask for them: a checksum that may be left out is none.
        let optional = u32::from(filter.id != FLETCHER32);
        let (count, words) = (filter.words.len(), filter.words.as_ptr());
        h5!(hdf5, H5Pset_filter(creation.id, filter.id, optional, count, words))?;
    }
    Ok((creation, missing))
}

/// The old dataset's properties with our filter in the place of all others.
fn converted_properties<'a>(field: &Field<'a>, params: &Params) -> Result<Id<'a>, String> {
    let hdf5 = field.dataset.hdf5;
    let creation = h5_id!(hdf5, H5Dget_create_plist(field.dataset.id))?;
    if h5!(hdf5, H5Pget_nfilters(creation.id))? > 0 {
        h5!(hdf5, H5Premove_filter(creation.id, abi::EVERY_FILTER))?;
    }
    if !field.is_chunked {
        set_chunk(&creation, &field.chunk)?;
        h5!(hdf5, H5Pset_alloc_time(creation.id, 0))?;
    }
    let (mandatory, words) = (0, cd_values_of(params));
    h5!(hdf5, H5Pset_filter(creation.id, FILTER_ID as c_int, mandatory, words.len(), words.as_ptr()))?;
    Ok(creation)
}
