//! Sandwich covariances of clustered scores, corrected for what each cluster knows of itself (CR2), and their degrees of freedom.
//!
//! With Z_g the rows of a cluster, each times the root of its information, M the inverse of the curvature and
//! P = Z_g M Z_gᵀ, a cluster's residuals are multiplied by (I − P)^(−½) before they are summed: without it they are too small where
//! the fit follows the cluster (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004). All of it
//! happens among the parameters: with B = Z_gᵀZ_g and f(x) = (1 − x)^(−½), the corrected score is f(B M) s.
//!
//! For a contrast c and z = M c: v_g = f(P) Z_g z, a_g = Z_gᵀ v_g, and the degrees of freedom are (tr Ω)² / tr Ω² with
//! Ω = diag(v_gᵀv_g) − a (M + M Λ M) aᵀ, Λ the prior's curvature (Satterthwaite's approximation). As v_gᵀ(I − P)v_g = |Z_g z|²,
//! the diagonal needs no root; beyond it only the [`HEAVIEST`] clusters matter.
//!
//! f is a power series where a cluster knows little, and comes from eigenvalues where it knows much. An eigenvalue of 1 is a direction
//! that no other cluster knows: the residuals there are 0, and so is what is made of them.

use std::sync::OnceLock;

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::uncertainty::parameter_scores::{Scores, by_group};
use crate::uncertainty::sandwich::Matrix;
use crate::workers::in_blocks;

/// Clusters whose products with each other are in the degrees of freedom; with no more clusters, these are exact.
pub const HEAVIEST: usize = 32;
/// Up to this norm of P its powers are added up.
const SERIES: f64 = 0.9;
const PRECISION: f64 = 1e-13;
/// An eigenvalue of P closer to 1 is 1.
const PINNED: f64 = 1e-7;
/// A share of a contrast's variance below this is rounding.
const NOTHING: f64 = 1e-9;
/// Where no contrast has fewer degrees of freedom than this, all have the fewest: Student's t is as wide to 1 in 1,000.
const ENOUGH: f64 = 1000.0;

/// The rows whose squares are the information of a fit: each is `along (e_first − e_second)`, and `further` in the other
/// parameters.
#[derive(Debug, Clone, Copy)]
pub struct Design<'a> {
    /// Number of models; codes are below it.
    pub models: usize,
    /// Number of further parameters.
    pub size: usize,
    /// The model that a row's strength counts for.
    pub first: &'a [u32],
    /// The model that it counts against.
    pub second: &'a [u32],
    /// Times the root of the information.
    pub along: &'a [f64],
    /// The same in the further parameters, row by row.
    pub further: &'a [f64],
    /// The cluster of every row, and the number of clusters.
    pub group: (&'a [u32], usize),
}

/// A fit as its clusters see it.
#[derive(Debug, Clone, Copy)]
pub struct ClusteredFit<'a> {
    /// The rows.
    pub design: Design<'a>,
    /// M, row by row.
    pub bread: &'a [f64],
    /// Λ, one per parameter.
    pub prior: &'a [f64],
}

/// A cluster's rows, put together: B among the parameters that it touches, and M there.
#[derive(Debug, Default)]
struct Part {
    touched: Vec<u32>,
    information: Vec<f64>,
    bread: Vec<f64>,
    norm: f64,
}

/// How f(B M) is applied: by its series, or by T, the rows of a root of B turned so that T M Tᵀ is diagonal.
#[derive(Debug)]
enum Root {
    Series,
    Turned { rows: Vec<f64>, values: Vec<f64> },
}

impl Part {
    fn len(&self) -> usize {
        self.touched.len()
    }

    /// zᵀBz, z over all parameters.
    fn squared(&self, z: &[f64]) -> f64 {
        let own: Vec<f64> = self.touched.iter().map(|&p| z[p as usize]).collect();
        inner(&own, &times(&self.information, &own)).max(0.0)
    }

