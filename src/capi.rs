//! The C interface of `include/sleek.h`.
