//! Factors of matrices of the work-group that threads of their own bring ahead, through shared memory.

use crate::{assert_has, compile, count, kernel, made_for_hopper, module, ptx, said_of};
use phalanx_back_nvptx::Arch;

/// A loop over K that loads and multiplies matrices of a work-group of 128, with something before it and in it.
pub(crate) fn streamed(before: &str, within: &str) -> String {
    let [a, b, c] = [("64x32xf16", "a"), ("32x64xf16", "b"), ("64x64xf32", "acc")]
        .map(|(shape, use_)| format!("mat<{shape}, workgroup, {use_}>"));
    let body = format!(
        "%f: f32 = const 0.0\n%l: i64 = const 128\n%step: i32 = const 32\n%depth: i32 = load %in\n{before}\n\
         %start: {c} = mat_splat %f\nvar_store<$sums> %start\nvar_store<$k> %z\n\
         loop @0 {{\n%k: i32 = var_load<$k>\n%more: bool = ult %k, %depth\nif %more {{\n\
         %p: ptr<buffer> = ptr_add<scale=2> %in, %k\n%a: {a} = mat_load %p, %l\n%b: {b} = mat_load %p, %l\n{within}\n\
         %s: {c} = var_load<$sums>\n%d: {c} = mat_mul_add %a, %b, %s\nvar_store<$sums> %d\n\
         %n: i32 = iadd %k, %step\nvar_store<$k> %n\nbr @0\n}} else {{\n}}\n}}\n\
         %e: {c} = var_load<$sums>\nmat_store %out, %e, %l"
    );
    let vars = format!("var $sums: {c}\nvar $k: i32\n\n{{\n%z:");
    kernel(&body).replace("workgroup_size 64", "workgroup_size 128").replacen("{\n%z:", &vars, 1)
}

/// Whether factors come through shared memory.
fn is_streamed(source: &str, arch: Arch) -> bool {
    let code = compile(&module(source), arch).expect("it is supported");
    let has = |instruction| code.ptx.contains(instruction);
    assert_eq!(has("wgmma"), code.layout.threads == 256, "{}", code.ptx);
    assert!(has("wgmma") != has("mma.sync"), "{}", code.ptx);
    has("wgmma")
}

#[test]
fn factors_are_brought_ahead_and_multiplied_without_waiting() {
    let source = streamed("", "");
    assert!(is_streamed(&source, Arch::Sm90a));
    assert!(!is_streamed(&source, Arch::Sm89), "only Hopper multiplies so");
    let ptx = compile(&module(&source), Arch::Sm90a).expect("it is supported").ptx;
    assert_has(
        &ptx,
        &[
            "cp.async.cg.shared.global",
            "cp.async.mbarrier.arrive.noinc",
            "mbarrier.try_wait.parity",
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
            "wgmma.wait_group.sync.aligned 1;",
        ],
    );
    // A call anywhere makes `ptxas` wait for each multiplication, and so does what it does not see through.
    assert!(!ptx.contains("call"), "{ptx}");
    if let Some(said) = said_of(&ptx) {
        assert!(said.contains("registers") && !said.contains("serialized"), "{said}");
    }
}

#[test]
fn what_ends_behind_a_store_comes_before_no_factor() {
    let store = |leaves: &str| {
        let way = format!("if %few {{\nstore %out, %depth\n{leaves}\n}} else {{\n}}");
        streamed(&format!("%few: bool = ult %depth, %step\n{way}"), "")
    };
    assert!(is_streamed(&store("return"), Arch::Sm90a));
    assert!(!is_streamed(&store(""), Arch::Sm90a), "others may have to see the store");
    let around =
        store("br @9").replacen("if %few", "block @9 {\nif %few", 1).replacen("else {\n}", "else {\n}\n}", 1);
    assert!(!is_streamed(&around, Arch::Sm90a), "it goes on behind the block");
    let sums = "%all: mat<64x64xf32, workgroup, acc> = var_load<$sums>\nmat_store %out, %all, %l\nreturn";
    assert!(is_streamed(&streamed("", "").replace("br @0", sums), Arch::Sm90a));
    let once = streamed("", "store %out, %depth").replace("br @0", sums);
    assert!(!is_streamed(&once, Arch::Sm90a), "the round that ends begins with a store");
}

