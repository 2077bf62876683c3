//! `mat_rotate`, which is MLIR's `gpu.subgroup_mma_rotate`: elements of two matrices, read row by row and the second one
//! behind the first, from element `offset` on.
//!
//! The RFC lowers it where a matrix has as many elements as the subgroup has lanes: each lane holds one element, chooses
//! the one of the first or of the second matrix, and a rotation brings it to its lane. Here a lane may hold several.
//!
//! Let there be `n` lanes, `s` elements and `c = ⌈s / n⌉` components of a lane; component `i` of lane `l` is element
//! `i * n + l`. Consider a row of elements in which each lane `l` holds number `j * n + l` as `t[j]`, for all `j`. Element
//! `e = i * n + l` of the result is number `e + u` of the row for some `u >= 0`. With `u = q * n + r`, `r < n`:
//!
//! ```text
//! e + u = (i + q) * n + (l + r)
//! ```
//!
//! so it is in lane `(l + r) mod n`, which is what a rotation by `r` gives lane `l`. There it is `t[i + q]` if `l + r < n`,
//! and `t[i + q + 1]` if there is a carry. The lane that holds it, `m = (l + r) mod n`, knows which: there was a carry just
//! where `m < r`. So each lane chooses before it rotates, and a component takes one rotation, as in the RFC:
//!
//! ```text
//! rotate(m >= r ? t[i + q] : t[i + q + 1], r)
//! ```
//!
//! `q` is not known when the module is made. That `t` is moved along by `q` takes choices between neighbours for each of
//! the bits of `q`, first by the greatest power of two.
//!
//! *Where `n` divides `s`*, element `e` of the second matrix is number `s + e` of the row and lies in the lane that it has
//! in its matrix: `t` is the components of the first matrix and those of the second behind them, and `u` the offset.
//! As `u <= s`, `q <= c`, and `q = c` only with `r = 0`, where there is no carry: the last index is `2 * c - 1`.
//! With `c = 1` and `u <= n`, the choice `m >= u ? t[0] : t[1]` holds for `u = n` too, and that is the RFC's pattern.
//!
//! *Elsewhere* the second matrix begins in another lane than it has in itself, and lanes have no element as their last
//! component. So there are two rows. In the first, `t` is the components of the first matrix, and `u` the offset. In the
//! second, they are those of the second matrix behind `c` components of nothing, so that its element 0 is number `c * n`,
//! and `u = offset - s + c * n`, which is not negative. The first row has the element where `e + offset < s`, the second
//! one elsewhere. Components of nothing are never chosen there: number `e + u` of a row is one of an element of its matrix.
//! Elements lie in lanes `0` to `min(s, n) - 1`, so no lane is asked that holds none.

use phalanx_ir::{BinaryOp as B, InstInfo, MatType, Scalar};
use rspirv::spirv::{GlslStd450Op as GlOp, Op, Word};

use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

