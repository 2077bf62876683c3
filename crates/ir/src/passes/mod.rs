//! Passes: a verified module in, an equivalent one out.
//!
//! [`LANES`] and [`THREADS`] are the pipelines, one for each kind of target. They serve targets that see operations on whole
//! matrices, and leave to them what their code generators do well (common subexpressions, loop-invariant code).

mod affine;
mod alike;
mod chain;
mod classes;
mod coarsen;
mod compact;
mod counted;
mod deepen;
mod distribute;
mod elements;
mod expand;
mod flatten;
mod late;
mod lay;
mod opt_cycles;
mod opt_dce;
mod opt_extract;
mod opt_fold;
mod opt_forward;
mod opt_hoist;
mod opt_join;
mod opt_pack;
mod opt_reload;
mod opt_slice;
mod opt_unroll;
mod relax;
mod spread;
mod stage;
mod strip;
mod terms;
mod walk;
mod widen;
mod workgroup;

#[cfg(test)]
mod tests;

use crate::distribution::Distribution;
use crate::module::{Function, Module};
use crate::types::Scope;
use crate::vector::MatrixLayout;
use crate::verify::{Verified, VerifyErrors, verify};

pub use chain::{Round, Rounds, Sum, chain};
pub use coarsen::{Coarse, coarsen};
pub use compact::{compact, compact_keeping_vars};
pub use elements::{Elements, elements};
pub use expand::{IsWhole, Scratch, expand, expand_but};
pub use opt_join::{join_known, without_constant};
pub use relax::relax_accumulation;
pub use spread::{IsInPlace, SpreadError, spread, spread_but};
pub use stage::{Blocks, stage};
pub use workgroup::{Split, split};

/// A pass over the code of a module.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name, for debugging output.
    pub name: &'static str,
    /// What it makes of a verified function.
    pub run: fn(&Function) -> Function,
}

/// Passes, and what a target says of matrices.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    /// Which components of matrices belong to which invocation.
    pub distribution: Distribution,
    /// Loops over the components of matrices of this scope become functions of their elements.
    pub maps_components: Scope,
    /// The layout of matrices that is best for multiplying vectors by them.
    pub inferencing: MatrixLayout,
    /// The passes, in order.
    pub passes: &'static [Pass],
}

/// That for targets that run a subgroup as lanes of vectors.
pub const LANES: Pipeline = Pipeline {
    distribution: Distribution::Rows,
    // As wider matrices they are done at once.
    maps_components: Scope::Subgroup,
    inferencing: MatrixLayout::Inferencing,
    passes: FOR_LANES,
};

/// That for targets that run each invocation as a thread.
pub const THREADS: Pipeline = Pipeline {
    distribution: Distribution::Fragments,
    // Each holds its part of such a matrix in registers, and others than it has as components.
    maps_components: Scope::Workgroup,
    inferencing: MatrixLayout::Paired,
    passes: FOR_THREADS,
};

const FOR_LANES: &[Pass] = &[
    Pass { name: "deepen", run: deepen::run },
    Pass { name: "unroll", run: walk::unroll },
    Pass { name: "dce", run: opt_dce::run },
    // Dissolved blocks and removed stores make more loads known.
    Pass { name: "simplify", run: walk::simplify },
    Pass { name: "extract", run: opt_extract::run },
    Pass { name: "reload", run: opt_reload::run },
    Pass { name: "widen", run: widen::run },
    Pass { name: "join", run: opt_join::run },
    Pass { name: "pack", run: opt_pack::run },
    Pass { name: "slice", run: opt_slice::run },
    Pass { name: "terms", run: terms::run },
    Pass { name: "hoist", run: opt_hoist::run },
    Pass { name: "dce", run: opt_dce::run },
];

/// What a program made of tiles is not undone here.
const FOR_THREADS: &[Pass] = &[
    Pass { name: "unroll", run: walk::unroll_for_threads },
    Pass { name: "dce", run: opt_dce::run },
    Pass { name: "simplify", run: walk::simplify },
    Pass { name: "extract", run: opt_extract::run },
    Pass { name: "dce", run: opt_dce::run },
];

