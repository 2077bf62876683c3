//! Samplers of a test.
//!
//! ```text
//! sampler 0.1 linear repeat              ; of a binding, or of the image there
//! sampler 0.1 min=nearest mag=linear mip=linear x=border y=mirrored-repeat
//!     bias=0.5 lod=0.25..2 compare=less_or_equal border=0,0,0,1 reduce=min unnormalized
//! ```
//!
//! What is not said is as in the default: nearest, clamp to edge. A border is of `f32`s; of integers with `i:` before.

use crate::error::Wrong;
use crate::tokens::Tokens;
use phalanx_ir::{AddressMode, CompareFunction, Filter, Reduction, Sampler};

const FILTERS: &[(&str, Filter)] = &[("nearest", Filter::Nearest), ("linear", Filter::Linear)];

const MODES: &[(&str, AddressMode)] = &[
    ("repeat", AddressMode::Repeat),
    ("mirrored-repeat", AddressMode::MirroredRepeat),
    ("clamp", AddressMode::ClampToEdge),
    ("border", AddressMode::ClampToBorder),
    ("mirror-clamp", AddressMode::MirrorClampToEdge),
];

const COMPARES: &[(&str, CompareFunction)] = &[
    ("never", CompareFunction::Never),
    ("less", CompareFunction::Less),
    ("equal", CompareFunction::Equal),
    ("less_or_equal", CompareFunction::LessOrEqual),
    ("greater", CompareFunction::Greater),
    ("not_equal", CompareFunction::NotEqual),
    ("greater_or_equal", CompareFunction::GreaterOrEqual),
    ("always", CompareFunction::Always),
];

const REDUCTIONS: &[(&str, Reduction)] =
    &[("average", Reduction::WeightedAverage), ("min", Reduction::Min), ("max", Reduction::Max)];

/// Reads what stands behind the slot.
pub(crate) fn parse(tokens: &mut Tokens<'_>) -> Result<Sampler, Wrong> {
    let mut sampler = Sampler::default();
    for word in tokens {
        match word.split_once('=') {
            Some((key, value)) => set(&mut sampler, key, value)?,
            None => whole(&mut sampler, word)?,
        }
    }
    Ok(sampler)
}

/// A word that is about all axes, or all filters.
fn whole(sampler: &mut Sampler, word: &str) -> Result<(), Wrong> {
    if word == "unnormalized" {
        sampler.unnormalized = true;
    } else if let Ok(filter) = named(FILTERS, word) {
        (sampler.min, sampler.mag) = (filter, filter);
    } else {
        sampler.address = [named(MODES, word)?; 3];
    }
    Ok(())
}

fn set(sampler: &mut Sampler, key: &str, value: &str) -> Result<(), Wrong> {
    match key {
        "min" => sampler.min = named(FILTERS, value)?,
        "mag" => sampler.mag = named(FILTERS, value)?,
        "mip" => sampler.mip = named(FILTERS, value)?,
        "x" => sampler.address[0] = named(MODES, value)?,
        "y" => sampler.address[1] = named(MODES, value)?,
        "z" => sampler.address[2] = named(MODES, value)?,
        "bias" => sampler.lod_bias = number(value)?,
        "lod" => {
            let (least, greatest) = value.split_once("..").ok_or_else(|| Wrong::new("LEAST..MOST", value))?;
            (sampler.min_lod, sampler.max_lod) = (number(least)?, number(greatest)?);
        }
        "compare" => sampler.compare = Some(named(COMPARES, value)?),
        "border" => sampler.border = border(value)?,
        "reduce" => sampler.reduction = named(REDUCTIONS, value)?,
        _ => return Err(Wrong::new("what a sampler has", key)),
    }
    Ok(())
}

fn border(text: &str) -> Result<[u64; 4], Wrong> {
    let wrong = || Wrong::new("four numbers", text);
    let integers = text.strip_prefix("i:");
    let component = |word: &str| match integers {
        Some(_) => word.parse::<i32>().map(|x| u64::from(x as u32)).map_err(|_| wrong()),
        None => number(word).map(|x| x.to_bits().into()),
    };
    let list: Result<Vec<u64>, _> = integers.unwrap_or(text).split(',').map(component).collect();
    list?.try_into().map_err(|_: Vec<u64>| wrong())
}

fn number(text: &str) -> Result<f32, Wrong> {
    text.parse().map_err(|_| Wrong::new("a number", text))
}

fn named<T: Copy>(list: &[(&str, T)], word: &str) -> Result<T, Wrong> {
    let names = || list.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = list.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| Wrong::new(format!("one of {}", names()), word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        let text = "linear repeat mip=linear y=border bias=-0.5 lod=0.25..2 compare=less border=0,0,0,1 \
                    reduce=max unnormalized";
        let one = 1.0_f32.to_bits().into();
        let expected = Sampler {
            min: Filter::Linear,
            mag: Filter::Linear,
            mip: Filter::Linear,
            address: [AddressMode::Repeat, AddressMode::ClampToBorder, AddressMode::Repeat],
            lod_bias: -0.5,
            min_lod: 0.25,
            max_lod: 2.0,
            compare: Some(CompareFunction::Less),
            border: [0, 0, 0, one],
            reduction: Reduction::Max,
            unnormalized: true,
        };
        assert_eq!(parse(&mut Tokens::new(text)).unwrap(), expected);
        assert_eq!(parse(&mut Tokens::new("border=i:1,2,3,-1")).unwrap().border, [1, 2, 3, 0xffff_ffff]);
        assert_eq!(parse(&mut Tokens::new("")).unwrap(), Sampler::default());
    }

    #[test]
    fn mistakes_are_told() {
        let error = |text| parse(&mut Tokens::new(text)).unwrap_err().to_string();
        assert!(
            error("blurry").starts_with("expected one of repeat, mirrored-repeat"),
            "{}",
            error("blurry")
        );
        assert_eq!(error("border=1,2"), "expected four numbers, found `1,2`");
        assert_eq!(error("colour=red"), "expected what a sampler has, found `colour`");
    }
}
