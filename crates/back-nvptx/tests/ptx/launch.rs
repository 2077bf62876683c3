//! What a launch has: registers, and the kernels before it.

use crate::{assert_has, compile, kernel, module, ptx};
use phalanx_back_nvptx::Arch;

#[test]
fn registers_leave_room_for_threads_where_no_matrices_are() {
    assert_has(&ptx(&kernel("store %out, %i")), &[".maxntid 64", ".minnctapersm 16"]);
    let matrix = "%f: f32 = const 0.0\n%l: i64 = const 16\n\
                  %m: mat<16x16xf32, subgroup, acc> = mat_splat %f\nmat_store %out, %m, %l";
    assert!(!ptx(&kernel(matrix)).contains(".minnctapersm"));
}

#[test]
fn kernels_wait_for_those_before_them_where_the_hardware_can() {
    let source = module(&kernel("store %out, %i"));
    let hopper = compile(&source, Arch::Sm90a).expect("it is supported");
    assert!(hopper.layout.waits);
    let (before, _) = hopper.ptx.split_once("griddepcontrol.wait;").expect("it waits");
    assert!(!before.contains("ld.global") && !before.contains("st.global"), "{before}");
    let older = compile(&source, Arch::Sm89).expect("it is supported");
    assert!(!older.layout.waits && !older.ptx.contains("griddepcontrol"), "{}", older.ptx);
}
