//! Constants: decimal where that says it exactly, otherwise the bits in hexadecimal.

use crate::eval;
use crate::types::Scalar;

/// The text of a constant.
pub(super) fn print(ty: Scalar, bits: u64) -> String {
    let text = match ty {
        _ if bits & !ty.mask() != 0 => String::new(),
        Scalar::Bool => (bits == 1).to_string(),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => eval::sign_extend(ty, bits).to_string(),
        Scalar::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Scalar::F64 => format!("{:?}", f64::from_bits(bits)),
        Scalar::F16 | Scalar::BF16 | Scalar::E4M3 | Scalar::E5M2 => {
            format!("{:?}", eval::to_f64(ty, bits) as f32)
        }
    };
    // NaNs have payloads, which decimals don't.
    if parse(ty, &text) == Some(bits) { text } else { format!("{bits:#x}") }
}

/// The bits of a constant; `None` if the text is not one. Hexadecimal bits are taken as they are.
pub(super) fn parse(ty: Scalar, text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    match ty {
        Scalar::Bool => text.parse::<bool>().ok().map(u64::from),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => parse_int(ty, text),
        Scalar::F32 => text.parse::<f32>().ok().map(|x| x.to_bits().into()),
        Scalar::F64 => text.parse::<f64>().ok().map(f64::to_bits),
        Scalar::F16 | Scalar::BF16 | Scalar::E4M3 | Scalar::E5M2 => {
            text.parse::<f64>().ok().map(|x| eval::from_f64(ty, x))
        }
    }
}

/// A decimal from the least signed to the greatest unsigned number.
fn parse_int(ty: Scalar, text: &str) -> Option<u64> {
    let x = text.parse::<i128>().ok()?;
    let (min, max) = (-(1_i128 << (ty.bits() - 1)), i128::from(ty.mask()));
    (min..=max).contains(&x).then_some(x as u64 & ty.mask())
}
