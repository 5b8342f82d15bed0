//! The image as a layout of the OCI image specification (1.1), in one archive.

use std::collections::HashMap;

use anyhow::{Context, Result};
use oci_spec::image::{
    Arch, ConfigBuilder, Descriptor, DescriptorBuilder, Digest, HistoryBuilder,
    ImageConfigurationBuilder, ImageIndexBuilder, ImageManifestBuilder, MediaType,
    OciLayoutBuilder, Os, PlatformBuilder, RootFsBuilder, ANNOTATION_CREATED,
    ANNOTATION_DESCRIPTION, ANNOTATION_LICENSES, ANNOTATION_REF_NAME, ANNOTATION_TITLE,
    ANNOTATION_VERSION,
};
use serde::Serialize;
use serde_json::{json, Value};
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;

use crate::dist::tree::{Tree, DATA};
use crate::dist::{sha256, VERSION};

const LAYOUT_VERSION: &str = "1.0.0";
const SCHEMA_VERSION: u32 = 2;
/// Annotation with the image's name for containerd and Docker; the specification's key has its last part only.
const ANNOTATION_NAME: &str = "io.containerd.image.name";
const ENTRYPOINT: [&str; 2] = ["/usr/sbin/weir-switchd", "--container"];
const COMMAND: [&str; 1] = ["--keeper"];
/// Ports of the metrics and the live page.
const PORTS: [&str; 2] = ["9464/tcp", "9465/tcp"];
/// One second in Docker's unit.
const SECOND: u64 = 1_000_000_000;

/// Builds the archive of an image for `architecture` with one layer, given unpacked and packed.
///
/// # Errors
///
/// When `time` is out of range for a date.
pub fn archive(architecture: &Arch, layer: &[u8], packed: Vec<u8>, time: u64) -> Result<Vec<u8>> {
    let created = OffsetDateTime::from_unix_timestamp(i64::try_from(time)?)?.format(&Rfc3339)?;
    let mut blobs = Blobs::default();
    let layer_digest = format!("sha256:{}", sha256(layer));
    let layer = blobs.add(MediaType::ImageLayerGzip, packed)?;
    let configuration = configuration(architecture, &created, layer_digest)?;
    let configuration = blobs.add(MediaType::ImageConfig, json_bytes(&configuration)?)?;
    let manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .config(configuration)
        .layers([layer])
        .annotations(about(&created))
        .build()?;
    let mut manifest = blobs.add(MediaType::ImageManifest, json_bytes(&manifest)?)?;
    let platform = PlatformBuilder::default()
        .architecture(architecture.clone())
        .os(Os::Linux)
        .build()?;
    manifest.set_platform(Some(platform));
    manifest.set_annotations(Some(HashMap::from([
        (ANNOTATION_REF_NAME.to_owned(), VERSION.to_owned()),
        (
            ANNOTATION_NAME.to_owned(),
            format!("docker.io/library/weir:{VERSION}"),
        ),
    ])));
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests([manifest])
        .build()?;
    let layout = OciLayoutBuilder::default()
        .image_layout_version(LAYOUT_VERSION)
        .build()?;
    let mut tree = blobs.0;
    tree.add("index.json", DATA, json_bytes(&index)?);
    tree.add("oci-layout", DATA, json_bytes(&layout)?);
    tree.tar("", time)
}

#[derive(Default)]
struct Blobs(Tree);

impl Blobs {
    fn add(&mut self, kind: MediaType, bytes: Vec<u8>) -> Result<Descriptor> {
        let digits = sha256(&bytes);
        let digest: Digest = format!("sha256:{digits}").parse()?;
        let descriptor = DescriptorBuilder::default()
            .media_type(kind)
            .digest(digest)
            .size(bytes.len() as u64)
            .build()?;
        self.0.add(&format!("blobs/sha256/{digits}"), DATA, bytes);
        Ok(descriptor)
    }
}

