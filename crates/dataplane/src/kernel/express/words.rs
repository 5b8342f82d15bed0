//! The words of the maps, for the loop.

use weir_ebpf::{ExpressWords, Traffic};

use crate::exchange::express::{Passed, Words};

impl Words for ExpressWords {
    fn switch_on(&self, length_max: u64) {
        Self::switch_on(self, length_max);
    }

    fn switch_off(&self) {
        Self::switch_off(self);
    }

    fn gate(&self, port: u8) -> u64 {
        Self::gate(self, port)
    }

    fn seen(&self, gate: u64) -> u32 {
        Self::seen(gate)
    }

    fn open(&self, port: u8, gate: u64, priorities: u8) -> bool {
        Self::open(self, port, gate, priorities)
    }

    fn close(&self, port: u8) {
        Self::close(self, port);
    }

    fn free_at(&self, port: u8) -> u64 {
        Self::free_at(self, port)
    }

    fn occupy(&self, port: u8, until_nanos: u64) {
        Self::occupy(self, port, until_nanos);
    }

    fn lost(&self, port: u8) -> u64 {
        Self::lost(self, port)
    }

    fn on_way(&self, port: u8) -> u64 {
        Self::on_way(self, port)
    }

    fn no_room(&self, port: u8) -> u64 {
        Self::no_room(self, port)
    }

    fn came_in(&self, port: u8, priority: u8) -> Passed {
        passed(Self::came_in(self, port, priority))
    }

    fn went_out(&self, port: u8, priority: u8) -> Passed {
        passed(Self::went_out(self, port, priority))
    }

    fn enter(&self, ingress: u8, priority: u8) {
        Self::enter(self, ingress, priority);
    }

    fn finish(&self, ingress: u8, priority: u8, count: u64) {
        Self::finish(self, ingress, priority, count);
    }

    fn beat(&self, now_nanos: u64) {
        Self::beat(self, now_nanos);
    }
}

fn passed(traffic: Traffic) -> Passed {
    Passed {
        frames: traffic.frames,
        bytes: traffic.bytes,
    }
}