    /// f(B M) x.
    fn corrected(&self, root: &Root, x: &[f64]) -> Vec<f64> {
        let size = self.len();
        match root {
            Root::Series => {
                let (mut sum, mut power) = (x.to_vec(), x.to_vec());
                let whole = largest(x);
                for step in 1..2000 {
                    power = times(&self.information, &times(&self.bread, &power));
                    let factor = (step as f64 - 0.5) / step as f64;
                    power.iter_mut().for_each(|value| *value *= factor);
                    sum.iter_mut().zip(&power).for_each(|(sum, value)| *sum += value);
                    if largest(&power) <= PRECISION * whole {
                        break;
                    }
                }
                sum
            }
            Root::Turned { rows, values } => {
                let seen = times(&self.bread, x);
                let mut sum = x.to_vec();
                for (row, &value) in rows.chunks_exact(size).zip(values) {
                    let factor = if value < 1e-6 { 0.5 } else { (raised(value) - 1.0) / value };
                    let along = factor * inner(row, &seen);
                    sum.iter_mut().zip(row).for_each(|(sum, entry)| *sum += along * entry);
                }
                sum
            }
        }
    }

    fn root(&self) -> Root {
        if self.norm <= SERIES {
            return Root::Series;
        }
        let size = self.len();
        let rows = cholesky_rows(&self.information, size);
        let rank = rows.len() / size.max(1);
        let seen: Vec<f64> = rows.chunks_exact(size).flat_map(|row| times(&self.bread, row)).collect();
        let mut inside = vec![0.0; rank * rank];
        for one in 0..rank {
            for other in 0..rank {
                inside[one * rank + other] = inner(&rows[one * size..][..size], &seen[other * size..][..size]);
            }
        }
        let (values, vectors) = eigen(inside, rank);
        let mut turned = vec![0.0; rank * size];
        for number in 0..rank {
            for entry in 0..rank {
                let share = vectors[entry * rank + number];
                let out = &mut turned[number * size..][..size];
                out.iter_mut().zip(&rows[entry * size..][..size]).for_each(|(sum, value)| *sum += share * value);
            }
        }
        Root::Turned { rows: turned, values }
    }
}

/// (1 − x)^(−½), 0 where x is 1.
fn raised(value: f64) -> f64 {
    if value > 1.0 - PINNED { 0.0 } else { (1.0 - value).powf(-0.5) }
}

