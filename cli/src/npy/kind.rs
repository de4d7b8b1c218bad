//! NumPy's names of element types, and what is theirs here.

use sleek::DType;

/// What the elements of an NPY file are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElementKind {
    Number(DType),
    /// Complex numbers, of two parts of this type.
    Complex(DType),
    /// What has no type of ours, and this many bytes: the user may say as what they are to be taken.
    Other(u64),
}

/// The element type that a text such as `<f4` names: its kind and whether it is big-endian; None if it names none.
pub fn parse(descr: &str) -> Option<(ElementKind, bool)> {
    let (order, rest) = descr.split_at_checked(1)?;
    let big_endian = match order {
        "<" => false,
        ">" => true,
        "=" | "|" => cfg!(target_endian = "big"),
        _ => return None,
    };
    let (letter, size) = rest.split_at_checked(1)?;
    // Dates have a unit behind their size.
    let size: u64 = size.split('[').next()?.parse().ok()?;
    let number = DType::ALL.into_iter().find(|dtype| letter_of(*dtype) == letter && dtype.size() as u64 == size);
    let kind = match (letter, size, number) {
        (_, _, Some(dtype)) => ElementKind::Number(dtype),
        ("c", 8, _) => ElementKind::Complex(DType::F32),
        ("c", 16, _) => ElementKind::Complex(DType::F64),
        ("b" | "M" | "m" | "V", size, _) => ElementKind::Other(size),
        _ => return None,
    };
    let is_single_bytes = matches!(kind, ElementKind::Number(dtype) if dtype.size() == 1);
    Some((kind, big_endian && !is_single_bytes))
}

/// NumPy's letter of an element type; none of bf16, which it has not.
fn letter_of(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "",
        DType::F16 | DType::F32 | DType::F64 => "f",
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => "i",
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => "u",
    }
}

/// The name of an element type. Arrays of bf16, of the package ml_dtypes, NumPy writes as two bytes that are anything.
pub fn name(dtype: DType, big_endian: bool) -> String {
    let order = match (dtype.size(), big_endian) {
        (1, _) => '|',
        (_, true) => '>',
        (_, false) => '<',
    };
    let letter = if dtype == DType::BF16 { "V" } else { letter_of(dtype) };
    format!("{order}{letter}{}", dtype.size())
}

/// What elements are that cannot be taken, in a person's words.
pub fn words(descr: &str) -> &'static str {
    match descr.as_bytes().get(1) {
        Some(b'b') => "truth values",
        Some(b'M' | b'm') => "dates or times",
        Some(b'V') => "bytes without a type",
        Some(b'O') => "objects of Python",
        Some(b'S' | b'U' | b'a') => "texts",
        Some(b'f' | b'c') => "numbers of a machine's own precision",
        _ => "of no type that we know",
    }
}
