//! `sleek inspect` of an HDF5 file: a tree of its groups and datasets.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use sleek::printable::printable;

use super::Args;
use super::dataset::{Coded, Dataset};
use super::stream::{codec_name, counts, shares};
use crate::Outcome;
use crate::hdf5::about::is_bare_dimension;
use crate::hdf5::dataset::Field;
use crate::hdf5::filters::{Filter, filter_name, pipeline};
use crate::hdf5::object::{Contents, Object, ObjectKind, Target, open_object};
use crate::hdf5::{Hdf5, Id, expect_hdf5, h5_id};
use crate::io::{say, say_json};
use crate::progress::{bytes, ratio};
use crate::sentinel::text;

/// An object of the file; of a dataset what it is, or in words why it is none of numbers.
enum Seen {
    Group,
    NamedType,
    Field(Box<Dataset>),
    Other(String),
}

pub fn run(args: &Args) -> Outcome {
    expect_hdf5(&args.input)?;
    let name = args.input.display();
    let hdf5 = Hdf5::for_file(args.library.library.as_deref(), &args.input)?;
    let file = hdf5.open(&args.input)?;
    let contents = Contents::read(&file).map_err(|e| format!("{name}: {e}"))?;
    let seen = look(&file, &contents).map_err(|e| format!("{name}: {e}"))?;
    let size = std::fs::metadata(&args.input).map_err(|e| format!("{name}: {e}"))?.len();
    if args.json {
        say_json(&to_json(&contents, &seen, size));
        return Ok(ExitCode::SUCCESS);
    }
    let fields = seen.iter().filter_map(|s| if let Seen::Field(dataset) = s { Some(dataset) } else { None });
    let (raw, stored) = fields.clone().fold((0, 0), |sum, d| (sum.0 + d.raw_bytes, sum.1 + d.stored_bytes));
    say!(
        "{}: {}; {} datasets of numbers: {} -> {}, ratio {}",
        printable(&name.to_string()),
        bytes(size),
        fields.count(),
        bytes(raw),
        bytes(stored),
        ratio(raw, stored)
    );
    Tree { contents: &contents, seen: &seen, shown: vec![None; seen.len()] }.group(0, "", "/");
    Ok(ExitCode::SUCCESS)
}

fn look(file: &Id, contents: &Contents) -> Result<Vec<Seen>, String> {
    let each = contents.objects.iter().map(|object| {
        Ok(match object.kind {
            ObjectKind::Group => Seen::Group,
            ObjectKind::NamedType => Seen::NamedType,
            ObjectKind::Dataset => match Field::open(file, object)? {
                Ok(field) if is_bare_dimension(&field.dataset)? => {
                    Seen::Other(format!("a dimension of {} without a variable", lengths(&field.dims)))
                }
                Ok(field) => Seen::Field(Box::new(Dataset::of(&field).map_err(|e| format!("{}: {e}", object.name()))?)),
                Err(why) => Seen::Other(with_filters(file, object, why)?),
            },
        })
    });
    each.collect()
}

/// Why a dataset is no array of numbers, its filters, and how many of its chunks are plain.
fn with_filters(file: &Id, object: &Object, why: String) -> Result<String, String> {
    let dataset = open_object(file, &object.path)?;
    let filters = pipeline(&h5_id!(file.hdf5, H5Dget_create_plist(dataset.id))?)?;
    let names: Vec<String> = filters.iter().map(|filter| filter_name(filter.id)).collect();
    let coded = match (Field::of_chunks(file, object)?, filters.iter().position(Filter::is_sleek)) {
        (Some(field), Some(place)) => Coded::of(&field, place, &field.blocks_in_chunks()?)?,
        _ => Coded::default(),
    };
    let plain = match coded.plain {
        0 => String::new(),
        n => format!(", {n} of {} chunks plain", coded.looked_at),
    };
    Ok(if names.is_empty() { why } else { format!("{why}; {}{plain}", names.join(", ")) })
}

struct Tree<'a> {
    contents: &'a Contents,
    seen: &'a [Seen],
    /// Under which name an object was printed, if it was.
    shown: Vec<Option<String>>,
}

impl Tree<'_> {
    /// The links of a group whose path ends with a slash, each line behind `margin`.
    fn group(&mut self, place: usize, margin: &str, path: &str) {
        self.shown[place] = Some(path.to_owned());
        let links = &self.contents.links[place];
        for (i, link) in links.iter().enumerate() {
            let last = i + 1 == links.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let name = link.name.to_string_lossy();
            let below = format!("{margin}{below}");
            let line = |what: &str| say!("{margin}{branch}{}  {}", printable(&name), printable(what));
            match &link.to {
                Target::Soft(path) => line(&format!("-> {}", String::from_utf8_lossy(path).trim_end_matches('\0'))),
                Target::Other(..) => line("-> another file"),
                Target::Object(to) => {
                    if let Some(first) = &self.shown[*to] {
                        line(&format!("= {first}"));
                        continue;
                    }
                    self.shown[*to] = Some(format!("{path}{name}"));
                    match &self.seen[*to] {
                        Seen::Group => {
                            say!("{margin}{branch}{}/", printable(&name));
                            self.group(*to, &below, &format!("{path}{name}/"));
                        }
                        Seen::NamedType => line("a named type"),
                        Seen::Other(what) => line(what),
                        Seen::Field(dataset) => {
                            line(&first_line(dataset));
                            more_lines(dataset).iter().for_each(|text| say!("{below}     {text}"));
                        }
                    }
                }
            }
        }
    }
}

