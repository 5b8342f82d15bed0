//! One port without a switch. Frames are received and sent exactly as in the switch that its file describes, so that
//! findings about a device apply to that switch.

use std::os::fd::{AsFd, AsRawFd};

use weir_config::daemon::{DaemonConfig, CONTROL_RESERVE_PER_PORT};
use weir_core::{Duration, MacAddress};
use weir_doctor::trial::Link;
use weir_ebpf::{queue, Verdict};

use crate::error::DataplaneError;
use crate::kernel::devices::{self, Device};
use crate::kernel::socket::XdpSocket;
use crate::kernel::xdp_io::{LaneDoorway, XdpIo};
use crate::memory::pool::{Chunk, Pool};
use crate::rings::io::{Batch, Io, BATCH, RECEIVE_BATCHES, WHOLE_MAX};
use crate::start::attach::{self, AttachedProgram};
use crate::start::binding::{self, Bound};
use crate::start::programs::Programs;
use crate::threads::sleeper::Sleeper;
use crate::threads::wake::Wake;

/// A port with its sockets and its program. The program has no pins, so it is removed with the process.
#[derive(Debug)]
pub struct LonePort {
    io: XdpIo<XdpSocket>,
    pool: Pool,
    port: usize,
    attached: Option<AttachedProgram>,
    address: MacAddress,
    link: Link,
    /// Chunks held by the transmitter.
    outstanding: usize,
    whole: Vec<u8>,
    batch: Batch,
}

impl LonePort {
    /// Attaches the program to `device`, which is one of the ports of `config`, and opens its sockets. The memory is laid out
    /// for all of the ports.
    ///
    /// # Errors
    ///
    /// Those of [`Dataplane::start`](super::Dataplane::start). Nothing stays attached then.
    pub fn open(config: &DaemonConfig, device: &str) -> Result<Self, DataplaneError> {
        let config = &config.without_credits();
        let is_it = |index: &usize| {
            config
                .ports
                .get(*index)
                .is_some_and(|it| it.device == device)
        };
        let mut places = (0..config.ports.len()).filter(is_it);
        let (port, others) = (places.next(), places.next());
        let Some(port) = port.filter(|_| others.is_none()) else {
            return Err(DataplaneError::NotOnePort {
                device: device.to_owned(),
            });
        };
        let mut all = Vec::with_capacity(config.ports.len());
        for (index, settings) in config.ports.iter().enumerate() {
            let found = devices::find_one(config, settings);
            all.push(if index == port {
                Some(found?)
            } else {
                found.ok()
            });
        }
        let alone: Vec<_> = (0..)
            .zip(&all)
            .map(|(index, it)| it.filter(|_| index == port))
            .collect();
        let mut attached = attach::attach(config, &alone, None, None, &mut Programs::default())?;
        let opened = attach::settle(config, &all)
            .and_then(|config| Self::open_on(&config, port, &alone, &mut attached));
        match opened {
            Ok(lone) => Ok(Self {
                attached: attached.into_iter().flatten().next(),
                ..lone
            }),
            Err(error) => {
                attach::detach_all(attached.into_iter().flatten());
                Err(error)
            }
        }
    }

    fn open_on(
        config: &DaemonConfig,
        port: usize,
        devices: &[Option<Device>],
        attached: &mut [Option<AttachedProgram>],
    ) -> Result<Self, DataplaneError> {
        let system = |what| move |source| DataplaneError::System { what, source };
        let address =
            |device: &Option<Device>| device.map_or_else(Default::default, |it| it.address);
        let addresses: Vec<MacAddress> = devices.iter().map(address).collect();
        let chunks = config.core(&addresses).frame_count;
        let Bound {
            memory,
            shares: _,
            sockets,
            doors,
        } = binding::bind(
            config,
            devices,
            attached,
            chunks as u32,
            None,
            queue::PATIENCE,
        )?;
        let of_port = sockets.iter().flatten();
        let (queues, zero_copy) = (
            of_port.clone().count(),
            of_port.clone().all(XdpSocket::is_zero_copy),
        );
        let descriptors: Vec<_> = of_port.map(|socket| socket.as_fd().as_raw_fd()).collect();
        let sleeper = Sleeper::new(Wake::new().map_err(system("eventfd"))?, descriptors);
        let mut lone = Self {
            io: XdpIo::new(sockets, memory, sleeper, LaneDoorway::default()),
            pool: Pool::new(chunks, config.ports.len() * CONTROL_RESERVE_PER_PORT),
            port,
            attached: None,
            address: addresses.get(port).copied().unwrap_or_default(),
            link: Link {
                queues,
                zero_copy,
                chunk_bytes: config.dataplane.chunk_size().get(),
                ..Link::default()
            },
            outstanding: 0,
            whole: vec![0; WHOLE_MAX],
            batch: Batch::new(),
        };
        lone.fill();
        let ports = config.ports.iter().zip(attached).zip(doors);
        for ((settings, attached), door) in ports {
            if let (Some(attached), Some(door)) = (attached, door) {
                lone.link.device = settings.device.clone();
                lone.link.mode = attached.mode.name().to_owned();
                attach::open_door(settings, attached, door)?;
            }
        }
        Ok(lone)
    }

