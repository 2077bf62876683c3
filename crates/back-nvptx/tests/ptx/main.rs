//! What instructions are chosen, and what `ptxas` says of all that is made of the file tests.
//!
//! `ptxas` is taken from `PHALANX_PTXAS` or the path; without it, code is made and not assembled, and that is said.

mod boxes;
mod launch;
mod streamed;
mod within;

use phalanx_back_nvptx::{Arch, Error, compile};
use phalanx_filetest::compile::load;
use phalanx_filetest::harness::random_module;
use phalanx_filetest::runner::{discover, read};
use phalanx_ir::{Verified, passes, text, verify};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn module(source: &str) -> Verified {
    let module = text::parse(source).expect("the text is IR");
    let module = verify(module).expect("the module is right");
    optimized(module)
}

fn optimized(module: Verified) -> Verified {
    passes::optimize(module, &passes::Options::default()).expect("the passes are right")
}

/// The PTX of a module, which `ptxas` accepts where it is.
fn ptx(source: &str) -> String {
    let ptx = compile(&module(source), Arch::Sm80).expect("it is supported").ptx;
    if let Some(ptxas) = ptxas() {
        assert_eq!(assemble(&ptxas, &ptx, Arch::Sm80), Ok(()), "{ptx}");
    }
    ptx
}

/// A kernel of one work-group of 64 with a buffer to read and one to write.
fn kernel(body: &str) -> String {
    format!(
        "kernel \"main\"\nworkgroup_size 64 1 1\nsubgroup_size 32\nshared 256\npush 16\n\
         binding buf0 = 0.0 storage\nbinding buf1 = 0.1 storage writable\n\
         {{\n%z: i32 = const 0\n%i: i32 = global_invocation_id<x>\n\
         %in: ptr<buffer> = buffer_ptr<buf0> %z\n%out: ptr<buffer> = buffer_ptr<buf1> %z\n{body}\nreturn\n}}\n"
    )
}

fn assert_has(ptx: &str, instructions: &[&str]) {
    for instruction in instructions {
        assert!(ptx.contains(instruction), "no {instruction} in\n{ptx}");
    }
}

#[test]
fn four_words_are_one_access_where_their_place_allows_it() {
    let wide = ptx(&kernel(
        "%p: ptr<buffer> = ptr_add<scale=16> %in, %i\n%q: ptr<buffer> = ptr_add<scale=16> %out, %i\n\
         %a: f32, %b: f32, %c: f32, %d: f32 = load %p\nstore %q, %d, %c, %b, %a",
    ));
    assert_has(&wide, &["ld.global.v4.", "st.global.v4.", ".visible .entry phalanx_main", ".maxntid 64"]);
    let narrow = ptx(&kernel(
        "%p: ptr<buffer> = ptr_add<scale=4> %in, %i\n%q: ptr<buffer> = ptr_add<scale=16> %out, %i\n\
         %a: f32, %b: f32, %c: f32, %d: f32 = load %p\nstore %q, %d, %c, %b, %a",
    ));
    assert!(!narrow.contains("ld.global.v4."), "{narrow}");
}

#[test]
fn floats_are_fused_where_that_is_allowed_and_never_flushed() {
    let body = |exact: &str| {
        kernel(&format!(
            "%p: ptr<buffer> = ptr_add<scale=8> %in, %i\n%q: ptr<buffer> = ptr_add<scale=4> %out, %i\n\
             %a: f32, %b: f32 = load %p\n%m: f32 = fmul %a, %b {exact}\n%s: f32 = fadd %m, %b {exact}\n\
             %d: f32 = fdiv %s, %a\n%r: f32 = sqrt %d\nstore %q, %r"
        ))
    };
    assert_has(&ptx(&body("")), &["fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"]);
    let exact = ptx(&body("exact"));
    assert_has(&exact, &["mul.rn.f32", "add.rn.f32"]);
    assert!(!exact.contains("fma"), "{exact}");
    assert!(!exact.contains(".ftz"), "{exact}");
}

#[test]
fn small_integers_become_halves_without_a_conversion() {
    let body = |integer: &str| {
        kernel(&format!(
            "%p: ptr<buffer> = ptr_add<scale=1> %in, %i\n%q: ptr<buffer> = ptr_add<scale=2> %out, %i\n\
             %b: i8 = load %p\n%f: i32 = const 15\n%e: i32 = const 8\n%w: i32 = u_to_u %b\n%s: i32 = s_to_s %b\n\
             %low: i32 = and %w, %f\n%less: i32 = isub %low, %e\n%far: i32 = imul %w, %w\n\
             %h: f16 = s_to_f {integer}\nstore %q, %h"
        ))
    };
    for (integer, what) in [("%less", "or.b32"), ("%s", "xor.b32"), ("%b", "xor.b32")] {
        let code = ptx(&body(integer));
        assert_has(&code, &[what, "add.rn.f16"]);
        assert!(!code.contains("cvt.rn.f"), "{code}");
    }
    assert_has(&ptx(&body("%far")), &["cvt.rn.f"]);
}

/// `abs` and `neg` may change the bits of a NaN.
#[test]
fn signs_are_bits() {
    for (op, s, instruction) in [
        ("fabs", "f32", "and.b32"),
        ("fneg", "f32", "xor.b32"),
        ("fabs", "f64", "and.b64"),
        ("fneg", "f64", "xor.b64"),
    ] {
        let code = ptx(&kernel(&format!(
            "%p: ptr<buffer> = ptr_add<scale=8> %in, %i\n%q: ptr<buffer> = ptr_add<scale=8> %out, %i\n\
             %a: {s} = load %p\n%b: {s} = {op} %a\nstore %q, %b"
        )));
        assert_has(&code, &[instruction]);
        assert!(!code.contains(&format!("abs.{s}")) && !code.contains(&format!("neg.{s}")), "{code}");
    }
}

