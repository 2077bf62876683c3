//! Random modules on the interpreter: passes keep their results, and what the uniformity analysis
//! says holds.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests may panic as a test may")]

use phalanx_interp::{Limits, Memory, run};
use phalanx_ir::passes::{self, Options};
use phalanx_ir::random::{Case, Config, case};
use phalanx_ir::{
    BinaryOp, Binding, Block, Builder, Builtin, CompareOp, ConvertKind, Function, Guard, Inst, Label,
    MemFlags, Module, Op, Scalar, Shape, Space, SubgroupOp, Type, UnaryOp, Uniformity, Value, Var, Verified,
    text, verify,
};

/// How many modules each test makes; more with `PHALANX_RANDOM_CASES`.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("PHALANX_RANDOM_CASES").ok().and_then(|n| n.parse().ok());
    0..count.unwrap_or(200)
}

/// A configuration for each seed.
fn config(seed: u64) -> Config {
    // The interpreter begins with zeros.
    let all = Config { unspecified: seed.is_multiple_of(3), ..Config::default() };
    if let Some(n) = std::env::var("PHALANX_RANDOM_STATEMENTS").ok().and_then(|n| n.parse().ok()) {
        return Config { statements: n, depth: 3, ..all };
    }
    match seed % 4 {
        0 => all,
        1 => Config { matrices: false, barriers: false, ..all },
        2 => Config { matrices: false, floats: false, statements: 30, ..all },
        _ => Config { barriers: false, matrices: false, subgroups: false, depth: 6, ..all },
    }
}

fn make(seed: u64) -> Case {
    case(seed, &config(seed)).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// The buffers after a run.
fn results(case: &Case, module: &Verified) -> Vec<Vec<u8>> {
    try_results(case, module).unwrap_or_else(|| panic!("does not end\n{}", **module))
}

fn try_results(case: &Case, module: &Verified) -> Option<Vec<Vec<u8>>> {
    let mut buffers = case.buffers.clone();
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 44);
        memory.bind_buffer(Binding::new(i), buffer);
    }
    memory.set_push(&case.push);
    let limits = Limits { max_steps: 20_000_000, ..Limits::default() };
    run(module, &mut memory, case.groups, [0; 3], &limits).ok()?;
    drop(memory);
    Some(buffers)
}

#[test]
fn texts_round_trip() {
    for seed in seeds() {
        let module = make(seed).module;
        let text = module.to_string();
        let parsed = text::parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(parsed.to_string(), text, "seed {seed}");
        assert_eq!(parsed.body, passes::compact_keeping_vars(&module.body), "seed {seed}");
    }
}

#[test]
fn passes_keep_results() {
    for seed in seeds() {
        let case = make(seed);
        let options = Options { verify: true, ..Options::default() };
        let optimised = passes::optimize(case.module.clone(), &options)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *case.module));
        let (before, after) = (results(&case, &case.module), results(&case, &optimised));
        if before != after {
            let optimise = |c: &Case| passes::optimize(c.module.clone(), &options).unwrap();
            let case = reduce(&case, |c| {
                let limits = try_results(c, &c.module);
                limits.is_some() && limits != try_results(c, &optimise(c))
            });
            panic!("seed {seed}\n{}\n{}", *case.module, *optimise(&case));
        }
    }
}

#[test]
fn expansion_keeps_results() {
    let mut expanded = 0;
    // Those that may hold everything.
    for seed in seeds().map(|seed| 4 * seed) {
        let case = make(seed);
        let options = Options { verify: true, ..Options::default() };
        let expand = |c: &Case| {
            passes::expand(&c.module, passes::Scratch::of(&c.module), &options)
                .unwrap_or_else(|e| panic!("seed {seed}: {e}"))
        };
        let Some(after) = expand(&case) else { continue };
        expanded += 1;
        if results(&case, &case.module) != results(&case, &after) {
            let case = reduce(&case, |c| {
                let before = try_results(c, &c.module);
                expand(c).is_some_and(|after| before.is_some() && before != try_results(c, &after))
            });
            panic!("seed {seed}\n{}\n{}", *case.module, **expand(&case).as_ref().unwrap_or(&after));
        }
    }
    assert!(expanded > 5, "{expanded}");
}

#[test]
fn spreading_keeps_results() {
    let mut count = 0;
    let options = Options { verify: true, ..Options::default() };
    let spread = |c: &Case| passes::spread(&c.module, &options).ok().flatten();
    // Those that may hold everything.
    for seed in seeds().map(|seed| 4 * seed) {
        let case = make(seed);
        let Some(after) = spread(&case) else { continue };
        count += 1;
        if results(&case, &case.module) != results(&case, &after) {
            let case = reduce(&case, |c| {
                let before = try_results(c, &c.module);
                spread(c).is_some_and(|after| before.is_some() && before != try_results(c, &after))
            });
            panic!("seed {seed}\n{}\n{}", *case.module, **spread(&case).as_ref().unwrap_or(&after));
        }
    }
    assert!(count > 10, "{count}");
}

