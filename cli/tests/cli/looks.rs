//! Previews of compressed files, what they hold, and their pictures.

use super::{Bench, bytes_of, floats_of};

/// A wave along three axes with a fill value in it.
fn field(dims: [usize; 3]) -> Vec<f32> {
    let at = |i: usize| [i / dims[2] / dims[1], i / dims[2] % dims[1], i % dims[2]].map(|k| k as f32);
    let value = |i| {
        let [z, y, x] = at(i);
        if (70..90).contains(&i) { -9999.0 } else { (x * 0.1).sin() * (y * 0.07).cos() + (z * 0.3).sin() }
    };
    (0..dims.iter().product()).map(value).collect()
}

/// Those of the whole at these places, of several streams, whose beginnings lie between elements of the stride, too.
#[test]
fn strides_are_those_of_the_whole() {
    let bench = Bench::new();
    let dims = [30, 41, 52];
    bench.put("in", &bytes_of(&field(dims)));
    for options in ["--profile small", "--profile adaptive", "--codec zfp"] {
        let request = format!("compress -qf --dtype f32 --dims 30,41,52 --abs 1e-3 --fill -9999 {options}");
        let request = if options.ends_with("zfp") { request.replace(" --fill -9999", "") } else { request };
        bench.ok(&format!("{request} in packed"));
        bench.ok("decompress -qf packed out");
        let whole = floats_of(&bench.get("out"));
        let at = |[z, y, x]: [usize; 3]| whole[(z * dims[1] + y) * dims[2] + x];
        for stride in [1, 2, 8, 64] {
            bench.ok(&format!("decompress -qf --stride {stride} packed thin"));
            let places = |k: usize| (0..dims[k]).step_by(stride);
            let all = places(0).flat_map(|z| places(1).flat_map(move |y| places(2).map(move |x| [z, y, x])));
            let expected: Vec<f32> = all.map(at).collect();
            assert!(floats_of(&bench.get("thin")) == expected, "{options}, {stride}");
        }
        bench.ok("decompress -qf --stride 4 --box 5:20,:,3:40 packed thin.npy");
        let part = floats_of(&bench.get("thin.npy")[128..]);
        let inside = |from: usize, to: usize| (from..to).filter(|at| at % 4 == 0);
        let all = inside(5, 25).flat_map(|z| inside(0, 41).flat_map(move |y| inside(3, 43).map(move |x| [z, y, x])));
        assert!(part == all.map(at).collect::<Vec<f32>>(), "{options}");
        let head = String::from_utf8_lossy(&bench.get("thin.npy")[..128]).into_owned();
        assert!(head.contains("(5, 11, 10)"), "{head}");
    }
    bench.fails("decompress --stride 3 packed thin", "a power of two is needed, such as 2, 4 or 8");
    bench.fails("decompress --stride 0 packed thin", "a power of two is needed");
}

#[test]
fn stats_and_ranges_are_those_of_what_comes_back() {
    let bench = Bench::new();
    let values = field([30, 41, 52]);
    bench.put("in", &bytes_of(&values));
    for (bound, profile) in [("--abs 1e-3", "small"), ("--noa 1e-3", "adaptive"), ("--rel 1e-3", "small")] {
        let request = format!("--dtype f32 --dims 30,41,52 {bound} --fill -9999 --profile {profile}");
        bench.ok(&format!("compress -qf {request} in packed"));
        bench.ok("decompress -qf packed out");
        let back: Vec<f64> = floats_of(&bench.get("out")).into_iter().map(f64::from).collect();
        let there: Vec<f64> = back.iter().copied().filter(|v| *v != -9999.0).collect();
        let ends = [there.iter().copied().fold(f64::MAX, f64::min), there.iter().copied().fold(f64::MIN, f64::max)];
        let stats = bench.json("stats --json packed");
        assert_eq!((stats["count"].as_u64(), stats["missing"].as_u64()), (Some(there.len() as u64), Some(20)));
        // Numbers of JSON may come back a bit beside.
        let is_near = |a: &serde_json::Value, b: f64| (a.as_f64().unwrap() - b).abs() <= 1e-12;
        assert!(is_near(&stats["min"], ends[0]) && is_near(&stats["max"], ends[1]), "{stats}, {ends:?}");
        let original: f64 = values.iter().filter(|v| **v != -9999.0).map(|v| f64::from(*v)).sum();
        let (mean, within) = (stats["mean"].as_f64().unwrap(), stats["mean_within"].as_f64().unwrap());
        assert!((mean - original / there.len() as f64).abs() <= within && within < 0.01, "{stats}");
        let told = String::from_utf8(bench.ok("stats --chunks packed")).unwrap();
        assert!(told.contains("missing      20") && told.contains(" ± "), "{told}");
        let report = bench.json("stats --chunks --json packed");
        let ranges = report["chunks"].as_array().unwrap();
        assert_eq!(ranges.iter().map(|r| r["count"].as_u64().unwrap()).sum::<u64>(), there.len() as u64);
        let least = ranges.iter().filter_map(|r| r["min"].as_f64()).fold(f64::MAX, f64::min);
        assert!((least - ends[0]).abs() <= 1e-12, "{least}, {ends:?}");
    }
    let plain = String::from_utf8(bench.ok("inspect --ranges packed")).unwrap();
    assert!(plain.contains("\nchunk 0    "), "{plain}");
    let broken = [&bench.get("packed")[..2000], &[1, 2, 3]].concat();
    bench.put("broken", &broken);
    bench.fails("stats broken", "broken: ");
}

#[test]
fn pictures_show_a_slice() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&field([30, 41, 52])));
    bench.ok("compress -q --dtype f32 --dims 30,41,52 --abs 1e-3 --fill -9999 --profile small in packed");
    bench.ok("show -q -o out.svg packed");
    let svg = String::from_utf8(bench.get("out.svg")).unwrap();
    for part in ["<image x=", "data:image/png;base64,iVBORw0KGgo", "f32 30x41x52 [15, :, :]", "ratio ", "abs 1e-3"] {
        assert!(svg.contains(part), "no '{part}' in {}", &svg[..svg.len().min(2000)]);
    }
    assert!(svg.trim_end().ends_with("</svg>"));
    bench.ok("show -q --at 0,0,0 --stride 4 -o out.png packed");
    let png = bench.get("out.png");
    let sides = [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()));
    // 13 columns and 11 rows, of 55 pixels each.
    assert_eq!((&png[1..4], sides), (&b"PNG"[..], [13 * 55, 11 * 55]));
    let text = String::from_utf8(bench.ok("show --text --at 0,0,0 packed")).unwrap();
    // Elements 70 to 89 are missing: 18 on of row 1.
    let row: Vec<char> = text.lines().nth(4).unwrap().chars().collect();
    assert!(row.len() == 52 && row[17] != '·' && row[18..38].iter().all(|c| *c == '·') && row[38] != '·', "{text}");
    bench.fails("show --text --at 0,0 packed", "is no element of an array of the dimensions [30, 41, 52]");
    bench.fails("show -o out.jpg packed", "a name that ends in .svg or .png is needed");
    bench.fails("show -o out.svg packed", "out.svg exists");
}
