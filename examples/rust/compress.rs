//! An array in memory: compressed within a bound, looked at, and restored as a whole, in part and by its shape.

use sleek::{Bound, DType, Dims, Params, Profile};

fn main() -> sleek::Result<()> {
    let (rows, columns) = (300u64, 400u64);
    let at = |y: u64, x: u64| (280.0 + 10.0 * (0.02 * x as f64).sin() * (0.03 * y as f64).cos()) as f32;
    let field: Vec<f32> = (0..rows).flat_map(|y| (0..columns).map(move |x| at(y, x))).collect();
    let bytes: Vec<u8> = field.iter().flat_map(|v| v.to_le_bytes()).collect();

    // The smallest stream for |v - r| <= 0.001; with `Profile::Adaptive` dimensions are not needed, and it is much
    // faster.
    let mut params = Params::new(DType::F32).with_bound(Bound::Abs(1e-3));
    params.profile = Profile::Small;
    params.dims = Dims::new(&[rows, columns])?;
    let stream = sleek::compress(&params, &bytes)?;
    println!("{} -> {} bytes, |v - r| <= {}", bytes.len(), stream.len(), sleek::inspect(&stream)?.abs_bound);

    let restored = numbers(&sleek::decompress(&stream)?);
    let error = field.iter().zip(&restored).map(|(v, r)| (f64::from(*v) - f64::from(*r)).abs()).fold(0.0, f64::max);
    assert!(error <= 1e-3, "{error}");

    // Only the chunks that hold what is asked for are decoded.
    let mut line = vec![0; 4 * columns as usize];
    sleek::decompress_range_into(&stream, 7 * columns, columns as usize, &mut line)?;
    assert_eq!(numbers(&line), restored[7 * 400..8 * 400]);
    let mut corner = vec![0; 4 * 2 * 3];
    sleek::decompress_box_into(&stream, &[10, 20], &[2, 3], &mut corner)?;
    assert_eq!(numbers(&corner)[..3], restored[10 * 400 + 20..][..3]);

    // What is damaged is refused.
    let mut damaged = stream;
    damaged[100] ^= 1;
    println!("{}", sleek::decompress(&damaged).expect_err("one bit is another one"));
    Ok(())
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
