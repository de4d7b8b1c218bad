//! The library on a machine without a CUDA driver: no panic, no noise, and a clear answer to who asks for the GPU.

use sleek::exec::MemorySpace;
use sleek::route;
use sleek::{DType, Device, Kind, Params};

#[test]
fn without_a_driver() {
    let bytes: Vec<u8> = (0..20000u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(route::place(bytes.as_ptr().cast()), MemorySpace::Host);
    let p = Params::new(DType::U32);
    let mut out = vec![0; sleek::compress_bound(&p, 20000).unwrap()];
    let null = std::ptr::null_mut();
    // SAFETY: both buffers are alive and as long as stated.
    let n = unsafe { route::compress(&p, bytes.as_ptr(), 20000, out.as_mut_ptr(), out.len(), null) }.unwrap();
    assert_eq!(out[..n], sleek::compress(&p, &bytes).unwrap());
    let said = route::describe(Device::Auto, bytes.as_ptr().cast(), out.as_ptr().cast());
    assert_eq!(said, "cpu: the data is in host memory");

    let cuda = Params { device: Device::Cuda, ..p };
    // SAFETY: as above.
    let asked = unsafe { route::compress(&cuda, bytes.as_ptr(), 20000, out.as_mut_ptr(), out.len(), null) };
    match asked {
        // A machine with a GPU gives the same bytes.
        Ok(m) => assert_eq!(m, n),
        Err(e) => assert_eq!(e.kind, Kind::Device, "{e}"),
    }
}
