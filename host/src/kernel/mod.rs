//! What is asked of the kernel.

#[allow(unsafe_code)] // bpf(2) by libbpf's C functions, ioctl(2)
pub mod edge;
pub mod load;
pub mod maps;
pub mod netlink;
pub mod plug;
