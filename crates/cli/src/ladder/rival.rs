//! The ladder's multiplication as a library does it: A·B of the same numbers, in the same order in memory.
//!
//! Where the library has no product of these floats, it multiplies them as f32, which is what a program would do without
//! ours. Of bytes without a sign oneDNN has only A: B is taken without its top bit there.

use anyhow::{Result, bail, ensure};

use super::Types;
use crate::data::DType;
use crate::measure::Problem;
use crate::runtime::{Buffer, Device};
use crate::versus::{Element, Library, Product, Rival};

/// What is multiplied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    pub(super) types: Types,
    /// M, N and K.
    pub(super) sizes: [usize; 3],
    pub(super) is_b_column_major: bool,
    /// Whether floats are multiplied as f32 whatever they are.
    pub(super) is_f32: bool,
}

/// Brings the numbers of a problem to a library, and compares what it makes of them.
pub(super) fn prepare<'a>(
    library: &'a Library,
    device: &Device,
    problem: &Problem,
    product: Plain,
) -> Result<Option<Rival<'a>>> {
    let Plain { types, sizes: [m, n, k], is_b_column_major, is_f32 } = product;
    let [a, b, ..] = problem.buffers.as_slice() else { return Ok(None) };
    let [a, b] = [a, b].map(|buffer| buffer.read(0..buffer.size()));
    let (a, mut b) = (a?, b?);
    let threads = device.info().threads;
    let of = Element::F32;
    let plain = Product { m, n, k, a: of, b: of, d: of, is_b_column_major, is_packed: false, threads };
    let element = |dtype: DType| match dtype {
        DType::F16 => Some(Element::F16),
        DType::Bf16 => Some(Element::Bf16),
        DType::F32 => Some(Element::F32),
        DType::E4m3 => Some(Element::E4m3),
        DType::E5m2 => Some(Element::E5m2),
        DType::S8 => Some(Element::S8),
        DType::U8 => Some(Element::U8),
        DType::S32 | DType::U32 => Some(Element::S32),
        _ => None,
    };
    if let (Some(of_a), Some(of_d), false) = (element(types.a), element(types.c), is_f32) {
        let of_b = if of_a == Element::U8 { Element::S8 } else { of_a };
        if of_a == Element::U8 {
            b.iter_mut().for_each(|byte| *byte &= 0x7f);
        }
        let product = Product { a: of_a, b: of_b, d: of_d, ..plain };
        if let Some(mut rival) = library.rival(product, &a, &b)? {
            if of_a == of_b && types.c.size_bytes() == 4 {
                check(device, problem, types, &mut rival)?;
            }
            return Ok(Some(rival));
        }
    }
    if matches!(types.a, DType::S8 | DType::U8) {
        return Ok(None);
    }
    let [a, b] = [a, b].map(|bytes| as_f32(types.a, &bytes));
    let Some(mut rival) = library.rival(plain, &a, &b)? else { return Ok(None) };
    if types.c == DType::F32 {
        check(device, problem, types, &mut rival)?;
    }
    Ok(Some(rival))
}

fn as_f32(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::with_capacity(bytes.len() / dtype.size_bytes() * 4);
    for element in bytes.chunks_exact(dtype.size_bytes()) {
        let value = dtype.value(dtype.read(element));
        DType::F32.push(DType::F32.bits(value), &mut numbers);
    }
    numbers
}

/// A library that computes something else is compared with for nothing. What it computes is without C.
fn check(device: &Device, problem: &Problem, types: Types, rival: &mut Rival<'_>) -> Result<()> {
    let [_, _, c, _] = problem.buffers.as_slice() else { bail!("a multiplication has four buffers") };
    let of = |bytes: &[u8]| -> Result<Buffer> {
        let buffer = device.create_buffer(bytes.len())?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    };
    let c = c.read(0..c.size())?;
    let result = rival.result()?;
    let (products, _) = result.as_chunks::<4>();
    let (addends, _) = c.as_chunks::<4>();
    let sum = |(&product, &addend): (&[u8; 4], &[u8; 4])| match types.c {
        DType::F32 => (f32::from_ne_bytes(product) + f32::from_ne_bytes(addend)).to_ne_bytes(),
        _ => i32::from_ne_bytes(product).wrapping_add(i32::from_ne_bytes(addend)).to_ne_bytes(),
    };
    let sums: Vec<[u8; 4]> = products.iter().zip(addends).map(sum).collect();
    let verdict = (problem.check)(&[of(&[0; 4])?, of(&[0; 4])?, of(&c)?, of(sums.as_flattened())?])?;
    ensure!(
        verdict.ok,
        "{} does not compute the same: the largest error is {:.1e}",
        rival.name(),
        verdict.max_rel_error
    );
    Ok(())
}