/// Type, shape, chunks, sizes.
fn first_line(dataset: &Dataset) -> String {
    let chunk = dataset.chunk.as_ref().map_or("not chunked".into(), |c| format!("chunks {}", lengths(c)));
    let size = match dataset.stored_bytes {
        0 => "nothing stored".into(),
        stored => {
            format!("{} -> {}, ratio {}", bytes(dataset.raw_bytes), bytes(stored), ratio(dataset.raw_bytes, stored))
        }
    };
    format!("{} {}, {chunk}, {size}", dataset.dtype, lengths(&dataset.dims))
}

/// Filters and what SLEEK made of the chunks, as far as there is something to say.
fn more_lines(dataset: &Dataset) -> Vec<String> {
    let mut lines = Vec::new();
    let mut how = dataset.filter_names().join(", ");
    if let Some(bound) = dataset.bound() {
        how += &format!(": {bound}");
    }
    if let Some(info) = &dataset.coded.info {
        how += &format!("; codec {}, profile {}", codec_name(info.codec), info.profile.name());
    }
    let told = |is_found: bool| if is_found { " (found)" } else { "" };
    let missing: Vec<String> =
        dataset.missing.iter().map(|(v, found)| format!("{}{}", text(dataset.element, *v), told(*found))).collect();
    if !missing.is_empty() {
        how += &format!("{}missing {}", if how.is_empty() { "" } else { "; " }, missing.join(", "));
    }
    lines.extend((!how.is_empty()).then_some(how));
    let Coded { looked_at, plain, streams, .. } = dataset.coded;
    if looked_at > 0 {
        let of = if looked_at < dataset.chunks { format!(" of {}", dataset.chunks) } else { String::new() };
        let others = [(plain, "of them plain"), (looked_at - plain - streams, "of them not seen")];
        let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
        let chunks = if dataset.chunks == 1 { "chunk" } else { "chunks" };
        let kinds = dataset.coded.info.as_ref().map_or(String::new(), |info| format!(": {}", shares(info)));
        lines.push(format!("in {looked_at}{of} {chunks}{}{kinds}", others.collect::<String>()));
    }
    lines
}

fn lengths(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

fn to_json(contents: &Contents, seen: &[Seen], size: u64) -> Value {
    let objects = contents.objects.iter().zip(seen).filter(|(object, _)| object.kind == ObjectKind::Dataset);
    let datasets: Vec<Value> = objects
        .map(|(object, seen)| {
            let mut of = Map::from_iter([("name".into(), json!(object.name()))]);
            match seen {
                Seen::Field(dataset) => describe(&mut of, dataset),
                Seen::Other(what) => drop(of.insert("what".into(), json!(what))),
                Seen::Group | Seen::NamedType => {}
            }
            Value::Object(of)
        })
        .collect();
    json!({"file_bytes": size, "datasets": datasets})
}

fn describe(of: &mut Map<String, Value>, dataset: &Dataset) {
    let filters = dataset.filters.iter().zip(dataset.filter_names());
    let filters: Vec<Value> =
        filters.map(|(f, name)| json!({"id": f.id, "name": name, "cd_values": f.words})).collect();
    let known = json!({
        "type": dataset.dtype,
        "shape": dataset.dims,
        "chunk_shape": dataset.chunk,
        "raw_bytes": dataset.raw_bytes,
        "stored_bytes": dataset.stored_bytes,
        "ratio": (dataset.stored_bytes > 0).then(|| dataset.raw_bytes as f64 / dataset.stored_bytes as f64),
        "filters": filters,
        "missing": dataset.missing.iter().map(|(v, _)| v).collect::<Vec<_>>(),
        "found": dataset.missing.iter().filter(|(_, found)| *found).map(|(v, _)| v).collect::<Vec<_>>(),
        "chunks_stored": dataset.chunks,
    });
    of.extend(known.as_object().cloned().unwrap_or_default());
    if let Some(request) = &dataset.request {
        let of_all = !request.bound.measures();
        let absolute = dataset.coded.info.as_ref().map(|info| info.abs_bound).filter(|bound| of_all && *bound > 0.0);
        of.insert("mode".into(), json!(request.bound.mode().name()));
        of.insert("bound".into(), json!(request.bound.number()));
        of.insert("range".into(), json!(request.bound.range()));
        of.insert("abs_bound".into(), json!(absolute));
        of.insert("profile".into(), json!(request.profile.name()));
    }
    if dataset.request.is_some() {
        of.insert("chunks_looked_at".into(), json!(dataset.coded.looked_at));
        of.insert("plain_chunks".into(), json!(dataset.coded.plain));
        of.insert("streams".into(), json!(dataset.coded.streams));
    }
    if let Some(info) = &dataset.coded.info {
        of.insert("codec".into(), json!(codec_name(info.codec)));
        of.insert("chunks".into(), counts(info));
    }
}
