//! Dimensions, boxes, and the codecs that take them.

use std::fs;

use super::{Bench, bytes_of, floats_of, stderr, wave};

#[test]
fn dimensions_and_boxes() {
    let bench = Bench::new();
    let dims = [20u64, 30, 40];
    let values = wave(20 * 30 * 40);
    bench.put("in", &bytes_of(&values));
    for (args, frames) in [("", 1), ("--frame-bytes 20000", 5), ("--frame-bytes 4", 10)] {
        bench.ok(&format!("compress -qf {args} --dtype f32 --dims 20x30x40 --lossless in packed"));
        let info = bench.json("inspect --json packed");
        assert_eq!((&info["dims"], &info["frames"]), (&serde_json::json!(dims), &frames.into()), "{args}");
        bench.ok("decompress -qf packed out");
        assert_eq!(bench.get("out"), bench.get("in"));
        for (text, start, lens) in [
            ("3:4,5:6,7:8", [3, 5, 7], [4, 6, 8]),
            ("0:20,0:30,0:40", [0, 0, 0], dims),
            (":,29:,:", [0, 29, 0], [20, 1, 40]),
            ("19:1,0:1,39:1", [19, 0, 39], [1; 3]),
            ("1:18,2:0,0:1", [1, 2, 0], [18, 0, 1]),
        ] {
            bench.ok(&format!("decompress -qf --box {text} packed out"));
            let mut expected = Vec::new();
            for i in start[0]..start[0] + lens[0] {
                for j in start[1]..start[1] + lens[1] {
                    let row = ((i * dims[1] + j) * dims[2] + start[2]) as usize;
                    expected.extend_from_slice(&values[row..row + lens[2] as usize]);
                }
            }
            assert_eq!(floats_of(&bench.get("out")), expected, "{args} --box {text}");
        }
        fs::remove_file(bench.path("out")).unwrap();
        bench.fails(
            "decompress --box 3:18,0:1,0:1 packed out",
            "18 elements from 3 on along dimension 0; the array (20x30x40) has 20",
        );
        bench.fails("decompress --box 0:1,0:1,33:8 packed out", "8 elements from 33 on along dimension 2");
        bench.fails("decompress --box 99:,0:1,0:1 packed out", "from 99 on along dimension 0");
        bench.fails("decompress --box 0:1,0:1 packed out", "rank 2");
    }
    bench.fails("decompress --box 3,4,5 packed out", "START:LEN");
    // Leading dimensions of 1 stay, and an array without dimensions is a line.
    bench.ok("compress -qf --frame-bytes 20000 --dtype f32 --dims 1,20,1200 --abs 1e-2 in packed");
    assert_eq!(bench.json("inspect --json packed")["dims"], serde_json::json!([1, 20, 1200]));
    bench.ok("decompress -qf --box 0:1,7:2,5:3 packed out");
    assert_eq!(floats_of(&bench.get("out")).len(), 6);
    bench.ok("compress -qf --frame-bytes 20000 --dtype f32 --lossless in packed");
    bench.ok("decompress -qf --box 23998: packed out");
    assert_eq!(floats_of(&bench.get("out")), values[23_998..]);
    let piped = bench.piped("compress -q --dtype f32 --dims 20x30x40 --abs 1 - -", &bench.get("in")[..90_000]);
    assert!(stderr(&piped).contains("holds 22500 f32 elements; --dims 20x30x40 says 24000"), "{}", stderr(&piped));
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(!table.contains("dims"), "{table}");
}