impl ClusteredFit<'_> {
    fn width(&self) -> usize {
        self.design.models + self.design.size
    }

    fn check(&self) -> Result<(), CoreError> {
        let (design, width) = (&self.design, self.width());
        let rows = design.first.len();
        let lengths = [design.second.len(), design.along.len(), design.group.0.len()];
        let known = |models: &[u32]| {
            models.iter().zip(design.along).all(|(&model, &along)| along == 0.0 || (model as usize) < design.models)
        };
        let fits = lengths.iter().all(|&length| length == rows)
            && design.further.len() == rows * design.size
            && design.group.0.iter().all(|&number| (number as usize) < design.group.1)
            && self.bread.len() == width * width
            && self.prior.len() == width;
        if fits && known(design.first) && known(design.second) {
            Ok(())
        } else {
            Err(CoreError::BadArgument("the rows of the clusters do not fit together"))
        }
    }

    /// Σ s̃ s̃ᵀ over clusters, with s̃ = f(B M) s.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] for columns that do not fit together, [`CoreError::Cancelled`].
    pub fn products(&self, scores: &Scores<'_>, watch: &Watch) -> Result<Matrix, CoreError> {
        self.check()?;
        if scores.models != self.design.models || scores.size != self.design.size {
            return Err(CoreError::BadArgument("scores and rows have other parameters"));
        }
        let width = self.width();
        let mut parts = Parts::new(self);
        let mut matrix = vec![0.0; width * width];
        let mut number = 0;
        scores.each_group(self.design.group.1, watch, |score| {
            if let Some((row, at)) = parts.single(number) {
                // One row: s and the row have one direction, and P is a number.
                let factor = raised(self.leverage(row, &at));
                add_product(
                    &mut matrix,
                    width,
                    &at,
                    &at.iter().map(|&p| factor * score[p as usize]).collect::<Vec<_>>(),
                );
            } else {
                let part = parts.part(number);
                let own: Vec<f64> = part.touched.iter().map(|&p| score[p as usize]).collect();
                let corrected = part.corrected(&part.root(), &own);
                add_product(&mut matrix, width, &part.touched, &corrected);
            }
            number += 1;
        })?;
        Ok(matrix)
    }

    fn leverage(&self, row: usize, touched: &[u32]) -> f64 {
        let width = self.width();
        let values: Vec<f64> = touched.iter().map(|&p| self.entry(row, p)).collect();
        let mut sum = 0.0;
        for (&one, value) in touched.iter().zip(&values) {
            let bread = &self.bread[one as usize * width..][..width];
            sum += value * touched.iter().zip(&values).map(|(&other, v)| bread[other as usize] * v).sum::<f64>();
        }
        sum
    }

    /// A row's entry at a parameter that it touches.
    fn entry(&self, row: usize, parameter: u32) -> f64 {
        let (design, number) = (&self.design, parameter as usize);
        if number >= design.models {
            return design.further[row * design.size + number - design.models];
        }
        let along = design.along[row];
        (if design.first[row] == parameter { along } else { 0.0 })
            - (if design.second[row] == parameter { along } else { 0.0 })
    }

    /// A row times a vector of all parameters.
    fn along_row(&self, row: usize, x: &[f64]) -> f64 {
        let design = &self.design;
        let mut sum = 0.0;
        if design.along[row] != 0.0 {
            sum += design.along[row] * (x[design.first[row] as usize] - x[design.second[row] as usize]);
        }
        sum + inner(&design.further[row * design.size..][..design.size], &x[design.models..])
    }

    /// The degrees of freedom of contrasts c, given as rows z = M c; NaN where one cluster alone knows something of a contrast.
    ///
    /// # Errors
    /// As [`ClusteredFit::products`].
    pub fn degrees(&self, reaches: &[f64], threads: usize, watch: &Watch) -> Result<Vec<f64>, CoreError> {
        self.check()?;
        let width = self.width();
        if width == 0 || reaches.len() % width != 0 {
            return Err(CoreError::BadArgument("a contrast has another number of parameters"));
        }
        let contrasts = reaches.len() / width;
        let clusters = self.design.group.1;
        let mut parts = Parts::new(self);
        let mut most = 0.0_f64;
        let mut alone = Vec::new();
        for number in 0..clusters {
            watch.check()?;
            let norm = match parts.single(number) {
                Some((row, at)) => self.leverage(row, &at),
                None => parts.part(number).norm,
            };
            most = most.max(norm);
            if norm > SERIES {
                alone.push(number);
            }
        }
        let enough = |most: f64| (1.0 - most) / most >= ENOUGH;
        // The norm lies between the trace and its share of each parameter, which are quicker to have.
        if !enough(most) && enough(most / (width as f64).sqrt()) {
            most = 0.0;
            for number in 0..clusters {
                let part = parts.part(number);
                most = most.max(frobenius(&part.information, &part.bread, part.len()));
            }
        }
        let fewest = (1.0 - most) / most;
        if fewest >= ENOUGH {
            return Ok(vec![fewest.min(clusters as f64 - 1.0).max(1.0); contrasts]);
        }
        let by_rows = parts.order;
        let pinned = self.pinned(&by_rows, &alone);
        // With many contrasts, zᵀBz is quicker than a cluster's rows one by one where there are many of them.
        let form = |number: usize| {
            let part = by_rows.part(self, number);
            (part.len() * part.len() <= 4 * by_rows.rows(number).len()).then_some(part)
        };
        let forms: Vec<Option<Part>> =
            (0..clusters).map(|number| if contrasts > 8 { form(number) } else { None }).collect();
        let heavy: Vec<OnceLock<Heavy>> = (0..clusters).map(|_| OnceLock::new()).collect();
        let around = self.around();
        let mut out = vec![0.0; contrasts];
        let tools = || Vec::new();
        in_blocks(&mut out, 1, threads, tools, |known: &mut Vec<f64>, number, block| {
            watch.check()?;
            let z = &reaches[number * width..][..width];
            block[0] = self.degrees_of(z, contrasts, &by_rows, &forms, &pinned, &heavy, &around, known);
            Ok(())
        })?;
        Ok(out)
    }

    #[allow(clippy::too_many_arguments)]
    fn degrees_of(
        &self,
        z: &[f64],
        contrasts: usize,
        order: &ByGroup,
        forms: &[Option<Part>],
        pinned: &[Pinned],
        heavy: &[OnceLock<Heavy>],
        around: &[f64],
        known: &mut Vec<f64>,
    ) -> f64 {
        let clusters = self.design.group.1;
        known.clear();
        known.extend((0..clusters).map(|number| match &forms[number] {
            Some(part) => part.squared(z),
            None => order.rows(number).iter().map(|&row| self.along_row(row as usize, z).powi(2)).sum::<f64>(),
        }));
        let total: f64 = known.iter().sum();
        if !total.is_finite() || total <= 0.0 {
            return f64::NAN;
        }
        let hidden = |one: &Pinned| {
            one.rows.chunks_exact(one.touched.len()).any(|row| {
                let along: f64 = one.touched.iter().zip(row).map(|(&p, value)| z[p as usize] * value).sum();
                along * along > NOTHING * total
            })
        };
        if pinned.iter().any(hidden) {
            return f64::NAN;
        }
        let mut heaviest: Vec<usize> = (0..clusters).collect();
        if clusters > HEAVIEST {
            heaviest.select_nth_unstable_by(HEAVIEST, |&one, &other| known[other].total_cmp(&known[one]));
            heaviest.truncate(HEAVIEST);
        }
        heaviest.retain(|&number| known[number] > 0.0);
        let width = self.width();
        let vectors: Vec<(&Heavy, Vec<f64>)> = heaviest
            .iter()
            .map(|&number| {
                let one = heavy[number].get_or_init(|| Heavy::new(self, order, number, contrasts));
                (one, one.vector(z))
            })
            .collect();
        let mut trace = total;
        let mut squares: f64 = known.iter().map(|value| value * value).sum();
        let has_prior = self.prior.iter().any(|&value| value != 0.0);
        for (place, (one, vector)) in vectors.iter().enumerate() {
            let mut reach = vec![0.0; width];
            for (&p, value) in one.part.touched.iter().zip(vector) {
                let row = &around[p as usize * width..][..width];
                reach.iter_mut().zip(row).for_each(|(sum, entry)| *sum += value * entry);
            }
            let meeting = |other: &Heavy, vector: &[f64]| -> f64 {
                other.part.touched.iter().zip(vector).map(|(&p, value)| reach[p as usize] * value).sum()
            };
            for (other, vector) in &vectors[..place] {
                squares += 2.0 * meeting(other, vector).powi(2);
            }
            if has_prior {
                // On the diagonal the fit's part is taken off in `known`; the prior's is taken off here.
                let own: f64 = {
                    let plain: f64 = one
                        .part
                        .touched
                        .iter()
                        .zip(vector)
                        .map(|(&p, value)| {
                            let row = &self.bread[p as usize * width..][..width];
                            let seen: f64 =
                                one.part.touched.iter().zip(vector).map(|(&q, v)| row[q as usize] * v).sum();
                            value * seen
                        })
                        .sum();
                    meeting(one, vector) - plain
                };
                let before = known[heaviest[place]];
                trace -= own;
                squares += (before - own).powi(2) - before * before;
            }
        }
        let degrees = trace * trace / squares;
        if clusters > HEAVIEST { degrees.min(clusters as f64 - 1.0) } else { degrees }
    }

    /// M + M Λ M.
    fn around(&self) -> Matrix {
        let width = self.width();
        let mut matrix = self.bread.to_vec();
        for (parameter, &value) in self.prior.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            let row = &self.bread[parameter * width..][..width];
            for (one, &entry) in row.iter().enumerate().filter(|(_, entry)| **entry != 0.0) {
                let out = &mut matrix[one * width..][..width];
                out.iter_mut().zip(row).for_each(|(sum, other)| *sum += value * entry * other);
            }
        }
        matrix
    }

    /// The directions that one cluster alone knows.
    fn pinned(&self, order: &ByGroup, clusters: &[usize]) -> Vec<Pinned> {
        let mut found = Vec::new();
        for &number in clusters {
            let part = order.part(self, number);
            if let Root::Turned { rows, values } = part.root() {
                let size = part.len();
                let kept: Vec<f64> = rows
                    .chunks_exact(size)
                    .zip(&values)
                    .filter(|(_, value)| **value > 1.0 - PINNED)
                    .flat_map(|(row, _)| row.to_vec())
                    .collect();
                if !kept.is_empty() {
                    found.push(Pinned { touched: part.touched, rows: kept });
                }
            }
        }
        found
    }
}