#[test]
fn push_constants_and_descriptors_are_parameters() {
    let code = ptx(&kernel(
        "%p: ptr<push> = push_ptr\n%a: i32 = load %p\n%q: ptr<buffer> = ptr_add<scale=4> %out, %i\nstore %q, %a",
    ));
    assert_has(&code, &["ld.param.u32", "ld.param.v2.u64"]);
    assert!(!code.contains(".local"), "{code}");
}

#[test]
fn a_work_group_shares_memory_and_waits() {
    let code = ptx(&kernel(
        "%l: i32 = local_invocation_index\n%s: ptr<shared> = shared_ptr<offset=0, bytes=256>\n\
         %p: ptr<shared> = ptr_add<scale=4> %s, %l\nstore %p, %i\nbarrier<workgroup, workgroup>\n\
         %n: i32 = xor %l, %z\n%a: i32 = load %p\n%o: i32 = atomic_iadd %p, %a\n\
         %q: ptr<buffer> = ptr_add<scale=4> %out, %i\nstore %q, %o",
    ));
    assert_has(&code, &["st.shared.u32", "barrier.sync", "atom.shared.add.u32", ".extern .shared"]);
    // The barrier orders the memory of the work-group by itself.
    assert!(!code.contains("membar") && !code.contains("fence"), "{code}");
    assert_has(&ptx(&kernel("barrier<workgroup, device>")), &["membar.gl", "barrier.sync"]);
}

#[test]
fn a_sum_over_a_whole_warp_takes_five_steps() {
    let code = ptx(&kernel(
        "%a: f32 = bitcast %i\n%s: f32 = subgroup_reduce<fadd> %a\n\
         %q: ptr<buffer> = ptr_add<scale=4> %out, %i\nstore %q, %s",
    ));
    assert_eq!(code.matches("shfl.sync.bfly.b32").count(), 5, "{code}");
}

#[test]
fn threads_that_part_are_counted() {
    let code = ptx(&kernel(
        "%one: i32 = const 1\n%bit: i32 = and %i, %one\n%c: bool = ieq %bit, %z\nif %c {\n%q: ptr<buffer> = ptr_add<scale=4> %out, %i\n\
         %s: i32 = subgroup_reduce<iadd> %i\nstore %q, %s\n} else {\n}",
    ));
    assert_has(&code, &["vote.sync.ballot.b32", "shfl.sync.idx.b32"]);
}

#[test]
fn functions_are_made_in_place() {
    let body = "%a: f32 = bitcast %i\n%s: f32 = sin %a\n%p: f32 = pow %s, %a\n%r: f32 = frem %p, %a\n\
        %q: ptr<buffer> = ptr_add<scale=4> %out, %i\nstore %q, %r";
    let code = ptx(&kernel(body));
    assert_has(&code, &["fma.rn.f32", "fma.rn.f64", "mul.hi.u32", "rem.u64"]);
    assert!(!code.contains(".approx") && !code.contains("call"), "{code}");
}

#[test]
fn vectors_are_multiplied_by_memory_and_added_to_it() {
    let vars = "var $x: f16[16]\nvar $y: f32[9]\n";
    let with_vars = |body: &str| kernel(body).replacen("{\n", &format!("{vars}{{\n"), 1);
    let product = "%s: i64 = const 0\nvec_mat_mul<$y, $x, m=9, k=16, f16, f16, training> %in, %s\n\
        %q: ptr<buffer> = ptr_add<scale=4> %out, %i\n%v: f32 = var_load<$y> %z\nstore %q, %v";
    let code = ptx(&with_vars(product));
    assert_has(&code, &["fma.rn.f32", "ld.global.b16"]);
    let sum = "%s: i64 = const 0\nvec_outer_add<$y, $x, f32, training> %out, %s\nvec_reduce_add<$x> %out";
    let code = ptx(&with_vars(sum));
    assert_has(&code, &["shfl.sync.bfly.b32", "atom.global.cas.b32", "vote.sync.ballot.b32"]);
}

/// How often a text is there.
fn count(code: &str, what: &str) -> usize {
    code.matches(what).count()
}

/// Where a warp shares the matrix, its vectors are a factor of a product of matrices, and stay in registers on that way.
#[test]
fn vectors_of_a_warp_are_multiplied_together() {
    let of = |matrix: &str, shape: &str, x: u32| {
        let vars = format!("var $x: f16[{x}]\nvar $y: f16[20]\n");
        let body = format!(
            "%s: i64 = const 0\nvec_mat_mul<$y, $x, {shape}> {matrix}, %s\n\
             %q: ptr<buffer> = ptr_add<scale=4> %out, %i\n%v: f16 = var_load<$y> %z\nstore %q, %v"
        );
        kernel(&body).replacen("{\n", &format!("{vars}{{\n"), 1)
    };
    let shape = "m=20, k=24, f16, f16, inferencing";
    let shared = ptx(&of("%in", shape, 24));
    // 32 columns for 20 results, two fragments of vectors, two steps along K; four words of a quad for each 32 halves.
    assert_eq!(count(&shared, "mma.sync.aligned.m16n8k16"), 16, "{shared}");
    assert_eq!(count(&shared, "shfl.sync.bfly"), 4 * (4 + 4), "{shared}");
    assert_has(&shared, &["activemask.b32", "ld.global.v4", "cvt.rn.f16x2.f32"]);
    let bytes = ptx(&of("%in", "m=20, k=32, s8, s8, inferencing", 32)
        .replace("f16[32]", "i8[32]")
        .replace("var $y: f16[20]", "var $y: i32[20]")
        .replace("%v: f16", "%v: i32"));
    assert_has(&bytes, &["mma.sync.aligned.m16n8k32"]);
    for length in [1, 6, 23, 128] {
        let any = ptx(&of("%in", &format!("m=20, k={length}, f16, f16, row_major"), length));
        assert_has(&any, &["mma.sync"]);
    }
    // Halves as they are, and zeros where rows and columns have ended: four times eight rows of 32 columns.
    let paired = ptx(&of("%in", &shape.replace("inferencing", "paired"), 24));
    assert_eq!(count(&paired, "mma.sync.aligned.m16n8k16"), 16, "{paired}");
    assert_eq!(count(&paired, "ld.global.v4"), 4, "{paired}");
    // The transpose has 24 rows and 20 columns, and each word is transposed by itself.
    let turned = ptx(&of("%in", &shape.replace("inferencing", "paired, transposed"), 24));
    assert_eq!(count(&turned, "movmatrix"), 4 * 4, "{turned}");
    // Threads alone read other words.
    assert_eq!(count(&turned, "ld.global.v4.u32"), 4, "{turned}");
    // What lies by columns and is the transpose lies by rows.
    let rows = ptx(&of("%in", &shape.replace("inferencing", "column_major, transposed"), 24));
    assert!(rows.contains("mma.sync") && !rows.contains("movmatrix"), "{rows}");
    let own = "%m: ptr<buffer> = ptr_add<scale=2048> %in, %i\n";
    let apart = [
        of("%m", shape, 24).replace("%s: i64", &format!("{own}%s: i64")),
        of("%in", "m=20, k=129, f16, f16, inferencing", 129),
        of("%in", "m=20, k=24, f16, f16, column_major", 24),
    ];
    for code in apart {
        assert!(!ptx(&code).contains("mma.sync"), "{code}");
    }
}

