//! The dictionary in an NPY file's header: a literal of Python, which is JSON but for a few signs.

use serde_json::{Map, Value};

#[derive(Debug, PartialEq)]
pub struct Said {
    /// The element type, such as `<f4`; None for what is no single one, as the fields of a structured array.
    pub descr: Option<String>,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

/// Reads a header; the reason if it is none.
pub fn parse(text: &str) -> Result<Said, String> {
    let mut json: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    for (python, json_has) in
        [("'", "\""), ("(", "["), (")", "]"), (":True", ":true"), (":False", ":false"), (",]", "]"), (",}", "}")]
    {
        json = json.replace(python, json_has);
    }
    let said: Map<String, Value> = serde_json::from_str(&json).map_err(|e| format!("is no dictionary: {e}"))?;
    let of = |key: &str| said.get(key).ok_or_else(|| format!("it has no '{key}'"));
    let lens = of("shape")?.as_array().and_then(|lens| lens.iter().map(Value::as_u64).collect());
    Ok(Said {
        descr: of("descr")?.as_str().map(str::to_owned),
        fortran_order: of("fortran_order")?.as_bool().ok_or("fortran_order is neither True nor False")?,
        shape: lens.ok_or_else(|| format!("shape: {} is no list of lengths", of("shape").unwrap_or(&Value::Null)))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_numpy_writes() {
        let said = |descr: Option<&str>, fortran_order, shape: &[u64]| Said {
            descr: descr.map(str::to_owned),
            fortran_order,
            shape: shape.to_vec(),
        };
        for (text, expected) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", said(Some("<f4"), false, &[3, 4])),
            ("{\"shape\":(5,),\"descr\":\">i2\",\"fortran_order\":True}", said(Some(">i2"), true, &[5])),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", said(Some("|u1"), false, &[])),
            (
                "{'descr': [('a', '<f4'), ('ü', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }",
                said(None, false, &[2]),
            ),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_header() {
        for (text, why) in [
            ("", "is no dictionary"),
            ("{'descr': '<f4'", "is no dictionary"),
            ("{'descr': '<f4', 'shape': (3,)}", "it has no 'fortran_order'"),
            ("{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}", "neither True nor False"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "shape: [-3] is no list of lengths"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "is no list of lengths"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "shape: 3 is no list of lengths"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "is no dictionary"),
            (&format!("{{'descr': {}", "(".repeat(100_000)), "is no dictionary"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(why), "{text:.80}: {message}");
        }
    }
}
