#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sleek_fuzz::targets::codec::interp(bytes));