/// A network of two layers, and what is done to each component between them.
fn network(between: &str) -> String {
    let body = format!(
        "%s: i64 = const 0\n%one: i32 = const 1\n%n: i32 = const 64\n%zero: f16 = const 0.0\n\
         %b: ptr<buffer> = ptr_add<disp=65536> %in\n%m: ptr<buffer> = ptr_add<disp=32768> %in\n\
         vec_mat_mul<$y, $x, m=64, k=64, f16, f16, training, bias, f16> %in, %s, %b\n\
         var_store<$i> %z\nloop @next {{\n%k: i32 = var_load<$i>\n%more: bool = ult %k, %n\nif %more {{\n\
         %a: f16 = var_load<$y> %k\n{between}\nvar_store<$w> %k, %r\n\
         %next: i32 = iadd %k, %one\nvar_store<$i> %next\nbr @next\n}}\n}}\n\
         vec_mat_mul<$v, $w, m=64, k=64, f16, f16, training> %m, %s\n\
         %q: ptr<buffer> = ptr_add<scale=4> %out, %i\n%u: f16 = var_load<$v> %z\nstore %q, %u"
    );
    let vars = "var $i: i32\nvar $x: f16[64]\nvar $y: f16[64]\nvar $w: f16[64]\nvar $v: f16[64]\n";
    kernel(&body).replacen("{\n", &format!("{vars}{{\n"), 1)
}

/// What is done to each component between two products is done where the one leaves them and the other takes them.
#[test]
fn vectors_of_a_warp_stay_spread_between_products() {
    let code = ptx(&network("%r: f16 = fmax %a, %zero"));
    assert_eq!(count(&code, "mma.sync.aligned.m16n8k16"), 2 * 64, "{code}");
    // Only the first vector is spread, and the last one brought back.
    assert_eq!(count(&code, "shfl.sync.bfly"), 2 * 32, "{code}");
    assert_eq!(count(&code, "max.f16x2"), 32, "{code}");
    assert_eq!(count(&code, "ld.global.v4.b32") + count(&code, "ld.global.v4.u32"), 2 * 16 + 2, "{code}");
    assert_eq!(count(&code, "activemask"), 1, "{code}");
    // Two at once where there is an instruction for it, otherwise each by itself.
    assert_eq!(count(&ptx(&network("%r: f16 = fma %a, %a, %zero")), "fma.rn.f16x2"), 32);
    assert_eq!(count(&ptx(&network("%r: f16 = tanh %a")), "shfl.sync.bfly"), 2 * 32);
    // What a thread has for itself is nothing that is spread.
    let own = "%g: f16 = u_to_f %i\n%r: f16 = fmax %a, %g";
    assert_eq!(count(&ptx(&network(own)), "shfl.sync.bfly"), 4 * 32);
}

#[test]
fn images_are_found_read_and_written_by_functions() {
    let source = "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n\
        binding buf0 = 0.0 storage_image_2d writable\nbinding buf1 = 0.1 storage_image_2d writable\n\
        {\n%z: i32 = const 0\n%i: i32 = global_invocation_id<x>\n\
        %r: f32, %g: f32, %b: f32, %a: f32 = image_load<buf0> %z, %i, %z\n\
        image_store<buf1> %z, %i, %z, %g, %r, %b, %a\n}\n";
    let code = ptx(source);
    for name in ["image_place", "image_read", "image_write"] {
        assert!(code.contains(&format!("{name}(")), "{code}");
    }
}

#[test]
fn atomic_operations_are_instructions_of_aligned_words() {
    let add = |scale: u32, s: &str, op: &str| {
        ptx(&kernel(&format!(
            "%v: {s} = const 1\n%q: ptr<buffer> = ptr_add<scale={scale}> %out, %i\n\
             %o: {s} = atomic_{op} %q, %v\nstore %q, %o"
        )))
    };
    let aligned = add(4, "i32", "iadd");
    assert_has(&aligned, &["atom.global.add.u32"]);
    assert!(!aligned.contains("st.volatile.global.u8"), "{aligned}");
    assert_has(&add(3, "i32", "iadd"), &["atom.global.add.u32", "st.volatile.global.u8"]);
    // A part of a word.
    assert_has(&add(2, "i16", "iadd"), &["atom.global.cas.b32"]);
    assert_has(&add(2, "f16", "fadd"), &["atom.global.cas.b32"]);
}

