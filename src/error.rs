//! Errors: one kind for each cause of failure, each with a stable C code, and a message that names the value at fault.

use std::borrow::Cow;
use std::fmt;

use crate::printable::printable;

/// An enumeration whose values have numbers, which streams and C know them by, and names.
macro_rules! enumeration {
    (
        $(#[$about:meta])*
        pub enum $name:ident: $number:ident, $called:ident, $what:literal {
            $($(#[$of_value:meta])* $value:ident = $code:literal $text:literal,)+
        }
    ) => {
        $crate::error::enumeration! {
            $(#[$about])*
            pub enum $name: $number, $called {
                $($(#[$of_value])* $value = $code $text,)+
            }
        }

        impl $name {
            /// The one of this number.
            pub fn from_code(code: u32) -> $crate::error::Result<$name> {
                let known = &concat!($(", ", $code, " ", $text),+)[2..];
                match $name::ALL.into_iter().find(|value| *value as u32 == code) {
                    Some(value) => Ok(value),
                    None => $crate::error::fail!(InvalidArgument, concat!($what, " {} is unknown; {}"), code, known),
                }
            }
        }
    };
    (
        $(#[$about:meta])*
        pub enum $name:ident: $number:ident, $called:ident {
            $($(#[$of_value:meta])* $value:ident = $code:literal $text:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($number)]
        pub enum $name {
            $($(#[$of_value])* $value = $code,)+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$value),+];

            /// What it is called.
            pub fn $called(self) -> &'static str {
                match self {
                    $($name::$value => $text,)+
                }
            }

            /// The same for C.
            #[allow(dead_code, reason = "C asks for some of them")]
            pub(crate) fn for_c(self) -> &'static std::ffi::CStr {
                match self {
                    $($name::$value => {
                        std::ffi::CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()).unwrap_or_default()
                    })+
                }
            }
        }
    };
}
pub(crate) use enumeration;

enumeration! {
    /// What went wrong. The discriminants are the C status codes; a number is never reused. `sleek_strerror` returns
    /// the texts.
    pub enum Kind: i32, text {
        /// A pointer that must not be null was null.
        NullPointer = 1 "null pointer",
        /// An argument or a parameter field has a value outside its documented range.
        InvalidArgument = 2 "invalid argument",
        /// The error bound is not a number, negative or infinite.
        InvalidBound = 3 "invalid error bound",
        /// The mode cannot be applied to this element type (a lossy mode on integers).
        UnsupportedType = 4 "mode not supported for this element type",
        /// The destination buffer is too small.
        BufferTooSmall = 5 "destination buffer too small",
        /// The stream does not begin with SLEEK's magic bytes.
        NotSleek = 6 "not a SLEEK stream",
        /// The stream's format version or codec is not known to this library.
        UnsupportedFormat = 7 "unsupported format version or codec",
        /// The stream ends before its stated length.
        Truncated = 8 "truncated stream",
        /// A checksum or a structural check failed.
        Corrupt = 9 "corrupt stream",
        /// Memory could not be allocated.
        OutOfMemory = 10 "out of memory",
        /// The requested device cannot be used.
        Device = 11 "device not usable",
        /// A requested element range lies outside the array.
        OutOfRange = 12 "element range outside the array",
        /// HDF5 refused a call or is not reachable.
        Hdf5 = 13 "HDF5 error",
        /// A bug in this library; please report it.
        Internal = 99 "internal error",
    }
}

impl Kind {
    /// The C status code.
    pub fn code(self) -> i32 {
        self as i32
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

/// Items of a message, with a text between them; it takes no memory of its own.
pub struct List<I>(pub I, pub &'static str);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.clone().enumerate().try_for_each(|(i, item)| {
            f.write_str(if i == 0 { "" } else { self.1 })?;
            item.fmt(f)
        })
    }
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// `Err(Error::of(kind, format_args!(…)))`.
macro_rules! fail {
    ($kind:ident, $($arg:tt)*) => {
        Err($crate::error::Error::of($crate::error::Kind::$kind, format_args!($($arg)*)))
    };
}
pub(crate) use fail;
