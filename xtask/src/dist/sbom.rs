//! Bill of materials of the static programs, as CycloneDX 1.5: crates from cargo's resolution, and the linked C libraries.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use cyclonedx_bom::external_models::date_time::DateTime;
use cyclonedx_bom::external_models::spdx::SpdxExpression;
use cyclonedx_bom::external_models::uri::Purl;
use cyclonedx_bom::models::bom::{Bom, SpecVersion};
use cyclonedx_bom::models::component::{Classification, Component, Components};
use cyclonedx_bom::models::dependency::{Dependencies, Dependency};
use cyclonedx_bom::models::license::{LicenseChoice, Licenses};
use cyclonedx_bom::models::metadata::Metadata as About;
use cyclonedx_bom::validation::Validate;
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;

use super::programs::Platform;
use super::{output, VERSION};
use crate::build::{self, PROGRAMS};

/// C libraries of this machine linked into the programs: their names in pkg-config, and their licences.
const LIBRARIES: [(&str, &str); 2] = [
    ("libelf", "GPL-2.0-or-later OR LGPL-3.0-or-later"),
    ("zlib", "Zlib"),
];
const GLIBC_LICENSE: &str = "LGPL-2.1-or-later";
const SUBJECT: &str = "weir";

/// Writes the bill of materials, dated `time`, into `directory`; returns its path.
pub fn write(platform: Platform, directory: &Path, time: u64) -> Result<PathBuf> {
    let bom = bom(&metadata(platform)?, &libraries(platform)?, time)?;
    let mut text = Vec::new();
    bom.output_as_json_v1_5(&mut text)
        .context("writing CycloneDX")?;
    text.push(b'\n');
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let file = directory.join(format!("weir-{VERSION}-{}.cdx.json", platform.name()));
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    println!("{}", file.display());
    Ok(file)
}

fn metadata(platform: Platform) -> Result<Metadata> {
    let target = platform.target();
    MetadataCommand::new()
        .manifest_path(build::root().join("Cargo.toml"))
        .other_options(["--locked", "--filter-platform", &target].map(str::to_owned))
        .exec()
        .context("asking cargo for the programs' dependencies")
}

fn bom(metadata: &Metadata, libraries: &[Component], time: u64) -> Result<Bom> {
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|it| (&it.id, it)).collect();
    let edges = linked(metadata)?;
    let mut components = libraries.to_vec();
    let mut dependencies = Vec::new();
    for (id, needs) in &edges {
        components.push(component(packages[id])?);
        let mut needed: Vec<String> = needs.iter().map(|id| reference(packages[id])).collect();
        needed.sort();
        dependencies.push(Dependency {
            dependency_ref: reference(packages[id]),
            dependencies: needed,
        });
    }
    components.sort_by(|a, b| a.bom_ref.cmp(&b.bom_ref));
    dependencies.sort_by(|a, b| a.dependency_ref.cmp(&b.dependency_ref));
    let when = OffsetDateTime::from_unix_timestamp(i64::try_from(time)?)?;
    let subject = Component::new(
        Classification::Application,
        SUBJECT,
        VERSION,
        Some(SUBJECT.to_owned()),
    );
    let bom = Bom {
        // The same programs must have the same file.
        serial_number: None,
        metadata: Some(About {
            timestamp: Some(DateTime::try_from(when.format(&Rfc3339)?)?),
            component: Some(subject),
            ..About::default()
        }),
        components: Some(Components(components)),
        dependencies: Some(Dependencies(dependencies)),
        spec_version: SpecVersion::V1_5,
        ..Bom::default()
    };
    let judged = bom.validate_version(SpecVersion::V1_5);
    if judged.has_errors() {
        bail!("the bill of materials is not CycloneDX 1.5: {judged:?}");
    }
    Ok(bom)
}

