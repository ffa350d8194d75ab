// RUN: mpc-opt %s --mpc-interleave-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-interleave-launches --mpc-interleave-launches | FileCheck %s
// Kernels that make numbers of 8 bits of sums are recognised; others run as they are.

func.func private @unsigned_numbers_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// The lowest 8 bits of numbers up to 255.
// CHECK-LABEL: func.func @unsigned_numbers(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 0>}
func.func @unsigned_numbers(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @unsigned_numbers_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @signed_numbers_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant -131.0 : f32
  %most = arith.constant 124.0 : f32
  %zero = arith.constant 3 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %moved = arith.addi %n, %zero : i32
      %q = arith.trunci %moved : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// Numbers of a type with a sign, with a zero point behind them.
// CHECK-LABEL: func.func @signed_numbers(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: } {mpcrt.requantization = array<i64: 1, 2, 3, -131, 124, 3>}
func.func @signed_numbers(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @signed_numbers_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @other_signs_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %narrow = arith.trunci %n : i32 to i8
      %wide = arith.extui %narrow : i8 to i32
      %moved = arith.subi %wide, %zero : i32
      %q = arith.trunci %moved : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// As the next product wants them: 128 less, of 8 bits that were widened.
// CHECK-LABEL: func.func @other_signs(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 128>}
func.func @other_signs(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @other_signs_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @without_bias_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %f = arith.sitofp %v : i32 to f32
      %m = arith.mulf %s, %f : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// Sums without a bias, and the scale in front.
// CHECK-LABEL: func.func @without_bias(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: } {mpcrt.requantization = array<i64: -1, 2, 3, 0, 255, 0>}
func.func @without_bias(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @without_bias_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @towards_zero_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %n = arith.fptosi %within : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// Without rounding to the nearest integer.
// CHECK-LABEL: func.func @towards_zero(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @towards_zero(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @towards_zero_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @fractions_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 254.5 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// Bounds that are no integers.
// CHECK-LABEL: func.func @fractions(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @fractions(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @fractions_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @negative_zero_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant -0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// A bound of -0, which a maximum of zeros would show.
// CHECK-LABEL: func.func @negative_zero(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @negative_zero(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @negative_zero_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @unbounded_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %r = math.roundeven %above : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// Without the upper bound.
// CHECK-LABEL: func.func @unbounded(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @unbounded(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @unbounded_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @nan_stays_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ugt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// NaN would be another number: the comparison is the other way round.
// CHECK-LABEL: func.func @nan_stays(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @nan_stays(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @nan_stays_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @scaled_twice_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.muli %v, %b : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// The bias is a factor, too.
// CHECK-LABEL: func.func @scaled_twice(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @scaled_twice(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @scaled_twice_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

func.func private @row_of_bias_kernel(%x: memref<?x4xi32>, %bias: memref<4xi32>, %scales: memref<4xf32>, %y: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %zero = arith.constant 128 : i32
  scf.for %i = %begin to %end step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xi32>
      %b = memref.load %bias[%j] : memref<4xi32>
      %s = memref.load %scales[%j] : memref<4xf32>
      %sum = arith.addi %v, %v : i32
      %f = arith.sitofp %sum : i32 to f32
      %m = arith.mulf %f, %s : f32
      %isAbove = arith.cmpf ogt, %m, %least : f32
      %above = arith.select %isAbove, %m, %least : f32
      %isBelow = arith.cmpf olt, %above, %most : f32
      %within = arith.select %isBelow, %above, %most : f32
      %r = math.roundeven %within : f32
      %n = arith.fptosi %r : f32 to i32
      %q = arith.trunci %n : i32 to i8
      memref.store %q, %y[%i, %j] : memref<?x4xi8>
    } {mpcrt.independent}
  }
  return
}

// The sum is read again, in the place of a bias.
// CHECK-LABEL: func.func @row_of_bias(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK-NOT: mpcrt.requantization
// CHECK: return
func.func @row_of_bias(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @row_of_bias_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

// More weights than leave sums in parts: a kernel that is a requantization joins them, and another one does not.
// CHECK-LABEL: func.func @many_weights(
// CHECK: mpcrt.interleave result(0) consumed {
// CHECK: } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 0>}
func.func @many_weights(%x: memref<?x40000xi8> {mpc.input = "x"}, %w: memref<40000x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x40000xi8>, memref<40000x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @unsigned_numbers_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

// CHECK-LABEL: func.func @many_weights_towards_zero(
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @many_weights_towards_zero(%x: memref<?x40000xi8> {mpc.input = "x"}, %w: memref<40000x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xi32>
  mpcrt.contract ins(%x, %w : memref<?x40000xi8>, memref<40000x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @towards_zero_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}

// Sums that are stored anyway are read where they lie.
// CHECK-LABEL: func.func @many_weights_and_sums(
// CHECK-NOT: mpcrt.interleave
// CHECK: return
func.func @many_weights_and_sums(%x: memref<?x40000xi8> {mpc.input = "x"}, %w: memref<40000x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %y: memref<?x4xi32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}) attributes {mpc.entry} {
  mpcrt.contract ins(%x, %w : memref<?x40000xi8>, memref<40000x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
  mpcrt.launch @unsigned_numbers_kernel count(%n) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  return
}
