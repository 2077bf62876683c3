//! Code for every processor that there is a name for, wherever the tests run: the module of every file test, at its
//! first subgroup size, and random ones. No object asks for a function that its loader does not offer, and none has an
//! instruction that its processor lacks.
//!
//! The cases are shared out between the names of an architecture, so that each is made for one of each, and the random
//! modules between all names; `PHALANX_ALL_CASES=1` gives all of them to each.

use crate::judge::Judge;
use crate::kernel::{Ext, Kernel};
use inkwell::context::Context;
use inkwell::targets::{CodeModel, FileType, RelocMode, TargetTriple};
use phalanx_back_llvm::{Options, Target, compile};
use phalanx_filetest::compile::{Source, load};
use phalanx_filetest::directive::{Command, TargetKind, TestFile};
use phalanx_filetest::runner::{discover, read};
use phalanx_ir::random::{Config, case};
use phalanx_ir::{Scalar, UnaryOp, Verified, passes};
use phalanx_kernels::Processor;
use std::collections::BTreeSet;
use std::path::Path;

/// Random modules for each processor.
const RANDOM_MODULES: usize = 15;

/// Makes code of the corpus for a processor and judges it.
fn check(name: &str) {
    let target = Target::new(Processor::named(name).unwrap());
    let mut judge = Judge::new(&target);
    let mut objects = 0;
    let mut make = |place: &str, module: Verified| {
        // Should LLVM not survive it, this is the last line.
        println!("{place}");
        let strict = passes::Options { verify: true, ..passes::Options::default() };
        let module = passes::optimize(module, &strict).unwrap();
        match compile(&module, &target, &Options::default()) {
            Ok(compiled) => {
                objects += 1;
                judge.read(&compiled.object, place);
            }
            Err(phalanx_back_llvm::Error::Unsupported { .. }) => {}
            Err(error) => panic!("{place} for {name}: {error}"),
        }
    };
    let is_all = std::env::var_os("PHALANX_ALL_CASES").is_some_and(|value| value != "0");
    let place = |list: &[Processor]| list.iter().position(|processor| processor.name() == name).unwrap();
    let peers: Vec<_> =
        Processor::all().iter().copied().filter(|peer| peer.arch() == target.processor().arch()).collect();
    let (number, share) = (place(Processor::all()), place(&peers));
    let is_mine = |file: usize, case: usize| is_all || (file + case) % peers.len() == share;
    for (place, module) in file_modules(&is_mine) {
        make(&place, module);
    }
    let count = Processor::all().len() * RANDOM_MODULES;
    for seed in (0..count).filter(|seed| is_all || seed % Processor::all().len() == number) {
        make(&format!("random {seed}"), case(seed as u64, &Config::default()).unwrap().module);
    }
    println!("{name}: {objects} objects, {} instructions", judge.instructions);
    assert!(objects > 100, "only {objects} objects");
    assert_none(&judge.findings());
}

fn assert_none(findings: &BTreeSet<String>) {
    let list: Vec<_> = findings.iter().take(50).map(String::as_str).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), list.join("\n"));
}

/// What the file tests run on the CPU, of each file, by its number, the cases of these numbers.
fn file_modules(is_mine: &dyn Fn(usize, usize) -> bool) -> impl Iterator<Item = (String, Verified)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let files = discover(&root).unwrap();
    assert!(!files.is_empty(), "no file tests");
    let tests = files.into_iter().enumerate().flat_map(move |(file, path)| {
        let cases = read(&path).unwrap_or_default().into_iter().enumerate();
        cases.filter(move |(case, _)| is_mine(file, *case))
    });
    tests.filter_map(|(_, test)| {
        let runs = test.commands.contains(&Command::Run) && test.targets.contains(&TargetKind::Cpu);
        let module = if runs { module_of(&test) } else { None };
        Some((format!("{} {}", test.path.display(), test.case), module?))
    })
}

fn module_of(test: &TestFile) -> Option<Verified> {
    let source: Source = load(test).ok()?;
    source.module(test, test.subgroups.first().copied()).ok()
}

/// One test for each name, so that they run side by side.
macro_rules! names {
    ($($test:ident $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )*

        #[test]
        fn every_name_has_a_test() {
            let names: Vec<_> = Processor::all().iter().map(|processor| processor.name()).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

names! {
    x86_64_v2 "x86-64-v2",
    haswell "haswell",
    alderlake "alderlake",
    skylake_avx512 "skylake-avx512",
    icelake_server "icelake-server",
    sapphirerapids "sapphirerapids",
    graniterapids "graniterapids",
    znver4 "znver4",
    znver5 "znver5",
    cortex_a72 "cortex-a72",
    neoverse_n1 "neoverse-n1",
    apple_m1 "apple-m1",
    neoverse_v1 "neoverse-v1",
}

/// Code of a processor is judged as if it were another's: the judge sees what that one lacks.
fn misjudge(made_for: &str, judged_as: &str) -> BTreeSet<String> {
    let [made_for, judged_as] =
        [made_for, judged_as].map(|name| Target::new(Processor::named(name).unwrap()));
    let module = Kernel::new(32, [32, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let from = b.at(0, i, 2);
        let x = b.load(from, Scalar::F16);
        let root = b.unary(UnaryOp::Sqrt, x);
        b.put(1, i, root);
    });
    let mut judge = Judge::new(&judged_as);
    judge.read(&compile(&module, &made_for, &Options::default()).unwrap().object, "the module");
    judge.findings()
}

#[test]
fn the_judge_finds_foreign_instructions() {
    for name in ["x86-64-v2", "haswell", "sapphirerapids", "neoverse-n1"] {
        assert_none(&misjudge(name, name));
    }
    for (made_for, judged_as, finding) in [
        ("haswell", "x86-64-v2", "needs f16c"),
        ("skylake-avx512", "haswell", "needs avx512f"),
        ("sapphirerapids", "znver4", "needs avx512fp16"),
        ("neoverse-n1", "cortex-a72", "is no instruction of cortex-a72"),
    ] {
        let findings = misjudge(made_for, judged_as);
        let is_found = findings.iter().any(|text| text.contains(finding));
        assert!(is_found, "{made_for} as {judged_as}: {findings:?}");
    }
}

/// An object that calls a function of C, as LLVM makes it where a processor has no remainder of floats.
#[test]
fn the_judge_finds_functions_that_nobody_offers() {
    let target = Target::new(Processor::named("haswell").unwrap());
    let cx = Context::create();
    let module = cx.create_module("calls");
    let float = cx.f32_type();
    let function = module.add_function("f", float.fn_type(&[float.into(), float.into()], false), None);
    let builder = cx.create_builder();
    builder.position_at_end(cx.append_basic_block(function, ""));
    let [x, y] = [0, 1].map(|i| function.get_nth_param(i).unwrap().into_float_value());
    let rest = builder.build_float_rem(x, y, "").unwrap();
    builder.build_return(Some(&rest)).unwrap();
    let triple = TargetTriple::create(target.triple());
    let llvm = inkwell::targets::Target::from_triple(&triple).unwrap();
    let (level, features) = (inkwell::OptimizationLevel::None, target.feature_string());
    let machine = llvm
        .create_target_machine(&triple, target.cpu(), &features, level, RelocMode::PIC, CodeModel::Small)
        .unwrap();
    let object = machine.write_to_memory_buffer(&module, FileType::Object).unwrap();
    let mut judge = Judge::new(&target);
    judge.read(object.as_slice(), "the module");
    assert!(judge.findings().contains("the module: calls `fmodf`"));
}
