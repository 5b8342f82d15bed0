//! What operators have asked for that goes on for a while: captures and impairments.

pub mod captures;
pub mod impair;
