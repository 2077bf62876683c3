//! `mat_rotate`, lowered: for matrices of many shapes in subgroups of all sizes, and for all kinds of offsets, the result
//! is what the definition says, and what the interpreter makes of the operation itself.

use super::{Random, again, module, run};
use phalanx_back_spirv::Options;

/// Rotates by an offset for each work-group.
fn text(n: u32, rows: u32, cols: u32, elem: &str, bytes: u32, offset: Option<i32>) -> String {
    let ty = format!("mat<{rows}x{cols}x{elem}, subgroup, acc>");
    let (row, size) = (cols * bytes, rows * cols * bytes);
    let offset = match offset {
        Some(offset) => format!("%offset: i32 = const {}", offset.cast_unsigned()),
        None => "%offset: i32 = load %at".to_owned(),
    };
    format!(
        "kernel \"main\"
workgroup_size {n} 1 1
subgroup_size {n}
binding buf0 = 0.0 storage \"a\"
binding buf1 = 0.1 storage \"b\"
binding buf2 = 0.2 storage \"offsets\"
binding buf3 = 0.3 storage writable \"out\"
{{
  %zero: i32 = const 0
  %stride: i64 = const {row}
  %a: ptr<buffer> = buffer_ptr<buf0> %zero
  %b: ptr<buffer> = buffer_ptr<buf1> %zero
  %offsets: ptr<buffer> = buffer_ptr<buf2> %zero
  %out: ptr<buffer> = buffer_ptr<buf3> %zero
  %group: i32 = workgroup_id<x>
  %at: ptr<buffer> = ptr_add<scale=4> %offsets, %group
  {offset}
  %x: {ty} = mat_load %a, %stride
  %y: {ty} = mat_load %b, %stride
  %r: {ty} = mat_rotate %x, %y, %offset
  %to: ptr<buffer> = ptr_add<scale={size}> %out, %group
  mat_store %to, %r, %stride
  return
}}"
    )
}

/// What the definition says: from element `offset` on, of the two behind each other.
fn expected(both: &[u8], elements: usize, bytes: usize, offset: i32) -> &[u8] {
    let offset = offset.clamp(0, elements as i32) as usize;
    &both[offset * bytes..][..elements * bytes]
}

#[test]
fn matrices_of_all_shapes_rotate() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut count = 0;
    for n in [4, 8, 16, 32, 64, 128] {
        // As many elements as lanes, fewer, several for a lane, and such that the last component is not everywhere.
        let mut shapes =
            vec![(1, 1), (1, n), (2, n), (3, 5), (4, n / 2 + 1), (n / 4, 4), (n + 1, 3), (n - 1, 1)];
        shapes.extend((0..6).map(|_| (1 + random.below(12), 1 + random.below(n.min(24)))));
        for (rows, cols) in shapes {
            let (elem, bytes) =
                [("f32", 4), ("i8", 1), ("f16", 2), ("bf16", 2), ("i32", 4)][random.below(5) as usize];
            let size = rows * cols;
            let mut offsets: Vec<i32> =
                [0, 1, n - 1, n, n + 1, 2 * n - 1, size / 2, size - 1, size, size + 1, size + n]
                    .map(u32::cast_signed)
                    .to_vec();
            offsets.extend([-1, i32::MIN, i32::MAX]);
            offsets.extend((0..8).map(|_| random.below(size + 1).cast_signed()));
            let both: Vec<u8> = (0..2 * size * bytes).map(|_| random.below(128) as u8).collect();
            let (a, b) = both.split_at((size * bytes) as usize);
            let words: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
            let out = vec![0xa5; offsets.len() * a.len()];
            let buffers = [a.to_vec(), b.to_vec(), words, out];
            let original = module(&text(n, rows, cols, elem, bytes, None));
            let whole = run(&original, &buffers, offsets.len() as u32);
            for options in [Options::default(), Options { rotates_by_shuffle: true }] {
                let lowered = run(&again(&original, options), &buffers, offsets.len() as u32);
                for (i, &offset) in offsets.iter().enumerate() {
                    let expected = expected(&both, size as usize, bytes as usize, offset);
                    let found = &lowered[3][i * a.len()..][..a.len()];
                    assert_eq!(found, expected, "{rows}x{cols}x{elem} by {offset}, {n} lanes");
                    count += 1;
                }
                assert_eq!(lowered, whole, "{rows}x{cols}x{elem}, {n} lanes");
            }
        }
    }
    assert!(count > 3000, "{count} rotations");
}

#[test]
fn offsets_that_are_known_fold() {
    let mut random = Random(88172645463325252);
    for (n, rows, cols) in [(16, 4, 4), (8, 16, 16), (32, 3, 5), (8, 3, 5), (4, 7, 9)] {
        let size = rows * cols;
        let both: Vec<u8> = (0..8 * size).map(|_| random.below(128) as u8).collect();
        let (a, b) = both.split_at(4 * size as usize);
        for offset in [-3, 0, 1, n as i32, size as i32 / 2, size as i32 - 1, size as i32, size as i32 + 2] {
            let buffers = [a.to_vec(), b.to_vec(), vec![0; 4], vec![0xa5; a.len()]];
            let original = module(&text(n, rows, cols, "f32", 4, Some(offset)));
            let lowered = run(&again(&original, Options::default()), &buffers, 1);
            assert_eq!(
                lowered[3],
                expected(&both, size as usize, 4, offset),
                "{rows}x{cols} by {offset}, {n} lanes"
            );
        }
    }
}

/// The RFC's example makes the RFC's instructions.
#[test]
fn one_component_is_lowered_as_the_rfc_does() {
    let lowered = phalanx_back_spirv::lower(&module(&text(16, 4, 4, "f32", 4, None)), Options::default());
    let text = lowered.expect("it is lowered").disassemble();
    let body = &text[text.find("OpFunction ").expect("there is a function")..];
    let wanted = [
        "OpCompositeConstruct",
        "OpCompositeExtract",
        "OpCompositeExtract",
        "OpSGreaterThanEqual",
        "OpSelect",
        "OpGroupNonUniformRotateKHR",
        "OpCompositeInsert",
    ];
    let mut rest = body;
    for op in wanted {
        let at = rest.find(op).unwrap_or_else(|| panic!("{op} is missing, or out of order, in\n{body}"));
        rest = &rest[at + op.len()..];
    }
    for op in ["OpSelect", "OpGroupNonUniformRotateKHR", "OpCompositeInsert"] {
        assert_eq!(body.matches(op).count(), 1, "{op}\n{body}");
    }
}
