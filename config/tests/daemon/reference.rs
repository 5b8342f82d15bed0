//! The page that explains every key.

use weir_config::daemon::{
    ControlFramesConfig, DataplaneConfig, DeadlockConfig, FlowsConfig, ForwardingConfig,
    LldpConfig, LogConfig, MetricsConfig, PageConfig, PfcwdConfig, KEYS,
};
use weir_config::settings::Setting;

/// The tables whose settings are declared.
fn declared() -> Vec<(&'static str, Vec<Setting>)> {
    macro_rules! tables {
        ($($table:ident),*) => { vec![$(($table::TABLE, $table::settings())),*] };
    }
    tables![
        LogConfig,
        MetricsConfig,
        PageConfig,
        DataplaneConfig,
        DeadlockConfig,
        PfcwdConfig,
        ForwardingConfig,
        FlowsConfig,
        LldpConfig,
        ControlFramesConfig
    ]
}

/// The rows of settings that are declared with their meaning. `WEIR_WRITE=1` writes them.
#[test]
fn the_reference_has_the_rows_of_the_declarations() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/src/reference/configuration.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let mut renewed = page.clone();
    for (table, settings) in declared() {
        let section = renewed.find(&format!("## `[{table}]`")).unwrap();
        let line = "|---|";
        let head = section + renewed[section..].find(line).unwrap();
        let begin = head + renewed[head..].find('\n').unwrap() + 1;
        let end = begin + renewed[begin..].find("\n\n").unwrap() + 1;
        renewed.replace_range(begin..end, &Setting::rows(&settings));
    }
    if std::env::var_os("WEIR_WRITE").is_some() {
        std::fs::write(path, &renewed).unwrap();
        return;
    }
    assert!(
        page == renewed,
        "WEIR_WRITE=1 cargo test -p weir-config --test daemon the_reference writes the rows anew"
    );
}

#[test]
fn the_reference_names_every_key() {
    let page = include_str!("../../../docs/src/reference/configuration.md");
    for (table, keys) in KEYS {
        for key in *keys {
            assert!(
                page.contains(&format!("`{key}`")),
                "[{table}] {key} is not documented"
            );
        }
    }
}