#[test]
fn what_is_told_goes_to_the_report() {
    let told = kernel("%c: bool = ieq %i, %z\nwarn<format=0> %c, %i\nprintf<format=0> %i");
    let code = ptx(&told.replace("push 16\n", "push 16\nformat \"at %d\"\n"));
    let place = format!("+{}];", phalanx_back_nvptx::abi::REPORT);
    assert_has(&code, &["atom.global.exch.b64", "atom.global.add.u64", &place]);
}

/// A product of matrices of a type that lie in shared memory, added to sums of another.
fn product(m: u32, k: u32, elem: &str, sum: &str, scope: &str) -> String {
    let (a, b) = (format!("mat<{m}x{k}x{elem}, {scope}, a>"), format!("mat<{k}x8x{elem}, {scope}, b>"));
    let c = format!("mat<{m}x8x{sum}, {scope}, acc>");
    kernel(&format!(
        "%s: ptr<shared> = shared_ptr<offset=0, bytes=16384>\n%t: ptr<shared> = shared_ptr<offset=16384, bytes=16384>\n\
         %l: i64 = const 144\n%a: {a} = mat_load %s, %l\n%b: {b} = mat_load %t, %l\n\
         %c: {c} = mat_load %in, %l\n%d: {c} = mat_mul_add<a_signed, b_signed> %a, %b, %c\nmat_store %out, %d, %l"
    ))
    .replace("shared 256", "shared 32768")
}

#[test]
fn fragments_are_loaded_and_multiplied_by_instructions_for_them() {
    let code = ptx(&product(16, 16, "f16", "f32", "subgroup"));
    assert_has(
        &code,
        &[
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ],
    );
    // What is known to be inside is not looked at.
    assert!(!code.contains("ld.shared"), "{code}");
    assert_has(&ptx(&product(16, 16, "f16", "f16", "subgroup")), &["m16n8k16.row.col.f16.f16.f16.f16"]);
    assert_has(&ptx(&product(16, 16, "bf16", "f32", "subgroup")), &["m16n8k16.row.col.f32.bf16.bf16.f32"]);
    assert_has(&ptx(&product(16, 32, "i8", "i32", "subgroup")), &["m16n8k32.row.col.s32.s8.s8.s32"]);
    let bytes =
        compile(&module(&product(16, 32, "e4m3", "f32", "subgroup")), Arch::Sm90a).expect("it is supported");
    // Exactly, and summed as products of halves are.
    assert_has(&bytes.ptx, &["cvt.rn.f16x2.e4m3x2", "m16n8k16.row.col.f32.f16.f16.f32"]);
    assert_has(&ptx(&product(8, 4, "f64", "f64", "subgroup")), &["m8n8k4.row.col.f64.f64.f64.f64"]);
    assert_has(&ptx(&product(16, 8, "f32", "f32", "subgroup")), &["fma.rn.f32", "shfl.sync.idx"]);
}

#[test]
fn warps_of_a_work_group_multiply_their_parts() {
    let code = ptx(&product(32, 16, "f16", "f32", "workgroup"));
    // Two warps: each has 16 of the rows.
    assert_eq!(code.matches("mma.sync").count(), 1, "{code}");
}

#[test]
fn warps_without_rows_load_nothing() {
    // Whether the warps behind the first are told apart, of four.
    let tells_first = |rows: u32| {
        let c = format!("mat<{rows}x32xf32, workgroup, acc>");
        let body = format!(
            "%l: i64 = const 128\n%f: f32 = const 0.0\n%c: {c} = mat_splat %f\n\
             %a: mat<{rows}x16xf16, workgroup, a> = mat_load %in, %l\n\
             %b: mat<16x32xf16, workgroup, b> = mat_load %in, %l\n%d: {c} = mat_mul_add %a, %b, %c\n\
             %e: {c} = mat_reduce<row> %d {{\n%x: f32, %y: f32 = params\n%m: f32 = fmax %x, %y\nyield %m\n}}\n\
             mat_store %out, %e, %l"
        );
        let code = ptx(&kernel(&body).replace("workgroup_size 64", "workgroup_size 128"));
        assert!(!code.contains("st.shared"), "rows are reduced in registers: {code}");
        code.lines().any(|line| line.contains("setp.gt.u32") && line.ends_with(", 31;"))
    };
    assert_eq!([16, 64].map(tells_first), [true, false]);
}

#[test]
fn products_of_four_bytes_are_one_instruction() {
    for (op, types) in [("sdot4", "s32.s32"), ("udot4", "u32.u32"), ("sudot4", "s32.u32")] {
        let code = ptx(&kernel(&format!(
            "%a: i32 = load %in\n%d: i32 = {op} %a, %i\n%q: ptr<buffer> = ptr_add<scale=4> %out, %i\nstore %q, %d"
        )));
        assert_has(&code, &[&format!("dp4a.{types}")]);
    }
}

#[test]
fn where_a_subgroup_is_executed_is_a_special_register() {
    let code = ptx(&kernel(
        "%m: i32 = multiprocessor\n%r: i32 = resident_subgroup\n\
         %q: ptr<buffer> = ptr_add<scale=8> %out, %i\nstore %q, %m, %r",
    ));
    assert_has(&code, &["%smid", "%warpid"]);
}

#[test]
fn what_lies_multiples_of_a_block_apart_is_as_aligned_as_that() {
    let loads = |block: u32| {
        let at = format!("%size: i32 = const {block}\n%at: i32 = imul %i, %size\n");
        ptx(&kernel(&format!(
            "{at}%p: ptr<buffer> = ptr_add<scale=1> %in, %at\n%q: ptr<buffer> = ptr_add<scale=2> %out, %i\n\
             %x: f16 = load %p\nstore %q, %x"
        )))
    };
    assert!(!loads(18).contains(".u8"), "{}", loads(18));
    assert!(loads(17).contains(".u8"), "{}", loads(17));
}