/// How passes are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Verify after each pass.
    pub verify: bool,
    /// Is shown the module before the first pass, with the name `input`, and after each pass.
    pub observe: Option<fn(&'static str, &Module)>,
}

impl Default for Options {
    /// Verifies after each pass in debug builds.
    fn default() -> Self {
        Self { verify: cfg!(debug_assertions), observe: None }
    }
}

impl Options {
    /// The options that a text like `print,verify` asks for, as in `PHALANX_DEBUG`; other words are
    /// ignored. `print` shows the module to `observe`.
    pub fn from_debug(words: &str, observe: fn(&'static str, &Module)) -> Self {
        let has = |word: &str| words.split(',').any(|w| w.trim() == word);
        Self { verify: has("verify") || Self::default().verify, observe: has("print").then_some(observe) }
    }
}

/// A pass made a module that breaks rules. Always a bug of ours.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("pass {pass} broke the module\n{errors}\n{text}")]
pub struct PassBug {
    /// Name of the pass; the last one if each was not verified.
    pub pass: &'static str,
    /// The rules it broke.
    pub errors: VerifyErrors,
    /// What it made.
    pub text: String,
}

/// Runs [`LANES`], then renumbers the module.
///
/// # Errors
///
/// A bug in a pass.
pub fn optimize(module: Verified, options: &Options) -> Result<Verified, PassBug> {
    optimize_by(&LANES, module, options)
}

/// Distributes components of matrices as a target wants it; `None` if the module says the same and leaves nothing open.
///
/// # Errors
///
/// A bug in a pass.
pub fn distribute(module: &Verified, distribution: Distribution) -> Result<Option<Verified>, PassBug> {
    if module.distribution == distribution && !distribute::is_open(&module.body) {
        return Ok(None);
    }
    let mut module = Module::clone(module);
    distribute::run(&mut module, distribution);
    gate("distribute", module).map(Some)
}

/// Puts matrices that vectors are multiplied by into the layout that is best on a target.
///
/// # Errors
///
/// A bug in a pass.
pub fn lay(module: Verified, inferencing: MatrixLayout) -> Result<Verified, PassBug> {
    let mut module = module.into_inner();
    lay::run(&mut module.body, inferencing);
    gate("lay", module)
}

/// Distributes components of matrices, says where elements of matrices lie, runs passes, then renumbers the module.
///
/// # Errors
///
/// A bug in a pass.
pub fn optimize_by(pipeline: &Pipeline, module: Verified, options: &Options) -> Result<Verified, PassBug> {
    if let Some(observe) = options.observe {
        observe("input", &module);
    }
    let mut module = module.into_inner();
    distribute::run(&mut module, pipeline.distribution);
    alike::run(&mut module, pipeline.maps_components);
    lay::run(&mut module.body, pipeline.inferencing);
    if let Some(observe) = options.observe {
        observe("distribute", &module);
    }
    if options.verify {
        module = gate("distribute", module)?.into_inner();
    }
    for pass in pipeline.passes {
        module.body = (pass.run)(&module.body);
        if let Some(observe) = options.observe {
            observe(pass.name, &module);
        }
        if options.verify {
            module = gate(pass.name, module)?.into_inner();
        }
    }
    module.body = compact(&module.body);
    gate("compact", module)
}

/// Makes constants of what follows from constants, and renumbers the module. Loops stay as they are.
///
/// # Errors
///
/// A bug in a pass.
pub fn simplify(module: Verified) -> Result<Verified, PassBug> {
    let mut module = module.into_inner();
    module.body = compact(&opt_dce::run(&walk::simplify(&module.body)));
    gate("simplify", module)
}

fn gate(pass: &'static str, module: Module) -> Result<Verified, PassBug> {
    // The text is made only if it is needed, but then the module is gone.
    let errors = crate::verify::check(&module);
    if errors.is_empty() {
        return verify(module).map_err(|errors| PassBug { pass, errors, text: String::new() });
    }
    Err(PassBug { pass, errors: VerifyErrors::from(errors), text: module.to_string() })
}
