//! Products of four subgroups that are one of `wgmma`.
//!
//! Each subgroup multiplies small matrices of a block, and all of them together multiply the block: sums of subgroup `s` at
//! `(row, column)` are of the rows and columns that its factors are loaded from. Where the subgroups that share columns are
//! four, or a multiple of it, and each round is a product of all of the block, `wgmma` multiplies it from shared memory as
//! it lies in a *part* ([`Part`]): producers put pieces there instead. The sums stay where each subgroup has them.
//!
//! Where everything lies follows from what is executed ([`Walk`](super::walk::Walk)). Subgroups may have to change their
//! numbers, so that four that share columns are one group of warps.

use super::plan::Search;
use super::walk::{Access, Products};
use crate::coopmat::has_components_in_registers;
use crate::coopmat::stream::Part;
use phalanx_ir::{Function, Inst, MatType, Module, MulAddFlags, Op, Scalar, Scope, Use, Value, Var};
use std::collections::{BTreeMap, HashSet};

/// Bytes along K of an instruction.
pub(super) const DEPTH: u32 = 32;
/// Rows and columns of a matrix of sums.
const SIDE: u32 = 16;
/// Most columns that one instruction multiplies.
const MAX_COLUMNS: u32 = 256;
/// What parts begin at multiples of.
const ALIGN: u32 = 1024;

/// A factor in shared memory, as the program has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Where its first line is, and how far it is to the next.
    pub(super) first: u32,
    pub(super) stride: u32,
    /// How it lies instead, and where.
    pub(super) part: Part,
    pub(super) at: u32,
}

/// What is multiplied by `wgmma`.
#[derive(Clone, Debug)]
pub(super) struct Fused {
    pub(super) a: Side,
    pub(super) b: Side,
    /// By store: the factor that it is of.
    pub(super) stores: BTreeMap<Inst, Use>,
    pub(super) sums: Scalar,
    pub(super) flags: MulAddFlags,
    /// The variable of the sums, and by block of rows and columns of a subgroup its element.
    pub(super) var: Var,
    pub(super) cells: Vec<Vec<u32>>,
    /// Subgroups one above the other, and side by side.
    pub(super) grid: [u32; 2],
    /// Whether warps are numbered down the columns, and subgroups along the rows.
    pub(super) renumbers: bool,
    /// What invocations do not execute.
    pub(super) moved: Vec<Inst>,
}

impl Fused {
    /// Bytes of a block.
    pub(super) fn bytes(&self) -> u32 {
        (self.b.at + self.b.part.bytes()).next_multiple_of(ALIGN)
    }

    /// Where in the block something lies that a store puts to shared memory.
    pub(super) fn place(&self, access: &Access) -> Option<u32> {
        let side = if *self.stores.get(&access.inst)? == Use::A { &self.a } else { &self.b };
        let further = access.first.checked_sub(side.first)?;
        Some(side.at + side.part.place_of(further / side.stride, further % side.stride))
    }

    /// How many units of 16 bytes the factors of each step along K are behind those of the first.
    pub(super) fn steps(&self) -> Vec<[u32; 2]> {
        let (a, b) = (&self.a.part, &self.b.part);
        let count = a.m.cols * a.m.elem.bytes() / DEPTH;
        (0..count).map(|step| [a.step(0, step) / 16, b.step(0, step) / 16]).collect()
    }

    /// Registers of a thread for the sums of an instruction.
    pub(super) fn words(&self) -> u32 {
        self.columns() * self.sums.bytes() / 8
    }

    /// Columns of a subgroup.
    pub(super) fn columns(&self) -> u32 {
        self.cells[0].len() as u32 * SIDE
    }
}

/// Row and column of matrices of sums, by element of their variable.
type Positions = BTreeMap<u32, (u32, u32)>;

/// A factor as it is read: where its first line is, how far it is to the next, and whether lines are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lines {
    first: u32,
    stride: u32,
    column_major: bool,
}

/// Where the subgroups of a work-group have their sums.
struct Arrangement {
    /// By row and column of matrices of a subgroup: the element of the variable.
    cells: Vec<Vec<u32>>,
    /// Subgroups one above the other, and side by side.
    grid: [u32; 2],
    renumbers: bool,
}

