//! Regions, blocks and their labels.

use std::collections::HashMap;

use super::error::{Parsed, SyntaxError};
use super::lexer::{Token, quoted};
use super::parser::Parser;
use super::scope::Use;
use crate::ast::{Block, Pos, Region, Successor, Type, ValueId};

/// The labels of a region. Blocks are numbered as they are first named; at the end of the region the numbers become
/// places.
#[derive(Debug, Default)]
pub(crate) struct Labels<'a> {
    numbers: HashMap<&'a str, usize>,
    /// Where each is first named, and the index of its block once it is there.
    blocks: Vec<(Pos, Option<usize>)>,
}

impl<'a> Labels<'a> {
    fn number(&mut self, name: &'a str, pos: Pos) -> usize {
        let next = self.blocks.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.blocks.push((pos, None));
        }
        number
    }
}

impl<'a> Parser<'a> {
    /// `{ … }`, whose entry block has the arguments that the operation names itself.
    pub(crate) fn region(&mut self, entry: Vec<(Option<Use<'a>>, Type)>, isolated: bool) -> Parsed<Region> {
        self.nest(|p| {
            p.scopes.open(isolated);
            p.labels.push(Labels::default());
            p.expect(b'{')?;
            let mut blocks = Vec::new();
            let labelled = matches!(p.word.token, Token::Label(_));
            if !entry.is_empty() || !(labelled || p.at(b'}')) {
                let mut args = Vec::with_capacity(entry.len());
                for (name, ty) in entry {
                    args.push(p.define_argument(name, ty)?);
                }
                let ops = p.ops_of_block()?;
                blocks.push(Block { args, ops });
            }
            while let Token::Label(name) = p.word.token {
                let block = p.block(name, blocks.len())?;
                blocks.push(block);
            }
            if !p.at(b'}') {
                return p.expected("an operation, a block or `}`");
            }
            let labels = p.labels.pop().unwrap_or_default();
            place_successors(&labels, &mut blocks)?;
            p.scopes.close(isolated)?;
            p.advance();
            Ok(Region { blocks })
        })
    }

    fn define_argument(&mut self, name: Option<Use<'a>>, ty: Type) -> Parsed<ValueId> {
        let pos = self.pos();
        match name {
            Some(name) => self.scopes.define(name, ty),
            None => Ok(self.scopes.unnamed(ty, pos)),
        }
    }

    fn block(&mut self, name: &'a str, index: usize) -> Parsed<Block> {
        let pos = self.pos();
        let Some(labels) = self.labels.last_mut() else {
            return self.expected("no label outside of regions");
        };
        let number = labels.number(name, pos);
        if let Some((_, place)) = labels.blocks.get_mut(number)
            && place.replace(index).is_some()
        {
            return self.expected("a label that is not defined yet");
        }
        self.advance();
        let mut args = Vec::new();
        if self.at(b'(') {
            self.list(b'(', b')', |p| {
                let name = p.operand()?;
                let ty = p.colon_type()?;
                p.optional_location()?;
                args.push(p.scopes.define(name, ty)?);
                Ok(())
            })?;
        }
        self.expect(b':')?;
        Ok(Block { args, ops: self.ops_of_block()? })
    }

    fn ops_of_block(&mut self) -> Parsed<Vec<crate::ast::Op>> {
        let mut ops = Vec::new();
        while !matches!(self.word.token, Token::Label(_) | Token::Mark(b'}') | Token::End) {
            ops.push(self.op()?);
        }
        Ok(ops)
    }

    /// `^label`
    pub(crate) fn label(&mut self) -> Parsed<Successor> {
        let Token::Label(name) = self.word.token else { return self.expected("a block's label `^name`") };
        let pos = self.pos();
        let Some(labels) = self.labels.last_mut() else {
            return self.expected("no label outside of regions");
        };
        let block = labels.number(name, pos);
        self.advance();
        Ok(Successor { block, args: Vec::new() })
    }
}

fn place_successors(labels: &Labels<'_>, blocks: &mut [Block]) -> Parsed<()> {
    if let Some(number) = labels.blocks.iter().position(|(_, place)| place.is_none()) {
        let (pos, _) = labels.blocks[number];
        let mut names = labels.numbers.iter().collect::<Vec<_>>();
        names.retain(|(_, known)| **known == number);
        let name = names.first().map_or_else(String::new, |(name, _)| quoted(&format!("^{name}")));
        return Err(SyntaxError::unexpected(
            pos,
            "a block of this region",
            format!("{name}, which it lacks"),
        ));
    }
    for successor in blocks.iter_mut().flat_map(|block| &mut block.ops).flat_map(|op| &mut op.successors) {
        if let Some((_, Some(place))) = labels.blocks.get(successor.block) {
            successor.block = *place;
        }
    }
    Ok(())
}