    /// Returns the port's address.
    pub fn address(&self) -> MacAddress {
        self.address
    }

    /// Passes received frames to `each`.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) {
        // Bounded, so that a flood leaves the caller time for other work.
        for _ in 0..RECEIVE_BATCHES {
            self.batch.clear();
            self.io.receive(self.port, &mut self.batch);
            for place in 0..self.batch.len() {
                let Some(first) = self.batch.get(place) else {
                    continue;
                };
                each(self.io.whole(first, &mut self.whole).1);
                self.give_back(first);
            }
            self.fill();
            if self.batch.len() < BATCH {
                return;
            }
        }
    }

    /// Queues a frame for the next [`flush`](Self::flush). Returns false when there is no room yet.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        let mut chunks = Vec::new();
        let mut at = 0;
        while at < frame.len() {
            let Some(chunk) = self.pool.take() else { break };
            chunks.push(chunk);
            let mut written = 0;
            self.io.write(chunk, &mut |place| {
                written = place.len().min(frame.len() - at);
                place
                    .get_mut(..written)?
                    .copy_from_slice(frame.get(at..at + written)?);
                Some(written)
            });
            if written == 0 {
                break;
            }
            at += written;
        }
        self.io.chain(&chunks);
        let first = chunks.first().copied().filter(|_| at == frame.len());
        let sent = first.is_some_and(|first| self.io.send(self.port, first));
        match sent {
            true => self.outstanding += chunks.len(),
            false => chunks
                .into_iter()
                .for_each(|chunk| self.pool.give_back(chunk)),
        }
        sent
    }

    /// Makes the kernel send, and reclaims completed frames.
    pub fn flush(&mut self) {
        self.io.flush(self.port);
        self.batch.clear();
        self.io.completed(self.port, &mut self.batch);
        for place in 0..self.batch.len() {
            if let Some(first) = self.batch.get(place) {
                let count = self.give_back(first);
                self.outstanding = self.outstanding.saturating_sub(count);
            }
        }
    }

    /// Returns true while the transmitter holds frames; it does not signal their completion.
    pub fn is_sending(&self) -> bool {
        self.outstanding > 0
    }

    /// Sleeps until a frame arrives or `timeout` is over.
    pub fn wait(&mut self, timeout: Duration) {
        self.io.wait(Some(timeout));
    }

    /// Returns the counts of frames, and of losses below the sockets.
    pub fn link(&self) -> Link {
        let losses = self.io.losses(self.port);
        let verdicts = self
            .attached
            .as_ref()
            .and_then(|attached| attached.program.verdict_counters().ok());
        let of = |verdict| verdicts.as_ref().map_or(0, |counts| counts.get(verdict));
        Link {
            without_socket: of(Verdict::Dropped),
            without_metadata: of(Verdict::NoMeta),
            lost_at_socket: losses.rx_dropped_total
                + losses.rx_ring_full_total
                + losses.rx_fill_ring_empty_total,
            ..self.link.clone()
        }
    }

    /// Detaches the program, closes the sockets, and restores the settings.
    ///
    /// # Errors
    ///
    /// When the program cannot be detached; it is then removed with the process.
    pub fn close(self) -> Result<(), DataplaneError> {
        let port = self.link.device;
        drop(self.io);
        let detached = self.attached.map_or(Ok(()), AttachedProgram::detach);
        detached.map_err(|source| DataplaneError::Program { port, source })
    }

    /// Returns all chunks of a frame to the pool; returns their number.
    fn give_back(&mut self, first: Chunk) -> usize {
        let mut count = 0;
        let mut at = Some(first);
        while let Some(chunk) = at {
            at = self.io.next(chunk);
            self.pool.give_back(chunk);
            count += 1;
        }
        count
    }

    fn fill(&mut self) {
        loop {
            let room = self.io.fill_room(self.port).min(BATCH);
            let chunks: Vec<Chunk> = (0..room)
                .map_while(|_| self.pool.take_for_receive())
                .collect();
            if chunks.is_empty() {
                return;
            }
            self.io.fill(self.port, &chunks);
        }
    }
}