/// How the products of what is read are one; nothing if they are not.
pub(super) fn fuse(
    ir: &Module,
    search: &Search<'_>,
    around: Inst,
    reading: &[Inst],
    copied: &[Access],
    subgroups: &[Products],
) -> Option<Fused> {
    let f = &ir.body;
    let of_matrices = |&inst: &Inst| {
        let info = f.inst(inst);
        info.args.iter().chain(&info.results).any(|&v| f.ty(v).mat().is_some())
    };
    let moved: Vec<Inst> = search.all_in(reading).into_iter().filter(of_matrices).collect();
    let (flags, [a, b, c]) = search.products(&moved)?;
    let first = subgroups.first()?;
    let var = first.keys().next()?.0;
    is_private(ir, search, around, &moved, var)?;
    has_instruction([a, b, c], flags)?;
    let elem = a.elem;
    let steps = first.values().next()?.len() as u32;
    let (of_a, of_b) = (lines(f, subgroups, 0)?, lines(f, subgroups, 1)?);
    let mut at = Vec::new();
    for products in subgroups {
        let mut own = Positions::new();
        for (&(of, index), products) in products {
            (of == var && products.len() as u32 == steps).then_some(())?;
            let mut position = None;
            for ([a, b], step) in products.iter().zip(0..) {
                let (row, of_row) = of_a.coordinates(elem, Use::A, a)?;
                let (col, of_col) = of_b.coordinates(elem, Use::B, b)?;
                let here = *position.get_or_insert((row, col));
                (here == (row, col) && (of_row, of_col) == (step, step)).then_some(())?;
            }
            own.insert(u32::try_from(index).ok()?, position?);
        }
        at.push(own);
    }
    let Arrangement { cells, grid, renumbers } = Arrangement::of(&at)?;
    let [rows, columns] = [grid[0] * cells.len() as u32 * SIDE, cells[0].len() as u32 * SIDE];
    let depth = steps * DEPTH / elem.bytes();
    let part = |use_: Use, rows: u32, cols: u32, lines: Lines| {
        let m = MatType { elem, scope: Scope::Workgroup, rows, cols, use_ };
        Part::of(m, lines.is_along_k(use_), grid[0])
    };
    let part_a = part(Use::A, rows, depth, of_a)?;
    let part_b = part(Use::B, depth, grid[1] * columns, of_b)?;
    // Columns of a group of warps begin where those of the one before end.
    let is_linear = part_b.along_k || (columns * elem.bytes()).is_multiple_of(part_b.span) || grid[1] == 1;
    (is_linear && columns <= MAX_COLUMNS).then_some(())?;
    let at_b = part_a.bytes().next_multiple_of(ALIGN);
    let a = Side { first: of_a.first, stride: of_a.stride, part: part_a, at: 0 };
    let b = Side { first: of_b.first, stride: of_b.stride, part: part_b, at: at_b };
    let mut stores = BTreeMap::new();
    for access in copied {
        let use_ = match (a.has(access), b.has(access)) {
            (true, false) => Use::A,
            (false, true) => Use::B,
            // What is read as both would have to be copied twice.
            _ => return None,
        };
        (*stores.entry(access.inst).or_insert(use_) == use_).then_some(())?;
    }
    Some(Fused { a, b, stores, sums: c.elem, flags, var, cells, grid, renumbers, moved })
}

/// Whether nobody but some instructions looks at what they load, and in a loop at the variable of the sums; and outside of
/// it only at sums that are where `wgmma` has them.
fn is_private(ir: &Module, search: &Search<'_>, around: Inst, moved: &[Inst], var: Var) -> Option<()> {
    let f = &ir.body;
    let has_components = f.var(var).ty.mat().is_some_and(|m| has_components_in_registers(ir, m));
    let is_own: HashSet<Inst> = moved.iter().copied().collect();
    let within: HashSet<Inst> = search.all_in(&[around]).into_iter().collect();
    let factors: HashSet<Var> =
        moved.iter().filter_map(|&inst| f.inst(inst).op.var()).filter(|&other| other != var).collect();
    let others = search.order.iter().filter(|inst| !is_own.contains(inst));
    let looks = |&inst: &Inst| {
        let info = f.inst(inst);
        let is_taken = |v: &Value| is_own.contains(&f.values[v.index()].def) && f.ty(*v).mat().is_some();
        let touches = info.op.vars().any(|(v, _)| v == var);
        let is_in_place = match info.op {
            Op::VarLoad(_) | Op::VarStore(_) => true,
            Op::VarComponentLoad(_) | Op::VarComponentStore(_) => has_components,
            _ => false,
        };
        info.args.iter().any(is_taken)
            || touches && (!is_in_place || within.contains(&inst))
            || info.op.vars().any(|(v, _)| factors.contains(&v))
    };
    (!others.copied().any(|inst| looks(&inst))).then_some(())
}