/// What `ptxas`, where it is, says of code that multiplies in groups of warps.
fn said_of(ptx: &str) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, ptx.as_bytes()).expect("it is written");
    let mut command = Command::new(ptxas()?);
    command.args(["-v", "-c", "-arch=sm_90a"]).arg(file.path()).args(["-o", "/dev/null"]);
    Some(String::from_utf8_lossy(&command.output().expect("it runs").stderr).into_owned())
}

/// A loop of a work-group of so many with two products in a round, the second of what is computed from the first.
fn two_products(threads: u32, within: &str) -> String {
    let m = threads / 2;
    let mat = |shape: &str, use_: &str| format!("mat<{shape}, workgroup, {use_}>");
    let (q, p) = (mat(&format!("{m}x64xf16"), "a"), mat(&format!("{m}x32xf16"), "a"));
    let (k, v) = (mat("64x32xf16", "b"), mat("32x64xf16", "b"));
    let [s, o, narrow] = [32, 64, 16].map(|columns| mat(&format!("{m}x{columns}xf32"), "acc"));
    let body = format!(
        "%f: f32 = const 0.0\n%l: i64 = const 128\n%step: i32 = const 32\n%depth: i32 = load %in\n\
         %q: {q} = mat_load %in, %l\n%none: {s} = mat_splat %f\n%start: {o} = mat_splat %f\n\
         var_store<$sums> %start\nvar_store<$k> %z\n\
         loop @0 {{\n%k: i32 = var_load<$k>\n%more: bool = ult %k, %depth\nif %more {{\n\
         %at: ptr<buffer> = ptr_add<scale=2> %in, %k\n%x: {k} = mat_load<column_major> %at, %l\n\
         %s: {s} = mat_mul_add %q, %x, %none\n\
         %h: {s} = mat_map %s {{\n%r: i32, %c: i32, %e: f32 = params\n%later: bool = ult %r, %c\n\
         if %later {{\n%much: bool = ult %depth, %c\nvar_store<$b> %much\n}} else {{\nvar_store<$b> %later\n}}\n\
         %both: bool = var_load<$b>\n%shown: f32 = select %both, %f, %e\nyield %shown\n}}\n\
         %m: {narrow} = mat_reduce<row> %h {{\n%a0: f32, %b0: f32 = params\n%c0: f32 = fmax %a0, %b0\nyield %c0\n}}\n\
         %w: {s} = mat_reduce<row> %m {{\n%a1: f32, %b1: f32 = params\n%c1: f32 = fmax %a1, %b1\nyield %c1\n}}\n\
         %y: {s} = mat_map %h, %w {{\n%r2: i32, %c2: i32, %a2: f32, %b2: f32 = params\n%d2: f32 = fsub %a2, %b2\n\
         %e2: f32 = exp2 %d2\nyield %e2\n}}\n{within}\n\
         %p: {p} = f_to_f %y\n%v: {v} = mat_load %at, %l\n\
         %o: {o} = var_load<$sums>\n%n: {o} = fadd %o, %o\n%d: {o} = mat_mul_add %p, %v, %n\nvar_store<$sums> %d\n\
         %next: i32 = iadd %k, %step\nvar_store<$k> %next\nbr @0\n}} else {{\n}}\n}}\n\
         %last: {o} = var_load<$sums>\nmat_store %out, %last, %l"
    );
    let vars = format!("var $sums: {o}\nvar $k: i32\nvar $b: bool\n\n{{\n%z:");
    let size = format!("workgroup_size {threads}");
    kernel(&body).replace("workgroup_size 64", &size).replacen("{\n%z:", &vars, 1)
}

#[test]
fn of_two_products_in_a_round_one_goes_on_while_the_next_round_computes() {
    let made = |source: &str| compile(&module(source), Arch::Sm90a).expect("it is supported").ptx;
    let ptx = made(&two_products(256, ""));
    // The second product follows the first of the next round, which alone is waited for, and once more behind the loop.
    assert_eq!(count(&ptx, "wgmma.mma_async"), 4 + 2 * 2, "{ptx}");
    assert_eq!(count(&ptx, "wgmma.wait_group.sync.aligned 1;"), 1, "{ptx}");
    // Two groups take turns: a word for each besides those of the slots and of the factor that stays.
    let words = |ptx: &str| count(ptx, "mbarrier.init");
    let alone = made(&two_products(128, ""));
    assert_eq!(words(&ptx), words(&alone) + 2, "{ptx}");
    assert_eq!(count(&alone, "wgmma.wait_group.sync.aligned 1;"), 1, "{alone}");
    // Producers wait for two slots of a round. So do the others, as what was asked for first may come last, and for one behind
    // the loop; for their turn at both places; and for the factor that stays.
    assert_eq!(count(&ptx, "mbarrier.try_wait"), 2 + 3 + 2 + 1, "{ptx}");
    // Those that copy halves keep few registers.
    assert_has(&ptx, &["setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 232;"]);
    // What is left between the products is waited for in its own round.
    let left = made(&two_products(256, "if %more {\nbr @0\n} else {\n}"));
    assert!(left.contains("wgmma") && !left.contains("wait_group.sync.aligned 1;"), "{left}");
    assert_eq!(words(&left), words(&alone), "{left}");
    if let Some(said) = said_of(&ptx) {
        assert!(said.contains("registers") && !said.contains("serialized"), "{said}");
    }
}

#[test]
fn elements_stay_in_registers_and_equal_ones_are_not_exchanged() {
    let ptx = compile(&module(&two_products(256, "")), Arch::Sm90a).expect("it is supported").ptx;
    // The results that the store takes one by one, where they are not all inside; two by an instruction.
    assert_eq!(count(&ptx, "st.local.v2"), 16, "{ptx}");
    assert_eq!(count(&ptx, "st.local"), 16, "{ptx}");
    // Each thread asks which group it is of, and the maxima of two rows take two exchanges each; that a row has the same
    // everywhere takes none.
    assert_eq!(count(&ptx, "shfl.sync.idx"), 1 + 2 * 2, "{ptx}");
    assert_has(&ptx, &["ex2.approx.ftz.f32"]);
}

