//! Which values of a dataset stand for missing ones, and which are valid: as HDF5 and the conventions of netCDF say it.

use std::ffi::{CStr, CString, c_char, c_void};

use sleek::missing::MAX_MISSING;
use sleek::{DType, Limits, MissingValue, MissingValues};

use super::abi::{self, DEFAULT};
use super::dataset::{Field, size_of_type};
use super::{Id, h5, h5_id};
use sleek::advise::elements;

/// As many may be named where undeclared ones are still searched for.
const MOST_KNOWN: usize = 2;

/// What a dataset says of its values.
#[derive(Debug, PartialEq)]
pub struct Declared {
    pub missing: MissingValues,
    /// The smallest and the largest valid value; infinite where nothing is said.
    pub valid: (f64, f64),
    /// The same as it is said.
    pub limits: Option<Limits>,
}

/// The missing values of a dataset, each with who named it, before it is known whether there is room for all of them.
struct Named {
    dtype: DType,
    values: Vec<(f64, &'static str)>,
    /// NaN and infinities, which come back exactly whether they are named or not.
    specials: Vec<MissingValue>,
}

impl Named {
    /// One more, as the element nearest to it.
    fn add(&mut self, value: f64, by: &'static str) {
        if !value.is_finite() {
            return self.add_special(MissingValue::Number(value));
        }
        let element = self.dtype.number(self.dtype.nearest(value));
        if element.is_finite() && !self.values.iter().any(|(known, _)| *known == element) {
            self.values.push((element, by));
        }
    }

    fn add_special(&mut self, value: MissingValue) {
        if !self.specials.contains(&value) {
            self.specials.push(value);
        }
    }
}

impl Field<'_> {
    /// The bits of all missing values that a dataset of floats declares, however many there are, of zero both.
    pub fn marks(&self) -> Result<Vec<u64>, String> {
        let dtype = self.stored.dtype;
        if !dtype.is_float() {
            return Ok(Vec::new());
        }
        let minus_zero = 1 << (8 * dtype.size() - 1);
        let named = self.named(&MissingValues::default())?;
        let bits = named.values.iter().map(|(value, _)| dtype.nearest(*value));
        Ok(bits.flat_map(|bits| if bits & !minus_zero == 0 { vec![0, minus_zero] } else { vec![bits] }).collect())
    }

    /// What the dataset says of its values, and `besides` that: missing values of which it knows nothing.
    pub fn declared(&self, besides: &MissingValues) -> Result<Declared, String> {
        let (dtype, named) = (self.stored.dtype, self.named(besides)?);
        let mut missing = MissingValues::default();
        for (value, _) in &named.values {
            let room = missing.push(MissingValue::Number(*value)).and_then(|()| missing.check(dtype));
            room.map_err(|e| self.too_many(&named, &e.message))?;
        }
        for value in named.specials {
            let mut more = missing;
            if more.push(value).and_then(|()| more.check(dtype)).is_ok() {
                missing = more;
            }
        }
        let (low, high) = self.said_valid()?;
        let valid = (self.in_type(low), self.in_type(high));
        // To who reads a limit in the dataset's type the element nearest to it is valid also where it lies beyond.
        // Kept exactly, and apart from all others, it stays what it was to anybody.
        for (element, is_beyond) in [(valid.0, valid.0 < low), (valid.1, valid.1 > high)] {
            let mut more = missing;
            if is_beyond && element.is_finite() && more.push(MissingValue::Number(element)).is_ok() {
                let places = more.of_type(dtype).map_or(MAX_MISSING, |missing| missing.len());
                missing = if places <= MOST_KNOWN { more } else { missing };
            }
        }
        Ok(Declared { missing, valid, limits: Limits::new(low, high).unwrap_or(None) })
    }

    /// The valid range in the dataset's type, as programs take it.
    pub fn valid_limits(&self) -> Result<Option<Limits>, String> {
        let (low, high) = self.said_valid()?;
        Ok(Limits::new(self.in_type(low), self.in_type(high)).unwrap_or(None))
    }

    fn in_type(&self, value: f64) -> f64 {
        let dtype = self.stored.dtype;
        if value.is_finite() { dtype.number(dtype.nearest(value)) } else { value }
    }

    fn named(&self, besides: &MissingValues) -> Result<Named, String> {
        let dtype = self.stored.dtype;
        let mut named = Named { dtype, values: Vec::new(), specials: Vec::new() };
        for value in besides.iter() {
            // Named for many datasets, it may be one that no element here can have.
            let Ok(bits) = value.bits(dtype) else { continue };
            match (value, dtype.number(bits)) {
                (MissingValue::Bits(_), number) if !number.is_finite() => named.add_special(value),
                (MissingValue::Bits(_), number) | (MissingValue::Number(number), _) => named.add(number, "--fill"),
            }
        }
        for value in self.numbers_of(c"_FillValue")? {
            named.add(value, "_FillValue");
        }
        for value in self.numbers_of(c"missing_value")? {
            named.add(value, "missing_value");
        }
        let own = self.fill_values()?;
        // Where its parts are too many for a stream the filter keeps all of the dataset.
        if self.stored.scalar || named.values.len() + own.len() <= MAX_MISSING {
            own.into_iter().for_each(|value| named.add(value, "HDF5's fill value"));
        }
        Ok(named)
    }

    fn too_many(&self, named: &Named, why: &str) -> String {
        let list: Vec<String> = named.values.iter().map(|(value, by)| format!("{value:e} ({by})")).collect();
        format!("{}: {why}: {}; a dataset can have up to 4", self.name, list.join(", "))
    }