#[derive(Debug)]
struct Pinned {
    touched: Vec<u32>,
    rows: Vec<f64>,
}

/// A cluster that matters to some contrast: what turns z into a_g = f(B M) B z.
#[derive(Debug)]
struct Heavy {
    part: Part,
    root: Root,
    /// f(B M) B, row by row, where many contrasts ask for it.
    whole: Option<Vec<f64>>,
}

impl Heavy {
    fn new(fit: &ClusteredFit<'_>, order: &ByGroup, number: usize, contrasts: usize) -> Self {
        let part = order.part(fit, number);
        let root = part.root();
        let size = part.len();
        let whole = (contrasts > size).then(|| {
            // B is symmetric, and so is f(B M) B: its rows are its columns.
            part.information.chunks_exact(size).flat_map(|column| part.corrected(&root, column)).collect()
        });
        Self { part, root, whole }
    }

    fn vector(&self, z: &[f64]) -> Vec<f64> {
        let own: Vec<f64> = self.part.touched.iter().map(|&p| z[p as usize]).collect();
        match &self.whole {
            Some(matrix) => times(matrix, &own),
            None => self.part.corrected(&self.root, &times(&self.part.information, &own)),
        }
    }
}

/// Rows, cluster by cluster.
#[derive(Debug)]
struct ByGroup {
    start: Vec<usize>,
    order: Vec<u32>,
}

