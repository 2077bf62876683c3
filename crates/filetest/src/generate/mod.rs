//! Cases made from tables: every operation on every type, with varying, uniform and constant
//! operands, scalars and vectors, in subgroups of every size. The interpreter says what is right.
//!
//! A table of [`case::Operation`]s is a family, one file each. Many cases of a family make a
//! [`Kernel`], because most of the time goes into compiling; a kernel is a trial, and its seed,
//! subgroup size and control flow follow from its number. `PHALANX_RANDOM_CASES=n` does all of it `n`
//! times, with other seeds, sizes and control flow.

mod algebra;
mod atomic;
mod case;
mod check;
mod compare;
mod convert;
mod float;
mod glsl;
mod group;
mod integer;
mod kernel;
mod long;
mod matrix;
mod shader;
mod value;

use case::Case;
use kernel::Flow;
pub use kernel::Kernel;

/// The subgroup sizes that there are.
const SUBGROUPS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// Cases of a kernel.
const CASES: usize = 40;

/// A family: a name and its cases.
struct Family {
    name: &'static str,
    cases: fn() -> Vec<Case>,
    /// How often the cases are run, each time in subgroups of another size.
    times: u64,
}

/// The families.
const FAMILIES: &[Family] = &[
    Family { name: "integer", cases: integer::cases, times: 1 },
    Family { name: "float", cases: float::cases, times: 1 },
    Family { name: "logic", cases: float::logic, times: 1 },
    Family { name: "convert", cases: convert::cases, times: 1 },
    Family { name: "glsl", cases: glsl::cases, times: 1 },
    Family { name: "packing", cases: glsl::packing, times: 1 },
    Family { name: "algebra", cases: algebra::cases, times: 1 },
    Family { name: "dot", cases: algebra::dots, times: 1 },
    Family { name: "reduction", cases: group::reductions, times: 1 },
    Family { name: "movement", cases: group::movements, times: 1 },
    Family { name: "atomic", cases: atomic::in_buffers, times: 2 },
    Family { name: "shared", cases: atomic::in_shared_memory, times: 2 },
    Family { name: "matrix", cases: matrix::elementwise, times: 1 },
    Family { name: "product", cases: matrix::products, times: 1 },
    Family { name: "long", cases: long::cases, times: 1 },
];

/// Cases that are left out, by the start of `family/name`, and why. There are none.
const LEFT_OUT: &[(&str, &str)] = &[];

/// What is run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// The number of cases of each family.
    pub families: Vec<(&'static str, usize)>,
    /// How many cases are left out, with the reasons.
    pub left_out: Vec<(&'static str, &'static str, usize)>,
}

impl Plan {
    /// All kernels, `rounds` times.
    pub fn new(rounds: u64) -> Self {
        let mut plan = Self::default();
        plan.left_out.extend(LEFT_OUT.iter().map(|&(name, why)| (name, why, 0)));
        for family in FAMILIES {
            let mut cases = (family.cases)();
            cases.retain(|case| {
                let name = format!("{}/{}", family.name, case.name);
                let left_out = plan.left_out.iter_mut().find(|(start, ..)| name.starts_with(start));
                left_out.map(|(.., count)| *count += 1).is_none()
            });
            let rounds = rounds * family.times;
            for round in 0..rounds {
                let chunks = cases.chunks(CASES).enumerate();
                plan.kernels.extend(chunks.map(|(i, chunk)| kernel(family.name, round, i, chunk)));
            }
            plan.families.push((family.name, cases.len() * rounds as usize));
        }
        plan
    }

    /// The number of cases.
    pub fn cases(&self) -> usize {
        self.families.iter().map(|(_, count)| count).sum()
    }

    /// What is run, in one line, and what is not, a line each.
    pub fn summary(&self, processors: usize) -> String {
        let families: Vec<_> = self.families.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let mut text = format!(
            "generated cases: {} in {} kernels, each as {processors} of the processors: {}\n",
            self.cases(),
            self.kernels.len(),
            families.join(", ")
        );
        for (name, why, count) in &self.left_out {
            text += &format!("generated cases left out: {count} of {name}: {why}\n");
        }
        text
    }
}

/// Lanes times components above which a kernel takes too long to compile.
const MOST_PARTS: u32 = 64;

/// The sizes come in turn, those that are small enough for the widest vector, and so do all other choices, but
/// each with another period.
fn kernel(family: &str, round: u64, index: usize, cases: &[Case]) -> Kernel {
    let turn = index as u64 + round;
    let name_bits = family.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let seed = name_bits ^ round << 32 ^ (index as u64) << 40;
    let vectors = cases.iter().filter(|case| !case.stores_itself()).flat_map(|case| &case.results);
    let width = vectors.map(|ty| ty.n).max().unwrap_or(1);
    let is_small = |size: &&u32| width == 1 || **size * width <= MOST_PARTS || **size == SUBGROUPS[0];
    let sizes: Vec<_> = SUBGROUPS.iter().filter(is_small).collect();
    let subgroup = *sizes[(turn % sizes.len() as u64) as usize];
    let flow = [Flow::Straight, Flow::Divergent, Flow::Straight, Flow::EarlyReturn, Flow::Straight];
    // Barriers are for all invocations, and matrices for full subgroups.
    let together = ["shared", "matrix", "product"].contains(&family);
    let flow = if together { Flow::Straight } else { flow[(turn % 5) as usize] };
    let partial = family == "shared" && turn % 3 == 1 || !together && (turn + turn / 6) % 3 == 1;
    let mut kernel = Kernel { name: String::new(), seed, subgroup, flow, partial, cases: cases.to_vec() };
    kernel.name = format!("generated/{family}/{index}.{round} {} {}", cases[0].name, kernel.manner());
    kernel
}
