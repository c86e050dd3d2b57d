//! The layers, as the table in `src/lib.rs` has them: read from the sources, line by line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Module → what it may import of ours.
const LAYERS: [(&str, &[&str]); 18] = [
    ("constants", &[]),
    ("effect", &[]),
    ("secret", &[]),
    ("shell", &[]),
    ("wildcard", &[]),
    ("signals", &["errors"]),
    ("logging", &["errors"]),
    ("model", &["effect", "secret"]),
    ("errors", &["model", "effect", "constants"]),
    ("retry", &["effect", "errors", "constants"]),
    ("cli", &["model", "effect", "errors", "secret", "constants"]),
    ("report", &["model", "effect", "errors", "secret", "constants"]),
    ("journal", &["model", "effect", "errors", "constants"]),
    ("target", &["model", "errors", "secret", "constants", "wildcard"]),
    ("connection", &["target", "model", "errors", "secret", "constants"]),
    ("operation", &["connection", "model", "effect", "errors", "secret", "shell", "constants", "wildcard"]),
    (
        "flow",
        &[
            "operation",
            "connection",
            "target",
            "journal",
            "retry",
            "model",
            "effect",
            "errors",
            "secret",
            "shell",
            "constants",
        ],
    ),
    ("lib", &["cli", "flow", "report", "model", "errors", "effect", "retry", "signals", "logging"]),
];

/// Crate → the only modules that may name it.
const FENCES: [(&str, &[&str]); 7] = [
    ("clap", &["cli"]),
    ("russh", &["connection"]),
    ("rusqlite", &["journal"]),
    ("rpassword", &["target"]),
    ("socket2", &["connection"]),
    ("dns_lookup", &["connection"]),
    ("rand", &["retry", "flow", "target"]),
];

struct Source {
    module: String,
    path: PathBuf,
    text: String,
}

/// Every product source, without its tests.
fn sources() -> Vec<Source> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files
        .into_iter()
        .filter(|path| !path.file_stem().unwrap().to_str().unwrap().ends_with("tests"))
        .map(|path| {
            let inside = path.strip_prefix(&root).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = first.trim_end_matches(".rs").to_owned();
            let whole = fs::read_to_string(&path).unwrap();
            let text = whole.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
            Source { module, path, text }
        })
        .collect()
}

fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The first words after each `crate::`.
fn named(line: &str) -> Vec<String> {
    line.match_indices("crate::")
        .map(|(at, word)| {
            line[at + word.len()..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        })
        .collect()
}

#[test]
fn every_module_imports_only_what_its_layer_may() {
    let layers: BTreeMap<_, _> = LAYERS.into_iter().collect();
    let mut wrong = Vec::new();
    for source in sources() {
        if source.module == "main" {
            continue;
        }
        let allowed =
            layers.get(source.module.as_str()).unwrap_or_else(|| panic!("no layer: {}", source.path.display()));
        for (n, line) in code_lines(&source.text) {
            for name in named(line) {
                let is_module = layers.contains_key(name.as_str());
                if is_module && name != source.module && !allowed.contains(&name.as_str()) {
                    wrong.push(format!("{}:{n}: {} may not use {name}", source.path.display(), source.module));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_fenced_crate_is_named_only_inside_its_fence() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (n, line) in code_lines(&source.text) {
            for (name, inside) in FENCES {
                let path = format!("{name}::");
                let preceded =
                    |at: usize| line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_:".contains(c));
                let names = line.match_indices(&path).any(|(at, _)| !preceded(at));
                if names && !inside.contains(&source.module.as_str()) {
                    wrong.push(format!("{}:{n}: {name} belongs to {}", source.path.display(), inside.join(", ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn main_is_a_doorway() {
    let main = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(main.lines().count() < 15, "{main}");
}

#[test]
fn files_stay_short_enough_to_read() {
    for source in sources() {
        let lines = fs::read_to_string(&source.path).unwrap().lines().count();
        assert!(lines <= 400, "{}: {lines} lines", source.path.display());
    }
}

/// Whoever starts a keyed operation asks for a type that is a permission; this is why there is no other way to have one.
#[test]
fn only_the_journal_gives_the_right_to_start() {
    let mut found = 0;
    for source in sources() {
        for (n, line) in code_lines(&source.text) {
            if line.contains("StartPermission for") {
                assert_eq!(source.module, "journal", "{}:{n}", source.path.display());
                found += 1;
            }
        }
    }
    assert_eq!(found, 1);
}