impl ByGroup {
    fn rows(&self, number: usize) -> &[u32] {
        &self.order[self.start[number]..self.start[number + 1]]
    }

    fn part(&self, fit: &ClusteredFit<'_>, number: usize) -> Part {
        let mut place = vec![u32::MAX; fit.width()];
        put_together(fit, self.rows(number), &mut place)
    }
}

struct Parts<'a> {
    fit: &'a ClusteredFit<'a>,
    order: ByGroup,
    place: Vec<u32>,
}

impl<'a> Parts<'a> {
    fn new(fit: &'a ClusteredFit<'a>) -> Self {
        let (start, order) = by_group(fit.design.group.0, fit.design.group.1);
        Self { fit, order: ByGroup { start, order }, place: vec![u32::MAX; fit.width()] }
    }

    /// The row of a cluster that has one, and the parameters that it touches.
    fn single(&self, number: usize) -> Option<(usize, Vec<u32>)> {
        match self.order.rows(number) {
            &[row] => Some((row as usize, touched_by(&self.fit.design, row as usize).collect())),
            _ => None,
        }
    }

    fn part(&mut self, number: usize) -> Part {
        put_together(self.fit, self.order.rows(number), &mut self.place)
    }
}

fn touched_by<'a>(design: &'a Design<'_>, row: usize) -> impl Iterator<Item = u32> + 'a {
    let strengths = if design.along[row] == 0.0 { vec![] } else { vec![design.first[row], design.second[row]] };
    let further = (0..design.size).filter(move |number| design.further[row * design.size + number] != 0.0);
    strengths.into_iter().chain(further.map(|number| (design.models + number) as u32))
}

/// B, M and the norm of P of some rows; `place` is as long as there are parameters, and as it was at the end.
fn put_together(fit: &ClusteredFit<'_>, rows: &[u32], place: &mut [u32]) -> Part {
    let (design, width) = (&fit.design, fit.width());
    let mut touched: Vec<u32> = Vec::new();
    for &row in rows {
        for parameter in touched_by(design, row as usize) {
            if place[parameter as usize] == u32::MAX {
                place[parameter as usize] = 0;
                touched.push(parameter);
            }
        }
    }
    touched.sort_unstable();
    for (number, &parameter) in touched.iter().enumerate() {
        place[parameter as usize] = number as u32;
    }
    let size = touched.len();
    let mut information = vec![0.0; size * size];
    let mut entries: Vec<(usize, f64)> = Vec::new();
    for &row in rows {
        let row = row as usize;
        entries.clear();
        if design.along[row] != 0.0 {
            entries.push((place[design.first[row] as usize] as usize, design.along[row]));
            entries.push((place[design.second[row] as usize] as usize, -design.along[row]));
        }
        for number in 0..design.size {
            let value = design.further[row * design.size + number];
            if value != 0.0 {
                entries.push((place[design.models + number] as usize, value));
            }
        }
        for &(one, value) in &entries {
            for &(other, entry) in &entries {
                information[one * size + other] += value * entry;
            }
        }
    }
    let mut bread = Vec::with_capacity(size * size);
    for &one in &touched {
        let row = &fit.bread[one as usize * width..][..width];
        bread.extend(touched.iter().map(|&other| row[other as usize]));
    }
    for &parameter in &touched {
        place[parameter as usize] = u32::MAX;
    }
    let norm = norm_of(&information, &bread, size);
    Part { touched, information, bread, norm }
}

