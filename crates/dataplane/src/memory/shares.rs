//! Shares the UMEM with the sockets of ports that appear while others disappear.
//!
//! To add a socket to a UMEM, the kernel requires the descriptor of a bound socket that uses it. libxdp always passes the
//! first socket that it ever opened, the *anchor*, and keeps that descriptor as long as the UMEM. When the anchor's own port
//! disappears, another socket must take over its number, or no further socket could be opened.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use xsk_rs::Umem;

const SOL_XDP: libc::c_int = 283;
const XDP_RX_RING: libc::c_int = 2;
const XDP_TX_RING: libc::c_int = 3;
const XDP_UMEM_REG: libc::c_int = 4;
const XDP_UMEM_FILL_RING: libc::c_int = 5;
const XDP_UMEM_COMPLETION_RING: libc::c_int = 6;

/// Time for the kernel to free a queue whose sockets are closed, and the polling interval.
const FREE_WAIT: Duration = Duration::from_secs(2);
const FREE_POLL: Duration = Duration::from_millis(5);

/// `struct xdp_umem_reg` of linux/if_xdp.h.
#[repr(C)]
struct Registration {
    address: u64,
    length: u64,
    chunk_size: u32,
    headroom: u32,
    flags: u32,
    tx_metadata_length: u32,
}

/// The memory of a UMEM, and the ring sizes of its sockets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(super) address: u64,
    pub(super) length: u64,
    pub(super) chunk_size: u32,
    pub(super) rx_ring: u32,
    pub(super) tx_ring: u32,
}

/// One UMEM, and the port whose socket the others share.
#[derive(Debug)]
pub(crate) struct Shares {
    umem: Umem,
    region: Region,
    /// `None` before the first socket.
    anchor: Option<Anchor>,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    descriptor: RawFd,
    /// Port that owns the socket; `None` when no port has one, so that the next one opened becomes the anchor.
    port: Option<usize>,
}

impl Shares {
    pub(super) const fn new(umem: Umem, region: Region) -> Self {
        Self {
            umem,
            region,
            anchor: None,
        }
    }

    pub(crate) const fn umem(&self) -> &Umem {
        &self.umem
    }

    /// Records that the first of `port`'s sockets is open.
    pub(crate) fn note_open(&mut self, port: usize, first: RawFd) {
        match &mut self.anchor {
            Some(anchor) => {
                anchor.port.get_or_insert(port);
            }
            None => {
                self.anchor = Some(Anchor {
                    descriptor: first,
                    port: Some(port),
                });
            }
        }
    }

    /// Records that `port`'s sockets are closed, or could not be opened. `other` is a socket of a port that still has its
    /// sockets.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub(crate) fn note_closed(
        &mut self,
        port: usize,
        other: Option<(usize, BorrowedFd<'_>)>,
    ) -> io::Result<()> {
        let region = self.region;
        let Some(anchor) = &mut self.anchor else {
            return Ok(());
        };
        if anchor.port.is_some_and(|of| of != port) {
            return Ok(());
        }
        anchor.port = other.map(|(port, _)| port);
        match other {
            Some((_, socket)) => replace(anchor.descriptor, socket.as_raw_fd()),
            None => replace(anchor.descriptor, registered(region)?.as_raw_fd()),
        }
    }
}

impl Shares {
    /// Call this when no further socket will be opened. Replaces the anchor's descriptor, so that its queue is free as soon
    /// as its port's own descriptors are closed; the memory may be unmapped later.
    ///
    /// # Errors
    ///
    /// When no replacement can be created. The queue is then freed with the memory.
    pub(crate) fn raise_anchor(&mut self) -> io::Result<()> {
        match self.anchor.take() {
            Some(anchor) => replace(anchor.descriptor, File::open("/dev/null")?.as_raw_fd()),
            None => Ok(()),
        }
    }

    /// Waits until the driver of a present device has released the memory of a queue whose sockets are closed. The kernel
    /// reclaims it some time later, and until then the driver may write into it. Returns false when that takes too long.
    pub(crate) fn wait_until_free(&self, ifindex: u32, queue: u32) -> bool {
        let began = Instant::now();
        loop {
            match self.bind_for_a_moment(ifindex, queue) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                // It is free, or the device or queue no longer exists.
                _ => return true,
            }
            if began.elapsed() >= FREE_WAIT {
                return false;
            }
            std::thread::sleep(FREE_POLL);
        }
    }

    /// Binds in copy mode, so that the driver gets no memory.
    fn bind_for_a_moment(&self, ifindex: u32, queue: u32) -> io::Result<()> {
        let socket = registered(self.region)?;
        set_option(&socket, XDP_UMEM_FILL_RING, &self.region.rx_ring)?;
        set_option(&socket, XDP_UMEM_COMPLETION_RING, &self.region.tx_ring)?;
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: address and length are valid for the call and of this family.
        let result = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// Replaces the socket under this descriptor number, and closes the old one.
fn replace(number: RawFd, by: RawFd) -> io::Result<()> {
    // SAFETY: both are open descriptors of this process, and the number remains one.
    let result = unsafe { libc::dup3(by, number, libc::O_CLOEXEC) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns a socket with the memory registered, and with the other set-up that libxdp assumes of its first socket.
fn registered(region: Region) -> io::Result<OwnedFd> {
    // SAFETY: a system call without pointers.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let registration = Registration {
        address: region.address,
        length: region.length,
        chunk_size: region.chunk_size,
        headroom: 0,
        flags: 0,
        tx_metadata_length: 0,
    };
    set_option(&socket, XDP_UMEM_REG, &registration)?;
    set_option(&socket, XDP_RX_RING, &region.rx_ring)?;
    set_option(&socket, XDP_TX_RING, &region.tx_ring)?;
    Ok(socket)
}

fn set_option<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: value and length are valid for the call and of the size that these options have.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_XDP,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
