//! What a text names: functions that can be called or run, and globals.

use std::collections::BTreeMap;

use super::attr;
use crate::ast::{Ast, Attr, Op, Type};

/// The functions and globals of a text, by their whole names such as `module::kernel`.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    pub(super) functions: BTreeMap<String, &'a Op>,
    pub(super) globals: BTreeMap<String, &'a Op>,
}

/// Deepest nesting of modules.
const MAX_NESTING: usize = 16;

impl<'a> Symbols<'a> {
    pub(super) fn of(ast: &'a Ast) -> Self {
        let mut symbols = Self::default();
        symbols.collect(&ast.ops, "", 0);
        symbols
    }

    fn collect(&mut self, ops: &'a [Op], prefix: &str, depth: usize) {
        for op in ops {
            let name = match attr::get(op, "sym_name") {
                Some(Attr::Str(name)) => format!("{prefix}{name}"),
                _ => String::new(),
            };
            match &*op.name {
                "builtin.module" | "gpu.module" if depth < MAX_NESTING => {
                    let prefix = if name.is_empty() { prefix.to_owned() } else { format!("{name}::") };
                    for block in op.regions.iter().flat_map(|region| &region.blocks) {
                        self.collect(&block.ops, &prefix, depth + 1);
                    }
                }
                "func.func" | "gpu.func" if !name.is_empty() => {
                    self.functions.entry(name).or_insert(op);
                }
                "memref.global" if !name.is_empty() => {
                    self.globals.entry(name).or_insert(op);
                }
                _ => {}
            }
        }
    }

    /// What a name means where another one is used: the innermost that it may be.
    pub(super) fn resolve<'m, T>(
        map: &'m BTreeMap<String, T>,
        from: &str,
        name: &str,
    ) -> Option<(&'m str, &'m T)> {
        let mut scope = from;
        while let Some((outer, _)) = scope.rsplit_once("::") {
            if let Some((name, found)) = map.get_key_value(&format!("{outer}::{name}")) {
                return Some((name, found));
            }
            scope = outer;
        }
        map.get_key_value(name).map(|(name, found)| (name.as_str(), found))
    }

    /// The functions that can be run: kernels, and other functions with a body that give nothing and are not private.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a Op)> {
        self.functions.iter().filter(|(_, op)| can_run(op)).map(|(name, op)| (name.as_str(), *op))
    }
}

/// Whether a function is a kernel of the `gpu` dialect, or of the `spirv` dialect's kind.
pub(super) fn is_kernel(op: &Op) -> bool {
    (&*op.name == "gpu.func" && (attr::flag(op, "gpu.kernel") || attr::flag(op, "kernel")))
        || attr::get(op, "spirv.entry_point_abi").is_some()
}

fn can_run(op: &Op) -> bool {
    if matches!(attr::get(op, "sym_visibility"), Some(Attr::Str(text)) if &**text == "private")
        && !is_kernel(op)
    {
        return false;
    }
    let gives_nothing = function_type(op).is_some_and(|(_, results)| results.is_empty());
    gives_nothing && op.regions.first().is_some_and(|region| !region.blocks.is_empty())
}

/// The types of arguments and results.
pub(super) fn function_type(op: &Op) -> Option<(&[Type], &[Type])> {
    match attr::get(op, "function_type") {
        Some(Attr::Type(Type::Function(args, results))) => Some((args, results)),
        _ => None,
    }
}
