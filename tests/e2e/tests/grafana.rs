//! Checks the dashboards with Grafana's published schema: every panel is of a known kind, with known keys.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use weir_monitoring::dashboards;
use weir_tests::python;

/// Parts that the schema leaves to data sources: Prometheus' keys of annotations and of variables' queries.
const OF_THE_DATA_SOURCE: [&str; 4] = [
    "/annotations/list/tagKeys",
    "/annotations/list/titleFormat",
    "/annotations/list/useValueForTime",
    "/templating/list/definition",
];

/// Returns for each of `dashboards` the parts missing in the schema, and the number of panels.
fn lost(python: &Path, dashboards: &[String]) -> Vec<(Vec<String>, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let files = dashboards.iter().enumerate().map(|(number, text)| {
        let file = directory.path().join(format!("{number}.json"));
        std::fs::write(&file, text).unwrap();
        file
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/grafana_schema.py");
    let output = Command::new(python).arg(script).args(files).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = told.lines().map(|line| {
        let told: Value = serde_json::from_str(line).unwrap();
        let lost = told["lost"].as_array().unwrap().iter();
        let lost = lost.map(|path| path.as_str().unwrap().to_owned());
        (lost.collect(), told["panels"].as_u64().unwrap())
    });
    told.collect()
}

#[test]
fn dashboards_are_as_grafanas_schema_says() {
    let Some(python) = python("the Grafana Foundation SDK") else {
        return;
    };
    let all = dashboards::all();
    let texts: Vec<String> = all
        .iter()
        .map(|one| one.to_json("https://example.net/weir"))
        .collect();
    let told = lost(&python, &texts);
    assert_eq!(told.len(), all.len());
    for ((lost, panels), text) in told.into_iter().zip(&texts) {
        assert!(panels > 10, "{panels}");
        let unknown: Vec<_> = lost
            .into_iter()
            .filter(|path| !OF_THE_DATA_SOURCE.contains(&path.as_str()))
            .collect();
        assert_eq!(unknown, Vec::<String>::new(), "{}", &text[..80]);
    }

    // An unknown key is detected.
    let wrong =
        texts[0]
            .replacen("\"gridPos\"", "\"gridpos\"", 1)
            .replacen("\"unit\"", "\"units\"", 1);
    let (lost, _) = lost(&python, &[wrong]).remove(0);
    for path in ["/panels/gridpos", "/panels/fieldConfig/defaults/units"] {
        assert!(lost.iter().any(|one| one == path), "{path}: {lost:?}");
    }
}
