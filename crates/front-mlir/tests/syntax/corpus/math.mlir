// Every operation of math that a kernel may hold.
func.func @math(%x: f32, %y: f32, %i: i32, %v: vector<4xf32>) {
  %0 = math.absf %x : f32
  %1 = math.absi %i : i32
  %2 = math.acos %x : f32
  %3 = math.acosh %x : f32
  %4 = math.asin %x : f32
  %5 = math.asinh %x : f32
  %6 = math.atan %x : f32
  %7 = math.atan2 %x, %y : f32
  %8 = math.atanh %x : f32
  %9 = math.cbrt %x : f32
  %10 = math.ceil %x : f32
  %11 = math.copysign %x, %y : f32
  %12 = math.cos %x fastmath<afn> : f32
  %13 = math.cosh %x : f32
  %14 = math.ctlz %i : i32
  %15 = math.ctpop %i : i32
  %16 = math.cttz %i : i32
  %17 = math.erf %x : f32
  %18 = math.exp %v : vector<4xf32>
  %19 = math.exp2 %x : f32
  %20 = math.expm1 %x : f32
  %21 = math.floor %x : f32
  %22 = math.fma %x, %y, %x : f32
  %23 = math.fpowi %x, %i : f32, i32
  %24 = math.ipowi %i, %i : i32
  %25 = math.log %x : f32
  %26 = math.log10 %x : f32
  %27 = math.log1p %x : f32
  %28 = math.log2 %x : f32
  %29 = math.powf %x, %y fastmath<fast> : f32
  %30 = math.round %x : f32
  %31 = math.roundeven %x : f32
  %32 = math.rsqrt %x : f32
  %33 = math.sin %x : f32
  %34 = math.sinh %x : f32
  %35 = math.sqrt %x : f32
  %36 = math.tan %x : f32
  %37 = math.tanh %x : f32
  %38 = math.trunc %x {test.note = 1} : f32
  return
}
