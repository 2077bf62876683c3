//! Whether push constants fit what a shader declares.
//!
//! A number must stand where the shader has one of its type. Signed and unsigned integers of a size stand for each other,
//! since a user who writes `u32:3` for an `int` means what the shader reads; an address may go where the shader has
//! 64 bits of integers. Everything else has to be called `bits:`.

use anyhow::{Result, bail, ensure};

use crate::data::DType;
use crate::data::spec::{Field, PushSpec, place_fields};
use crate::runtime::{Member, Reflection};

/// Compares them.
pub(super) fn check(specs: &[PushSpec], shader: &Reflection) -> Result<()> {
    let (placed, end) = place_fields(specs.iter().flat_map(|spec| &spec.0));
    let declared = shader.push_constant_bytes;
    // A block that ends with a small member may be rounded up by the one side or the other.
    ensure!(
        end.next_multiple_of(4) == declared.next_multiple_of(4),
        "the shader has {declared} bytes of push constants, --push gives {end}{}",
        hint(&shader.push_constants)
    );
    for (offset, field) in &placed {
        check_field(*offset, field, &shader.push_constants)?;
    }
    for member in &shader.push_constants {
        let covers = |(offset, field): &(usize, &Field)| {
            (*offset..*offset + field.size_bytes()).contains(&member.offset)
        };
        ensure!(placed.iter().any(covers), "--push gives nothing for {}", describe(member));
    }
    Ok(())
}

fn check_field(offset: usize, field: &Field, members: &[Member]) -> Result<()> {
    let given = match field {
        Field::Number { is_raw: true, .. } => return Ok(()),
        Field::Number { dtype, .. } => dtype.name(),
        Field::Address(_) => "an address",
        Field::Align(_) => return Ok(()),
    };
    let Some(member) = members.iter().find(|member| member.offset == offset) else {
        bail!("--push has {given} at byte {offset}, where the shader has no number{}", hint(members));
    };
    let fits = match (field, member.dtype) {
        (Field::Number { dtype, .. }, Some(wanted)) => *dtype == wanted || are_integers(*dtype, wanted),
        (Field::Number { dtype, .. }, None) => are_integers(*dtype, DType::U64),
        (Field::Address(_) | Field::Align(_), None) => true,
        (Field::Address(_) | Field::Align(_), Some(wanted)) => {
            are_integers(wanted, DType::U64) || wanted == DType::U32 && has_second_half(member, members)
        }
    };
    ensure!(
        fits,
        "--push: the shader has {}, not {given}; `bits:` before the type takes its bits as they are",
        describe(member)
    );
    Ok(())
}

/// Whether both are integers of one size.
fn are_integers(left: DType, right: DType) -> bool {
    !left.is_float() && !right.is_float() && left.size_bytes() == right.size_bytes()
}

/// Whether another unsigned integer follows, as in the `uvec2` that an address may be declared as.
fn has_second_half(member: &Member, members: &[Member]) -> bool {
    members.iter().any(|other| other.offset == member.offset + 4 && other.dtype == Some(DType::U32))
}

/// The members that a user should have given.
fn hint(members: &[Member]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<String> = members.iter().take(SHOWN).map(describe).collect();
    if members.len() > SHOWN {
        shown.push("more".to_owned());
    }
    if shown.is_empty() { String::new() } else { format!("; it has {}", shown.join(", ")) }
}

fn describe(member: &Member) -> String {
    let name = if member.name.is_empty() { String::new() } else { format!("`{}`, ", member.name) };
    match member.dtype {
        Some(dtype) => format!("{name}{dtype} at byte {}", member.offset),
        None => format!("{name}an address at byte {}", member.offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(members: &[(&str, usize, Option<DType>)], bytes: usize, specs: &[&str]) -> Result<()> {
        let member =
            |&(name, offset, dtype): &(&str, usize, _)| Member { name: name.to_owned(), offset, dtype };
        let shader = Reflection {
            push_constants: members.iter().map(member).collect(),
            push_constant_bytes: bytes,
            ..Reflection::default()
        };
        let specs: Vec<PushSpec> = specs.iter().map(|text| text.parse().expect("well formed")).collect();
        super::check(&specs, &shader)
    }

    const MEMBERS: [(&str, usize, Option<DType>); 4] = [
        ("t", 0, None),
        ("n", 8, Some(DType::S32)),
        ("f", 12, Some(DType::F32)),
        ("h", 16, Some(DType::F16)),
    ];

    #[test]
    fn what_has_the_right_types_is_accepted() {
        let accept = |specs: &[&str]| check(&MEMBERS, 18, specs).expect("it fits");
        accept(&["addr:w", "s32:-1,f32:0.5,f16:1"]);
        accept(&["u64:0x1000,u32:1,f32:1,f16:1"]);
        accept(&["addr:w", "bits:u32:1,2", "bits:u16:3"]);
        let pair = [("p[0]", 0, Some(DType::U32)), ("p[1]", 4, Some(DType::U32))];
        check(&pair, 8, &["addr:w+8"]).expect("a uvec2 may be an address");
        check(&[], 0, &[]).expect("nothing is nothing");
    }

    #[test]
    fn each_mismatch_is_told() {
        let refuse = |specs: &[&str], expected: &str| {
            let error = check(&MEMBERS, 18, specs).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse(&["addr:w,s32:1,u32:1,f16:1"], "the shader has `f`, f32 at byte 12, not u32; `bits:`");
        refuse(&["f64:1,s32:1,f32:1,f16:1"], "the shader has `t`, an address at byte 0, not f64");
        refuse(&["addr:w,f32:1,f32:1,f16:1"], "the shader has `n`, s32 at byte 8, not f32");
        refuse(
            &["addr:w,s32:1,f32:1"],
            "has 18 bytes of push constants, --push gives 16; it has `t`, an address",
        );
        refuse(&["u32:1,align:8,s32:1,f32:1,f16:1"], "`t`, an address at byte 0, not u32");
        refuse(&["addr:w,s32:1,align:16,f16:1"], "--push gives nothing for `f`, f32 at byte 12");
        refuse(&["addr:w,s32:1,f16:1,1,1"], "not f16");
        refuse(&["addr:w,bits:s32:1,u32:1,f16:1"], "not u32");
    }
}
