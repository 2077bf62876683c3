//! `gpu`: what the host says: launches, and memory and waiting with their tokens.

use super::scf::entry;
use super::{Custom, int_attr, int_type};
use crate::ast::{Attr, Type};
use crate::syntax::error::Parsed;
use crate::syntax::operation::Draft;
use crate::syntax::parser::Parser;
use crate::syntax::scope::Use;

/// What reads the custom form of an operation.
pub(super) fn parser(op: &str) -> Option<Custom> {
    Some(match op {
        "launch_func" => launch_func,
        "launch" => launch,
        "wait" => wait,
        "alloc" => alloc,
        "dealloc" | "memcpy" | "memset" => asynchronous,
        "host_register" | "host_unregister" => register,
        _ => return None,
    })
}

fn token() -> Type {
    Type::Dialect("gpu.async.token".into())
}

impl<'a> Parser<'a> {
    /// `async [%a, %b]`, both parts optional: gives the number of tokens waited for and whether there is one to wait for.
    fn async_tokens(&mut self, draft: &mut Draft) -> Parsed<(usize, bool)> {
        let gives = self.eat_word("async");
        let mut count = 0;
        if self.at(b'[') {
            let tokens = self.operands_in(b'[', b']')?;
            count = tokens.len();
            self.resolve_all(&tokens, &token(), draft)?;
        }
        Ok((count, gives))
    }

    /// `(%x, %y, %z)`
    fn three(&mut self) -> Parsed<Vec<Use<'a>>> {
        let operands = self.operands_in(b'(', b')')?;
        if operands.len() == 3 { Ok(operands) } else { self.expected("three values before") }
    }

    /// `(%a, %b, %c) in (%x = %1, %y = %2, %z = %3)`: names of ids, names of sizes, sizes.
    fn launch_sizes(&mut self) -> Parsed<(Vec<Use<'a>>, Vec<Use<'a>>, Vec<Use<'a>>)> {
        let mut ids = Vec::new();
        self.list(b'(', b')', |p| {
            ids.push(p.argument()?);
            Ok(())
        })?;
        self.expect_word("in")?;
        let (names, values) = self.assignments()?;
        if ids.len() == 3 && values.len() == 3 {
            Ok((ids, names, values))
        } else {
            self.expected("three ids and sizes before")
        }
    }
}

/// `async [%t] <%stream : type> @module::@kernel clusters in (…) blocks in (…) threads in (…) : type
/// dynamic_shared_memory_size %s args(%a : type)`
fn launch_func(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (tokens, gives) = p.async_tokens(draft)?;
    let mut stream = None;
    if p.eat(b'<') {
        let name = p.operand()?;
        stream = Some((name, p.colon_type()?));
        p.expect(b'>')?;
    }
    let kernel = p.symbol_attr()?;
    draft.set("kernel", kernel);
    let mut clusters = Vec::new();
    if p.eat_word("clusters") {
        p.expect_word("in")?;
        clusters = p.three()?;
    }
    p.expect_word("blocks")?;
    p.expect_word("in")?;
    let mut sizes = p.three()?;
    p.expect_word("threads")?;
    p.expect_word("in")?;
    sizes.extend(p.three()?);
    let ty = if p.at(b':') { p.colon_type()? } else { Type::Index };
    p.resolve_all(&sizes, &ty, draft)?;
    p.resolve_all(&clusters, &ty, draft)?;
    let shared = p.dynamic_shared_memory_size(draft)?;
    let before = draft.op.operands.len();
    if p.eat_word("args") {
        p.list(b'(', b')', |p| {
            let name = p.operand()?;
            let ty = p.colon_type()?;
            p.resolve(name, &ty, draft)
        })?;
    }
    let args = draft.op.operands.len() - before;
    if let Some((name, ty)) = &stream {
        p.resolve(*name, ty, draft)?;
    }
    p.attr_tail(draft)?;
    let each = usize::from(!clusters.is_empty());
    draft.segments(&[
        tokens,
        1,
        1,
        1,
        1,
        1,
        1,
        each,
        each,
        each,
        shared,
        args,
        usize::from(stream.is_some()),
    ]);
    if gives {
        draft.result_types.push(token());
    }
    Ok(())
}

