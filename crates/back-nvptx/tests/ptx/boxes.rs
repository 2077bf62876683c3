//! Factors of matrices of the work-group that are copied in boxes, and work-groups that share them.

use crate::streamed::streamed;
use crate::{assert_has, compile, module, said_of};
use phalanx_back_nvptx::abi::{Map, Stride};
use phalanx_back_nvptx::{Arch, Compiled};

const BOX: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";

/// The code of a kernel, which `ptxas` accepts where it is.
fn code(source: &str) -> Compiled {
    let code = compile(&module(source), Arch::Sm90a).expect("it is supported");
    if let Some(said) = said_of(&code.ptx) {
        assert!(said.contains("registers") && !said.contains("serialized"), "{said}");
    }
    code
}

/// [`streamed`], with factors at addresses of their own, and something before the loop.
fn with_addresses(before: &str, a: &str, b: &str) -> String {
    let addresses = format!(
        "%pa: ptr<buffer> = ptr_add<scale=2> %in, {a}\n%pb: ptr<buffer> = ptr_add<scale=2> %in, {b}\n\
         %a: mat<64x32xf16, workgroup, a> = mat_load %pa, %l\n%b: mat<32x64xf16, workgroup, b> = mat_load %pb, %l\n"
    );
    let source = streamed(before, "");
    let (start, rest) = source.split_once("%a: mat").expect("it loads A");
    let (_, end) =
        rest.split_once("mat_load %p, %l\n%b").and_then(|(_, rest)| rest.split_once('\n')).expect("and B");
    format!("{start}{addresses}{end}")
}

#[test]
fn lines_of_a_buffer_are_copied_in_boxes() {
    let Compiled { ptx, layout, .. } = code(&streamed("", ""));
    assert_has(&ptx, &[BOX, "cvta.param.u64", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64"]);
    let stride = Stride { scale: 128, push: None };
    let a = Map { binding: 0, element: 2, stride, lines: 64, span: 64, box_lines: 32 };
    let b = Map { binding: 0, element: 2, stride, lines: 32, span: 128, box_lines: 16 };
    assert_eq!(layout.maps, [a, b]);
    assert!(
        layout.maps_at.is_multiple_of(128) && ptx.contains(".param .align 128 .b8 phalanx_main_param_0[")
    );
    assert_eq!(layout.bytes, layout.maps_at + 256);
}

#[test]
fn the_host_is_told_of_strides_that_it_knows() {
    let of = |stride: &str| {
        let source = streamed("", "").replace("%l: i64 = const 128\n", &format!("{stride}\n"));
        code(&source).layout.maps.first().map(|map| map.stride)
    };
    let push = "%push: ptr<push> = push_ptr\n%at: ptr<push> = ptr_add<disp=8> %push\n%w: i32 = load %at\n\
        %wide: i64 = u_to_u %w\n%two: i64 = const 2\n";
    assert_eq!(of(&format!("{push}%l: i64 = imul %wide, %two")), Some(Stride { scale: 2, push: Some(8) }));
    assert_eq!(of(&format!("{push}%l: i64 = shl %wide, %two")), Some(Stride { scale: 4, push: Some(8) }));
    assert_eq!(of(&format!("{push}%l: i64 = iadd %wide, %two")), None);
    assert_eq!(
        of("%w: i32 = load %in\n%l: i64 = u_to_u %w"),
        None,
        "what is in a buffer the GPU alone knows"
    );
}

#[test]
fn neighbours_share_what_does_not_differ_between_them() {
    let rows = "%gx: i32 = workgroup_id<x>\n%gy: i32 = workgroup_id<y>\n%many: i32 = const 4096\n\
        %up: i32 = imul %gy, %many\n%left: i32 = imul %gx, %step";
    let within = "%ka: i32 = iadd %k, %up\n%kb: i32 = iadd %k, %left\n";
    let source = |before: &str, within: &str| {
        let before = format!("{rows}\n{before}");
        with_addresses(&before, "%ka", "%kb").replace("%pa: ptr", &format!("{within}%pa: ptr"))
    };
    let pairs = |source: &str| {
        let code = code(source);
        let (multicasts, pairs) = (code.ptx.matches("multicast::cluster").count(), code.layout.pairs);
        assert_eq!(multicasts > 0, pairs.is_some(), "{}", code.ptx);
        assert_eq!(code.ptx.contains("barrier.cluster"), pairs.is_some(), "{}", code.ptx);
        (pairs, multicasts)
    };
    // One box of two is asked for by each.
    assert_eq!(pairs(&source("", within)), (Some(1), 1));
    assert_eq!(
        pairs(&source(
            "",
            &within.replace("%up", "%left").replace("%kb: i32 = iadd %k, %left", "%kb: i32 = iadd %k, %z")
        )),
        (Some(0), 1)
    );
    // Nobody else's rounds may be fewer.
    let few = "%few: bool = ult %gy, %step\nif %few {\nreturn\n} else {\n}";
    assert_eq!(pairs(&source(few, within)), (Some(0), 1));
    let none = "%both: i32 = iadd %gx, %gy\n%gz: i32 = workgroup_id<z>\n%all: i32 = iadd %both, %gz\n\
        %few: bool = ult %all, %step\nif %few {\nreturn\n} else {\n}";
    assert_eq!(pairs(&source(none, within)), (None, 0));
    let rounds = source("", within).replace("%more: bool = ult %k, %depth", "%more: bool = ult %k, %up");
    assert_eq!(pairs(&rounds), (Some(0), 1));
}
