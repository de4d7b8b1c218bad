//! Bytes of any kind, as they are.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sleek_fuzz::check_stream(bytes));
