//! Text to module. The result obeys the grammar, not yet the rules: it goes to the verifier.

use super::ParseError;
use super::literal;
use super::ops::{Attrs, attrs, mnemonic, templates};
use super::token::{Kind, Token, is_name, tokens};
use crate::distribution::Distribution;
use crate::entities::{Binding, Block, Label, Value, Var};
use crate::module::{BindingInfo, BindingKind, Function, Module, SourceLoc};
use crate::op::Op;
use crate::types::{MatType, Scalar, Scope, Space, Type, Use};
use crate::verify::MAX_DEPTH;
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// Reads a module.
///
/// # Errors
///
/// Where the text departs from the grammar, or names what it has not introduced.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        module: Module { workgroup_size: [1; 3], subgroup_size: 32, ..Module::default() },
        ops: templates().into_iter().map(|op| (mnemonic(&op), op)).collect(),
        values: BTreeMap::new(),
        vars: BTreeMap::new(),
        bindings: BTreeMap::new(),
        labels: BTreeMap::new(),
        depth: 0,
    };
    parser.head()?;
    let entry = parser.module.body.new_block();
    parser.block(entry)?;
    if parser.kind() != &Kind::End {
        return Err(parser.wrong("the end"));
    }
    Ok(parser.module)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    module: Module,
    ops: BTreeMap<&'static str, Op>,
    values: BTreeMap<String, Value>,
    vars: BTreeMap<String, Var>,
    bindings: BTreeMap<String, Binding>,
    labels: BTreeMap<String, Label>,
    depth: usize,
}

impl Parser {
    // ── tokens ──

    fn token(&self) -> &Token {
        // The last token is the end, and is never passed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &Kind {
        &self.token().kind
    }

    fn next(&mut self) -> Token {
        let token = self.token().clone();
        self.at += 1;
        token
    }

    fn wrong(&self, expected: impl Into<String>) -> ParseError {
        wrong(self.token(), expected)
    }

    fn mark(&mut self, mark: char) -> Result<()> {
        if !self.eat(mark) {
            return Err(self.wrong(format!("`{mark}`")));
        }
        Ok(())
    }