/// The loop of a work-group of 256 with more in a round.
fn two_products_and(within: &str, sums: &str, vars: &str, behind: &str) -> String {
    two_products(256, within)
        .replace("fadd %o, %o", sums)
        .replace("var $k: i32\n", &format!("var $k: i32\n{vars}"))
        .replace("%last:", &format!("{behind}%last:"))
}

/// What `ptxas` accepts without waiting for each multiplication.
fn made_for_hopper(source: &str) -> String {
    let ptx = compile(&module(source), Arch::Sm90a).expect("it is supported").ptx;
    if let Some(said) = said_of(&ptx) {
        assert!(said.contains("registers") && !said.contains("serialized"), "{said}");
    }
    ptx
}

/// What a GPU gets of a kernel of one warp with a matrix from a buffer, code for its components, and a store.
fn with_components(elem: &str, shape: &str, use_: &str, code: &str) -> String {
    let mat = format!("mat<{shape}x{elem}, subgroup, {use_}>");
    let source = format!(
        "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n\
         binding buf0 = 0.0 storage\nbinding buf1 = 0.1 storage writable\nvar $m: {mat}\nvar $i: i32\n\
         {{\n%z: i32 = const 0\n%stride: i64 = const 64\n%lane: i32 = subgroup_lane\n\
         %in: ptr<buffer> = buffer_ptr<buf0> %z\n%out: ptr<buffer> = buffer_ptr<buf1> %z\n\
         %m: {mat} = mat_load %in, %stride\nvar_store<$m> %m\n{code}\n\
         %n: {mat} = var_load<$m>\nmat_store %out, %n, %stride\nreturn\n}}\n"
    );
    let module = verify(text::parse(&source).expect("the text is IR")).expect("the module is right");
    let module = passes::optimize_by(&passes::THREADS, module, &passes::Options::default());
    let ptx = compile(&module.expect("the passes are right"), Arch::Sm80).expect("it is supported").ptx;
    if let Some(ptxas) = ptxas() {
        assert_eq!(assemble(&ptxas, &ptx, Arch::Sm80), Ok(()), "{ptx}");
    }
    ptx
}

#[test]
fn sums_are_scaled_where_a_factor_is_not_1() {
    let factor = "%wide: mat<128x64xf32, workgroup, acc> = mat_reduce<row> %m {\n%a4: f32, %b4: f32 = params\n\
                  %c4: f32 = fmax %a4, %b4\nyield %c4\n}\n";
    let scaled = made_for_hopper(&two_products_and(factor, "fmul %o, %wide", "", ""));
    assert_eq!(count(&scaled, "vote.sync.all"), 1, "{scaled}");
    let added = made_for_hopper(&two_products_and(factor, "fadd %o, %wide", "", ""));
    assert_eq!(count(&added, "vote.sync.all"), 0, "{added}");
}

#[test]
fn sums_of_rows_are_added_up_by_lanes_and_together_where_they_are_looked_at() {
    let narrow = "mat<128x16xf32, workgroup, acc>";
    let vars = format!("var $l: {narrow}\n");
    let within = format!(
        "%rows: {narrow} = mat_reduce<row> %y {{\n%a5: f32, %b5: f32 = params\n%c5: f32 = fadd %a5, %b5\n\
         yield %c5\n}}\n%l0: {narrow} = var_load<$l>\n%l1: {narrow} = fmul %l0, %m\n\
         %l2: {narrow} = fadd %l1, %rows\nvar_store<$l> %l2\n"
    );
    let behind = format!("%l3: {narrow} = var_load<$l>\nmat_store %out, %l3, %l\n");
    let shuffles = |ptx: &str| count(ptx, "shfl.sync.idx");
    let plain = made_for_hopper(&two_products(256, ""));
    let by_lanes = made_for_hopper(&two_products_and(&within, "fadd %o, %o", &vars, &behind));
    // Of two rows of a thread, behind the loop.
    assert_eq!(shuffles(&by_lanes), shuffles(&plain) + 2 * 2, "{by_lanes}");
    // Whole rows where one may not reassociate: pairs of neighbours are added up last, as docs/ir.md has it.
    let exact = within.replace("fadd %l1, %rows", "fadd %l1, %rows exact");
    let whole = made_for_hopper(&two_products_and(&exact, "fadd %o, %o", &vars, &behind));
    assert_eq!(shuffles(&whole), shuffles(&plain) + 2 * 2 * 2, "{whole}");
}

#[test]
fn routines_take_arrays_in_the_lane_s_own_memory() {
    let ptx = with_components("i32", "3x5", "acc", "");
    let (_, routine) = ptx.rsplit_once(".func").expect("what may be padding is moved by routines");
    assert!(routine.contains(".local.u32") || routine.contains(".local.b32"), "{ptx}");
    assert!(!routine.contains("ld.u32") && !routine.contains("st.u32"), "{ptx}");
}

/// Each of so many components, doubled.
fn doubled(elem: &str, count: u32) -> String {
    let add = if elem.starts_with('f') { "fadd" } else { "iadd" };
    format!(
        "%one: i32 = const 1\n%count: i32 = const {count}\nvar_store<$i> %z\nloop @next {{\n\
         %i: i32 = var_load<$i>\n%x: {elem} = var_component_load<$m> %z, %i\n%y: {elem} = {add} %x, %x\n\
         var_component_store<$m> %z, %i, %y\n%j: i32 = iadd %i, %one\nvar_store<$i> %j\n\
         %more: bool = ult %j, %count\nif %more {{ br @next }} else {{ }}\n}}"
    )
}

