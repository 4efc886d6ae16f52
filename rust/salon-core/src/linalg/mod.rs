//! Linear systems of Newton steps: dense, sparse, with further parameters, and with one factor for many replicates.

pub mod frozen_newton;
pub mod laplacian;
pub mod schur;
pub mod sparse_cholesky;
