//! Files written by people.

use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_config::units;
use weir_core::MacAddress;

/// Longer texts are ignored: a fuzzer finds more in short ones.
const TEXT_LENGTH_MAX: usize = 4096;
/// Numbers with more digits can make networks that legitimately take seconds to build.
const DIGITS_MAX: usize = 3;

/// A daemon's configuration is refused with the line, or is valid for the switch core and unchanged after writing and
/// reading.
pub fn config(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    units_of(text);
    let file = Path::new("fuzz.toml");
    let config = match DaemonConfig::parse(text, file) {
        Ok(config) => config,
        Err(error) => return assert_named(&error.to_string()),
    };
    let again = DaemonConfig::parse(&config.to_toml(), file);
    assert_eq!(again.as_ref(), Ok(&config), "{}", config.to_toml());
    assert!(
        config.changes_to(&config).is_empty(),
        "nothing differs from itself"
    );
    assert_eq!(config.with_live_settings_of(&config), config);
    let addresses: Vec<MacAddress> = (0..config.ports.len())
        .map(|port| MacAddress([2, 0x57, 0, 0, 1, port as u8]))
        .collect();
    let core = config.core(&addresses);
    assert_eq!(
        core.validate(),
        Ok(()),
        "what the file's reader takes, the switch takes"
    );
    assert!(core.frame_count >= core.frames_needed());
}

/// A scenario file is refused with the line, or has usable paths and classes.
pub fn scenario(bytes: &[u8]) {
    let Some(text) = text(bytes).filter(|text| has_small_counts(text)) else {
        return;
    };
    let scenario = match Scenario::parse(text, Path::new("fuzz.toml"), &[]) {
        Ok(scenario) => scenario,
        Err(error) => return assert_named(&error.to_string()),
    };
    for flow in 0..scenario.flows.len() {
        let _ = scenario.way(flow);
        let _ = (scenario.priority(flow), scenario.answer_priority(flow));
    }
    for switch in 0..scenario.switches.len() {
        assert!(scenario.ports(switch).len() <= weir_core::PORT_COUNT_MAX);
        let _ = scenario.classes_of(switch);
    }
    let again = Scenario::parse(text, Path::new("fuzz.toml"), &[]);
    assert_eq!(
        again.as_ref(),
        Ok(&scenario),
        "the same text is the same network"
    );
}

fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (text.len() <= TEXT_LENGTH_MAX).then_some(text)
}

fn assert_named(error: &str) {
    assert!(error.contains("fuzz.toml"), "{error}");
    assert!(error.len() > "fuzz.toml: ".len(), "{error}");
}

/// Checks that a parsed quantity is unchanged after writing and reading.
fn units_of(text: &str) {
    let text = text.lines().next().unwrap_or_default();
    if let Ok(rate) = units::parse_rate(text) {
        assert_eq!(units::parse_rate(&units::format_rate(rate)), Ok(rate));
    }
    if let Ok(size) = units::parse_size(text) {
        assert_eq!(units::parse_size(&units::format_size(size)), Ok(size));
    }
    if let Ok(duration) = units::parse_duration(text) {
        assert_eq!(
            units::parse_duration(&units::format_duration(duration)),
            Ok(duration)
        );
    }
    if let Ok(probability) = units::parse_probability(text) {
        let written = units::format_probability(probability);
        assert_eq!(units::parse_probability(&written), Ok(probability));
    }
}

fn has_small_counts(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '_')
        .all(|number| number.len() <= DIGITS_MAX)
}
