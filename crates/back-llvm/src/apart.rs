//! Vectors in which the scalars of each lane follow one another: taken apart to vectors of one scalar each, and put
//! together.
//!
//! Half of the elements of two registers, every other one, is one instruction of AVX-512 and of NEON. Where x86 has no
//! registers for masks it is up to five, as most of its instructions keep to *segments* of 16 bytes, but the first or the
//! last elements of two segments in turn are one. So segments are zipped there, as often as brings the lane's number to
//! where the scalar's was; before that the registers' segments change places, so that those behind each other have the
//! lanes that are to lie behind each other.
//!
//! ```text
//! in memory          x0 y0 | x1 y1    x2 y2 | x3 y3      lanes 0 to 3, two scalars, segments of two
//! placed             x0 y0 | x2 y2    x1 y1 | x3 y3
//! zipped             x0 x1 | x2 x3    y0 y1 | y2 y3
//! ```

use crate::emit::{V, elem_ty, lanes};
use crate::error::Result;
use crate::lower::Lower;
use inkwell::types::BasicTypeEnum;

/// Bytes of a segment.
const SEGMENT_BYTES: u32 = 16;

/// Fewest scalars of a lane for which zipping takes less.
const MIN_ZIPPED: u32 = 4;

impl<'c> Lower<'_, 'c> {
    /// The vectors of each of the `n` scalars, a power of two, that lanes have one after the other in vectors of one length.
    pub(crate) fn take_apart(&mut self, all: Vec<V<'c>>, n: u32) -> Result<Vec<Vec<V<'c>>>> {
        if n == 1 {
            return Ok(vec![all]);
        }
        let length = lanes(all[0]).unwrap_or(1);
        if let Some(segment) = self.segment(all[0], n).filter(|_| all.len().is_multiple_of(n as usize)) {
            let mut scalars = vec![Vec::new(); n as usize];
            for registers in all.chunks(n as usize) {
                let placed = self.place_segments(registers, segment)?;
                let zipped = self.zip_segments(placed, segment, segment.ilog2())?;
                scalars.iter_mut().zip(zipped).for_each(|(scalar, register)| scalar.push(register));
            }
            return Ok(scalars);
        }
        if let [one] = all[..] {
            let scalars = (0..n).map(|k| Ok(vec![self.e.permute(one, (0..length / n).map(|l| l * n + k))?]));
            return scalars.collect();
        }
        let half = |l: &Self, odd: u32| -> Result<Vec<V<'c>>> {
            let pairs = all.chunks(2);
            pairs.map(|pair| l.e.shuffle(pair[0], pair[1], (0..length).map(|i| Some(2 * i + odd)))).collect()
        };
        let (even, odd) = (half(self, 0)?, half(self, 1)?);
        let (even, odd) = (self.take_apart(even, n / 2)?, self.take_apart(odd, n / 2)?);
        Ok(even.into_iter().zip(odd).flat_map(|(x, y)| [x, y]).collect())
    }

    /// Vectors of up to `most` elements in which the scalars of each lane follow one another, of those of each scalar: the
    /// reverse of [`take_apart`](Self::take_apart).
    pub(crate) fn put_together(&mut self, mut scalars: Vec<Vec<V<'c>>>, most: u32) -> Result<Vec<V<'c>>> {
        let n = scalars.len() as u32;
        let is_whole = lanes(scalars[0][0]) == Some(most);
        if let Some(segment) = self.segment(scalars[0][0], n).filter(|_| is_whole) {
            let mut all = Vec::new();
            for part in 0..scalars[0].len() {
                let registers = scalars.iter().map(|scalar| scalar[part]).collect();
                let zipped = self.zip_segments(registers, segment, n.ilog2())?;
                all.extend(self.replace_segments(zipped, segment)?);
            }
            return Ok(all);
        }
        while scalars.len() > 1 {
            let half = scalars.len() / 2;
            let odd = scalars.split_off(half);
            let mut zipped = Vec::new();
            for (x, y) in scalars.into_iter().zip(odd) {
                zipped.push(self.zip(&x, &y, most)?);
            }
            scalars = zipped;
        }
        Ok(scalars.pop().unwrap_or_default())
    }

    /// The elements of two lists of vectors in turn.
    fn zip(&mut self, x: &[V<'c>], y: &[V<'c>], most: u32) -> Result<Vec<V<'c>>> {
        let mut all = Vec::new();
        for (&x, &y) in x.iter().zip(y) {
            let length = x.get_type().into_vector_type().get_size();
            let picks =
                |from: u32, count: u32| (from..from + count).map(move |i| Some(i / 2 + i % 2 * length));
            if 2 * length <= most {
                all.push(self.e.shuffle(x, y, picks(0, 2 * length))?);
            } else {
                all.push(self.e.shuffle(x, y, picks(0, length))?);
                all.push(self.e.shuffle(x, y, picks(length, length))?);
            }
        }
        Ok(all)
    }

    /// Elements of a segment of registers like this one, where `n` scalars of each lane are zipped.
    fn segment(&self, register: V<'c>, n: u32) -> Option<u32> {
        let caps = self.e.caps;
        let bits = match elem_ty(register) {
            BasicTypeEnum::IntType(ty) => ty.get_bit_width(),
            BasicTypeEnum::FloatType(ty) => ty.get_bit_width(),
            _ => 0,
        };
        let segment = (8 * SEGMENT_BYTES).checked_div(bits).filter(|_| bits.is_multiple_of(8))?;
        let is_register = lanes(register).is_some_and(|length| length == segment || length == 2 * segment);
        (caps.is_x86 && !caps.mask_registers && n >= MIN_ZIPPED && is_register).then_some(segment)
    }

    /// Brings the segments of registers to where those of the first half of lanes are lower segments, and the others upper.
    fn place_segments(&self, registers: &[V<'c>], segment: u32) -> Result<Vec<V<'c>>> {
        if lanes(registers[0]) == Some(segment) {
            return Ok(registers.to_vec());
        }
        let (x, y) = registers.split_at(registers.len() / 2);
        let pairs = x.iter().zip(y).map(|(&x, &y)| self.exchange_segments([x, y], segment));
        Ok(pairs.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// The reverse of [`place_segments`](Self::place_segments).
    fn replace_segments(&self, registers: Vec<V<'c>>, segment: u32) -> Result<Vec<V<'c>>> {
        if lanes(registers[0]) == Some(segment) {
            return Ok(registers);
        }
        let pairs = registers.chunks_exact(2).map(|pair| self.exchange_segments([pair[0], pair[1]], segment));
        let (x, y): (Vec<_>, Vec<_>) =
            pairs.collect::<Result<Vec<_>>>()?.into_iter().map(|[x, y]| (x, y)).unzip();
        Ok([x, y].concat())
    }

    /// A register of the lower segments of two, and one of their upper.
    fn exchange_segments(&self, [x, y]: [V<'c>; 2], segment: u32) -> Result<[V<'c>; 2]> {
        let of_both = |first: u32| {
            let picks = (first..first + segment).chain(first + 2 * segment..first + 3 * segment);
            self.e.shuffle(x, y, picks.map(Some))
        };
        Ok([of_both(0)?, of_both(segment)?])
    }

    /// Zips segments: the elements of the first register's and of the one that is half of them behind it in turn, and so on,
    /// so often.
    fn zip_segments(&self, mut registers: Vec<V<'c>>, segment: u32, times: u32) -> Result<Vec<V<'c>>> {
        for _ in 0..times {
            let (x, y) = registers.split_at(registers.len() / 2);
            let mut zipped = Vec::new();
            for (&x, &y) in x.iter().zip(y) {
                let length = lanes(x).unwrap_or(1);
                for first in [0, segment / 2] {
                    let in_segment = |start: u32| start + first..start + first + segment / 2;
                    let picks = (0..length).step_by(segment as usize).flat_map(in_segment);
                    let picks = picks.flat_map(|i| [Some(i), Some(length + i)]);
                    zipped.push(self.e.shuffle(x, y, picks)?);
                }
            }
            registers = zipped;
        }
        Ok(registers)
    }
}