impl Lower<'_> {
    pub(crate) fn mat_rotate(&mut self, info: &InstInfo) -> Res<()> {
        let ty = self.func.ty(info.results[0]);
        let m = ty.mat().ok_or_else(|| Error::bug("no matrix is rotated"))?;
        let n = self.lanes("a rotation of a matrix")?;
        let ty = self.ty(ty)?;
        let count = m.components(n);
        let size = m.rows * m.cols;
        let mut created = self.splat_zero(m)?;
        let (first, second) =
            (self.components_of(m, info, 0, count)?, self.components_of(m, info, 1, count)?);
        let offset = self.word(info.args[2])?;
        let offset = self.clamped(offset, size);
        let lane = self.own_lane();
        let rotated = if size.is_multiple_of(n) {
            self.row(m.elem, &[first, second].concat(), offset, n, lane)
        } else {
            let nothing = |word: Option<&Word>| vec![word.copied().unwrap_or_default(); count as usize];
            let from_first = [first.clone(), nothing(first.last())].concat();
            let from_second = [nothing(second.first()), second].concat();
            let distance = self.e.integer_with(B::Iadd, offset, (count * n).wrapping_sub(size));
            let x = self.row(m.elem, &from_first, offset, n, lane);
            let y = self.row(m.elem, &from_second, distance, n, lane);
            let sum = self.e.integer(B::Iadd, Scalar::I32, lane, offset);
            x.into_iter()
                .zip(y)
                .enumerate()
                .map(|(i, (x, y))| self.earlier(m, i as u32 * n, sum, [x, y]))
                .collect()
        };
        for (i, value) in rotated.into_iter().enumerate() {
            created = self.inserted(ty, created, i as u32, value);
        }
        self.set(info.results[0], Val::Word(created));
        Ok(())
    }

    fn components_of(&mut self, m: MatType, info: &InstInfo, arg: usize, count: u32) -> Res<Vec<Word>> {
        let matrix = self.word(info.args[arg])?;
        Ok((0..count).map(|i| self.extracted(m.elem, matrix, i)).collect())
    }

    /// The offset brought between 0 and the size of a matrix.
    fn clamped(&mut self, offset: Word, size: u32) -> Word {
        if let Some(bits) = self.e.bits(offset) {
            let offset = (bits as u32).cast_signed().clamp(0, size.cast_signed());
            return self.e.int(offset.cast_unsigned());
        }
        let (int, zero, size) = (self.e.u32(), self.e.int(0), self.e.int(size));
        let offset = self.e.glsl(GlOp::SMax, int, &[offset, zero]);
        self.e.glsl(GlOp::SMin, int, &[offset, size])
    }

    /// The components of this lane, from number `u` of a row on; half as many as the row has for a lane.
    fn row(&mut self, s: Scalar, row: &[Word], u: Word, n: u32, lane: Word) -> Vec<Word> {
        let (ty, bool) = (self.e.scalar(s), self.e.bool());
        let count = row.len() / 2;
        // One component: what is chosen is right for u = n, too, and q is not needed.
        let (moved, least) = if let [first, second] = row {
            (vec![*first, *second], u)
        } else {
            let quotient = self.e.integer_with(B::Lshr, u, n.trailing_zeros());
            let rest = self.e.integer_with(B::And, u, n - 1);
            (self.moved(ty, row.to_vec(), quotient), rest)
        };
        let delta = self.e.integer_with(B::And, u, n - 1);
        let has_no_carry = match self.e.bits(least) {
            Some(0) => self.e.constant(Scalar::Bool, 1),
            _ => self.e.value(Op::SGreaterThanEqual, bool, &[lane, least]),
        };
        let is_still = self.e.bits(delta) == Some(0);
        let chosen = |this: &mut Self, i: usize| {
            let x = this.e.select(ty, has_no_carry, moved[i], moved[i + 1]);
            if is_still { x } else { this.rotate(s, x, delta, n) }
        };
        (0..count).map(|i| chosen(self, i)).collect()
    }

    /// The components from number `quotient` on, which is at most half of how many there are. What would come from behind
    /// the last one is the last one.
    fn moved(&mut self, ty: Word, mut row: Vec<Word>, quotient: Word) -> Vec<Word> {
        let bool = self.e.bool();
        let count = row.len() / 2;
        for bit in (0..=count.ilog2()).rev() {
            let distance = 1 << bit;
            let is_set = match self.e.bits(quotient) {
                Some(bits) => self.e.constant(Scalar::Bool, bits >> bit & 1),
                None => {
                    let bit = self.e.integer_with(B::And, quotient, distance as u32);
                    let zero = self.e.int(0);
                    self.e.value(Op::INotEqual, bool, &[bit, zero])
                }
            };
            // As many as the lesser bits may still ask for, and one for the carry.
            let needed = (count + distance).min(row.len());
            row = (0..needed)
                .map(|i| {
                    let far = row[(i + distance).min(row.len() - 1)];
                    self.e.select(ty, is_set, far, row[i])
                })
                .collect();
        }
        row
    }

    /// Of an element of the result whose component begins at `first`, what the first row or the second one has.
    fn earlier(&mut self, m: MatType, first: u32, sum: Word, [x, y]: [Word; 2]) -> Word {
        let (ty, bool) = (self.e.scalar(m.elem), self.e.bool());
        let size = self.e.int(m.rows * m.cols);
        let number = self.e.integer_with(B::Iadd, sum, first);
        let is_first = self.e.value(Op::SLessThan, bool, &[number, size]);
        self.e.select(ty, is_first, x, y)
    }
}
