//! A caller of the switch with bytes behind its handles, like the daemon.

use std::collections::BTreeMap;

use weir_core::counters::VlanCounters;
use weir_core::switch::Explanation;
use weir_core::{
    Bytes, Command, CommandError, DropReason, Duration, Form, Frame, FrameHandle, Instant,
    MacAddress, PortId, Priority, Switch, SwitchConfig, Transmission, VlanTag,
};

pub struct Caller {
    switch: Switch,
    port_count: usize,
    now: Instant,
    free: Vec<FrameHandle>,
    frames: BTreeMap<FrameHandle, Vec<u8>>,
    /// True if there is memory for frames that leave in two forms.
    pub copies: bool,
    admitted: u64,
    sent: u64,
    sent_bytes: u64,
}

pub struct Found {
    /// By port: the bytes that left.
    pub left: BTreeMap<usize, Vec<u8>>,
    pub foreseen: Explanation,
    pub dropped: Option<DropReason>,
    pub has_copied: bool,
}

pub fn tag_of(bytes: &[u8]) -> Option<VlanTag> {
    (bytes[12..14] == [0x81, 0])
        .then(|| VlanTag::from_bits(u16::from_be_bytes([bytes[14], bytes[15]])))
}

fn give_form(bytes: &mut Vec<u8>, form: Form) {
    let put = |bytes: &mut Vec<u8>, tag: VlanTag| {
        let [high, low] = tag.bits().to_be_bytes();
        bytes.splice(12..12, [0x81, 0, high, low]);
    };
    match form {
        Form::AsIs => {}
        Form::Untagged => drop(bytes.drain(12..16)),
        Form::Tagged(tag) => put(bytes, tag),
        Form::Retagged(tag) => {
            drop(bytes.drain(12..16));
            put(bytes, tag);
        }
    }
}

impl Caller {
    pub fn new(config: SwitchConfig) -> Self {
        Self {
            port_count: config.ports.len(),
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000),
            frames: BTreeMap::new(),
            copies: true,
            admitted: 0,
            sent: 0,
            sent_bytes: 0,
        }
    }

    pub fn apply(&mut self, command: Command) -> Result<(), CommandError> {
        self.switch.apply(self.now, command)
    }

    pub fn of_vlan(&self, number: Option<u16>) -> VlanCounters {
        let all = self.switch.vlan_traffic().iter();
        let mut of = all.filter(|traffic| traffic.vlan.map(|vlan| vlan.get()) == number);
        of.next().expect("it has a place").counters
    }

    pub fn vlan_count(&self) -> usize {
        self.switch.vlan_traffic().len()
    }

    /// Checks that the VLANs' counts together match the received and sent frames.
    pub fn assert_counted(&self) {
        let sum = |of: fn(&VlanCounters) -> u64| -> u64 {
            let all = self.switch.vlan_traffic().iter();
            all.map(|traffic| of(&traffic.counters)).sum()
        };
        assert_eq!(sum(|counters| counters.rx_frames), self.admitted);
        assert_eq!(sum(|counters| counters.tx_frames), self.sent);
        assert_eq!(sum(|counters| counters.tx_bytes), self.sent_bytes);
        assert_eq!(self.switch.held_frames(), 0);
    }

    pub fn forward(&mut self, ingress: usize, bytes: &[u8]) -> Found {
        self.now = self.now + Duration::from_millis(1);
        let port = PortId::from_index(ingress).unwrap();
        let address = |at: usize| MacAddress(bytes[at..at + 6].try_into().unwrap());
        let handle = self.free.pop().unwrap();
        let tag = tag_of(bytes);
        // As at a port that trusts the PCP of any tag.
        let is_tagged = [0x8100, 0x88a8].contains(&u16::from_be_bytes([bytes[12], bytes[13]]));
        let pcp = if is_tagged { bytes[14] >> 5 } else { 3 };
        let frame = Frame {
            handle,
            length: Bytes::new(bytes.len() as u64),
            priority: Priority::ALL[usize::from(pcp)],
            destination: address(0),
            source: address(6),
            flow_hash: 0,
        };
        let foreseen = self.switch.explain_tagged(self.now, port, &frame, tag);
        let behind = &bytes[if tag.is_some() { 16 } else { 12 }..][..2];
        let outcome = match [[0x81, 0x00], [0x88, 0xa8]].contains(&[behind[0], behind[1]]) {
            true => self.switch.check_nested_tag(port, frame.priority, tag),
            false => Ok(()),
        };
        let outcome = outcome.and_then(|()| self.switch.receive_tagged(self.now, port, frame, tag));
        let mut found = Found {
            left: BTreeMap::new(),
            foreseen,
            dropped: outcome.err(),
            has_copied: false,
        };
        match outcome {
            Err(_) => self.free.push(handle),
            Ok(tagged) => {
                self.admitted += 1;
                let mut own = bytes.to_vec();
                give_form(&mut own, tagged.form);
                self.frames.insert(handle, own);
                if tagged.has_other && self.copies {
                    let handle = self.free.pop().unwrap();
                    let form = self.switch.receive_other(self.now, handle).unwrap();
                    let mut copy = bytes.to_vec();
                    give_form(&mut copy, form);
                    self.frames.insert(handle, copy);
                    found.has_copied = true;
                } else if tagged.has_other {
                    self.switch.drop_other();
                }
            }
        }
        for index in 0..self.port_count {
            self.drain(index, &mut found);
        }
        found
    }

    fn drain(&mut self, index: usize, found: &mut Found) {
        let port = PortId::from_index(index).unwrap();
        while let Some(sent) = self.switch.transmit(self.now, port) {
            let Transmission::Data { handle, length, .. } = sent else {
                continue;
            };
            let bytes = self.frames[&handle].clone();
            assert_eq!(length.get(), bytes.len() as u64);
            self.sent += 1;
            self.sent_bytes += length.get();
            assert!(
                found.left.insert(index, bytes).is_none(),
                "twice by one port"
            );
            if let Some(handle) = self.switch.complete(handle) {
                self.frames.remove(&handle);
                self.free.push(handle);
            }
        }
    }
}