/// Whether `wgmma` multiplies matrices of these types.
fn has_instruction([a, b, c]: [MatType; 3], flags: MulAddFlags) -> Option<()> {
    let is_known = match a.elem {
        Scalar::F16 => matches!(c.elem, Scalar::F16 | Scalar::F32),
        Scalar::BF16 => c.elem == Scalar::F32,
        Scalar::I8 => c.elem == Scalar::I32 && !flags.saturate,
        _ => false,
    };
    let depth = DEPTH / a.elem.bytes();
    let sides = [(a.rows, a.cols), (b.rows, b.cols), (c.rows, c.cols)];
    (is_known && flags.step == 0 && b.elem == a.elem && sides == [(SIDE, depth), (depth, SIDE), (SIDE, SIDE)])
        .then_some(())
}

/// How the left (0) or right (1) factors of products lie, if all lie alike.
fn lines(f: &Function, subgroups: &[Products], number: usize) -> Option<Lines> {
    let mut found: Option<Lines> = None;
    for factors in subgroups.iter().flat_map(Products::values).flatten() {
        let Access { inst, first, stride, .. } = factors[number];
        let Op::MatLoad { column_major, .. } = f.inst(inst).op else { return None };
        let lines = found.get_or_insert(Lines { first, stride, column_major });
        (*lines == Lines { first: lines.first, stride, column_major }).then_some(())?;
        lines.first = first.min(lines.first);
    }
    found.filter(|lines| lines.stride > 0)
}

impl Lines {
    fn is_along_k(self, use_: Use) -> bool {
        self.column_major == (use_ == Use::B)
    }

    /// Row of matrices or column of matrices, and step along K, of what is loaded from somewhere.
    fn coordinates(self, elem: Scalar, use_: Use, place: &Access) -> Option<(u32, u32)> {
        let (further, bytes) = (place.first - self.first, elem.bytes());
        let (line, byte) = (further / self.stride, further % self.stride);
        let depth = DEPTH / bytes;
        let (across, step, rest) = match self.is_along_k(use_) {
            true => (line, byte / DEPTH, byte % DEPTH),
            false => (byte / bytes, line / depth, byte % bytes + line % depth),
        };
        (rest == 0 && across.is_multiple_of(SIDE)).then_some((across / SIDE, step))
    }
}

impl Arrangement {
    /// The arrangement in which each subgroup has the same rows and columns from where it begins, and four of them, or a multiple
    /// of that, have the same columns.
    fn of(at: &[Positions]) -> Option<Self> {
        let start =
            |own: &Positions| Some((own.values().map(|p| p.0).min()?, own.values().map(|p| p.1).min()?));
        let starts: Vec<(u32, u32)> = at.iter().map(start).collect::<Option<_>>()?;
        let first = at.first().filter(|_| starts.first() == Some(&(0, 0)))?;
        let height = first.values().map(|p| p.0).max()? + 1;
        let width = first.values().map(|p| p.1).max()? + 1;
        let cell = |row: u32, col: u32| Some(*first.iter().find(|(_, at)| **at == (row, col))?.0);
        let row = |row: u32| (0..width).map(|col| cell(row, col)).collect::<Option<Vec<_>>>();
        let cells: Vec<Vec<u32>> = (0..height).map(row).collect::<Option<_>>()?;
        let is_alike = at.iter().zip(&starts).all(|(own, start)| {
            let from_start = own.iter().map(|(&index, at)| (index, (at.0 - start.0, at.1 - start.1)));
            from_start.eq(first.iter().map(|(&index, &at)| (index, at)))
        });
        let rows = starts.iter().map(|start| start.0).max()? / height + 1;
        let grid = [rows, at.len() as u32 / rows];
        let is_whole = first.len() as u32 == height * width && (grid[0] * grid[1]) as usize == at.len();
        (is_alike && is_whole && grid[0].is_multiple_of(4)).then_some(())?;
        let is_numbered = |place: &dyn Fn(u32) -> (u32, u32)| {
            starts.iter().zip(0..).all(|(&start, subgroup)| {
                let (row, col) = place(subgroup);
                start == (row * height, col * width)
            })
        };
        let renumbers = match () {
            () if is_numbered(&|s| (s % grid[0], s / grid[0])) => false,
            () if is_numbered(&|s| (s / grid[1], s % grid[1])) => true,
            () => return None,
        };
        Some(Self { cells, grid, renumbers })
    }
}

impl Side {
    /// Whether bytes are all in a word of a line.
    fn has(&self, access: &Access) -> bool {
        let Some(further) = access.first.checked_sub(self.first) else { return false };
        let (line, byte) = (further / self.stride, further % self.stride);
        let is_word = access.bytes <= 16 && byte / 16 == (byte + access.bytes - 1) / 16;
        is_word && line < self.part.lines() && byte + access.bytes <= self.part.line_bytes()
    }
}
