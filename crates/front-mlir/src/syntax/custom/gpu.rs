//! `gpu`: what kernels are made of.

use super::func::record_attrs;
use super::{Custom, int_attr, int_type};
use crate::ast::{Attr, Region, Type};
use crate::syntax::error::Parsed;
use crate::syntax::lexer::Token;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "module" => module,
        "func" => func,
        "return" => super::func::return_op,
        "thread_id" | "block_id" | "block_dim" | "grid_dim" | "global_id" | "cluster_id" | "cluster_dim"
        | "cluster_dim_blocks" | "cluster_block_id" => id,
        "lane_id" => lane_id,
        "subgroup_id" | "num_subgroups" | "subgroup_size" => subgroup_id,
        "barrier" => barrier,
        "terminator" => terminator,
        "shuffle" => shuffle,
        "subgroup_broadcast" => subgroup_broadcast,
        "subgroup_reduce" => subgroup_reduce,
        "all_reduce" => all_reduce,
        "yield" => super::func::return_op,
        "printf" => printf,
        "dynamic_shared_memory" => dynamic_shared_memory,
        _ => return None,
    })
}

/// `#gpu<kind word>`
pub(super) fn gpu_enum(kind: &str, word: &str) -> Attr {
    Attr::Dialect(format!("gpu<{kind} {word}>").into())
}

/// `@name <handler> [targets] attributes {…} { … }`
fn module(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let name = p.symbol()?;
    draft.set("sym_name", Attr::Str(name));
    if p.eat(b'<') {
        let handler = p.attr()?;
        draft.set("offloadingHandler", handler);
        p.expect(b'>')?;
    }
    if p.at(b'[') {
        let targets = p.attr()?;
        draft.set("targets", targets);
    }
    p.attributes(draft)?;
    let region = p.region(Vec::new(), true)?;
    draft.op.regions.push(region);
    Ok(())
}

/// Memory of a kernel that is an argument of its entry block.
#[derive(Debug, Default)]
pub(super) struct Attributions<'a> {
    pub(super) args: Vec<(Option<Use<'a>>, Type)>,
    attrs: Vec<Attr>,
}

impl<'a> Parser<'a> {
    /// `keyword(%a : type {attributes}, …)`, if it comes next.
    pub(super) fn attributions(&mut self, keyword: &str) -> Parsed<Attributions<'a>> {
        let mut attributions = Attributions::default();
        if self.eat_word(keyword) {
            self.list(b'(', b')', |p| {
                let name = p.operand()?;
                let ty = p.colon_type()?;
                attributions.attrs.push(p.attrs_of_one()?);
                p.optional_location()?;
                attributions.args.push((Some(name), ty));
                Ok(())
            })?;
        }
        Ok(attributions)
    }

    /// `upper_bound 4`, if it comes next.
    fn upper_bound(&mut self, draft: &mut Draft) -> Parsed<()> {
        if self.eat_word("upper_bound") {
            let bound = self.integer()?;
            draft.set("upper_bound", int_attr(bound.into(), Type::Index));
        }
        Ok(())
    }
}

/// `@name(arguments) -> (results) workgroup(…) private(…) kernel attributes {…} { … }`
fn func(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let name = p.symbol()?;
    draft.set("sym_name", Attr::Str(name));
    let mut signature = p.signature()?;
    signature.record(draft);
    let workgroup = p.attributions("workgroup")?;
    let private = p.attributions("private")?;
    draft.set("workgroup_attributions", int_attr(workgroup.args.len() as i128, int_type(64)));
    record_attrs(draft, "workgroup_attrib_attrs", &workgroup.attrs);
    record_attrs(draft, "private_attrib_attrs", &private.attrs);
    if p.eat_word("kernel") {
        draft.set("gpu.kernel", Attr::Unit);
    }
    p.attributes(draft)?;
    signature.args.extend(workgroup.args);
    signature.args.extend(private.args);
    let region = p.body(signature.args)?;
    draft.op.regions.push(region);
    Ok(())
}

