//! Generated from `ebpf/include/weir_abi.h`, which owns the layout.
#![allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::all
)]

include!(concat!(env!("OUT_DIR"), "/weir_abi.rs"));