/// Removes instructions, or makes them constants, as long as `fails` says that the rest still does.
fn reduce(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut case = case.clone();
    let mut is_smaller = true;
    while is_smaller {
        is_smaller = false;
        for block in 0..case.module.body.blocks.len() {
            for at in (0..case.module.body.blocks[block].len()).rev() {
                let smaller = smaller(&case.module, block, at);
                let smaller = smaller.into_iter().filter_map(|m| verify(m).ok());
                let mut smaller = smaller.map(|module| Case { module, ..case.clone() });
                if let Some(smaller) = smaller.find(|c| fails(c)) {
                    case = smaller;
                    is_smaller = true;
                }
            }
        }
    }
    case
}

/// Ways to do with less of an instruction.
fn smaller(module: &Module, block: usize, at: usize) -> Vec<Module> {
    let mut without = module.clone();
    let inst = without.body.blocks[block].remove(at);
    let mut all = vec![without];
    let info = module.body.inst(inst);
    if info.results.len() == 1 && !info.args.is_empty() {
        let mut constant = module.clone();
        constant.body.insts[inst.index()].op = Op::Const(0);
        constant.body.insts[inst.index()].args.clear();
        all.push(constant);
    }
    // The bodies of a construct in its place.
    for body in info.op.bodies() {
        let mut inlined = module.clone();
        let insts = std::mem::take(&mut inlined.body.blocks[body.index()]);
        inlined.body.blocks[block].splice(at..=at, insts);
        all.push(inlined);
    }
    all
}

/// In a report, that it is about a block.
const OF_BLOCK: u32 = 1 << 30;

/// Adds a check behind each scalar that the analysis has something to say about, and at the head of each block that
/// all lanes shall execute. A check that fails writes the number of the value or of the block to the third buffer.
fn with_checks(module: &Module) -> Module {
    let uniformity = Uniformity::analyse(module);
    let mut checked = module.clone();
    let code = std::mem::take(&mut checked.body.blocks[0]);
    let entered = ballot(&mut Builder::new(&mut checked.body));
    checked.body.blocks[0].extend(code);
    let mut inserted = Inserter { uniformity: &uniformity, values: module.body.values.len(), entered };
    let mut blocks = Vec::new();
    outside_regions(&module.body, Function::ENTRY, &mut blocks);
    for block in blocks {
        inserted.block(&mut checked, block);
    }
    checked
}

/// The blocks whose invocations act together.
fn outside_regions(func: &Function, block: Block, blocks: &mut Vec<Block>) {
    blocks.push(block);
    for &inst in func.block(block) {
        let op = &func.inst(inst).op;
        if matches!(op, Op::If { .. } | Op::Block { .. } | Op::Loop { .. }) {
            op.bodies().for_each(|body| outside_regions(func, body, blocks));
        }
    }
}

/// The active lanes, as four words.
fn ballot(b: &mut Builder<'_>) -> Vec<Value> {
    let t = b.constant(Scalar::Bool, 1);
    b.values(Op::Subgroup(SubgroupOp::Ballot), &[t], &[Type::I32; 4]).to_vec()
}

struct Inserter<'u> {
    uniformity: &'u Uniformity,
    /// How many values there are in the module that was analysed.
    values: usize,
    /// The lanes that entered the function.
    entered: Vec<Value>,
}

