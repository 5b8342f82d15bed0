//! `switchctl config …`: checks of a daemon's files (`check`, `diff`), and the running switch's configuration (`save`,
//! `past`).

pub mod check;
mod devices;
pub mod diff;
mod file;
mod here;
pub mod past;
pub mod save;

use std::io::Read;
use std::path::{Path, PathBuf};

use weir_config::daemon::DaemonConfig;
use weir_config::{FileError, Problem};

const STANDARD_INPUT: &str = "-";
const STANDARD_INPUT_NAME: &str = "standard input";
const INPUT_MAX_BYTES: u64 = 16 << 20;

struct Source {
    /// Path of the file; [`STANDARD_INPUT_NAME`] for standard input.
    name: PathBuf,
    /// Contents of standard input; `None` for a file.
    input: Option<String>,
    config: Result<DaemonConfig, FileError>,
}

impl Source {
    fn read(path: &Path) -> Self {
        if path != Path::new(STANDARD_INPUT) {
            return Self {
                name: path.to_owned(),
                input: None,
                config: DaemonConfig::load(path),
            };
        }
        let name = PathBuf::from(STANDARD_INPUT_NAME);
        let mut text = String::new();
        let read = std::io::stdin()
            .take(INPUT_MAX_BYTES + 1)
            .read_to_string(&mut text);
        let config = match read {
            Ok(length) if length as u64 > INPUT_MAX_BYTES => Err(refused(
                &name,
                format!("is longer than {INPUT_MAX_BYTES} B"),
            )),
            Ok(_) => DaemonConfig::parse(&text, &name),
            Err(error) => Err(refused(&name, error.to_string())),
        };
        Self {
            name,
            input: Some(text),
            config,
        }
    }
}

fn refused(path: &Path, message: String) -> FileError {
    let problem = Problem {
        line: None,
        key: String::new(),
        message,
    };
    FileError {
        path: path.to_owned(),
        problems: vec![problem],
        set: Vec::new(),
    }
}