/// [`streamed`], of which rounds are left out in which no element of a matrix is positive; with the address of the factors, and
/// what stands behind the product.
fn skipped(address: &str, behind: &str) -> String {
    let c = "mat<64x64xf32, workgroup, acc>";
    let skip = format!(
        "block @9 {{\n%mask: {c} = mat_load %in, %l\n%top: {c} = mat_reduce<all> %mask {{\n\
         %x: f32, %y: f32 = params\n%greater: f32 = fmax %x, %y\nyield %greater\n}}\nvar_store<$top> %top\n\
         %most: f32 = var_component_load<$top> %z, %z\n%none: bool = ford_le %most, %f\n\
         if %none {{\nbr @9\n}} else {{\n}}\n{address}\n%a:"
    );
    let source = streamed("", "").replacen("%p: ptr<buffer> = ptr_add<scale=2> %in, %k\n%a:", &skip, 1);
    source.replacen("var_store<$sums> %d\n", &format!("var_store<$sums> %d\n{behind}}}\n"), 1).replacen(
        "var $k: i32",
        &format!("var $k: i32\nvar $top: {c}\nvar $done: i32"),
        1,
    )
}

#[test]
fn factors_are_brought_ahead_of_rounds_that_may_be_left_out() {
    let source = skipped("%p: ptr<buffer> = ptr_add<scale=2> %in, %k", "");
    assert!(is_streamed(&source, Arch::Sm90a));
    let code = ptx(&source);
    // The mask is looked at in registers, but for a word of each warp.
    assert_eq!(count(&code, "st.shared"), 1, "{code}");
    // Who knows of fewer rounds would bring others.
    let done = "%done: i32 = var_load<$done>\n%p: ptr<buffer> = ptr_add<scale=2> %in, %done";
    let counts = "%one: i32 = const 1\n%more_done: i32 = iadd %done, %one\nvar_store<$done> %more_done\n";
    assert!(!is_streamed(&skipped(done, counts), Arch::Sm90a), "addresses that depend on what was done");
    let address = "%where: i64 = const 65536\n%p: ptr<global> = int_to_ptr %where";
    assert!(!is_streamed(&skipped(address, ""), Arch::Sm90a), "an address that may lead nowhere");
}

/// [`streamed`] with factors and sums of other types, and B by columns or by rows.
fn streamed_of(elem: &str, sum: &str, b_by_columns: bool) -> String {
    let mut source = streamed("", "").replace("ptr_add<scale=2>", "ptr_add<scale=1>");
    for (old, new) in [("64x32xf16", format!("64x128x{elem}")), ("32x64xf16", format!("128x64x{elem}"))] {
        source = source.replace(old, &new);
    }
    source = source.replace("x64xf32", &format!("x64x{sum}"));
    if sum == "i32" {
        source =
            source.replace("splat %f", "splat %z").replace("mul_add %a", "mul_add<a_signed, b_signed> %a");
    }
    let load = format!("%b: mat<128x64x{elem}, workgroup, b> = mat_load");
    if b_by_columns { source.replace(&load, &format!("{load}<column_major>")) } else { source }
}

