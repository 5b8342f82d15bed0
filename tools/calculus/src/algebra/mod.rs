//! Min-plus algebra on piecewise-linear functions of time.
//!
//! Names and conventions are those of Le Boudec and Thiran (*Network Calculus*, 2001) and of Bouillard, Boyer and Le Corronc
//! (*Deterministic Network Calculus*, 2018): ∧ is [`Curve::min`], ⊗ [`Curve::convolution`], ⊘ [`Curve::deconvolution`]. The scalar
//! is a parameter of the function type: `Curve<Exact>` is exact, `Curve<f64>` is fast.

mod composition;
mod convolution;
mod curve;
mod deviation;
mod element;
mod exact;
mod inverse;
mod named;
mod origin;
mod pointwise;
mod scalar;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod reference;

pub use curve::{Curve, CurveError, Extended, Tail, ELEMENTS_MAX};
pub use element::Element;
pub use exact::Exact;
pub use origin::Crossing;
pub use scalar::Scalar;
