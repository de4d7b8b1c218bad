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
