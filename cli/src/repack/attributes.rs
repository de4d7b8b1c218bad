//! Attributes, and data that consists of references. A reference is the address of an object, which is another one in
//! the new file: netCDF's dimensions hang on such attributes.

use std::ffi::{CStr, c_void};

use super::new_file::Copy;
use crate::hdf5::abi::{self, DEFAULT};
use crate::hdf5::dataset::{Field, encoded, size_of_type};
use crate::hdf5::filters::filters;
use crate::hdf5::object::{Contents, Object, ObjectKind, attribute_names, each_type, is_variable_text, open_object};
use crate::hdf5::values::Values;
use crate::hdf5::{Id, h5, h5_id};

/// Bytes that a message in an object's header has at most, and how many of an attribute's are beside its values, type
/// and name at most.
const HEADER_BYTES: u64 = 64 << 10;
const BESIDES: usize = 1 << 10;

/// Gives every object of the new file what the old one's has: attributes, comment, data with references, and data of
/// datasets that have none yet.
pub fn copy_all(copy: &Copy) -> Result<(), String> {
    for (place, object) in copy.contents.objects.iter().enumerate() {
        let old = open_object(copy.from, &object.path)?;
        let new = open_object(&copy.to, &object.path)?;
        let blame = |e: String| format!("{}: {e}", object.name());
        comment(&old, &new).map_err(blame)?;
        if object.kind == ObjectKind::Dataset {
            data(copy, object, &old, &new, copy.empty[place]).map_err(blame)?;
        }
        for name in attribute_names(&old, tracks_order(&old, object.kind)?)? {
            attribute(copy, &old, &new, &name)
                .map_err(|e| format!("{}: attribute '{}': {e}", object.name(), name.to_string_lossy()))?;
        }
    }
    Ok(())
}