#[test]
fn floats_of_8_bits_are_summed_by_parts() {
    for by_columns in [true, false] {
        let source = streamed_of("e4m3", "f32", by_columns);
        assert!(is_streamed(&source, Arch::Sm90a));
        let ptx = compile(&module(&source), Arch::Sm90a).expect("it is supported").ptx;
        // What is multiplied first replaces what the registers hold, and is added to the sums by itself.
        let part = "setp.eq.u32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3";
        assert_has(&ptx, &[part, "wgmma.wait_group.sync.aligned 0;"]);
        assert_eq!(ptx.matches("wgmma.mma_async").count(), 4 * ptx.matches(part).count(), "{ptx}");
        assert!(ptx.matches("add.rn.f32").count() >= 32, "{ptx}");
        assert_eq!(by_columns, !ptx.contains("prmt.b32"), "{ptx}");
    }
    let mixed = streamed_of("e4m3", "f32", true).replace("128x64xe4m3", "128x64xe5m2");
    let ptx = compile(&module(&mixed), Arch::Sm90a).expect("it is supported").ptx;
    assert_has(&ptx, &["m64n64k32.f32.e4m3.e5m2"]);
}

#[test]
fn bytes_by_rows_are_turned_where_they_are_brought() {
    let ptx = compile(&module(&streamed_of("i8", "i32", false)), Arch::Sm90a).expect("it is supported").ptx;
    assert_has(&ptx, &["prmt.b32", "st.shared.v4.b32", "m64n64k32.s32.s8.s8"]);
}

#[test]
fn bytes_become_halves_two_at_a_time() {
    let decoded = |align: u32| {
        let address = format!(
            "%nought: f16 = const 0.0\n%where: i64 = const 65536\n%block: ptr<global> = int_to_ptr %where\n\
             %four: i32 = const 4\n%nibble: i32 = const 15\n%half: i32 = const 16\n\
             %weights: ptr<global> = ptr_add<disp={align}> %block"
        );
        let function = "mat_splat %nought\n%a: mat<64x32xf16, workgroup, a> = mat_map %old {\n\
            %row: i32, %at: i32, %x: f16 = params\n%low: i32 = umod %at, %half\n\
            %word: i32 = udiv %at, %half\n\
            %from: ptr<global> = ptr_add<scale=32> %weights, %row\n%place: ptr<global> = ptr_add<scale=1> %from, %low\n\
            %byte: i8 = load %place\n%wide: i32 = u_to_u %byte\n%by: i32 = imul %word, %four\n\
            %down: i32 = lshr %wide, %by\n%bits: i32 = and %down, %nibble\n%decoded: f16 = u_to_f %bits\nyield %decoded\n}";
        let load = "%a: mat<64x32xf16, workgroup, a> = mat_load %p, %l";
        let source =
            streamed(&address, "").replace(load, &format!("%old: mat<64x32xf16, workgroup, a> = {function}"));
        assert!(is_streamed(&source, Arch::Sm90a));
        compile(&module(&source), Arch::Sm90a).expect("it is supported").ptx
    };
    // Each thread has eight bytes, of which both nibbles are weights.
    let pairs = |ptx: &str| ptx.matches("prmt.b32").count();
    assert_eq!((pairs(&decoded(2)), pairs(&decoded(1))), (8, 0));
    assert_has(&decoded(2), &["f16x2"]);
}

/// Whether a streamed product adds its addend behind the loop, with something between the two.
fn is_added_late(elem: &str, sum: &str, between: &str, change: impl Fn(String) -> String) -> bool {
    let c = format!("mat<64x64x{sum}, workgroup, acc>");
    let load = format!("%first: {c} = mat_load %in, %l\nvar_store<$sums> %first\n{between}");
    let source = match elem {
        "f16" => streamed("", ""),
        _ => streamed_of(elem, sum, true),
    };
    let source = change(source.replace("var_store<$sums> %start", &load));
    let ptx = compile(&module(&source), Arch::Sm90a).expect("it is supported").ptx;
    let [last, addend] = [ptx.rfind("wgmma.mma_async"), ptx.find("ld.v2")];
    let (last, addend) = (last.expect("it is streamed"), addend.expect("it is loaded"));
    let loads = source.matches(&format!(": {c} = mat_load")).count();
    // What sums begin with.
    let is_late = if sum == "f32" { ptx.contains("0f80000000") } else { addend > last };
    let copies = if is_late { 1 } else { loads };
    assert_eq!(ptx.matches("ld.v2").count(), 16 * copies, "it is loaded once: {ptx}");
    is_late
}