    fn eat(&mut self, mark: char) -> bool {
        let is_there = *self.kind() == Kind::Mark(mark);
        self.at += usize::from(is_there);
        is_there
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.kind(), Kind::Word(w) if w == word);
        self.at += usize::from(is_there);
        is_there
    }

    fn word(&mut self, expected: &str) -> Result<String> {
        match self.kind() {
            Kind::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.wrong(expected)),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.kind() {
            Kind::Text(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.wrong("a string")),
        }
    }

    fn name(&mut self, sigil: char, expected: &str) -> Result<String> {
        match self.kind() {
            Kind::Name(s, name) if *s == sigil => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong(expected)),
        }
    }

    fn number(&mut self) -> Result<u32> {
        let number = match self.kind() {
            Kind::Word(word) => word.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.wrong("a number"))?;
        self.at += 1;
        Ok(number)
    }

    // ── head ──

    fn head(&mut self) -> Result<()> {
        while *self.kind() != Kind::Mark('{') {
            let expected = "`kernel`, `workgroup_size`, `subgroup_size`, `components`, `shared`, `push`, \
                            `binding`, `format`, `loc`, `var` or `{`";
            match self.word(expected)?.as_str() {
                "kernel" => self.module.name = self.text()?,
                "workgroup_size" => {
                    self.module.workgroup_size = [self.number()?, self.number()?, self.number()?];
                }
                "subgroup_size" => self.module.subgroup_size = self.number()?,
                "components" => {
                    self.module.distribution = self.one_of(&Distribution::ALL.map(|d| (d.name(), d)))?;
                }
                "shared" => self.module.shared_bytes = self.number()?,
                "push" => self.module.push_bytes = self.number()?,
                "binding" => self.binding()?,
                "format" => {
                    let text = self.text()?;
                    self.module.formats.push(text);
                }
                "loc" => self.loc()?,
                "var" => self.var()?,
                _ => {
                    self.at -= 1;
                    return Err(self.wrong(expected));
                }
            }
        }
        Ok(())
    }

    fn binding(&mut self) -> Result<()> {
        let name = self.word("a name for the binding")?;
        self.mark('=')?;
        let place = self.word("a set and a binding, `0.0`")?;
        let numbers = place.split_once('.').and_then(|(s, b)| s.parse().ok().zip(b.parse().ok()));
        let Some((set, binding)) = numbers else {
            self.at -= 1;
            return Err(self.wrong("a set and a binding, `0.0`"));
        };
        let expected = "`storage`, `uniform`, `sampler` or the kind of an image";
        let word = self.word(expected)?;
        let Some(kind) = BindingKind::from_name(&word) else {
            self.at -= 1;
            return Err(self.wrong(expected));
        };
        let writable = self.eat_word("writable");
        let mut count = Some(1);
        if self.eat_word("count") {
            self.mark('=')?;
            count = if self.eat('*') { None } else { Some(self.number()?) };
        }
        let label = if matches!(self.kind(), Kind::Text(_)) { self.text()? } else { String::new() };
        self.bindings.insert(name, Binding::new(self.module.bindings.len()));
        self.module.bindings.push(BindingInfo { set, binding, count, kind, writable, name: label });
        Ok(())
    }

    fn loc(&mut self) -> Result<()> {
        let next = self.module.locs.len() + 1;
        if *self.kind() != Kind::Name('!', next.to_string()) {
            return Err(self.wrong(format!("`!{next}`")));
        }
        self.at += 1;
        let (file, line, mut word) = (self.text()?, self.number()?, 0);
        if self.eat_word("word") {
            self.mark('=')?;
            word = self.number()?;
        }
        self.module.locs.push(SourceLoc { file, line, word });
        Ok(())
    }

    fn var(&mut self) -> Result<()> {
        let key = self.name('$', "a variable")?;
        self.mark(':')?;
        let ty = self.ty()?;
        let mut count = 1;
        if self.eat('[') {
            count = self.number()?;
            self.mark(']')?;
        }
        let mut name = if is_name(&key) { key.clone() } else { String::new() };
        if matches!(self.kind(), Kind::Text(_)) {
            name = self.text()?;
        }
        let var = self.module.body.new_var(ty, count, name);
        self.vars.insert(key, var);
        if self.eat('=') {
            let table = self.table(ty)?;
            self.module.body.vars[var.index()].table = Some(table);
        }
        Ok(())
    }

    fn table(&mut self, ty: Type) -> Result<Vec<u64>> {
        let mut table = Vec::new();
        self.mark('[')?;
        while !self.eat(']') {
            if !table.is_empty() {
                self.mark(',')?;
            }
            table.push(self.literal(ty.scalar())?);
        }
        Ok(table)
    }

    /// A constant; without a scalar type only its bits.
    fn literal(&mut self, ty: Option<Scalar>) -> Result<u64> {
        let bits = match (self.kind(), ty) {
            (Kind::Word(word), Some(ty)) => literal::parse(ty, word),
            (Kind::Word(word), None) => {
                word.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        let expected = ty.map_or_else(|| "bits in hexadecimal".into(), |ty| format!("a constant of {ty}"));
        let bits = bits.ok_or_else(|| self.wrong(expected))?;
        self.at += 1;
        Ok(bits)
    }

    // ── types ──

    fn ty(&mut self) -> Result<Type> {
        let expected = "a type";
        let word = self.word(expected)?;
        match word.as_str() {
            "ptr" => {
                self.mark('<')?;
                let spaces = [Space::Buffer, Space::Push, Space::Shared, Space::Global];
                let space = self.one_of(&spaces.map(|s| (s.name(), s)))?;
                self.mark('>')?;
                Ok(Type::Ptr(space))
            }
            "mat" => self.mat().map(Type::Mat),
            _ => match scalar(&word) {
                Some(scalar) => Ok(scalar.into()),
                None => {
                    self.at -= 1;
                    Err(self.wrong(expected))
                }
            },
        }
    }

    fn mat(&mut self) -> Result<MatType> {
        self.mark('<')?;
        let expected = "rows, columns and component type, `16x16xf32`";
        let shape = self.word(expected)?;
        let mut parts = shape.splitn(3, 'x');
        let mut part = || parts.next().unwrap_or_default();
        let (rows, cols, elem) = (part().parse().ok(), part().parse().ok(), scalar(part()));
        let Some(((rows, cols), elem)) = rows.zip(cols).zip(elem) else {
            self.at -= 1;
            return Err(self.wrong(expected));
        };
        self.mark(',')?;
        let scope = self.one_of(&super::ops::SCOPES.map(|s: Scope| (s.name(), s)))?;
        self.mark(',')?;
        let uses = [Use::A, Use::B, Use::Accumulator, Use::Any];
        let use_ = self.one_of(&uses.map(|u| (u.name(), u)))?;
        self.mark('>')?;
        Ok(MatType { elem, scope, rows, cols, use_ })
    }

    fn one_of<T: Copy>(&mut self, words: &[(&str, T)]) -> Result<T> {
        let found = match self.kind() {
            Kind::Word(word) => words.iter().find(|(name, _)| name == word),
            _ => None,
        };
        let (_, value) = found.ok_or_else(|| self.wrong(list(words)))?;
        self.at += 1;
        Ok(*value)
    }

    // ── code ──

    fn block(&mut self, block: Block) -> Result<()> {
        self.mark('{')?;
        self.depth += 1;
        if self.depth > MAX_DEPTH + 2 {
            return Err(self.wrong("less nesting"));
        }
        while !self.eat('}') {
            self.inst(block)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn inst(&mut self, block: Block) -> Result<()> {
        let results = self.results()?;
        let at = self.token().clone();
        let name = self.word("an operation or `}`")?;
        let mut op = match name.as_str() {
            "const" => {
                let ty = results.first().and_then(|(_, ty)| ty.scalar());
                Op::Const(self.literal(ty)?)
            }
            "if" => Op::If { then: Function::ENTRY, otherwise: Function::ENTRY },
            "block" => Op::Block { label: self.new_label()?, body: Function::ENTRY },
            "loop" => Op::Loop { label: self.new_label()?, body: Function::ENTRY },
            "br" => Op::Br(self.old_label()?),
            _ => self.op(&name, &at)?,
        };
        let args = self.operands(at.line)?;
        let exact = self.eat_word("exact");
        let loc = self.source(at.line)?;
        op.replace_bodies(|| self.module.body.new_block());
        let (names, types): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let func = &mut self.module.body;
        let inst = func.new_inst(op.clone(), &args, &types, loc);
        func.insts[inst.index()].exact = exact;
        func.blocks[block.index()].push(inst);
        for (name, value) in names.into_iter().zip(func.inst(inst).results.clone()) {
            self.values.insert(name, value);
        }
        self.bodies(&op)
    }

    fn bodies(&mut self, op: &Op) -> Result<()> {
        for (i, body) in op.bodies().enumerate() {
            if i == 0 || self.eat_word("else") {
                self.block(body)?;
            }
        }
        Ok(())
    }

    fn results(&mut self) -> Result<Vec<(String, Type)>> {
        let mut results = Vec::new();
        while matches!(self.kind(), Kind::Name('%', _)) {
            let name = self.name('%', "a value")?;
            if self.values.contains_key(&name) || results.iter().any(|(n, _)| *n == name) {
                self.at -= 1;
                return Err(self.wrong("a value that is not defined yet"));
            }
            self.mark(':')?;
            results.push((name, self.ty()?));
            if !self.eat(',') {
                self.mark('=')?;
                break;
            }
        }
        Ok(results)
    }

    /// The operands, on the line of their operation.
    fn operands(&mut self, line: u32) -> Result<Vec<Value>> {
        let mut args = Vec::new();
        let is_operand = |t: &Token| matches!(t.kind, Kind::Name('%', _)) && t.line == line;
        if !is_operand(self.token()) {
            return Ok(args);
        }
        loop {
            let token = self.token().clone();
            let name = self.name('%', "a value")?;
            let value = self.values.get(&name).ok_or_else(|| wrong(&token, "a value that is defined"))?;
            args.push(*value);
            if !self.eat(',') {
                return Ok(args);
            }
        }
    }

    fn source(&mut self, line: u32) -> Result<u32> {
        if !matches!(self.kind(), Kind::Name('!', _)) || self.token().line != line {
            return Ok(0);
        }
        let token = self.token().clone();
        let number = self.name('!', "a source position")?;
        number.parse().map_err(|_| wrong(&token, "the number of a source position"))
    }

    fn new_label(&mut self) -> Result<Label> {
        let name = self.name('@', "a label")?;
        if self.labels.contains_key(&name) {
            self.at -= 1;
            return Err(self.wrong("a label that is not used yet"));
        }
        let label = self.module.body.new_label();
        self.labels.insert(name, label);
        Ok(label)
    }

    fn old_label(&mut self) -> Result<Label> {
        let token = self.token().clone();
        let name = self.name('@', "a label")?;
        self.labels.get(&name).copied().ok_or_else(|| wrong(&token, "a label of a construct before"))
    }

    fn op(&mut self, name: &str, at: &Token) -> Result<Op> {
        let Some(op) = self.ops.get(name) else { return Err(wrong(at, "the name of an operation")) };
        let mut op = op.clone();
        let items = self.attr_items(at.line)?;
        let end = self.token().clone();
        let mut list = AttrItems { items, end, vars: &self.vars, bindings: &self.bindings };
        attrs(&mut op, &mut list)?;
        match list.items.pop_front() {
            Some(item) => Err(wrong(item.token(), format!("nothing more for `{name}`"))),
            None => Ok(op),
        }
    }

    fn attr_items(&mut self, line: u32) -> Result<VecDeque<Item>> {
        let mut items = VecDeque::new();
        if self.token().line != line || !self.eat('<') {
            return Ok(items);
        }
        loop {
            let token = self.next();
            if !matches!(token.kind, Kind::Word(_) | Kind::Name('$', _)) {
                return Err(wrong(&token, "an attribute"));
            }
            items.push_back(if self.eat('=') { Item::Pair(token, self.next()) } else { Item::Word(token) });
            if self.eat('>') {
                return Ok(items);
            }
            self.mark(',')?;
        }
    }
}

fn wrong(token: &Token, expected: impl Into<String>) -> ParseError {
    let (line, column) = (token.line, token.column);
    ParseError { line, column, expected: expected.into(), found: token.kind.describe() }
}

fn scalar(name: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|s| s.name() == name)
}

fn list<T>(words: &[(&str, T)]) -> String {
    let names: Vec<_> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

/// An attribute as it stands in the text.
enum Item {
    Word(Token),
    Pair(Token, Token),
}

impl Item {
    fn token(&self) -> &Token {
        match self {
            Self::Word(token) | Self::Pair(token, _) => token,
        }
    }
}

/// The attributes of an operation, to be read.
struct AttrItems<'p> {
    items: VecDeque<Item>,
    end: Token,
    vars: &'p BTreeMap<String, Var>,
    bindings: &'p BTreeMap<String, Binding>,
}

impl AttrItems<'_> {
    fn take<T>(&mut self, expected: &str, read: impl FnOnce(&Kind) -> Option<T>) -> Result<T> {
        let read = match self.items.front() {
            Some(Item::Word(token)) => read(&token.kind),
            Some(Item::Pair(..)) | None => None,
        };
        match read {
            Some(value) => {
                self.items.pop_front();
                Ok(value)
            }
            None => Err(wrong(self.items.front().map_or(&self.end, Item::token), expected)),
        }
    }

    /// The value of `name=value`, if that comes next.
    fn pair<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(Item::Pair(key, value)) = self.items.front() else { return Ok(None) };
        if !matches!(&key.kind, Kind::Word(word) if word == name) {
            return Ok(None);
        }
        let number = match &value.kind {
            Kind::Word(word) => word.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong(value, "a number"))?;
        self.items.pop_front();
        Ok(Some(number))
    }

    fn required<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        let at = self.items.front().map_or(&self.end, Item::token);
        value.ok_or_else(|| wrong(at, format!("`{name}=`")))
    }
}

