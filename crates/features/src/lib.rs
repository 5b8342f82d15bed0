//! Every program depends on this package, so that each of them builds the libraries of others with the same features as the
//! whole workspace does. Without it `cargo build -p PROGRAM` builds a library again as soon as another program asks for one
//! feature more. `xtask/tests/house.rs` names a library that is missing here.
