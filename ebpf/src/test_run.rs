//! Runs a program on one frame without a device.

use std::os::fd::AsRawFd;

use libbpf_rs::libbpf_sys;

use crate::error::EbpfError;
use crate::program::PortProgram;

/// Result of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The XDP action.
    pub action: u32,
    /// Metadata in front of the frame; empty if the program wrote none.
    pub meta: Vec<u8>,
    /// The frame.
    pub data: Vec<u8>,
}

impl PortProgram {
    /// Runs the program on `count` copies of one frame, as if the device had received them in batches of 64. The kernel
    /// applies the verdicts, so redirected frames are sent. Runs on the caller's CPU.
    ///
    /// # Errors
    ///
    /// [`EbpfError::TestRun`].
    pub fn run_live(&self, device: u32, frame: &[u8], count: u32) -> Result<(), EbpfError> {
        // `struct xdp_md` of linux/bpf.h, as below.
        let mut context = [0, frame.len() as u32, 0, device, 0, 0];
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            repeat: count as _,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            ctx_in: context.as_mut_ptr().cast(),
            ctx_size_in: size_of_val(&context) as u32,
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size: 64,
            ..Default::default()
        };
        // SAFETY: every pointer refers to a buffer that outlives the call, and is passed with its length.
        let result =
            unsafe { libbpf_sys::bpf_prog_test_run_opts(self.program.as_raw_fd(), &mut options) };
        match result {
            0.. => Ok(()),
            error => Err(EbpfError::TestRun(libbpf_rs::Error::from_raw_os_error(
                -error,
            ))),
        }
    }

    /// Runs the program on one frame without a device. The kernel requires at least 14 bytes.
    ///
    /// # Errors
    ///
    /// [`EbpfError::TestRun`].
    pub fn test_run(&self, frame: &[u8]) -> Result<TestRun, EbpfError> {
        /// `struct xdp_md` of linux/bpf.h: data, data_end, data_meta, ingress_ifindex, rx_queue_index,
        /// egress_ifindex.
        const CONTEXT_WORDS: usize = 6;
        const META_ROOM: usize = 256;
        let mut context_in = [0u32; CONTEXT_WORDS];
        context_in[1] = frame.len() as u32;
        let mut context_out = [0u32; CONTEXT_WORDS];
        let mut meta = vec![0u8; frame.len() + META_ROOM];
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            repeat: 1,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            data_out: meta.as_mut_ptr().cast(),
            data_size_out: meta.len() as u32,
            ctx_in: context_in.as_mut_ptr().cast(),
            ctx_size_in: size_of_val(&context_in) as u32,
            ctx_out: context_out.as_mut_ptr().cast(),
            ctx_size_out: size_of_val(&context_out) as u32,
            ..Default::default()
        };
        // SAFETY: every pointer refers to a buffer that outlives the call, and is passed with its length.
        let result =
            unsafe { libbpf_sys::bpf_prog_test_run_opts(self.program.as_raw_fd(), &mut options) };
        if result < 0 {
            return Err(EbpfError::TestRun(libbpf_rs::Error::from_raw_os_error(
                -result,
            )));
        }
        meta.truncate(options.data_size_out as usize);
        let data = meta.split_off(meta.len().min(context_out[0] as usize));
        Ok(TestRun {
            action: options.retval,
            meta,
            data,
        })
    }
}