impl Attrs for AttrItems<'_> {
    type Error = ParseError;

    fn var(&mut self, var: &mut Var) -> Result<()> {
        let vars = self.vars;
        *var = self.take("a variable of the module", |kind| match kind {
            Kind::Name('$', name) => vars.get(name).copied(),
            _ => None,
        })?;
        Ok(())
    }

    fn binding(&mut self, binding: &mut Binding) -> Result<()> {
        let bindings = self.bindings;
        *binding = self.take("a binding of the module", |kind| match kind {
            Kind::Word(name) => bindings.get(name).copied(),
            _ => None,
        })?;
        Ok(())
    }

    fn flag(&mut self, name: &'static str, on: &mut bool) -> Result<()> {
        *on = matches!(self.items.front(), Some(Item::Word(Token { kind: Kind::Word(w), .. })) if w == name);
        if *on {
            self.items.pop_front();
        }
        Ok(())
    }

    fn word<T: Copy + PartialEq>(&mut self, words: &[(&'static str, T)], value: &mut T) -> Result<()> {
        *value = self.take(&list(words), |kind| match kind {
            Kind::Word(word) => words.iter().find(|(name, _)| name == word).map(|(_, v)| *v),
            _ => None,
        })?;
        Ok(())
    }

    fn number(&mut self, name: &'static str, value: &mut i64, default: Option<i64>) -> Result<()> {
        let found = self.pair(name)?;
        *value = self.required(name, found.or(default))?;
        Ok(())
    }

    fn size(&mut self, name: &'static str, value: &mut u32, default: Option<u32>) -> Result<()> {
        let found = self.pair(name)?;
        *value = self.required(name, found.or(default))?;
        Ok(())
    }
}
