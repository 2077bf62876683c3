// Every operation of arith.
func.func @integers(%a: i32, %b: i32, %w: i64, %v: vector<4xi32>, %c: i1, %m: vector<4xi1>, %i: index) {
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %a, %b overflow<nsw, nuw> : i32
  %2 = arith.subi %a, %b overflow<nuw> {test.note = "kept"} : i32
  %3 = arith.muli %v, %v overflow<nsw> : vector<4xi32>
  %4 = arith.shli %a, %b overflow<none> : i32
  %5 = arith.divsi %a, %b : i32
  %6 = arith.divui %a, %b : i32
  %7 = arith.ceildivsi %a, %b : i32
  %8 = arith.ceildivui %a, %b : i32
  %9 = arith.floordivsi %a, %b : i32
  %10 = arith.remsi %i, %i : index
  %11 = arith.remui %a, %b : i32
  %12 = arith.andi %a, %b : i32
  %13 = arith.ori %a, %b : i32
  %14 = arith.xori %c, %c : i1
  %15 = arith.shrsi %a, %b : i32
  %16 = arith.shrui %a, %b : i32
  %17 = arith.maxsi %a, %b : i32
  %18 = arith.maxui %a, %b : i32
  %19 = arith.minsi %a, %b : i32
  %20 = arith.minui %a, %b : i32
  %sum, %carry = arith.addui_extended %a, %b : i32, i1
  %low, %high = arith.mulsi_extended %a, %b : i32
  %both:2 = arith.mului_extended %a, %b : i32
  %21 = arith.addi %both#0, %both#1 : i32
  %22 = arith.cmpi eq, %a, %b : i32
  %23 = arith.cmpi ne, %a, %b : i32
  %24 = arith.cmpi slt, %a, %b : i32
  %25 = arith.cmpi sle, %a, %b : i32
  %26 = arith.cmpi sgt, %a, %b : i32
  %27 = arith.cmpi sge, %a, %b : i32
  %28 = arith.cmpi ult, %i, %i : index
  %29 = arith.cmpi ule, %a, %b : i32
  %30 = arith.cmpi ugt, %a, %b : i32
  %31 = arith.cmpi uge, %v, %v : vector<4xi32>
  %32 = arith.select %c, %a, %b : i32
  %33 = arith.select %m, %v, %v : vector<4xi1>, vector<4xi32>
  %34 = arith.extsi %a : i32 to i64
  %35 = arith.extui %v : vector<4xi32> to vector<4xi64>
  %36 = arith.trunci %w : i64 to i32
  %37 = arith.index_cast %a : i32 to index
  %38 = arith.index_castui %i : index to i32
  %39 = arith.sitofp %a : i32 to f32
  %40 = arith.uitofp %a : i32 to f16
  %41 = arith.bitcast %a : i32 to f32
  return
}

func.func @floats(%a: f32, %b: f32, %h: f16, %d: f64, %v: vector<2x3xf32>) {
  %0 = arith.addf %a, %b : f32
  %1 = arith.subf %a, %b fastmath<contract> : f32
  %2 = arith.mulf %a, %b fastmath<ninf,nnan> : f32
  %3 = arith.divf %a, %b fastmath<fast> : f32
  %4 = arith.remf %a, %b fastmath<reassoc,nnan,ninf,nsz,arcp,contract,afn> : f32
  %5 = arith.maximumf %a, %b : f32
  %6 = arith.minimumf %v, %v : vector<2x3xf32>
  %7 = arith.maxnumf %a, %b fastmath<none> : f32
  %8 = arith.minnumf %a, %b : f32
  %9 = arith.negf %a : f32
  %10 = arith.cmpf olt, %a, %b : f32
  %11 = arith.cmpf false, %a, %b : f32
  %12 = arith.cmpf une, %a, %b fastmath<nnan> : f32
  %13 = arith.cmpf true, %v, %v : vector<2x3xf32>
  %14 = arith.cmpf ueq, %a, %b : f32
  %15 = arith.cmpf ord, %a, %b : f32
  %16 = arith.extf %h : f16 to f32
  %17 = arith.extf %h fastmath<fast> : f16 to f64
  %18 = arith.truncf %a : f32 to bf16
  %19 = arith.truncf %a to_nearest_even : f32 to f16
  %20 = arith.truncf %d toward_zero fastmath<nsz> : f64 to f32
  %21 = arith.fptosi %a : f32 to i32
  %22 = arith.fptoui %a : f32 to i8
  return
}

func.func @constants() -> f32 {
  %0 = arith.constant 42 : i32
  %1 = arith.constant -1 : i64
  %2 = arith.constant 255 : i8
  %3 = arith.constant 0xFF : i16
  %4 = arith.constant true
  %5 = arith.constant false
  %6 = arith.constant 7 : index
  %7 = arith.constant 0.1 : f32
  %8 = arith.constant -1.5e-3 : f16
  %9 = arith.constant 0x7FC00000 : f32
  %10 = arith.constant 0xFF800000 : f32
  %11 = arith.constant 0x7C00 : f16
  %12 = arith.constant 3.14159274 : bf16
  %13 = arith.constant 1.0e+300 : f64
  %14 = arith.constant dense<1.5> : vector<4xf32>
  %15 = arith.constant dense<[1, 2, 3, -4]> : vector<4xi32>
  %16 = arith.constant dense<[[1, 2], [3, 4]]> : vector<2x2xi8>
  %17 = arith.constant dense<[true, false]> : vector<2xi1>
  %18 = arith.constant dense<"0x0000803F00000040"> : vector<2xf32>
  %19 = arith.constant {test.note} 5 : i32
  %20 = arith.constant dense<[7, 7]> : vector<2xindex>
  %21 = arith.constant 65504.0 : f16
  return %7 : f32
}