/// How many instructions multiply in rounds of two; `ptxas` does not wait for each.
fn multiplications(source: &str) -> usize {
    let ptx = compile(&module(source), Arch::Sm90a).expect("it is supported").ptx;
    if let Some(said) = said_of(&ptx) {
        assert!(said.contains("registers") && !said.contains("serialized"), "{said}");
    }
    count(&ptx, "wgmma.mma_async")
}

#[test]
fn the_first_round_is_apart_where_sums_begin_with_something() {
    let c = "mat<64x64xf32, workgroup, acc>";
    let blank = streamed("", "");
    assert_eq!(multiplications(&blank), 2);
    // What is added behind the loop is nothing before it.
    let load = format!("%first: {c} = mat_load %in, %l\nvar_store<$sums> %first");
    assert_eq!(multiplications(&blank.replace("var_store<$sums> %start", &load)), 2);
    assert_eq!(multiplications(&blank.replace("const 0.0", "const 1.0")), 4);
}

#[test]
fn what_is_added_late_is_asked_for_meanwhile() {
    let c = "mat<64x64xf32, workgroup, acc>";
    let asks = |first: &str| {
        let source = streamed("", "").replace("var_store<$sums> %start", first);
        count(&made_for_hopper(&source), "cp.async.bulk.prefetch.L2.global")
    };
    assert_eq!(asks("var_store<$sums> %start"), 0);
    assert_eq!(asks(&format!("%first: {c} = mat_load %in, %l\nvar_store<$sums> %first")), 1);
}

#[test]
fn products_are_not_begun_with_where_their_loop_may_be_passed_by() {
    let around = "block @1 {\n%none: bool = ieq %depth, %z\n";
    let passes = "if %none {\nbr @1\n} else {\n}\nloop @0";
    let source = streamed(around, "").replace("loop @0", passes).replace("%e: mat", "}\n%e: mat");
    assert_eq!(multiplications(&source), 4);
}

#[test]
fn addends_from_memory_are_added_behind_the_loop() {
    let as_is = |source| source;
    for (elem, sum) in [("i8", "i32"), ("e4m3", "f32"), ("e5m2", "f32")] {
        assert!(is_added_late(elem, sum, "", as_is), "{elem}");
    }
    // It may be loaded in one of two ways.
    let c = "mat<64x64xf32, workgroup, acc>";
    let in_two_ways = |source: String| {
        let ways = format!(
            "%near: bool = ult %depth, %step\nif %near {{\n%first: {c} = mat_load %in, %l\nvar_store<$c> %first\n}} \
             else {{\n%far: ptr<buffer> = ptr_add<scale=4> %in, %step\n%second: {c} = mat_load %far, %l\n\
             var_store<$c> %second\n}}\n%one: {c} = var_load<$c>\nvar_store<$sums> %one\n"
        );
        let way = format!("%first: {c} = mat_load %in, %l\nvar_store<$sums> %first\n");
        source.replace(&way, &ways).replace("var $k: i32\n", &format!("var $k: i32\nvar $c: {c}\n"))
    };
    assert!(is_added_late("e4m3", "f32", "", in_two_ways));
    assert!(is_added_late("f16", "f32", "", as_is));
    // What is before a barrier may be written behind it.
    assert!(!is_added_late("e4m3", "f32", "barrier<workgroup, workgroup>", as_is));
    // Who looks at sums before the loop or in it sees what they began with.
    let look =
        format!("%look: {c} = var_load<$sums>\n%twice: {c} = fadd %look, %look\nvar_store<$sums> %twice\n");
    assert!(!is_added_late("e4m3", "f32", &look, as_is));
    let in_loop = |source: String| source.replacen("%n: i32 = iadd", &format!("{look}%n: i32 = iadd"), 1);
    assert!(!is_added_late("e4m3", "f32", "", in_loop));
    // Nobody leaves the loop for somewhere else than behind it, or goes around it.
    let in_block = |source: String| {
        let first = format!("%first: {c} =");
        let behind = look.replace("%look", "%sums").replace("%twice", "%all");
        source.replace(&first, &format!("block @1 {{\n{first}")).replace("%e: ", &format!("{behind}}}\n%e: "))
    };
    assert!(is_added_late("e4m3", "f32", "", in_block));
    let leaves = |source: String| {
        let ends = "%far: bool = ieq %n, %depth\nif %far {\nbr @1\n} else {\nbr @0\n}\n} else {\n}\n}\n";
        in_block(source.replace("br @0\n} else {\n}\n}\n", ends))
    };
    assert!(!is_added_late("e4m3", "f32", "", leaves));
    let around = "%none: bool = ieq %depth, %z\nif %none {\nbr @1\n} else {\n}\n";
    assert!(!is_added_late("e4m3", "f32", around, in_block));
}

