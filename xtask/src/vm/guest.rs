//! A running guest: the emulator, its monitor, and the jobs in the guest.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{bail, Context, Result};

use super::interrupt::wait_for;
use super::set_up::image::Image;
use super::set_up::packages::Packages;
use super::set_up::programs::{make_directory, remove_directory};

/// Time limit of the boot, which takes about 12 s on an idle machine.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
/// Default time limit of a job.
const JOB_LIMIT: Duration = Duration::from_secs(90);

/// A running guest; dropping it ends the guest.
#[derive(Debug)]
pub struct Guest {
    emulator: Mutex<Child>,
    monitor: UnixStream,
    share: PathBuf,
    jobs: AtomicU32,
    emulator_log: PathBuf,
}

/// Output of a job in the guest.
#[derive(Clone, Debug)]
pub struct Said {
    pub status: i32,
    pub text: String,
}

impl Guest {
    /// Starts a guest with `devices`, arguments of the emulator; the last one with a name counts. Sockets and files are in
    /// `directory`, the console and the emulator's messages in `logs`. It runs in the network namespace of the file
    /// `namespace`, if given.
    ///
    /// # Errors
    ///
    /// When the emulator does not start or the guest does not boot.
    pub fn start(
        packages: &Packages,
        image: &Image,
        devices: &[String],
        namespace: Option<&str>,
        directory: &Path,
        logs: &Path,
    ) -> Result<Self> {
        let share = directory.join("share");
        make_directory(&share)?;
        // Output of an earlier guest must not be mistaken for this one's.
        remove_directory(logs)?;
        make_directory(logs)?;
        let console = logs.join("console");
        let emulator_log = logs.join("emulator");
        let monitor = directory.join("monitor");
        let log = File::create(&emulator_log)?;
        let child = emulator(&packages.root, namespace)
            .args(machine(image, &share, &console, &monitor))
            .args(devices)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("starting the emulator")?;
        let mut unfinished = Unfinished(Some(child));
        let socket = wait_for(BOOT_LIMIT, || {
            unfinished.check(&emulator_log)?;
            let text = std::fs::read(&console).unwrap_or_default();
            let up = String::from_utf8_lossy(&text).contains("guest up");
            Ok(up.then(|| UnixStream::connect(&monitor)))
        })?;
        let socket = socket.with_context(|| {
            let seconds = BOOT_LIMIT.as_secs();
            format!("no guest after {seconds} s: see {}", console.display())
        })?;
        Ok(Self {
            monitor: socket.context("the emulator's monitor")?,
            emulator: Mutex::new(unfinished.0.take().context("the emulator has ended")?),
            share,
            jobs: AtomicU32::new(0),
            emulator_log,
        })
    }

    /// Runs a shell script in the guest.
    ///
    /// # Errors
    ///
    /// When the guest does not answer in time. A failure of the script is no error.
    pub fn sh(&self, script: &str) -> Result<Said> {
        self.sh_within(JOB_LIMIT, script)
    }

    /// Runs a shell script in the guest, for at most `limit`.
    pub fn sh_within(&self, limit: Duration, script: &str) -> Result<Said> {
        self.start_job(script)?.wait(limit)
    }

    /// Starts a shell script in the guest.
    pub fn start_job(&self, script: &str) -> Result<Job<'_>> {
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let hidden = self.share.join(format!(".job.{number}"));
        std::fs::write(&hidden, script)?;
        std::fs::rename(hidden, self.share.join(format!("job.{number}")))?;
        Ok(Job {
            guest: self,
            number,
        })
    }

    /// Runs a shell script in the guest that must succeed; returns its output.
    pub fn must(&self, script: &str) -> Result<String> {
        let said = self.sh(script)?;
        if said.status != 0 {
            bail!("`{script}` in the guest ({}): {}", said.status, said.text);
        }
        Ok(said.text)
    }

    fn has_ended(&self) -> Result<bool> {
        let mut emulator = self.emulator.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(emulator.try_wait()?.is_some())
    }

    /// Returns the path of the file that the guest sees as `/share/NAME`.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.share.join(name)
    }

    /// Plugs a network device's cable in or pulls it out.
    ///
    /// # Errors
    ///
    /// When the emulator has ended.
    pub fn set_link(&self, netdev: &str, up: bool) -> Result<()> {
        let state = if up { "on" } else { "off" };
        let mut monitor = &self.monitor;
        writeln!(monitor, "set_link {netdev} {state}").context("the emulator's monitor")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The guest needs no orderly shutdown, since none of its state outlives it.
        let emulator = self.emulator.get_mut();
        let emulator = emulator.unwrap_or_else(PoisonError::into_inner);
        let _ = emulator.kill();
        let _ = emulator.wait();
    }
}

