//! `salon_ranking._core`: the numeric core for Python.
//!
//! Thin on purpose: arrays come in without copies, `door` runs the work without the interpreter lock, results go out
//! as arrays. All checks of what users hand in happen in `salon_ranking`; what is checked again here guards memory.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod battles;
mod duplicates;
mod intervals;
mod models;
mod pictures;
mod ratings;
mod run_detached;
mod scheduling;
mod uncertainty;

use pyo3::prelude::*;

/// The numeric core of `salon_ranking`; see `_core.pyi` for types.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<battles::Aggregator>()?;
    module.add_class::<battles::Cells>()?;
    module.add_class::<ratings::Fit>()?;
    module.add_class::<ratings::Replicates>()?;
    module.add_function(wrap_pyfunction!(ratings::fit, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::fit_firth, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::bootstrap, module)?)?;
    module.add_class::<uncertainty::Crosser>()?;
    module.add_function(wrap_pyfunction!(uncertainty::information, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::log_likelihood, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::score_products, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::third_moments, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::contributions, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::crossed, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::crossing, module)?)?;
    module.add_function(wrap_pyfunction!(uncertainty::parts, module)?)?;
    module.add_class::<models::TieFit>()?;
    module.add_class::<models::ContextualFit>()?;
    module.add_class::<models::OnlineElo>()?;
    module.add_function(wrap_pyfunction!(models::fit_from, module)?)?;
    module.add_function(wrap_pyfunction!(models::fit_ties, module)?)?;
    module.add_function(wrap_pyfunction!(models::has_decisive_cycle, module)?)?;
    module.add_function(wrap_pyfunction!(models::fit_contextual, module)?)?;
    module.add_function(wrap_pyfunction!(models::unexplained, module)?)?;
    module.add_function(wrap_pyfunction!(models::fit_rankings, module)?)?;
    module.add_function(wrap_pyfunction!(models::ranking_rows, module)?)?;
    module.add_function(wrap_pyfunction!(models::merge_cells, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::parameter_products, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::parameter_third_moments, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::corrected_products, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::contrast_degrees, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::largest_gaps, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::recounted, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::resampled_rows, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::paired_differences, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::drawn_items, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::bootstrap_ties, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::bootstrap_contextual, module)?)?;
    module.add_function(wrap_pyfunction!(scheduling::schedule, module)?)?;
    module.add_function(wrap_pyfunction!(duplicates::near_duplicates, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::squared_error, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::similarity, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::multiscale_similarity, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::colour_difference, module)?)?;
    Ok(())
}