    /// The fill value that the dataset was given, as a number; of arrays and complex numbers those of their parts, each
    /// once.
    pub fn fill_values(&self) -> Result<Vec<f64>, String> {
        let mut defined = 0;
        h5!(self.dataset.hdf5, H5Pfill_value_defined(self.properties.id, &raw mut defined))?;
        let are_numbers = self.stored.scalar || self.stored.dtype.is_float();
        if defined != abi::FILL_USER_DEFINED || !are_numbers {
            return Ok(Vec::new());
        }
        let (dtype, bytes) = (self.stored.dtype, self.fill_bytes());
        let mut values: Vec<f64> = Vec::new();
        elements::for_each_pair(dtype, self.stored.big_endian, &bytes, &bytes, |(_, value), _| {
            if !values.iter().any(|known| known.to_bits() == value.to_bits()) {
                values.push(value);
            }
        });
        Ok(values)
    }

    /// The bytes of an element that was never written.
    pub fn fill_bytes(&self) -> Vec<u8> {
        let hdf5 = self.dataset.hdf5;
        let mut bytes = vec![0u8; self.size as usize];
        let filled = h5!(hdf5, H5Pget_fill_value(self.properties.id, self.file_type.id, bytes.as_mut_ptr().cast()));
        if hdf5.forgive(filled).is_none() {
            bytes.fill(0); // there is none, and HDF5 writes zeros
        }
        bytes
    }

    /// The valid range: `valid_range`, else `valid_min` and `valid_max`; infinite where nothing is said.
    fn said_valid(&self) -> Result<(f64, f64), String> {
        if let [low, high] = self.numbers_of(c"valid_range")?[..]
            && low <= high
        {
            return Ok((low, high));
        }
        let one = |name| Ok::<_, String>(self.numbers_of(name)?.first().copied().filter(|v| !v.is_nan()));
        Ok((one(c"valid_min")?.unwrap_or(f64::NEG_INFINITY), one(c"valid_max")?.unwrap_or(f64::INFINITY)))
    }

    /// The numbers that an attribute holds, whatever their type; a text counts if it is a number.
    pub fn numbers_of(&self, name: &CStr) -> Result<Vec<f64>, String> {
        let hdf5 = self.dataset.hdf5;
        if h5!(hdf5, H5Aexists(self.dataset.id, name.as_ptr()))? == 0 {
            return Ok(Vec::new());
        }
        let attribute = h5_id!(hdf5, H5Aopen(self.dataset.id, name.as_ptr(), DEFAULT))?;
        let space = h5_id!(hdf5, H5Aget_space(attribute.id))?;
        let kind = h5_id!(hdf5, H5Aget_type(attribute.id))?;
        let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))?;
        let count = usize::try_from(count).unwrap_or(0);
        match h5!(hdf5, H5Tget_class(kind.id))? {
            0 | 1 if count > 0 => {
                let mut values = vec![0f64; count];
                let double = hdf5.constant(c"H5T_NATIVE_DOUBLE_g")?;
                h5!(hdf5, H5Aread(attribute.id, double, values.as_mut_ptr().cast()))?;
                Ok(values)
            }
            abi::STRING if count == 1 => Ok(text(&attribute, &kind, &space)?
                .and_then(|text| number(&text.to_string_lossy()))
                .into_iter()
                .collect()),
            _ => Ok(Vec::new()),
        }
    }
}

/// The text of an attribute of one string.
pub(super) fn text(attribute: &Id, kind: &Id, space: &Id) -> Result<Option<CString>, String> {
    let hdf5 = attribute.hdf5;
    // A copy of a type of a file is a type in memory.
    let memory = h5_id!(hdf5, H5Tcopy(kind.id))?;
    if h5!(hdf5, H5Tis_variable_str(kind.id))? == 0 {
        let mut bytes = vec![0u8; size_of_type(kind)?];
        h5!(hdf5, H5Aread(attribute.id, memory.id, bytes.as_mut_ptr().cast()))?;
        bytes.push(0);
        return Ok(CStr::from_bytes_until_nul(&bytes).ok().map(CStr::to_owned));
    }
    let mut start: *mut c_char = std::ptr::null_mut();
    let place: *mut c_void = (&raw mut start).cast();
    h5!(hdf5, H5Aread(attribute.id, memory.id, place))?;
    // SAFETY: HDF5 has written null or the address of a string that it allocated.
    let text: Option<CString> = (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_owned());
    // SAFETY: the place is as H5Aread filled it.
    unsafe { (hdf5.call.H5Dvlen_reclaim)(memory.id, space.id, DEFAULT, place) };
    Ok(text)
}

/// A number as people and programs write it into a text: -9999, 1.e20, -999.f, 1e20f.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    text.parse().ok().or_else(|| text.trim_end_matches(['f', 'F', 'd', 'D', 'L']).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_in_two_types_is_one() {
        let mut named = Named { dtype: DType::F32, values: Vec::new(), specials: Vec::new() };
        for (value, by) in [(1e20, "a"), (f64::from(1e20f32), "b"), (-999.9, "c"), (f64::NAN, "d"), (1e300, "e")] {
            named.add(value, by);
        }
        assert_eq!(named.values, [(f64::from(1e20f32), "a"), (f64::from(-999.9f32), "c")]);
        named.add(f64::NAN, "f");
        assert_eq!(named.specials, [MissingValue::Number(f64::NAN)]);
    }
}
