//! Says where the elements lie of matrices that vectors are multiplied by, where a module leaves it open: the target's answer.
//!
//! ```text
//! vec_mat_mul<$y, $x, m=8, k=4, f16, f16, inferencing> ..   →   vec_mat_mul<$y, $x, m=8, k=4, f16, f16, paired> ..
//! ```

use crate::module::Function;
use crate::op::Op;
use crate::vector::MatrixLayout;

pub(super) fn run(func: &mut Function, inferencing: MatrixLayout) {
    for info in &mut func.insts {
        if let Op::VecMatMul(op) = &mut info.op
            && op.layout == MatrixLayout::Inferencing
        {
            op.layout = inferencing;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::{LANES, Options, THREADS, optimize_by};
    use crate::text::parse;
    use crate::verify::verify;

    #[test]
    fn the_best_layout_is_the_one_of_the_target() {
        let text = "workgroup_size 4 1 1 subgroup_size 4 binding buf0 = 0.0 storage writable
            var $x: f16[4] var $y: f16[8] var $z: f16[8] {
                %0: i64 = const 0
                %2: i32 = const 0
                %1: ptr<buffer> = buffer_ptr<buf0> %2
                vec_mat_mul<$y, $x, m=8, k=4, f16, f16, inferencing> %1, %0
                vec_mat_mul<$z, $x, m=8, k=4, f16, f16, training> %1, %0
                %3: f16 = var_load<$y> %2
                %4: f16 = var_load<$z> %2
                store %1, %3, %4
            }";
        for (pipeline, name) in [(&LANES, "inferencing"), (&THREADS, "paired")] {
            let module = verify(parse(text).expect("it is text")).expect("it is right");
            let module = optimize_by(pipeline, module, &Options::default()).expect("the passes are right");
            let text = module.to_string();
            assert!(text.contains(&format!("f16, {name}>")) && text.contains("f16, training>"), "{text}");
        }
    }
}