#[test]
fn components_of_fragments_are_registers() {
    let sides = [
        ("f32", "16x16", "acc", 8),
        ("f16", "16x16", "a", 8),
        ("f16", "16x8", "b", 4),
        ("i8", "32x8", "b", 8),
    ];
    for (elem, shape, use_, count) in sides {
        let ptx = with_components(elem, shape, use_, &doubled(elem, count));
        assert!(!ptx.contains("shfl.sync"), "{elem} {shape} {use_}\n{ptx}");
    }
    // Padding has no place in the number of components that a type has.
    let padded = with_components("f32", "9x31", "acc", &doubled("f32", 9));
    assert_has(&padded, &["shfl.sync.idx"]);
    // One that is only known when the code runs is a choice between registers.
    let code =
        "%x: f32 = mat_extract %m, %lane\n%s: mat<16x16xf32, subgroup, acc> = mat_splat %x\nvar_store<$m> %s";
    let one = with_components("f32", "16x16", "acc", code);
    assert!(!one.contains("shfl.sync") && one.contains("selp"), "{one}");
    let code =
        "%x: f16 = const 2.0\n%s: mat<16x16xf16, subgroup, a> = mat_insert %m, %lane, %x\nvar_store<$m> %s";
    assert!(!with_components("f16", "16x16", "a", code).contains("shfl.sync"));
}

#[test]
fn elements_that_depend_on_their_invocation_stay_in_its_registers() {
    let code = |mat: &str| {
        format!(
            "%s: {mat} = mat_map %m {{\n%r: i32, %c: i32, %x: i32 = params\n%y: i32 = iadd %x, %lane\nyield %y\n}}\n\
             var_store<$m> %s"
        )
    };
    let held = with_components("i32", "16x16", "acc", &code("mat<16x16xi32, subgroup, acc>"));
    assert!(!held.contains("shfl.sync") && !held.contains("st.shared"), "{held}");
    let padded = with_components("i32", "9x31", "acc", &code("mat<9x31xi32, subgroup, acc>"));
    assert_has(&padded, &["st.shared"]);
}

#[test]
fn scratch_that_shared_memory_has_no_room_for_lies_in_global_memory() {
    let transpose = |rows: u32| {
        let source = kernel(&format!(
            "%s: ptr<shared> = shared_ptr<offset=0, bytes=256>\nstore %s, %z\n%l: i64 = const 4096\n\
             %m: mat<{rows}x64xf32, workgroup, acc> = mat_load %in, %l\n\
             %t: mat<64x{rows}xf32, workgroup, b> = mat_transpose %m\nmat_store %out, %t, %l"
        ));
        let code = compile(&module(&source.replace("size 64 1 1", "size 256 1 1")), Arch::Sm89);
        let code = code.expect("it is supported");
        if let Some(ptxas) = ptxas() {
            assert_eq!(assemble(&ptxas, &code.ptx, Arch::Sm89), Ok(()), "{}", code.ptx);
        }
        code
    };
    let place = format!("[phalanx_main_param_0+{}];", phalanx_back_nvptx::abi::SPILLED);
    let fits = transpose(256);
    assert_eq!((fits.layout.shared_bytes, fits.layout.spilled_bytes), (256 + (256 * 64 * 4), 0));
    assert!(!fits.ptx.contains(&place), "{}", fits.ptx);
    // The program's own memory stays.
    let large = transpose(512);
    assert_eq!((large.layout.shared_bytes, large.layout.spilled_bytes), (256, 512 * 64 * 4));
    assert_has(&large.ptx, &[&place, "%nctaid.y", "st.shared.", "st.global."]);
}

#[test]
fn what_is_not_done_is_refused_by_name() {
    let other = kernel("").replace("subgroup_size 32", "subgroup_size 16");
    let Err(Error::Unsupported { what }) = compile(&module(&other), Arch::Sm80) else { panic!("accepted") };
    assert!(what.contains("subgroups of 16"), "{what}");
}

#[test]
fn blocks_are_filled_ahead_where_that_is_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/coopmat/filled-ahead.comp");
    for file in read(&path).expect("a test") {
        let module = load(&file).and_then(|source| source.module(&file, Some(32))).expect("it is right");
        let options = passes::Options::default();
        let module = passes::optimize_by(&passes::THREADS, module, &options).expect("the passes are right");
        let shared = module.shared_bytes;
        let code = compile(&module, Arch::Sm90a).expect("it is supported");
        let is_ahead = !["some-fetch", "elsewhere", "not-staged"].contains(&file.case.as_str());
        // Three pieces.
        let copies = if is_ahead { 3 } else { 0 };
        assert_eq!(code.ptx.matches("cp.async.cg.shared.global").count(), copies, "{}", file.case);
        assert_eq!(code.ptx.matches("barrier.sync").count(), if is_ahead { 1 } else { 2 }, "{}", file.case);
        assert_eq!(code.layout.shared_bytes > shared, is_ahead, "{}", file.case);
        if let Some(ptxas) = ptxas() {
            assert_eq!(assemble(&ptxas, &code.ptx, Arch::Sm90a), Ok(()), "{}", file.case);
        }
    }
}

#[test]
fn blocks_are_filled_by_others_where_that_is_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/coopmat/filled-by-others.comp");
    for file in read(&path).expect("a test") {
        let module = load(&file).and_then(|source| source.module(&file, Some(32))).expect("it is right");
        let options = passes::Options::default();
        let module = passes::optimize_by(&passes::THREADS, module, &options).expect("the passes are right");
        let code = compile(&module, Arch::Sm90a).expect("it is supported");
        let has = |instruction| code.ptx.contains(instruction);
        let case = file.case.as_str();
        let is_refused = ["not-the-second", "some-copy", "leaves", "changed", "not-staged"].contains(&case);
        assert_eq!(code.layout.threads, if is_refused { 128 } else { 256 }, "{case}");
        for instruction in ["cp.async.", "cp.async.mbarrier.arrive", "mbarrier.try_wait", "setmaxnreg"] {
            assert_eq!(has(instruction), !is_refused, "{case}: {instruction}");
        }
        // Subgroups that share columns must be four, and in one loop, and an instruction's sums have room in registers.
        let is_fused =
            !is_refused && !["side-by-side", "one-row", "outside", "twice", "wide"].contains(&case);
        assert_eq!((has("wgmma"), has("mma.sync")), (is_fused, !is_fused), "{case}");
        let older = compile(&module, Arch::Sm89).expect("it is supported");
        assert_eq!(older.layout.threads, 128, "{case}");
        if let Some(ptxas) = ptxas() {
            assert_eq!(assemble(&ptxas, &code.ptx, Arch::Sm90a), Ok(()), "{case}");
        }
    }
}