impl Inserter<'_> {
    fn block(&mut self, module: &mut Module, block: Block) {
        let insts = std::mem::take(&mut module.body.blocks[block.index()]);
        if block != Function::ENTRY && !self.uniformity.is_divergent_block(block) {
            let mut b = Builder { block, ..Builder::new(&mut module.body) };
            self.all_are_here(&mut b, block);
        }
        for inst in insts {
            module.body.blocks[block.index()].push(inst);
            let results = module.body.inst(inst).results.clone();
            let mut b = Builder { block, ..Builder::new(&mut module.body) };
            let known = self.values;
            for value in results.into_iter().filter(|v| v.index() < known) {
                self.value(&mut b, value);
            }
        }
    }

    fn all_are_here(&self, b: &mut Builder<'_>, block: Block) {
        let here = ballot(b);
        let mut holds = b.constant(Scalar::Bool, 1);
        for (&now, &before) in here.iter().zip(&self.entered) {
            let same = b.compare(CompareOp::Ieq, now, before);
            holds = b.binary(BinaryOp::And, holds, same);
        }
        let number = b.i32((block.index() as u32 | OF_BLOCK).cast_signed());
        b.if_else(holds, |_| {}, |b| report(b, number));
    }

    fn value(&mut self, b: &mut Builder<'_>, value: Value) {
        let (ty, shape) = (b.func.ty(value), self.uniformity.value(value));
        let bits = match (ty, shape) {
            (Type::Mat(_), _) | (_, Shape::Varying) => return,
            _ if b.func.const_bits(value).is_some() => return,
            (Type::Ptr(_), _) => {
                let base = b.func.def(value).args.first().copied();
                match (b.func.def(value).op.clone(), base) {
                    // Only a difference of pointers into one object is a number.
                    (Op::PtrAdd { .. }, Some(base)) if self.uniformity.is_uniform(base) => {
                        b.value(Op::PtrDiff, &[value, base], Type::I64)
                    }
                    _ => return,
                }
            }
            (Type::Scalar(s), _) if s.is_int() && s != Scalar::I64 => {
                b.convert(ConvertKind::SToS, value, Scalar::I64)
            }
            (Type::Scalar(Scalar::Bool), _) => {
                let (one, zero) = (b.i64(1), b.i64(0));
                b.select(value, one, zero)
            }
            (Type::Scalar(s), _) if s.is_float() => {
                // A NaN is one, whatever its bits.
                let int = Scalar::int(s.bits()).unwrap();
                let (nan, zero) = (b.unary(UnaryOp::IsNan, value), b.constant(s, 0));
                let x = b.select(nan, zero, value);
                let x = b.value(Op::Bitcast, &[x], int.into());
                if int == Scalar::I64 { x } else { b.convert(ConvertKind::UToU, x, Scalar::I64) }
            }
            _ => value,
        };
        let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
        let lane = b.convert(ConvertKind::SToS, lane, Scalar::I64);
        let base = match shape {
            Shape::Affine { stride } => {
                let stride = b.i64(stride);
                let part = b.binary(BinaryOp::Imul, lane, stride);
                let base = b.binary(BinaryOp::Isub, bits, part);
                // It wraps at its own width.
                match ty.scalar() {
                    Some(s) if s != Scalar::I64 => b.convert(ConvertKind::SToS, base, s),
                    _ => base,
                }
            }
            Shape::Bits { steps } => {
                let mut base = bits;
                for (k, step) in (0..).zip(steps) {
                    let (k, one, step) = (b.i64(k), b.i64(1), b.i64(step));
                    let bit = b.binary(BinaryOp::Lshr, lane, k);
                    let bit = b.binary(BinaryOp::And, bit, one);
                    let part = b.binary(BinaryOp::Imul, bit, step);
                    base = b.binary(BinaryOp::Isub, base, part);
                }
                match ty.scalar() {
                    Some(s) if s != Scalar::I64 => b.convert(ConvertKind::SToS, base, s),
                    _ => base,
                }
            }
            Shape::Uniform | Shape::Varying => bits,
        };
        let same = b.value(Op::Subgroup(SubgroupOp::AllEqual), &[base], Type::BOOL);
        let mut holds = same;
        if let Type::Scalar(s) = ty
            && s.is_int()
        {
            let (lo, hi) = self.uniformity.range(value);
            let (lo, hi) = (b.i64(lo), b.i64(hi));
            let above = b.compare(CompareOp::Sle, lo, bits);
            let below = b.compare(CompareOp::Sle, bits, hi);
            holds = b.binary(BinaryOp::And, holds, above);
            holds = b.binary(BinaryOp::And, holds, below);
            let (low, zero) =
                (b.i64(((1_u64 << self.uniformity.align_log2(value)) - 1).cast_signed()), b.i64(0));
            let is_wide = b.func.ty(base) == Type::I64;
            let wide = if is_wide { base } else { b.convert(ConvertKind::SToS, base, Scalar::I64) };
            let odd = b.binary(BinaryOp::And, wide, low);
            let is_aligned = b.compare(CompareOp::Ieq, odd, zero);
            holds = b.binary(BinaryOp::And, holds, is_aligned);
        }
        // Guards are conditions; without them nothing is claimed.
        for &guard in self.uniformity.guards(value) {
            let broken = self.guard_breaks(b, guard);
            holds = b.binary(BinaryOp::Or, holds, broken);
        }
        let number = b.i32(value.index() as i32);
        b.if_else(holds, |_| {}, |b| report(b, number));
    }

    /// Whether a value wraps between the first and the last lane.
    fn guard_breaks(&self, b: &mut Builder<'_>, guard: Guard) -> Value {
        let Shape::Affine { stride } = self.uniformity.value(guard.value) else {
            panic!("a guard is affine")
        };
        let kind = if guard.signed { ConvertKind::SToS } else { ConvertKind::UToU };
        let ty = b.func.ty(guard.value).scalar().unwrap();
        // The base: what lane 0 has.
        let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
        let lane = b.convert(ConvertKind::SToS, lane, Scalar::I64);
        let wide = b.convert(kind, guard.value, Scalar::I64);
        let step = b.i64(stride);
        let part = b.binary(BinaryOp::Imul, lane, step);
        let base = b.binary(BinaryOp::Isub, wide, part);
        let base = b.convert(ConvertKind::SToS, base, ty);
        let base = b.convert(kind, base, Scalar::I64);
        let span = b.i64(stride * (i64::from(self.uniformity.subgroup_size()) - 1));
        let last = b.binary(BinaryOp::Iadd, base, span);
        let narrow = b.convert(ConvertKind::SToS, last, ty);
        let again = b.convert(kind, narrow, Scalar::I64);
        b.compare(CompareOp::Ine, last, again)
    }
}