#[test]
fn factors_that_the_work_group_may_have_written_are_not_brought_ahead() {
    for before in ["store %out, %f", "%old: i32 = atomic_iadd %out, %z"] {
        assert!(!is_streamed(&streamed(before, ""), Arch::Sm90a), "{before}");
    }
    assert!(!is_streamed(&streamed("", "store %out, %f"), Arch::Sm90a));
    // What only this invocation knows of decides nothing for all.
    assert!(!is_streamed(
        &streamed("%other: bool = ieq %i, %z\nif %other {\nreturn\n} else {\n}", ""),
        Arch::Sm90a
    ));
}

/// Producers are at one slot at a time: what two products are made of and is loaded before both is not in two.
#[test]
fn factors_of_a_second_product_are_brought_behind_the_first() {
    let of = |kind: &str, name: &str| format!("%{name}: {kind} = mat_load %in, %l\n");
    let [a, b] = ["mat<64x32xf16, workgroup, a>", "mat<32x64xf16, workgroup, b>"];
    let loads = format!("{}{}", of(a, "a2"), of(b, "b2"));
    let c = "mat<64x64xf32, workgroup, acc>";
    let product =
        format!("%s2: {c} = var_load<$sums>\n%d2: {c} = mat_mul_add %a2, %b2, %s2\nvar_store<$sums> %d2\n");
    let kinds = |source: &str| {
        let ptx = compile(&module(source), Arch::Sm90a).expect("it is supported").ptx;
        ["wgmma.mma_async", "mma.sync"].map(|instruction| ptx.contains(instruction))
    };
    let apart = streamed("", "").replace("%a: ", &format!("{loads}{product}%a: "));
    assert_eq!(kinds(&apart), [true, false]);
    assert_eq!(kinds(&streamed("", &format!("{loads}{product}"))), [true, true]);
    let crossed = streamed("", &loads).replace("%n: i32 = iadd", &format!("{product}%n: i32 = iadd"));
    assert_eq!(kinds(&crossed), [true, true]);
}

/// A slot that is left is filled anew, and a work-group that ends gives its memory back, while copies are under way.
#[test]
fn factors_that_may_be_left_before_their_product_are_not_brought_ahead() {
    for leave in ["var_store<$k> %depth\nbr @0", "return"] {
        let branch = format!("%much: bool = ult %step, %k\nif %much {{\n{leave}\n}} else {{\n}}\n");
        let before = streamed("", "").replace("%p: ptr", &format!("{branch}%p: ptr"));
        assert!(is_streamed(&before, Arch::Sm90a), "{leave}");
        assert!(!is_streamed(&streamed("", &branch), Arch::Sm90a), "{leave}");
    }
}
