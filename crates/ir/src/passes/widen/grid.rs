//! How sums are arranged: by where their factors lie.

use super::super::affine::Places;
use super::{Rules, Sums};
use crate::entities::{Block, Inst, Value};
use crate::module::Function;
use crate::op::Op;
use crate::types::{MatType, Space, Type};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A factor: loaded, so many bytes from a place, or any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    Loaded(Load, i64),
    Any(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    block: Block,
    place: u32,
    ty: MatType,
    column_major: bool,
    stride: u32,
    stride_bytes: Option<i64>,
}

impl Load {
    /// Bytes from a matrix to the next, below it or at its side.
    pub(super) fn step(&self, below: bool) -> Option<i64> {
        let lines = i64::from(if below { self.ty.rows } else { self.ty.cols });
        let unit =
            if below == self.column_major { i64::from(self.ty.elem.bytes()) } else { self.stride_bytes? };
        lines.checked_mul(unit)
    }

    pub(super) fn ty(&self) -> MatType {
        self.ty
    }

    /// Whether this may lie beside another, or below it, though where is told late: that depends on the stride.
    pub(super) fn may_follow(&self, other: &Self, below: bool) -> bool {
        let is_far = below != self.column_major && self.stride_bytes.is_none();
        is_far && Self { place: other.place, ..*self } == *other
    }
}

/// Where a matrix is loaded from or stored to, if that is in this block.
pub(super) fn load(func: &Function, places: &mut Places, inst: Inst, block: Block) -> Option<(Load, i64)> {
    let info = func.inst(inst);
    let (column_major, matrix) = match info.op {
        Op::MatLoad { column_major, .. } => (column_major, info.results[0]),
        Op::MatStore { column_major, .. } => (column_major, info.args[1]),
        _ => return None,
    };
    let (place, at) = places.of(func, info.args[0]);
    let stride = *info.args.last()?;
    let stride_bytes = func.const_bits(stride).map(|bits| bits as i64);
    let stride = places.classes.of(func, stride);
    Some((Load { block, place, ty: func.ty(matrix).mat()?, column_major, stride, stride_bytes }, at))
}

/// How the elements are arranged by their factors.
pub(super) struct Grid {
    /// The factors of each row and column, product by product.
    pub(super) rows: Vec<Vec<Factor>>,
    pub(super) cols: Vec<Vec<Factor>>,
    /// Row and column of each element.
    pub(super) at: BTreeMap<u32, (usize, usize)>,
}

impl Grid {
    /// Arranges them, by factors that are loaded from such memory.
    pub(super) fn of(func: &Function, sums: &Sums<'_>, places: &mut Places, rules: Rules) -> Option<Self> {
        let mut this = Self { rows: Vec::new(), cols: Vec::new(), at: BTreeMap::new() };
        let elements: BTreeSet<u32> = sums.lists.keys().map(|(element, _)| *element).collect();
        for element in elements {
            let mul_adds = sums.mul_adds(func, element);
            let mut factors = |side: usize| -> Vec<Factor> {
                let side = mul_adds.iter().map(|i| (sums.spots[i].block, func.inst(*i).args[side]));
                side.map(|(block, v)| factor(func, places, block, v, rules.may_join)).collect()
            };
            let (row, col) = (factors(0), factors(1));
            if row.is_empty() {
                return None;
            }
            this.at.insert(element, (number(&mut this.rows, row), number(&mut this.cols, col)));
        }
        this.sort();
        let cells: HashSet<_> = this.at.values().collect();
        let is_full = cells.len() == this.at.len() && cells.len() == this.rows.len() * this.cols.len();
        is_full.then_some(this)
    }

    /// Brings rows and columns into the order in which they lie in memory.
    fn sort(&mut self) {
        let first = |factors: &Vec<Factor>| match factors[0] {
            Factor::Loaded(_, at) => at,
            Factor::Any(_) => 0,
        };
        let sorted = |lines: &mut Vec<Vec<Factor>>| {
            let mut order: Vec<usize> = (0..lines.len()).collect();
            order.sort_by_key(|&i| first(&lines[i]));
            *lines = order.iter().map(|&i| lines[i].clone()).collect();
            let mut ranks = vec![0; order.len()];
            order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
            ranks
        };
        let (rows, cols) = (sorted(&mut self.rows), sorted(&mut self.cols));
        self.at.values_mut().for_each(|(row, col)| (*row, *col) = (rows[*row], cols[*col]));
    }
}

fn factor(
    func: &Function,
    places: &mut Places,
    block: Block,
    v: Value,
    may_join: fn(Space) -> bool,
) -> Factor {
    let def = func.values[v.index()].def;
    let is_here = func.block(block).contains(&def);
    let is_plain = matches!(func.inst(def).op, Op::MatLoad { flags, .. } if !flags.volatile);
    let is_there = |def: Inst| matches!(func.ty(func.inst(def).args[0]), Type::Ptr(space) if may_join(space));
    let load = if is_here && is_plain && is_there(def) { load(func, places, def, block) } else { None };
    load.map_or(Factor::Any(v), |(load, at)| Factor::Loaded(load, at))
}

/// The number of a line of factors, a new one if it is new.
fn number(lines: &mut Vec<Vec<Factor>>, line: Vec<Factor>) -> usize {
    lines.iter().position(|known| *known == line).unwrap_or_else(|| {
        lines.push(line);
        lines.len() - 1
    })
}

/// Whether lines of factors lie one behind the other, or one below the other, product by product; or may do so, if that
/// `can_be_asked`.
pub(super) fn is_even(lines: &[Vec<Factor>], below: bool, can_be_asked: bool) -> bool {
    let follows = |(x, y): (&Factor, &Factor)| match (x, y) {
        (Factor::Loaded(x, from), Factor::Loaded(y, to)) => {
            let is_next = x == y && x.step(below).is_some_and(|step| from.checked_add(step) == Some(*to));
            is_next || can_be_asked && y.may_follow(x, below)
        }
        _ => false,
    };
    lines.windows(2).all(|pair| pair[0].iter().zip(&pair[1]).all(follows))
}
