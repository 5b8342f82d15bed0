//! `switchctl top` in a real terminal, on a real switch: its display, its keys, and its clean exit.

use std::process::Command;

use weir_lab::lab::process::program;
use weir_tests::{until, Bench};

/// A terminal of 80 × 24, closed on drop.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn start(command: &str) -> Self {
        let terminal = Self {
            socket: format!("weir-test-{}", std::process::id()),
        };
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            command,
        ]);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.socket])
            .args(words)
            .output()
            .unwrap_or_else(|error| panic!("tmux: {error}; `cargo xtask setup` installs it"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn shows(&self, what: &str) {
        until(&format!("the terminal shows {what}"), || {
            self.screen().contains(what).then_some(())
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let screen = Command::new("tmux")
                .args(["-L", &self.socket, "capture-pane", "-p"])
                .output();
            let screen = screen.map(|output| output.stdout).unwrap_or_default();
            eprintln!("the screen:\n{}", String::from_utf8_lossy(&screen));
        }
        let _ = Command::new("tmux")
            .args(["-L", &self.socket, "kill-server"])
            .output();
    }
}

#[test]
fn the_switch_is_shown_and_the_terminal_is_as_it_was() {
    let bench = Bench::new(&[], |_| ());
    let switchctl = program("switchctl").unwrap_or_else(|error| panic!("{error:#}"));
    let socket = bench.switch.config.api_socket.display();
    // Twice: it is left once by its key, once by Ctrl-C.
    let top = format!(
        "{} --socket {socket} top --interval 0.2",
        switchctl.display()
    );
    let terminal = Terminal::start(&format!(
        "sh -c '{top}; echo first $?; stty -a; read go; {top}; echo second $?; stty -a; read go'"
    ));
    terminal.shows("s1  running");
    terminal.shows("60.0 KiB");
    terminal.tmux(&["send-keys", "2"]);
    // In 80 columns numbers are short, and no column is missing.
    for word in ["100M", "received", "kernel lost", "dropped"] {
        terminal.shows(word);
    }
    terminal.tmux(&["send-keys", "Tab", "Tab", "Tab"]);
    terminal.shows("started");
    // Details of a row, and all switches, at any terminal size.
    for (columns, rows) in [("200", "50"), ("80", "24")] {
        terminal.tmux(&["resize-window", "-x", columns, "-y", rows]);
        terminal.tmux(&["send-keys", "2", "Enter"]);
        terminal.shows("Port h1: arrows and PgDn move, Esc closes");
        terminal.shows("kernel lost  ");
        terminal.tmux(&["send-keys", "Escape"]);
        until("the details go", || {
            (!terminal.screen().contains("Esc closes")).then_some(())
        });
        terminal.tmux(&["send-keys", "f"]);
        terminal.shows("1 switch of this machine: 1 ");
        terminal.tmux(&["send-keys", "Enter"]);
        terminal.shows("s1  running");
        terminal.tmux(&["send-keys", "Escape"]);
        terminal.shows("1 switch of this machine");
    }
    terminal.tmux(&["send-keys", "1"]);
    terminal.shows("s1  running");
    terminal.tmux(&["send-keys", "?"]);
    terminal.shows("freeze; again: resume");
    // Esc only closes the help.
    terminal.tmux(&["send-keys", "Escape"]);
    until("the help goes", || {
        (!terminal.screen().contains("freeze; again")).then_some(())
    });
    terminal.shows("s1  running");
    terminal.tmux(&["send-keys", "q"]);
    for word in ["first 0", "second 0"] {
        terminal.shows(word);
        terminal.shows(" icanon");
        let screen = terminal.screen();
        assert!(
            screen.contains(" echo ") && !screen.contains("s1  running"),
            "{screen}"
        );
        if word.starts_with("first") {
            terminal.tmux(&["send-keys", "Enter"]);
            terminal.shows("s1  running");
            terminal.tmux(&["send-keys", "C-c"]);
        }
    }
    drop(terminal);
    bench.end();
}
