//! Streams whose checksums are made right after each mutation, so that the checks behind them are reached.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut stream = bytes.to_vec();
    sleek_fuzz::reference::builder::seal(&mut stream);
    sleek_fuzz::check_stream(&stream);
});