fn report(b: &mut Builder<'_>, number: Value) {
    let zero = b.i32(0);
    let ptr = b.value(Op::BufferPtr(Binding::new(2)), &[zero], Type::Ptr(Space::Buffer));
    b.effect(Op::Store(MemFlags::default()), &[ptr, number]);
}

#[test]
fn uniformity_holds() {
    for seed in seeds() {
        let mut case = make(seed);
        if seed % 2 == 1 {
            case.module = passes::optimize(case.module, &Options::default()).unwrap();
        }
        let mut module = (*case.module).clone();
        module.bindings.push(module.bindings[0].clone());
        let checked = verify(with_checks(&module)).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        case.buffers.push(vec![0xff; 4]);
        let found = results(&case, &checked)[2].clone();
        if found != [0xff; 4] {
            let number = u32::from_le_bytes(found.try_into().unwrap());
            if number & OF_BLOCK != 0 {
                panic!("seed {seed}: lanes are missing in block {}\n{module}", number ^ OF_BLOCK);
            }
            let value = Value::new(number as usize);
            let u = Uniformity::analyse(&module);
            let inst: Inst = module.body.values[value.index()].def;
            panic!(
                "seed {seed}: {value}, defined by {:?}, is not {:?} in {:?}\n{module}",
                module.body.inst(inst),
                u.value(value),
                u.range(value)
            );
        }
    }
}

/// A few of the indices and attributes of a module, changed.
fn damage(module: &mut Module, mut random: u64) {
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit.max(1)
    };
    let func = &mut module.body;
    let (insts, values, blocks) = (func.insts.len(), func.values.len(), func.blocks.len());
    let inst = below(insts);
    match below(12) {
        0 => func.insts[inst].args.push(Value::new(below(values * 2))),
        1 => func.insts[inst].results.push(Value::new(below(values * 2))),
        2 => {
            func.insts[inst].args.pop();
        }
        3 => {
            func.insts[inst].results.pop();
        }
        4 => func.insts[inst].op = func.insts[below(insts)].op.clone(),
        5 => func.blocks[below(blocks)].push(Inst::new(below(insts * 2))),
        6 => {
            func.insts[inst].op =
                Op::Loop { label: Label::new(below(50)), body: Block::new(below(blocks * 2)) }
        }
        7 => func.insts[inst].op = Op::VarLoad(Var::new(below(60))),
        8 => func.insts[inst].op = Op::SharedPtr { offset: below(400) as u32 * 99_999, bytes: u32::MAX },
        9 => func.values[below(values)].ty = Type::Ptr(Space::Shared),
        10 => func.insts[inst].loc = below(9) as u32 * 1000,
        _ => module.workgroup_size = [below(3) as u32, u32::MAX, u32::MAX],
    }
}

#[test]
fn damaged_modules_are_reported() {
    for seed in seeds() {
        let mut module = make(seed).module.into_inner();
        for i in 0..4 {
            damage(&mut module, seed * 4 + i);
            // Whatever it says, it says it without a panic; and so does the printer.
            let errors = verify::check(&module);
            let text = module.to_string();
            assert!(errors.iter().all(|e| !e.to_string().is_empty()) && !text.is_empty());
        }
    }
}

#[test]
fn damaged_texts_are_reported() {
    for seed in seeds() {
        let text = make(seed).module.to_string();
        let mut bytes = text.into_bytes();
        for i in 0..4 {
            let at = (seed as usize * 7919 + i * 104_729) % bytes.len();
            let with = (seed as usize * 31 + i * 17) % bytes.len();
            bytes[at] = bytes[with];
            if i == 3 {
                bytes.truncate(at);
            }
            if let Err(error) = text::parse(&String::from_utf8_lossy(&bytes)) {
                assert!(error.line > 0 && !error.to_string().is_empty());
            }
        }
    }
}