/// No less than the largest eigenvalue of P: its trace where that is small, otherwise its norm √tr(BMBM).
fn norm_of(information: &[f64], bread: &[f64], size: usize) -> f64 {
    let trace = inner(information, bread);
    if trace <= SERIES { trace.max(0.0) } else { frobenius(information, bread, size) }
}

/// √tr(BMBM).
fn frobenius(information: &[f64], bread: &[f64], size: usize) -> f64 {
    let mut product = vec![0.0; size * size];
    for (row, out) in information.chunks_exact(size.max(1)).zip(product.chunks_exact_mut(size.max(1))) {
        for (value, other) in row.iter().zip(bread.chunks_exact(size)).filter(|(value, _)| **value != 0.0) {
            out.iter_mut().zip(other).for_each(|(sum, entry)| *sum += value * entry);
        }
    }
    let mut sum = 0.0;
    for one in 0..size {
        for other in 0..size {
            sum += product[one * size + other] * product[other * size + one];
        }
    }
    sum.max(0.0).sqrt()
}

fn add_product(matrix: &mut [f64], width: usize, touched: &[u32], values: &[f64]) {
    for (&row, value) in touched.iter().zip(values) {
        let out = &mut matrix[row as usize * width..][..width];
        for (&column, other) in touched.iter().zip(values) {
            out[column as usize] += value * other;
        }
    }
}

/// Σ x y, in eight sums side by side: one sum alone would wait for each addition.
fn inner(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (first, second) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest: f64 = first.remainder().iter().zip(second.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in first.zip(second) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x * y);
    }
    sums.iter().sum::<f64>() + rest
}

fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len().max(1)).map(|row| inner(row, x)).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// Rows R with RᵀR = a positive semidefinite matrix: Cholesky's factor, largest pivots first.
fn cholesky_rows(matrix: &[f64], size: usize) -> Vec<f64> {
    let mut left = matrix.to_vec();
    let whole: Vec<f64> = (0..size).map(|number| matrix[number * size + number]).collect();
    let mut rows = Vec::new();
    for _ in 0..size {
        let share = |left: &[f64], n: usize| if whole[n] > 0.0 { left[n * size + n] / whole[n] } else { 0.0 };
        let Some(pivot) = (0..size).max_by(|&one, &other| share(&left, one).total_cmp(&share(&left, other))) else {
            break;
        };
        if share(&left, pivot) <= 1e-12 {
            break;
        }
        let root = left[pivot * size + pivot].sqrt();
        let row: Vec<f64> = left[pivot * size..][..size].iter().map(|value| value / root).collect();
        for one in 0..size {
            for other in 0..size {
                left[one * size + other] -= row[one] * row[other];
            }
        }
        rows.extend(row);
    }
    rows
}

/// Eigenvalues of a symmetric matrix, and its eigenvectors as columns: Jacobi's rotations, which keep small eigenvalues precise.
fn eigen(mut matrix: Vec<f64>, size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; size * size];
    (0..size).for_each(|number| vectors[number * size + number] = 1.0);
    for _ in 0..60 {
        let off: f64 =
            (0..size).flat_map(|p| (p + 1..size).map(move |q| (p, q))).map(|(p, q)| matrix[p * size + q].powi(2)).sum();
        if off.sqrt() < 1e-15 * size as f64 {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                let corner = matrix[p * size + q];
                if corner.abs() < 1e-18 {
                    continue;
                }
                let turn = (matrix[q * size + q] - matrix[p * size + p]) / (2.0 * corner);
                let tangent = turn.signum() / (turn.abs() + (turn * turn + 1.0).sqrt());
                let tangent = if turn == 0.0 { 1.0 } else { tangent };
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                for k in 0..size {
                    let (one, other) = (matrix[k * size + p], matrix[k * size + q]);
                    matrix[k * size + p] = cosine * one - sine * other;
                    matrix[k * size + q] = sine * one + cosine * other;
                }
                for k in 0..size {
                    let (one, other) = (matrix[p * size + k], matrix[q * size + k]);
                    matrix[p * size + k] = cosine * one - sine * other;
                    matrix[q * size + k] = sine * one + cosine * other;
                }
                for k in 0..size {
                    let (one, other) = (vectors[k * size + p], vectors[k * size + q]);
                    vectors[k * size + p] = cosine * one - sine * other;
                    vectors[k * size + q] = sine * one + cosine * other;
                }
            }
        }
    }
    ((0..size).map(|number| matrix[number * size + number]).collect(), vectors)
}
