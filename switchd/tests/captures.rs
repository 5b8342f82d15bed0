//! `/v1/captures`: refusals and overflows.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::running::Running;
use crate::support::{
    begin, get, port, request, request_with, settings, until, FakeDataplane, LIMIT,
};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tokio::io::AsyncReadExt;
use weir_api::capture::Capture;
use weir_dataplane::tap::Taps;
use weir_ebpf::HardwareTime;
use weir_switchd::model::clock;
use weir_switchd::model::sight::{Direction, Sight, Verdict};

#[tokio::test]
async fn what_is_not_legal_is_refused_with_what_is() {
    let daemon = Running::start(FakeDataplane::start(), settings()).await;
    for (body, said) in [
        (r#"{"filter": "pfcc"}"#, "`pfcc` (word 1) is not valid here"),
        (
            r#"{"ports": ["nowhere"]}"#,
            "no such port: `nowhere`; ports: ",
        ),
        (
            r#"{"snap_bytes": 63}"#,
            "snap_bytes must be 64 to 16384, not 63",
        ),
        (
            r#"{"ring_frames": 70000}"#,
            "ring_frames must be 16 to 65536",
        ),
        (
            r#"{"ring_frames": 65536, "snap_bytes": 16384}"#,
            "must not exceed 67108864 bytes",
        ),
        (r#"{"sample": 0}"#, "must be 1 or more"),
        (
            r#"{"duration_seconds": -1.0}"#,
            "duration_seconds must be above 0",
        ),
        (r#"{"filters": "pfc"}"#, "unknown field `filters`"),
    ] {
        let answer = request_with(&daemon.socket, "POST", "/v1/captures", body).await;
        assert!(answer.status == 400 || answer.status == 422, "{answer:?}");
        assert!(answer.body.contains(said), "{body}: {}", answer.body);
    }
    let all: Vec<Capture> = get(&daemon.socket, "/v1/captures").await.json();
    assert!(all.is_empty());
    daemon.end().await.unwrap();
}

struct Reader {
    stream: tokio::net::UnixStream,
}

impl Reader {
    /// Begins a capture and reads only the beginning of its answer.
    async fn start(daemon: &Running, body: &str) -> Self {
        let stream = begin(&daemon.socket, "/v1/captures", body).await;
        Self { stream }
    }

    /// Reads the rest: frames, and the last figures of every interface.
    async fn read(mut self) -> Captured {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(LIMIT, self.stream.read_to_end(&mut rest)).await;
        read.unwrap().unwrap();
        let end_of_head = rest
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let file = joined(&rest[end_of_head..]);
        let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
        let mut captured = Captured::default();
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(_) => captured.statistics.push([0; 4]),
                Block::EnhancedPacket(block) => {
                    captured.frames += 1;
                    captured.comment = block.options.into_iter().find_map(|option| match option {
                        EnhancedPacketOption::Comment(text) => Some(text.into_owned()),
                        _ => None,
                    });
                }
                Block::InterfaceStatistics(block) => {
                    let figures = &mut captured.statistics[block.interface_id as usize];
                    for option in block.options {
                        match option {
                            InterfaceStatisticsOption::IsbIfRecv(seen) => figures[0] = seen,
                            InterfaceStatisticsOption::IsbFilterAccept(matched) => {
                                figures[1] = matched
                            }
                            InterfaceStatisticsOption::IsbUsrDeliv(copied) => figures[2] = copied,
                            InterfaceStatisticsOption::IsbIfDrop(lost) => figures[3] = lost,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        captured
    }
}

#[derive(Debug, Default)]
struct Captured {
    frames: u64,
    comment: Option<String>,
    /// By interface: seen, matched, copied, lost.
    statistics: Vec<[u64; 4]>,
}

/// Joins the parts of a chunked answer (RFC 9112, section 7.1), which must be complete.
fn joined(mut chunked: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = chunked.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = std::str::from_utf8(&chunked[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        chunked = &chunked[end + 2..];
        if length == 0 {
            assert_eq!(chunked, b"\r\n");
            return whole;
        }
        whole.extend_from_slice(&chunked[..length]);
        chunked = &chunked[length + 2..];
    }
}

/// Returns the API's figures of the only running capture: seen, matched, copied, lost.
async fn figures(daemon: &Running) -> [u64; 4] {
    let all: Vec<Capture> = get(&daemon.socket, "/v1/captures").await.json();
    assert_eq!(all.len(), 1);
    let capture = &all[0];
    [
        capture.seen_total,
        capture.matched_total,
        capture.copied_total,
        capture.lost_total,
    ]
}

/// Shows frames to captures, as the dataplane does.
fn offer(taps: &Mutex<Taps>, count: u64, bytes: &[u8]) {
    offer_of(taps, count, bytes, None);
}

/// Like [`offer`], with a device whose clock has these lowest bits.
fn offer_of(taps: &Mutex<Taps>, count: u64, bytes: &[u8], hardware_nanos: Option<u64>) {
    for _ in 0..count {
        let taps = taps.lock().unwrap();
        let wanting = taps.wanting(port(1), Verdict::Read.into());
        let sight = Sight {
            at: clock::now(),
            port: port(1),
            direction: Direction::In,
            verdict: Verdict::Read,
            priority: None,
            hardware_nanos,
            bytes,
        };
        taps.offer(wanting, &sight);
    }
}

/// Waits until the dataplane has the tap.
async fn until_tapped(taps: &Mutex<Taps>) {
    until(async || taps.lock().unwrap().is_on().then_some(())).await;
}

#[tokio::test]
async fn overflows_are_counted_and_recorded_in_the_file() {
    let fake = FakeDataplane::start();
    let taps = Arc::clone(&fake.taps);
    let daemon = Running::start(fake, settings()).await;
    let reader = Reader::start(&daemon, r#"{"ring_frames": 16, "ports": ["p1"]}"#).await;
    until_tapped(&taps).await;
    // No frame is taken out in the meantime: the writer is a task of this thread.
    offer(&taps, 100, &[7; 60]);
    assert_eq!(figures(&daemon).await, [100, 100, 16, 84]);
    // Ending the daemon also ends a capture, and the file is complete.
    let reading = tokio::spawn(reader.read());
    daemon.end().await.unwrap();
    let captured = reading.await.unwrap();
    assert_eq!(captured.frames, 16);
    assert_eq!(captured.statistics, [[100, 100, 16, 84]]);
}

#[tokio::test]
async fn a_capture_says_when_the_device_received_a_frame() {
    const BITS: u64 = 1 << HardwareTime::BITS;
    let fake = FakeDataplane::start();
    let taps = Arc::clone(&fake.taps);
    let daemon = Running::start(fake, settings()).await;
    let reader = Reader::start(&daemon, r#"{"ports": ["p1"], "count": 1}"#).await;
    until_tapped(&taps).await;
    // An hour behind the wall clock.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let device = since_1970 - Duration::from_secs(3_600);
    let low = device.as_nanos() as u64 % BITS;
    offer_of(&taps, 1, &[7; 60], Some(low));
    let captured = reader.read().await;
    daemon.end().await.unwrap();
    let (seconds, nanos) = (device.as_secs(), device.subsec_nanos());
    let comment = captured.comment.unwrap();
    assert!(
        comment.ends_with(&format!(", hardware time {seconds}.{nanos:09}")),
        "{comment}"
    );
}

#[tokio::test]
async fn whoever_does_not_read_costs_a_bounded_amount_of_memory() {
    /// Maximum number of bytes held by sockets, the HTTP library and the daemon's queue of parts.
    const KEPT_MAX: u64 = 2 << 20;
    const FRAME: [u8; 1_024] = [7; 1_024];
    const FRAMES_AT_ONCE: u64 = 16;
    let fake = FakeDataplane::start();
    let taps = Arc::clone(&fake.taps);
    let daemon = Running::start(fake, settings()).await;
    let body = r#"{"ring_frames": 64, "snap_bytes": 1024, "ports": ["p1"]}"#;
    let reader = Reader::start(&daemon, body).await;
    until_tapped(&taps).await;
    // Until twice the maximum is lost.
    let full = until(async || {
        offer(&taps, FRAMES_AT_ONCE, &FRAME);
        let figures = figures(&daemon).await;
        (figures[3] * FRAME.len() as u64 > 2 * KEPT_MAX).then_some(figures)
    })
    .await;
    let [seen, matched, copied, lost] = full;
    assert_eq!((matched, copied + lost), (seen, seen));
    assert!(copied * FRAME.len() as u64 <= KEPT_MAX, "{full:?}");
    assert!(copied > 64, "more than the ring has come through: {full:?}");
    // A reader that resumes gets every frame that was kept, and the number of lost ones.
    let ended = request(&daemon.socket, "DELETE", "/v1/captures/1").await;
    assert_eq!(ended.status, 200, "{ended:?}");
    let captured = reader.read().await;
    daemon.end().await.unwrap();
    assert_eq!(captured.frames, copied);
    assert_eq!(captured.statistics, [full]);
}

#[tokio::test]
async fn clients_that_do_not_read_free_their_place_after_a_timeout() {
    let fake = FakeDataplane::start();
    let taps = Arc::clone(&fake.taps);
    let daemon = Running::start(fake, settings()).await;
    let body =
        r#"{"ring_frames": 64, "snap_bytes": 16384, "ports": ["p1"], "duration_seconds": 1}"#;
    let reader = Reader::start(&daemon, body).await;
    until_tapped(&taps).await;
    // Exceeds the sockets for the whole duration.
    until(async || {
        offer(&taps, 64, &[7; 16_384]);
        let all: Vec<Capture> = get(&daemon.socket, "/v1/captures").await.json();
        all.is_empty().then_some(())
    })
    .await;
    drop(reader);
    daemon.end().await.unwrap();
}
