//! Every program depends on this package, so that all of them build libraries with the features of the whole workspace.
//! Without it `cargo build -p PROGRAM` rebuilds a library whenever another program needs one feature more.
//! `xtask/tests/house.rs` reports libraries missing here.