#[test]
fn loads_wait_for_no_branch() {
    let code = ptx(&kernel(
        "%p: ptr<buffer> = ptr_add<scale=16> %in, %i\n%a: i32, %b: i32, %c: i32, %d: i32 = load %p\n\
         %q: ptr<buffer> = ptr_add<disp=4096> %p\n%e: i32, %f: i32, %g: i32, %h: i32 = load %q\n\
         %x: i32 = iadd %a, %e\n%y: i32 = iadd %d, %h\n\
         %o: ptr<buffer> = ptr_add<scale=8> %out, %i\nstore %o, %x, %y",
    ));
    // Outside they read zeros that lie elsewhere.
    let first = code.find("ld.global.v4").expect("a load");
    let last = code.rfind("ld.global.v4").expect("another");
    assert!(first < last && !code[first..last].contains("bra"), "{code}");
    assert!(code.contains("phalanx_zeros[16]") && code[..first].contains("selp"), "{code}");
}

#[test]
fn sums_that_follow_one_another_look_once() {
    let sums = |between: &str| {
        let c = "mat<16x16xf32, subgroup, acc>";
        ptx(&kernel(&format!(
            "%l: i64 = const 64\n%s: i32 = subgroup_id\n\
             %p: ptr<buffer> = ptr_add<scale=16> %in, %s\n%a: {c} = mat_load %p, %l\n{between}\n\
             %q: ptr<buffer> = ptr_add<disp=1024> %p\n%b: {c} = mat_load %q, %l\n\
             %o: ptr<buffer> = ptr_add<disp=2048> %out\n\
             mat_store %out, %a, %l\n{between}\nmat_store %o, %b, %l"
        )))
    };
    // A routine for elements is called in a loop, for both.
    let calls = |code: &str| code.matches("call.uni").count();
    let together = sums("");
    assert_eq!(calls(&together), 2, "{together}");
    let apart = sums("barrier<workgroup, workgroup>");
    assert_eq!(calls(&apart), 4, "{apart}");
}

/// `ptxas`, if it is there.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PHALANX_PTXAS").map(PathBuf::from);
    let found = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join("ptxas")).find(|file| file.is_file())
    };
    named.or_else(found)
}

fn assemble(ptxas: &Path, ptx: &str, arch: Arch) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::io::Write::write_all(&mut file, ptx.as_bytes()).map_err(|error| error.to_string())?;
    let mut command = Command::new(ptxas);
    // Whether it is accepted is asked, not how fast it would be.
    command.arg("-O0").arg(format!("-arch={arch}")).arg(file.path()).args(["-o", "/dev/null"]);
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Random modules become PTX, too, or are refused by name; those that run on a GPU are run elsewhere.
#[test]
fn random_modules_become_ptx() {
    let mut made = 0;
    for seed in 700..800 {
        let module = random_module(seed).expect("it is right");
        match compile(&module, Arch::Sm90a) {
            Ok(_) => made += 1,
            Err(Error::Unsupported { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(made > 10, "{made}");
}

/// Of so many cases of a file one is taken besides the first; which, changes from file to file.
const SHARES: usize = 4;

/// The kernels of the file tests become PTX that `ptxas` accepts, or are refused for a reason: the first case of each file,
/// and a quarter of the others; with `PHALANX_ALL_CASES=1` or where some are asked for by `FILTER` all of them.
#[test]
fn the_file_tests_become_ptx() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let filter = std::env::var("FILTER").unwrap_or_default();
    let is_all =
        !filter.is_empty() || std::env::var_os("PHALANX_ALL_CASES").is_some_and(|value| value != "0");
    let ptxas = ptxas();
    let (mut made, mut refused) = (0, BTreeMap::<String, u32>::new());
    for (number, path) in discover(&root).expect("the file tests can be read").into_iter().enumerate() {
        if !path.to_string_lossy().contains(&filter) || path.to_string_lossy().contains("/invalid/") {
            continue;
        }
        for (case, file) in read(&path).unwrap_or_default().into_iter().enumerate() {
            if !is_all && case != 0 && case % SHARES != number % SHARES {
                continue;
            }
            let Ok(module) = load(&file).and_then(|source| source.module(&file, Some(32))) else { continue };
            match compile(&optimized(module), Arch::Sm90a) {
                Ok(code) => {
                    made += 1;
                    if let Some(ptxas) = &ptxas {
                        let accepted = assemble(ptxas, &code.ptx, Arch::Sm90a);
                        let place = format!("{} {}", path.display(), file.case);
                        assert_eq!(accepted, Ok(()), "{place}\n{}", code.ptx);
                    }
                }
                Err(Error::Unsupported { what }) => *refused.entry(what).or_default() += 1,
                Err(error) => panic!("{} {}: {error}", path.display(), file.case),
            }
        }
    }
    match ptxas {
        Some(_) => eprintln!("{made} kernels assembled by ptxas"),
        None => eprintln!("{made} kernels made; no ptxas here, so none was assembled"),
    }
    for (what, count) in &refused {
        eprintln!("{count} kernels refused: {what}");
    }
    assert!(made > 0 || !filter.is_empty());
}