/// Returns the start configuration of a container, with the specification's keys and one of Docker's.
fn configuration(architecture: &Arch, created: &str, layer: String) -> Result<Value> {
    let config = ConfigBuilder::default()
        .entrypoint(ENTRYPOINT.map(str::to_owned).to_vec())
        .cmd(COMMAND.map(str::to_owned).to_vec())
        .env(["PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned()].to_vec())
        .exposed_ports(PORTS.map(str::to_owned).to_vec())
        .working_dir("/")
        .stop_signal("SIGTERM")
        .labels(about(created))
        .build()?;
    let history = HistoryBuilder::default()
        .created(created)
        .created_by("cargo xtask image")
        .build()?;
    let rootfs = RootFsBuilder::default()
        .typ("layers")
        .diff_ids([layer].to_vec())
        .build()?;
    let configuration = ImageConfigurationBuilder::default()
        .created(created)
        .architecture(architecture.clone())
        .os(Os::Linux)
        .config(config)
        .rootfs(rootfs)
        .history([history].to_vec())
        .build()?;
    let mut value = serde_json::to_value(configuration)?;
    // OCI has no health check; Docker and Podman read this key, and other runtimes ignore it.
    value["config"]["Healthcheck"] = json!({
        "Test": ["CMD", "/usr/bin/switchctl", "status", "--probe", "live"],
        "Interval": 10 * SECOND,
        "Timeout": 5 * SECOND,
        "StartPeriod": 10 * SECOND,
        "Retries": 3,
    });
    Ok(value)
}

/// Returns labels and annotations, with the specification's names.
fn about(created: &str) -> HashMap<String, String> {
    let all = [
        (ANNOTATION_TITLE, "weir"),
        (
            ANNOTATION_DESCRIPTION,
            "A lossless Ethernet switch for Linux in userspace",
        ),
        (ANNOTATION_VERSION, VERSION),
        (ANNOTATION_LICENSES, "MIT OR Apache-2.0"),
        (ANNOTATION_CREATED, created),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Serialises with sorted keys, so that equal content has equal bytes.
fn json_bytes(content: &impl Serialize) -> Result<Vec<u8>> {
    let sorted: Value = serde_json::to_value(content).context("writing JSON")?;
    Ok(serde_json::to_vec(&sorted)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use oci_spec::image::{ImageConfiguration, ImageIndex, ImageManifest};

    use super::*;

    fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (path, bytes)
        });
        entries.collect()
    }

    #[test]
    fn every_descriptor_leads_to_its_bytes() {
        let archived = archive(&Arch::Amd64, b"layer", b"packed".to_vec(), 1_764_000_000).unwrap();
        assert_eq!(
            archived,
            archive(&Arch::Amd64, b"layer", b"packed".to_vec(), 1_764_000_000).unwrap()
        );
        let files = files(&archived);
        let blob = |descriptor: &Descriptor| {
            let path = format!("blobs/sha256/{}", descriptor.digest().digest());
            let bytes = &files[&path];
            assert_eq!(bytes.len() as u64, descriptor.size());
            assert_eq!(sha256(bytes), descriptor.digest().digest());
            &bytes[..]
        };
        let index = ImageIndex::from_reader(&files["index.json"][..]).unwrap();
        let manifest = ImageManifest::from_reader(blob(&index.manifests()[0])).unwrap();
        assert_eq!(blob(&manifest.layers()[0]), b"packed");
        let configuration = ImageConfiguration::from_reader(blob(manifest.config())).unwrap();
        let wanted = format!("sha256:{}", sha256(b"layer"));
        assert_eq!(configuration.rootfs().diff_ids(), &[wanted]);
        let config = configuration.config().as_ref().unwrap();
        assert_eq!(config.entrypoint().as_ref().unwrap(), &ENTRYPOINT);
        // A degraded switch must not be replaced.
        let whole: Value = serde_json::from_slice(blob(manifest.config())).unwrap();
        let test = &whole["config"]["Healthcheck"]["Test"];
        assert_eq!(
            *test,
            json!(["CMD", "/usr/bin/switchctl", "status", "--probe", "live"])
        );
        assert_eq!(files["oci-layout"], br#"{"imageLayoutVersion":"1.0.0"}"#);
    }
}
