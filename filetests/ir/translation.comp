// What a small kernel looks like in the IR, before any pass.
//
// test print
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { float x[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < 5)
        x[i] = 2.0 * x[i] + 1.0;
}

// output:
// kernel "main"
// workgroup_size 8 1 1
// subgroup_size 32
// binding buf0 = 0.0 storage writable "Out"
// var $i: i32
//
// {
//   %0: i32 = const 0
//   %1: ptr<buffer> = buffer_ptr<buf0> %0
//   %2: i32 = global_invocation_id<x>
//   %3: i32 = global_invocation_id<y>
//   %4: i32 = global_invocation_id<z>
//   %5: i32 = const 5
//   %6: f32 = const 2.0
//   %7: f32 = const 1.0
//   var_store<$i> %2
//   %8: i32 = var_load<$i>
//   %9: bool = ult %8, %5
//   if %9 {
//     %10: i32 = var_load<$i>
//     %11: i32 = var_load<$i>
//     %12: ptr<buffer> = ptr_add<scale=4> %1, %11
//     %13: f32 = load %12
//     %14: f32 = fmul %6, %13
//     %15: f32 = fadd %14, %7
//     %16: ptr<buffer> = ptr_add<scale=4> %1, %10
//     store %16, %15
//   }
// }