fn id(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    const DIMENSIONS: [&str; 3] = ["x", "y", "z"];
    let dimension = p.one_of(&DIMENSIONS)?;
    draft.set("dimension", gpu_enum("dim", DIMENSIONS[dimension]));
    p.upper_bound(draft)?;
    draft.result_types.push(Type::Index);
    p.attr_tail(draft)
}

fn lane_id(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.upper_bound(draft)?;
    draft.result_types.push(Type::Index);
    p.attr_tail(draft)
}

fn subgroup_id(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.upper_bound(draft)?;
    p.attr_tail(draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}

/// Later versions may say which memory is meant: `memfence [#gpu.address_space<workgroup>]`.
fn barrier(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if p.eat_word("memfence") {
        let spaces = p.attr()?;
        draft.set("address_spaces", spaces);
    }
    p.attr_tail(draft)
}

fn terminator(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)
}

fn shuffle(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    const MODES: [&str; 4] = ["xor", "up", "down", "idx"];
    let mode = p.one_of(&MODES)?;
    draft.set("mode", gpu_enum("shuffle_mode", MODES[mode]));
    let value = p.operand()?;
    let others = [p.comma_operand()?, p.comma_operand()?];
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(value, &ty, draft)?;
    p.resolve_all(&others, &int_type(32), draft)?;
    draft.result_types = vec![ty, int_type(1)];
    Ok(())
}

/// Of later versions: `%v, first_active_lane : type`, or `%v, specific_lane %i : type`.
fn subgroup_broadcast(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let value = p.operand()?;
    p.expect(b',')?;
    const KINDS: [&str; 2] = ["first_active_lane", "specific_lane"];
    let kind = p.one_of(&KINDS)?;
    let lane = p.optional_operand()?;
    draft.set("broadcast_type", gpu_enum("broadcast", KINDS[kind]));
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(value, &ty, draft)?;
    if let Some(lane) = lane {
        p.resolve(lane, &int_type(32), draft)?;
    }
    draft.result_types.push(ty);
    Ok(())
}

const REDUCTIONS: [&str; 14] = [
    "add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "minimumf",
    "maximumf", "minf",
];

/// `add %v uniform cluster(size = 4, stride = 2) : (type) -> type`, the cluster of later versions.
fn subgroup_reduce(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let op = p.one_of(&REDUCTIONS)?;
    draft.set("op", gpu_enum("all_reduce_op", REDUCTIONS[op]));
    let value = p.operand()?;
    uniform(p, draft);
    if p.eat_word("cluster") {
        p.list(b'(', b')', |p| {
            let name = ["cluster_size", "cluster_stride"][p.one_of(&["size", "stride"])?];
            p.expect(b'=')?;
            let count = p.integer()?;
            draft.set(name, int_attr(count.into(), int_type(32)));
            Ok(())
        })?;
    }
    p.attr_tail(draft)?;
    p.functional(&[value], draft)
}

fn uniform(p: &mut Parser<'_>, draft: &mut Draft) {
    if p.eat_word("uniform") {
        draft.set("uniform", Attr::Unit);
    }
}

/// `add %v uniform { … } : (type) -> type`, with either a name or a region.
fn all_reduce(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if let Token::Word(_) = p.word.token {
        let op = p.one_of(&REDUCTIONS)?;
        draft.set("op", gpu_enum("all_reduce_op", REDUCTIONS[op]));
    }
    let value = p.operand()?;
    uniform(p, draft);
    let region: Region = p.region(Vec::new(), true)?;
    draft.op.regions.push(region);
    p.attr_tail(draft)?;
    p.functional(&[value], draft)
}

/// `"format", %a : type`; version 19 has no comma.
fn printf(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let format = p.string()?;
    draft.set("format", Attr::Str(format));
    p.attr_tail(draft)?;
    p.eat(b',');
    p.typed_operands(draft)
}

fn dynamic_shared_memory(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.attr_tail(draft)?;
    draft.result_types.push(p.colon_type()?);
    Ok(())
}
