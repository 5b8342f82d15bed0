//! What this kernel takes and reports: forms of the program, reasons of a refusal, XDP features of devices.

pub(crate) mod device;
pub(crate) mod forms;
pub mod queue;
pub(crate) mod refusal;
