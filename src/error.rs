//! Errors: one kind for each cause of failure, each with a stable C code, and a message that names the value at fault.

use std::borrow::Cow;
use std::fmt;

use crate::printable::printable;

/// What went wrong. The discriminants are the C status codes; a number is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// A pointer that must not be null was null.
    NullPointer = 1,
    /// An argument or a parameter field has a value outside its documented range.
    InvalidArgument = 2,
    /// The error bound is not a number, negative or infinite.
    InvalidBound = 3,
    /// The mode cannot be applied to this element type (a lossy mode on integers).
    UnsupportedType = 4,
    /// The destination buffer is too small.
    BufferTooSmall = 5,
    /// The stream does not begin with SLEEK's magic bytes.
    NotSleek = 6,
    /// The stream's format version or codec is not known to this library.
    UnsupportedFormat = 7,
    /// The stream ends before its stated length.
    Truncated = 8,
    /// A checksum or a structural check failed.
    Corrupt = 9,
    /// Memory could not be allocated.
    OutOfMemory = 10,
    /// The requested device cannot be used.
    Device = 11,
    /// A requested element range lies outside the array.
    OutOfRange = 12,
    /// HDF5 refused a call or is not reachable.
    Hdf5 = 13,
    /// A bug in this library; please report it.
    Internal = 99,
}

impl Kind {
    /// Every kind, for tables and tests.
    pub const ALL: [Kind; 14] = [
        Kind::NullPointer,
        Kind::InvalidArgument,
        Kind::InvalidBound,
        Kind::UnsupportedType,
        Kind::BufferTooSmall,
        Kind::NotSleek,
        Kind::UnsupportedFormat,
        Kind::Truncated,
        Kind::Corrupt,
        Kind::OutOfMemory,
        Kind::Device,
        Kind::OutOfRange,
        Kind::Hdf5,
        Kind::Internal,
    ];

    /// The C status code.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// A fixed English description, as `sleek_strerror` returns it.
    pub fn text(self) -> &'static str {
        match self {
            Kind::NullPointer => "null pointer",
            Kind::InvalidArgument => "invalid argument",
            Kind::InvalidBound => "invalid error bound",
            Kind::UnsupportedType => "mode not supported for this element type",
            Kind::BufferTooSmall => "destination buffer too small",
            Kind::NotSleek => "not a SLEEK stream",
            Kind::UnsupportedFormat => "unsupported format version or codec",
            Kind::Truncated => "truncated stream",
            Kind::Corrupt => "corrupt stream",
            Kind::OutOfMemory => "out of memory",
            Kind::Device => "device not usable",
            Kind::OutOfRange => "element range outside the array",
            Kind::Hdf5 => "HDF5 error",
            Kind::Internal => "internal error",
        }
    }
}

/// A kind and a message for a person: what was found, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The cause.
    pub kind: Kind,
    /// Names the value at fault.
    pub message: String,
}

impl Error {
    /// An error of `kind` with its message, in which control characters are written out: it may quote what somebody
    /// else chose.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        let message = match printable(&message) {
            Cow::Borrowed(_) => message,
            Cow::Owned(shown) => shown,
        };
        Error { kind, message }
    }
}

impl Error {
    /// An error with the message that the arguments make, or with as much of it as there is memory for.
    pub fn of(kind: Kind, arguments: fmt::Arguments) -> Self {
        /// A text that drops what cannot be had.
        struct Growing(String);
        impl fmt::Write for Growing {
            fn write_str(&mut self, s: &str) -> fmt::Result {
                if self.0.try_reserve(s.len()).is_ok() {
                    self.0.push_str(s);
                }
                Ok(())
            }
        }
        let mut message = Growing(String::new());
        // Only a Display of ours could fail, and those do not.
        let _ = fmt::Write::write_fmt(&mut message, arguments);
        Error::new(kind, message.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.text(), self.message)
    }
}

impl std::error::Error for Error {}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// `Err(Error::of(kind, format_args!(…)))`.
macro_rules! fail {
    ($kind:ident, $($arg:tt)*) => {
        Err($crate::error::Error::of($crate::error::Kind::$kind, format_args!($($arg)*)))
    };
}
pub(crate) use fail;
