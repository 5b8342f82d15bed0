//! Headless Chromium inside a switch's network namespace, controlled over WebDriver.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{json, Value};
use weir_lab::lab::process::{inside, Process};

use crate::namespace::Visit;
use crate::PATIENCE;

/// The driver is alone in its namespace, so the port is free.
const DRIVER: &str = "http://127.0.0.1:9515";
const INTERVAL: Duration = Duration::from_millis(50);
/// Disables requests to Chromium's services; it runs as root, like the lab.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// A page under test.
pub struct Browser {
    client: Client,
}

/// Runs `look` with a browser in `namespace`; `directory` is for its profile and the driver's log.
pub fn with_browser(namespace: &str, directory: &Path, look: impl AsyncFnOnce(&Browser)) {
    let mut command = inside(namespace, Path::new("chromedriver"));
    command.arg("--port=9515").stdout(Stdio::null());
    let driver = Process::start("chromedriver", command, &directory.join("chromedriver.log"));
    let mut driver = driver
        .unwrap_or_else(|error| panic!("{error:#}: `cargo xtask setup` installs chromium-driver"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _there = Visit::to(namespace).unwrap();
    let client = runtime.block_on(async {
        let deadline = Instant::now() + PATIENCE;
        loop {
            driver.check().unwrap_or_else(|error| {
                panic!("{error:#}: is chromium-driver installed? `cargo xtask setup`")
            });
            let connected = ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities(directory))
                .connect(DRIVER)
                .await;
            match connected {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(INTERVAL).await;
        }
    });
    let browser = Browser { client };
    // Always close Chromium, even after a panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(look(&browser))));
    let closed = runtime.block_on(browser.client.close());
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
    closed.unwrap();
}

impl Browser {
    /// Opens `url`.
    pub async fn go(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Returns the value of a script's `return`.
    pub async fn run(&self, script: &str) -> Value {
        self.client
            .execute(script, Vec::new())
            .await
            .unwrap_or_else(|error| panic!("{error}: {script}"))
    }

    /// Returns the value that a script passes to `done`.
    pub async fn wait_for_done(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1];{script}");
        self.client
            .execute_async(&script, Vec::new())
            .await
            .unwrap()
    }

    /// Polls an expression until it is true.
    pub async fn until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let value = self.run(&format!("return Boolean({expression})")).await;
            if value == Value::Bool(true) {
                return;
            }
            if Instant::now() >= deadline {
                let text = self.run("return document.body.innerText").await;
                panic!(
                    "never: {expression}; the page says:\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Sets width and height of the page in CSS pixels, and the preferred colour scheme; returns once the page is redrawn.
    /// On a busy machine this is some time after Chromium has reported completion.
    pub async fn shape(&self, width: u32, height: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", media).await;
        self.until(&format!(
            "innerWidth === {width} && innerHeight === {height} && matchMedia('(prefers-color-scheme: {scheme})').matches"
        ))
        .await;
        self.drawn().await;
    }

    /// Waits until all changes so far are drawn: colours and widths by the next frame, and drawings for the width in the one
    /// after that.
    pub async fn drawn(&self) {
        self.wait_for_done(
            "requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
        )
        .await;
    }

    /// Returns the seconds of CPU time of the page's main thread so far.
    pub async fn busy_seconds(&self) -> f64 {
        self.devtools("Performance.enable", json!({})).await;
        let told = self.devtools("Performance.getMetrics", json!({})).await;
        let metrics = told["metrics"].as_array().cloned().unwrap_or_default();
        let found = metrics.iter().find(|one| one["name"] == "TaskDuration");
        found
            .and_then(|one| one["value"].as_f64())
            .expect("Chromium tells how long tasks took")
    }

    /// Returns warnings and errors of the browser's console.
    pub async fn console(&self) -> Vec<String> {
        let log = self.command("se/log", json!({"type": "browser"})).await;
        let lines = log.as_array().cloned().unwrap_or_default();
        lines.iter().map(ToString::to_string).collect()
    }

    /// Checks that what is shown is accessible, by the project's own rules and by axe-core's.
    pub async fn check_accessible(&self, what: &str) {
        let wrong = self.run(include_str!("accessible.js")).await;
        assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
        let Some(axe) = axe() else { return };
        if self.run("return typeof axe === 'undefined'").await == true {
            self.run(&axe).await;
        }
        let script = "axe.run({resultTypes: ['violations']}).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 2).join())))";
        let wrong = self.wait_for_done(script).await;
        assert_eq!(wrong, Value::Array(Vec::new()), "axe: {what}");
    }

    /// Saves the window's current content as `DIR/NAME.png`, if pictures for the book are requested: `WEIR_SCREENSHOTS=DIR`.
    pub async fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("WEIR_SCREENSHOTS") else {
            return;
        };
        let file = Path::new(&directory).join(format!("{name}.png"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        self.screenshot(&file).await;
    }

    /// Saves the window as a PNG file.
    pub async fn screenshot(&self, file: &Path) {
        std::fs::write(file, self.client.screenshot().await.unwrap()).unwrap();
    }

    async fn devtools(&self, method: &str, parameters: Value) -> Value {
        let body = json!({"cmd": method, "params": parameters});
        self.command("goog/cdp/execute", body).await
    }

    async fn command(&self, path: &'static str, body: Value) -> Value {
        self.client
            .issue_cmd(Extension { path, body })
            .await
            .unwrap()
    }
}

/// Returns axe-core. `None` if it was not reached, which `cargo xtask setup` reports; without a setup this is an error.
fn axe() -> Option<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/axe");
    let script = directory.join("axe.min.js");
    if directory.join("not-reached").exists() && !script.exists() {
        eprintln!("NOT DONE: axe-core could not be fetched, see `cargo xtask setup`");
        return None;
    }
    let read = std::fs::read_to_string(&script);
    Some(read.unwrap_or_else(|error| {
        panic!(
            "{}: {error}: `cargo xtask setup` fetches it",
            script.display()
        )
    }))
}

/// A command of Chromium's driver that is not in the standard.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _url: &url::Url) -> (hyper::Method, Option<String>) {
        (hyper::Method::POST, Some(self.body.to_string()))
    }
}

fn capabilities(directory: &Path) -> Capabilities {
    let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
    flags.push(format!(
        "--user-data-dir={}",
        directory.join("chromium").display()
    ));
    let wanted = json!({
        "browserName": "chrome",
        "goog:chromeOptions": {"args": flags, "binary": "/usr/bin/chromium"},
        "goog:loggingPrefs": {"browser": "WARNING"},
    });
    wanted.as_object().cloned().unwrap_or_default()
}
