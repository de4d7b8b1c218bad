//! Reads `modules.toml`, for the build script and the tests: TOML of one table, whose values are strings, numbers and
//! arrays of strings.

/// A module of kernels; `modules.toml` says what each field is.
#[allow(dead_code)] // each of its readers needs some fields
pub struct Row {
    pub folder: String,
    pub codec: u8,
    pub name: String,
    pub dtypes: Vec<String>,
    pub part: String,
    pub source: String,
    pub defines: Vec<String>,
    /// Role and kernel.
    pub entries: Vec<(String, String)>,
    /// Empty where the library always has the module.
    pub feature: String,
}

/// The rows of the table; panics with the line at fault, for it is read when the library is built.
pub fn read(text: &str) -> Vec<Row> {
    let text: String = text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    text.split("[[module]]").skip(1).map(row).collect()
}

fn row(text: &str) -> Row {
    let value = |key: &str| {
        let at = text.find(&format!("\n{key} = ")).unwrap_or_else(|| panic!("modules.toml: no {key} in\n{text}"));
        let rest = &text[at + key.len() + 4..];
        let end = if rest.starts_with('[') { rest.find(']') } else { rest.find('\n') };
        &rest[..end.unwrap_or_else(|| panic!("modules.toml: {key} does not end in\n{text}"))]
    };
    // Every second piece between quotation marks is a string.
    let strings = |key: &str| value(key).split('"').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let string =
        |key: &str| strings(key).pop().unwrap_or_else(|| panic!("modules.toml: {key} is no string in\n{text}"));
    let has = |key: &str| text.contains(&format!("\n{key} = "));
    let entry = |e: String| match e.split_once(" = ") {
        Some((role, kernel)) => (role.into(), kernel.into()),
        None => panic!("modules.toml: entry {e:?} is not \"role = kernel\""),
    };
    Row {
        folder: string("folder"),
        codec: value("codec").parse().unwrap_or_else(|e| panic!("modules.toml: codec {}: {e}", value("codec"))),
        name: string("name"),
        dtypes: strings("dtypes"),
        part: string("part"),
        source: string("source"),
        defines: strings("defines"),
        entries: strings("entries").into_iter().map(entry).collect(),
        feature: if has("feature") { string("feature") } else { String::new() },
    }
}
