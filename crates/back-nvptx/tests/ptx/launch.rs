//! What a launch has: the kernels before it.

use crate::{compile, kernel, module};
use phalanx_back_nvptx::Arch;

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