impl Parser<'_> {
    /// `dynamic_shared_memory_size %s`, if it comes next; how many operands that is.
    fn dynamic_shared_memory_size(&mut self, draft: &mut Draft) -> Parsed<usize> {
        if !self.eat_word("dynamic_shared_memory_size") {
            return Ok(0);
        }
        let size = self.operand()?;
        self.resolve(size, &int_type(32), draft)?;
        Ok(1)
    }
}

/// The body has ids and sizes as arguments: of blocks, threads, the grid, the blocks, then of clusters.
fn launch(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (tokens, gives) = p.async_tokens(draft)?;
    let clusters = if p.eat_word("clusters") { Some(p.launch_sizes()?) } else { None };
    p.expect_word("blocks")?;
    let (blocks, grid, mut sizes) = p.launch_sizes()?;
    p.expect_word("threads")?;
    let (threads, block, block_sizes) = p.launch_sizes()?;
    sizes.extend(block_sizes);
    p.resolve_all(&sizes, &Type::Index, draft)?;
    let mut names = [blocks, threads, grid, block].concat();
    let each = usize::from(clusters.is_some());
    if let Some((ids, extents, sizes)) = clusters {
        p.resolve_all(&sizes, &Type::Index, draft)?;
        names.extend(ids.into_iter().chain(extents));
    }
    let shared = p.dynamic_shared_memory_size(draft)?;
    for keyword in ["module", "function"] {
        // Of later versions: the names that outlining is to give.
        if p.eat_word(keyword) {
            p.expect(b'(')?;
            let symbol = p.symbol_attr()?;
            draft.set(keyword, symbol);
            p.expect(b')')?;
        }
    }
    let workgroup = p.attributions("workgroup")?;
    let private = p.attributions("private")?;
    draft.set("workgroup_attributions", int_attr(workgroup.args.len() as i128, int_type(64)));
    let mut args = entry(&names, &vec![Type::Index; names.len()]);
    args.extend(workgroup.args.into_iter().chain(private.args));
    let region = p.region(args, false)?;
    draft.op.regions.push(region);
    p.attr_tail(draft)?;
    draft.segments(&[tokens, 1, 1, 1, 1, 1, 1, each, each, each, shared]);
    if gives {
        draft.result_types.push(token());
    }
    Ok(())
}

fn wait(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (_, gives) = p.async_tokens(draft)?;
    if gives {
        draft.result_types.push(token());
    }
    p.attr_tail(draft)
}

/// `async [%t] host_shared (%sizes)[%symbols] : type`
fn alloc(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (tokens, gives) = p.async_tokens(draft)?;
    if p.eat_word("host_shared") {
        draft.set("hostShared", Attr::Unit);
    }
    let sizes = p.operands_in(b'(', b')')?;
    let symbols = if p.at(b'[') { p.indices()? } else { Vec::new() };
    p.attr_tail(draft)?;
    p.resolve_all(&sizes, &Type::Index, draft)?;
    p.resolve_all(&symbols, &Type::Index, draft)?;
    draft.segments(&[tokens, sizes.len(), symbols.len()]);
    draft.result_types.push(p.colon_type()?);
    if gives {
        draft.result_types.push(token());
    }
    Ok(())
}

/// `async [%t] %a, %b : type, type`
fn asynchronous(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let (_, gives) = p.async_tokens(draft)?;
    let operands = p.operands()?;
    p.attr_tail(draft)?;
    p.expect(b':')?;
    let types = p.types()?;
    p.resolve_each(&operands, &types, draft)?;
    if gives {
        draft.result_types.push(token());
    }
    Ok(())
}

fn register(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let operand = p.operand()?;
    p.attr_tail(draft)?;
    let ty = p.colon_type()?;
    p.resolve(operand, &ty, draft)
}