/// Returns the packages linked into the programs with their linked dependencies, without those for builds or tests.
fn linked(metadata: &Metadata) -> Result<BTreeMap<&PackageId, BTreeSet<&PackageId>>> {
    let resolve = metadata.resolve.as_ref();
    let nodes = &resolve.context("cargo resolves nothing")?.nodes;
    let nodes: BTreeMap<&PackageId, _> = nodes.iter().map(|node| (&node.id, node)).collect();
    let has_program = |package: &&Package| {
        let mut targets = package.targets.iter();
        targets.any(|target| target.is_bin() && PROGRAMS.contains(&&*target.name))
    };
    let members = metadata.workspace_packages();
    let mut open: VecDeque<&PackageId> = members
        .into_iter()
        .filter(has_program)
        .map(|package| &package.id)
        .collect();
    let mut edges = BTreeMap::new();
    while let Some(id) = open.pop_front() {
        if edges.contains_key(id) {
            continue;
        }
        let needs = nodes[id].deps.iter().filter(|dep| {
            let mut kinds = dep.dep_kinds.iter();
            kinds.any(|kind| kind.kind == DependencyKind::Normal)
        });
        let needs: BTreeSet<&PackageId> = needs.map(|dep| &dep.pkg).collect();
        open.extend(&needs);
        edges.insert(id, needs);
    }
    Ok(edges)
}

fn reference(package: &Package) -> String {
    format!("{}@{}", package.name, package.version)
}

fn component(package: &Package) -> Result<Component> {
    let version = package.version.to_string();
    let mut component = Component::new(
        Classification::Library,
        &package.name,
        &version,
        Some(reference(package)),
    );
    // Weir's own packages are in no registry.
    if package.source.is_some() {
        component.purl = Some(Purl::new("cargo", &package.name, &version)?);
    }
    component.licenses = package.license.as_deref().map(licensed).transpose()?;
    Ok(component)
}

fn licensed(expression: &str) -> Result<Licenses> {
    // Old crates use a slash for OR.
    let expression = SpdxExpression::parse_lax(expression.to_owned())
        .with_context(|| format!("not a licence of SPDX: {expression}"))?;
    Ok(Licenses(vec![LicenseChoice::Expression(expression)]))
}

/// Returns the C libraries on this machine for `platform`.
fn libraries(platform: Platform) -> Result<Vec<Component>> {
    let mut all = Vec::new();
    for (name, license) in LIBRARIES {
        let mut asked = Command::new("pkg-config");
        asked.args(["--modversion", name]);
        if !platform.is_native() {
            asked.env("PKG_CONFIG_LIBDIR", platform.pkg_config());
        }
        let said = output(&mut asked)?;
        all.push(library(name, String::from_utf8(said)?.trim(), license)?);
    }
    let said = output(Command::new(platform.tool("gcc")).args([
        "-E",
        "-P",
        "-include",
        "features.h",
        "-dM",
        "-x",
        "c",
        "/dev/null",
    ]))?;
    let said = String::from_utf8(said)?;
    let number = |name: &str| {
        let mut defined = said
            .lines()
            .filter_map(|line| line.strip_prefix("#define ")?.strip_prefix(name));
        defined.find_map(|rest| rest.trim().parse::<u32>().ok())
    };
    let version = number("__GLIBC__ ").zip(number("__GLIBC_MINOR__ "));
    let (major, minor) = version.context("the compiler's C library is not glibc")?;
    all.push(library(
        "glibc",
        &format!("{major}.{minor}"),
        GLIBC_LICENSE,
    )?);
    Ok(all)
}

fn library(name: &str, version: &str, license: &str) -> Result<Component> {
    let reference = format!("{name}@{version}");
    let mut component = Component::new(Classification::Library, name, version, Some(reference));
    component.purl = Some(Purl::new("generic", name, version)?);
    component.licenses = Some(licensed(license)?);
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_that_only_builds_or_tests() {
        let libraries = [library("libelf", "0.188", LIBRARIES[0].1).unwrap()];
        let bill = |time| {
            let mut text = Vec::new();
            let bom = bom(
                &metadata(Platform::native().unwrap()).unwrap(),
                &libraries,
                time,
            )
            .unwrap();
            bom.output_as_json_v1_5(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = bill(1_764_000_000);
        assert_eq!(text, bill(1_764_000_000));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["bomFormat"], "CycloneDX");
        assert_eq!(read["metadata"]["timestamp"], "2025-11-24T16:00:00Z");
        let components = read["components"].as_array().unwrap();
        let names: BTreeSet<&str> = components
            .iter()
            .map(|component| component["name"].as_str().unwrap())
            .collect();
        for linked in ["weir-core", "weir-switchd", "libbpf-sys", "tokio", "libelf"] {
            assert!(names.contains(linked), "{linked} is missing");
        }
        for absent in ["bindgen", "libbpf-cargo", "proptest", "xtask", "weir-tests"] {
            assert!(!names.contains(absent), "{absent} is not linked");
        }
        let root = build::root().display().to_string();
        assert!(!text.contains(&root), "a path of this machine");
    }
}
