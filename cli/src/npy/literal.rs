//! The dictionary in an NPY file's header: what NumPy writes and reads as a literal of Python.

/// What a header says.
#[derive(Debug, PartialEq)]
pub struct Said {
    /// The element type, such as `<f4`; None for what is no single one, as the fields of a structured array.
    pub descr: Option<String>,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

/// Reads a header; the reason if it is none.
pub fn parse(text: &str) -> Result<Said, String> {
    let mut reader = Reader { rest: text };
    let (mut descr, mut order, mut shape) = (None, None, None);
    reader.expect("{")?;
    while !reader.takes("}") {
        let key = reader.string()?;
        reader.expect(":")?;
        let again = match key.as_str() {
            "descr" => descr.replace(reader.descr()?).is_some(),
            "fortran_order" => order.replace(reader.truth()?).is_some(),
            "shape" => shape.replace(reader.shape()?).is_some(),
            _ => return Err(format!("'{key}' is an unknown key; descr, fortran_order and shape are known")),
        };
        if again {
            return Err(format!("'{key}' is there twice"));
        }
        if !reader.takes(",") {
            reader.expect("}")?;
            break;
        }
    }
    if !reader.rest.trim_ascii().is_empty() {
        return Err(format!("{} follows the dictionary", reader.seen()));
    }
    let none = |key: &str| format!("it has no '{key}'");
    Ok(Said {
        descr: descr.ok_or_else(|| none("descr"))?,
        fortran_order: order.ok_or_else(|| none("fortran_order"))?,
        shape: shape.ok_or_else(|| none("shape"))?,
    })
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// What stands here, for a person.
    fn seen(&self) -> String {
        let shown: String = self.rest.trim_ascii().chars().take(20).collect();
        if shown.is_empty() { "nothing".into() } else { format!("'{shown}'") }
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_ascii_start().strip_prefix(token);
        rest.inspect(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(format!("{} where '{token}' should be", self.seen())),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let seen = self.seen();
        let quote = if self.takes("'") { '\'' } else { '"' };
        if quote == '"' && !self.takes("\"") {
            return Err(format!("{seen} where a text should be"));
        }
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| format!("the text {seen} has no end"))?;
        self.rest = rest;
        Ok(text.into())
    }

    fn truth(&mut self) -> Result<bool, String> {
        match (self.takes("True"), self.takes("False")) {
            (false, false) => Err(format!("fortran_order: {} is neither True nor False", self.seen())),
            (is_true, _) => Ok(is_true),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        self.expect("(").map_err(|e| format!("shape: {e}"))?;
        let mut lens = Vec::new();
        while !self.takes(")") {
            let seen = self.seen();
            let start = self.rest.trim_ascii_start();
            let digits = start.bytes().take_while(u8::is_ascii_digit).count();
            let len = start[..digits].parse().map_err(|_| format!("shape: {seen} is no length of a dimension"))?;
            lens.push(len);
            self.rest = &start[digits..];
            self.takes("L"); // a long number of Python 2
            if !self.takes(",") {
                self.expect(")").map_err(|e| format!("shape: {e}"))?;
                break;
            }
        }
        Ok(lens)
    }

    /// A text, or a list of fields or a tuple, which are passed.
    fn descr(&mut self) -> Result<Option<String>, String> {
        if !self.rest.trim_ascii_start().starts_with(['[', '(']) {
            return self.string().map(Some);
        }
        let mut depth = 0;
        loop {
            let start = self.rest.trim_ascii_start();
            match start.bytes().next() {
                None => return Err("descr: the list of its fields has no end".into()),
                Some(b'\'' | b'"') => drop(self.string()?),
                Some(byte) => {
                    depth += i32::from(matches!(byte, b'[' | b'(')) - i32::from(matches!(byte, b']' | b')'));
                    self.rest = &start[start.chars().next().map_or(0, char::len_utf8)..];
                }
            }
            if depth == 0 {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_numpy_writes() {
        let said = |descr: &str, fortran_order, shape: &[u64]| Said {
            descr: Some(descr.into()),
            fortran_order,
            shape: shape.to_vec(),
        };
        for (text, expected) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", said("<f4", false, &[3, 4])),
            ("{\"shape\":(5,),\"descr\":\">i2\",\"fortran_order\":True}", said(">i2", true, &[5])),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", said("|u1", false, &[])),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (12L, 3L), }\n", said("<f8", false, &[12, 3])),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        let fields = "{'descr': [('a', '<f4'), ('ü]', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }";
        assert_eq!(parse(fields), Ok(Said { descr: None, fortran_order: false, shape: vec![2] }));
    }

    #[test]
    fn what_is_no_header() {
        for (text, why) in [
            ("", "nothing where '{' should be"),
            ("{'descr': '<f4'", "nothing where '}' should be"),
            ("{'descr': '<f4', 'shape': (3,)}", "it has no 'fortran_order'"),
            ("{'descr': '<f4', 'descr': '<f4'}", "'descr' is there twice"),
            ("{'order': 1}", "'order' is an unknown key"),
            ("{'shape': (-3,)}", "shape: '-3,)}' is no length"),
            ("{'shape': (99999999999999999999,)}", "is no length of a dimension"),
            ("{'shape': 3}", "shape: '3}' where '(' should be"),
            ("{'fortran_order': 1}", "fortran_order: '1}' is neither True nor False"),
            ("{'descr': '<f4}", "has no end"),
            ("{'descr': [('a', '<f4')", "the list of its fields has no end"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "'x' follows the dictionary"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
