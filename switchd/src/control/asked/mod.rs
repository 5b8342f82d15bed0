//! Long-running requests of operators: captures and impairments.

pub mod captures;
pub mod impair;
