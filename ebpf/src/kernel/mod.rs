//! Capabilities of the running kernel: forms of the program that it loads, reasons for a refusal, XDP features of devices.

pub(crate) mod device;
pub(crate) mod forms;
pub mod queue;
pub(crate) mod refusal;