/// A script running in the guest.
#[derive(Debug)]
pub struct Job<'a> {
    guest: &'a Guest,
    number: u32,
}

impl Job<'_> {
    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// When it does not end in time, or the guest has ended.
    pub fn wait(self, limit: Duration) -> Result<Said> {
        let file = |kind: &str| self.guest.shared(&format!("{kind}.{}", self.number));
        let status = wait_for(limit, || {
            let text = std::fs::read_to_string(file("status")).unwrap_or_default();
            if !text.ends_with('\n') && self.guest.has_ended()? {
                bail!(
                    "the emulator has ended: see {}",
                    self.guest.emulator_log.display()
                );
            }
            Ok(text
                .strip_suffix('\n')
                .and_then(|status| status.parse().ok()))
        })?;
        let status =
            status.with_context(|| format!("the guest is not done after {} s", limit.as_secs()))?;
        let text = std::fs::read(file("out")).unwrap_or_default();
        for kind in ["status", "out"] {
            let _ = std::fs::remove_file(file(kind));
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Said { status, text })
    }
}

/// An emulator whose guest has not booted yet.
struct Unfinished(Option<Child>);

impl Unfinished {
    fn check(&mut self, log: &Path) -> Result<()> {
        let Some(child) = &mut self.0 else {
            return Ok(());
        };
        if let Some(status) = child.try_wait()? {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            bail!("the emulator ended ({status}): {}", said.trim());
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts the unpacked emulator with its own loader and libraries, independently of the host's. It is killed when this
/// process ends, even by a kill.
fn emulator(root: &Path, namespace: Option<&str>) -> Command {
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(file) = namespace {
        command.args(["nsenter", &format!("--net={file}"), "--"]);
    }
    command
        .arg(libraries.join("ld-linux-x86-64.so.2"))
        .arg("--library-path")
        .arg(&libraries)
        .arg(root.join("usr/bin/qemu-system-x86_64"))
        .env("QEMU_MODULE_DIR", libraries.join("qemu"));
    for firmware in ["qemu", "seabios"] {
        command.arg("-L").arg(root.join("usr/share").join(firmware));
    }
    // A separate process group, so that Ctrl-C reaches only this process.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

fn machine(image: &Image, share: &Path, console: &Path, monitor: &Path) -> Vec<String> {
    // On a busy machine the emulated timer does not tick while the kernel waits for it; the kernel would then give up.
    const KERNEL: &str =
        "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check \
                          net.ifnames=0 ipv6.disable=1";
    let fixed = "-M q35 -accel tcg,thread=multi -cpu max -m 1536 -smp 2 \
                 -nodefaults -display none -no-reboot";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-kernel", image.kernel.display().to_string());
    option("-initrd", image.initrd.display().to_string());
    option("-append", KERNEL.to_owned());
    option("-serial", format!("file:{}", console.display()));
    option(
        "-fsdev",
        format!(
            "local,id=share,path={},security_model=none",
            share.display()
        ),
    );
    option(
        "-device",
        "virtio-9p-pci,fsdev=share,mount_tag=share".to_owned(),
    );
    option(
        "-chardev",
        format!(
            "socket,id=monitor,path={},server=on,wait=off",
            monitor.display()
        ),
    );
    option("-mon", "chardev=monitor".to_owned());
    arguments
}
