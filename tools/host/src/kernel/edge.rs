//! Programs at a device's ingress and egress, and its multicast addresses: calls for which no safe library exists.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::libbpf_sys as sys;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};

/// Maximum number of programs at one end of a device (include/net/tcx.h: BPF_MPROG_MAX).
const PROGRAMS_MAX: usize = 64;

/// One end of a device, where programs run in sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// For received frames.
    Ingress,
    /// For frames to be sent, in front of the queueing discipline.
    Egress,
}

impl End {
    fn kind(self) -> sys::bpf_attach_type {
        match self {
            Self::Ingress => sys::BPF_TCX_INGRESS,
            Self::Egress => sys::BPF_TCX_EGRESS,
        }
    }
}

/// Attaches a program after the existing ones. It stays attached when its descriptor is closed.
///
/// # Errors
///
/// The kernel's error.
pub fn attach(program: BorrowedFd<'_>, ifindex: u32, end: End) -> io::Result<()> {
    let options = sys::bpf_prog_attach_opts {
        sz: size_of::<sys::bpf_prog_attach_opts>() as sys::size_t,
        ..Default::default()
    };
    // SAFETY: the options are valid for the call and contain their size; the descriptor is open.
    let result = unsafe {
        sys::bpf_prog_attach_opts(
            program.as_raw_fd(),
            ifindex as libc::c_int,
            end.kind(),
            &raw const options,
        )
    };
    result_of(result)
}

/// Detaches a program.
///
/// # Errors
///
/// The kernel's error; `NotFound` if it is not attached.
pub fn detach(program: BorrowedFd<'_>, ifindex: u32, end: End) -> io::Result<()> {
    let options = sys::bpf_prog_detach_opts {
        sz: size_of::<sys::bpf_prog_detach_opts>() as sys::size_t,
        ..Default::default()
    };
    // SAFETY: as in `attach`.
    let result = unsafe {
        sys::bpf_prog_detach_opts(
            program.as_raw_fd(),
            ifindex as libc::c_int,
            end.kind(),
            &raw const options,
        )
    };
    result_of(result)
}

/// Returns the IDs of all programs at this end; none on kernels before 6.6, which lack tcx.
///
/// # Errors
///
/// The kernel's error.
pub fn programs(ifindex: u32, end: End) -> io::Result<Vec<u32>> {
    let mut ids = [0u32; PROGRAMS_MAX];
    let mut options = sys::bpf_prog_query_opts {
        sz: size_of::<sys::bpf_prog_query_opts>() as sys::size_t,
        prog_ids: ids.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.count = PROGRAMS_MAX as u32;
    // SAFETY: the options are valid for the call and contain their size, and the array has room for as many IDs as they
    // state.
    let result =
        unsafe { sys::bpf_prog_query_opts(ifindex as libc::c_int, end.kind(), &raw mut options) };
    match result_of(result) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(Vec::new()),
        other => other?,
    }
    // SAFETY: both fields of the union are the same 32-bit integer.
    let count = unsafe { options.__bindgen_anon_1.count } as usize;
    Ok(ids.iter().copied().take(count).collect())
}

fn result_of(result: libc::c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        // libbpf returns the negated errno.
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// Makes a device receive frames to a multicast address, or stops that.
///
/// # Errors
///
/// The kernel's error.
pub fn receive_multicast(device: &str, address: [u8; 6], yes: bool) -> io::Result<()> {
    let mut request = request_for(device);
    let mut sa_data = [0; 14];
    for (place, byte) in sa_data.iter_mut().zip(address) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_hwaddr = libc::sockaddr {
        sa_family: libc::AF_UNSPEC as libc::sa_family_t,
        sa_data,
    };
    let number = if yes {
        libc::SIOCADDMULTI
    } else {
        libc::SIOCDELMULTI
    };
    ioctl(number, &mut request)
}

/// Returns the speed reported by a device, in Mbit/s; `None` if unknown.
///
/// # Errors
///
/// The kernel's error; not every driver answers.
pub fn speed(device: &str) -> io::Result<Option<u32>> {
    // linux/ethtool.h: struct ethtool_cmd in 32-bit words. The low half of the speed is in the fourth word, the high half in
    // the eighth.
    const ETHTOOL_GSET: u32 = 1;
    const UNKNOWN: u32 = u32::MAX;
    let mut words = [0u32; 11];
    words[0] = ETHTOOL_GSET;
    let mut request = request_for(device);
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    ioctl(libc::SIOCETHTOOL, &mut request)?;
    let half = |word: u32| {
        let [a, b, ..] = word.to_ne_bytes();
        u32::from(u16::from_ne_bytes([a, b]))
    };
    let speed = half(words[7]) << 16 | half(words[3]);
    Ok((speed != UNKNOWN && speed != 0).then_some(speed))
}

fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: all-zero bytes are a valid value of this type, which consists of integers, arrays and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte is not written, since the name ends with a NUL.
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (place, byte) in places.zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

fn ioctl(number: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    let any = socket(
        AddressFamily::Unix,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: the descriptor lives until the end of this function. The kernel reads and writes the request and, for `speed`,
    // the 44 bytes that its pointer refers to, which outlive the call.
    match unsafe { libc::ioctl(any.as_raw_fd(), number, std::ptr::from_mut(request)) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
