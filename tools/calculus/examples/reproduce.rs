//! Writes the paper's figures: `cargo run -p weir-calculus --example reproduce -- DIR [fig3|fig4|fig6|fig9|fig10]...`

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::Context;
use weir_calculus::figures::{reproduce, Figure};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(
        arguments
            .next()
            .context("no output folder: name one as the argument")?,
    );
    fs::create_dir_all(&folder)?;
    let named = arguments
        .map(|name| name.parse())
        .collect::<Result<Vec<Figure>, _>>()?;
    let figures = if named.is_empty() {
        Figure::ALL.to_vec()
    } else {
        named
    };
    for figure in figures {
        let curves = reproduce(figure)?;
        let create = |extension: &str| -> anyhow::Result<BufWriter<File>> {
            let path = folder.join(format!("{figure}.{extension}"));
            let file = File::create(&path).with_context(|| path.display().to_string())?;
            println!("{}", path.display());
            Ok(BufWriter::new(file))
        };
        curves.write_csv(create("csv")?)?;
        curves.write_svg(create("svg")?)?;
    }
    Ok(())
}