/// Whether an attribute does not fit into an object's header, where files of before 1.8 have them.
pub fn need_room(file: &Id, contents: &Contents) -> Result<bool, String> {
    let hdf5 = file.hdf5;
    for object in &contents.objects {
        let object = open_object(file, &object.path)?;
        for name in attribute_names(&object, false)? {
            let attribute = h5_id!(hdf5, H5Aopen(object.id, name.as_ptr(), DEFAULT))?;
            let kind = h5_id!(hdf5, H5Aget_type(attribute.id))?;
            // SAFETY: the id is alive.
            let values = unsafe { (hdf5.call.H5Aget_storage_size)(attribute.id) };
            if values + (encoded(&kind)?.len() + name.count_bytes() + BESIDES) as u64 > HEADER_BYTES {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn tracks_order(object: &Id, kind: ObjectKind) -> Result<bool, String> {
    let hdf5 = object.hdf5;
    let properties = match kind {
        ObjectKind::Group => h5_id!(hdf5, H5Gget_create_plist(object.id))?,
        ObjectKind::Dataset => h5_id!(hdf5, H5Dget_create_plist(object.id))?,
        ObjectKind::NamedType => h5_id!(hdf5, H5Tget_create_plist(object.id))?,
    };
    let mut order = 0;
    h5!(hdf5, H5Pget_attr_creation_order(properties.id, &raw mut order))?;
    Ok(order & abi::ORDER_TRACKED != 0)
}

fn comment(old: &Id, new: &Id) -> Result<(), String> {
    let hdf5 = old.hdf5;
    let len = h5!(hdf5, H5Oget_comment(old.id, std::ptr::null_mut(), 0))?;
    if len == 0 {
        return Ok(());
    }
    let mut text = vec![0u8; len as usize + 1];
    h5!(hdf5, H5Oget_comment(old.id, text.as_mut_ptr().cast(), text.len()))?;
    h5!(hdf5, H5Oset_comment(new.id, text.as_ptr().cast())).map(drop)
}

fn attribute(copy: &Copy, old: &Id, new: &Id, name: &CStr) -> Result<(), String> {
    let hdf5 = copy.hdf5;
    let from = h5_id!(hdf5, H5Aopen(old.id, name.as_ptr(), DEFAULT))?;
    let old_type = h5_id!(hdf5, H5Aget_type(from.id))?;
    let space = h5_id!(hdf5, H5Aget_space(from.id))?;
    let creation = h5_id!(hdf5, H5Aget_create_plist(from.id))?;
    let file_type = copy.type_for(&old_type)?;
    let to = h5_id!(hdf5, H5Acreate2(new.id, name.as_ptr(), file_type.id, space.id, creation.id, DEFAULT))?;
    let mut values = Values::new(&old_type, space)?;
    if values.count == 0 {
        return Ok(());
    }
    h5!(hdf5, H5Aread(from.id, values.memory_type.id, values.start()))?;
    values.are_read = true;
    translate(&mut values, copy)?;
    h5!(hdf5, H5Awrite(to.id, values.memory_type.id, values.start())).map(drop)
}

/// Writes the data of a dataset anew where HDF5's copy will not do, or there was none: as much as is in the file, block
/// by block.
fn data(copy: &Copy, object: &Object, old: &Id, new: &Id, has_none: bool) -> Result<(), String> {
    let hdf5 = copy.hdf5;
    let kind = h5_id!(hdf5, H5Dget_type(old.id))?;
    let is_copied = !has_none && h5!(hdf5, H5Tdetect_class(kind.id, abi::REFERENCE))? == 0;
    if is_copied || old.storage_size() == 0 {
        return Ok(());
    }
    let field = Field::of_any(copy.from, object)?;
    field.expect_whole().map_err(|e| format!("{}: {e}", field.name))?;
    field.blocks()?.iter().try_for_each(|block| {
        let (memory, file) = field.spaces(block)?;
        let mut values = Values::read(&field, (memory, &file))?;
        translate(&mut values, copy)?;
        let (kind, memory) = (values.memory_type.id, values.space.id);
        h5!(hdf5, H5Dwrite(new.id, kind, memory, file.id, DEFAULT, values.start())).map(drop)
    })
}

/// Whether the values of a dataset must be written anew, as HDF5's own copy of it will not do.
pub fn goes_by_values(field: &Field) -> Result<bool, String> {
    let (hdf5, kind, properties) = (field.dataset.hdf5, &field.file_type, &field.properties);
    let (mut defined, mut has_variable_parts) = (0, false);
    h5!(hdf5, H5Pfill_value_defined(properties.id, &raw mut defined))?;
    each_type(kind, &mut |part| {
        has_variable_parts |= h5!(hdf5, H5Tget_class(part.id))? == abi::VARIABLE || is_variable_text(part)?;
        Ok(())
    })?;
    if defined == abi::FILL_USER_DEFINED && has_variable_parts {
        // The copy could not be opened: its fill value would still lie in the old file.
        return Ok(true);
    }
    // HDF5's copy has elements that refer to others pass the filters, where it may crash or never end.
    let refers = has_variable_parts || h5!(hdf5, H5Tdetect_class(kind.id, abi::REFERENCE))? > 0;
    Ok(refers && field.dataset.storage_size() > 0 && !filters(properties)?.is_empty())
}

/// Makes references to objects of the old file such to those of the new one.
fn translate(values: &mut Values, copy: &Copy) -> Result<(), String> {
    let shape = Shape::of(&values.memory_type)?;
    if matches!(shape, Shape::Plain) {
        return Ok(());
    }
    for i in 0..values.count {
        // SAFETY: the buffer holds `count` elements of the type, as HDF5 has read them.
        unsafe { shape.translate(copy, values.start().byte_add(i * values.size))? };
    }
    Ok(())
}

/// Where the references of an element are.
enum Shape {
    /// There are none.
    Plain,
    /// To an object or a region, with its bytes.
    Reference(i32, usize),
    /// Parts at offsets.
    Parts(Vec<(usize, Shape)>),
    /// A sequence of variable length, with the size of an element of it.
    Sequence(Box<Shape>, usize),
}

impl Shape {
    fn of(kind: &Id) -> Result<Shape, String> {
        let hdf5 = kind.hdf5;
        match h5!(hdf5, H5Tget_class(kind.id))? {
            abi::REFERENCE => Shape::of_reference(kind),
            abi::COMPOUND => {
                let members = h5!(hdf5, H5Tget_nmembers(kind.id))? as u32;
                let mut parts = Vec::new();
                for i in 0..members {
                    let member = h5_id!(hdf5, H5Tget_member_type(kind.id, i))?;
                    // SAFETY: the type is alive and has this member.
                    let offset = unsafe { (hdf5.call.H5Tget_member_offset)(kind.id, i) };
                    parts.push((offset, Shape::of(&member)?));
                }
                Ok(Shape::parts(parts))
            }
            abi::ARRAY => {
                let base = h5_id!(hdf5, H5Tget_super(kind.id))?;
                let size = size_of_type(&base)?;
                if matches!(Shape::of(&base)?, Shape::Plain) {
                    return Ok(Shape::Plain);
                }
                let offsets = (0..size_of_type(kind)? / size).map(|i| i * size);
                Ok(Shape::parts(offsets.map(|at| Ok((at, Shape::of(&base)?))).collect::<Result<_, String>>()?))
            }
            abi::VARIABLE => {
                let base = h5_id!(hdf5, H5Tget_super(kind.id))?;
                match Shape::of(&base)? {
                    Shape::Plain => Ok(Shape::Plain),
                    shape => Ok(Shape::Sequence(Box::new(shape), size_of_type(&base)?)),
                }
            }
            _ => Ok(Shape::Plain),
        }
    }

    fn parts(mut parts: Vec<(usize, Shape)>) -> Shape {
        parts.retain(|(_, shape)| !matches!(shape, Shape::Plain));
        if parts.is_empty() { Shape::Plain } else { Shape::Parts(parts) }
    }

    fn of_reference(kind: &Id) -> Result<Shape, String> {
        let hdf5 = kind.hdf5;
        for (name, to, size) in
            [(c"H5T_STD_REF_OBJ_g", abi::TO_OBJECT, 8), (c"H5T_STD_REF_DSETREG_g", abi::TO_REGION, 12)]
        {
            if h5!(hdf5, H5Tequal(kind.id, hdf5.constant(name)?))? > 0 {
                return Ok(Shape::Reference(to, size));
            }
        }
        Err("holds references of the kind that came with HDF5 1.12, which cannot be carried over".into())
    }

    /// # Safety
    /// At `at` is an element of this shape, as HDF5 reads it.
    unsafe fn translate(&self, copy: &Copy, at: *mut c_void) -> Result<(), String> {
        match self {
            Shape::Plain => Ok(()),
            // SAFETY: the contract.
            Shape::Reference(kind, size) => unsafe { reference(copy, at, *kind, *size) },
            Shape::Parts(parts) => parts.iter().try_for_each(|(offset, shape)| {
                // SAFETY: the parts of such an element are at these offsets.
                unsafe { shape.translate(copy, at.byte_add(*offset)) }
            }),
            Shape::Sequence(shape, size) => {
                // SAFETY: HDF5 reads a sequence as a length and a pointer to as many elements.
                let sequence = unsafe { at.cast::<abi::Sequence>().read_unaligned() };
                (0..sequence.len).try_for_each(|i| {
                    // SAFETY: as above.
                    unsafe { shape.translate(copy, sequence.start.byte_add(i * size)) }
                })
            }
        }
    }
}

/// Rewrites a reference of `size` bytes. One that leads to nothing, as after its object was deleted, becomes null; to
/// what no link leads is an error, since only what has a name is in the new file.
///
/// # Safety
/// At `at` is a reference of this kind.
unsafe fn reference(copy: &Copy, at: *mut c_void, kind: i32, size: usize) -> Result<(), String> {
    let hdf5 = copy.hdf5;
    // SAFETY: the contract.
    let bytes = unsafe { std::slice::from_raw_parts_mut(at.cast::<u8>(), size) };
    if bytes.iter().all(|b| *b == 0) {
        return Ok(());
    }
    let object = hdf5.forgive(h5_id!(hdf5, H5Rdereference2(copy.from.id, DEFAULT, kind, at)));
    let Some(object) = object else {
        bytes.fill(0);
        return Ok(());
    };
    let Some(place) = copy.contents.place_of(&object)? else {
        return Err("refers to an object that has no name, and would not be in the new file: link it first".into());
    };
    let path = copy.contents.objects[place].path.as_ptr();
    let region = match kind {
        abi::TO_REGION => Some(h5_id!(hdf5, H5Rget_region(copy.from.id, kind, at))?),
        _ => None,
    };
    h5!(hdf5, H5Rcreate(at, copy.to.id, path, kind, region.as_ref().map_or(-1, |r| r.id))).map(drop)
}
