// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mlir-print-op-generic | mpc-opt | FileCheck %s
// Every op prints in a form that reads back as the same op.

// CHECK-LABEL: func.func @tensors
func.func @tensors(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %b: tensor<4xbf16>, %o: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x4xbf16>) bias(%{{.*}} : tensor<4xbf16>) outs(%{{.*}} : tensor<?x4xbf16>) activation({{ ?}}relu) {layer = "dense"} -> tensor<?x4xbf16>
  %0 = mpcrt.contract ins(%x, %w : tensor<?x8xbf16>, tensor<8x4xbf16>) bias(%b : tensor<4xbf16>)
      outs(%o : tensor<?x4xbf16>) activation(relu) {layer = "dense"} -> tensor<?x4xbf16>
  return %0 : tensor<?x4xbf16>
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: memref<?x8xbf16>, %w: memref<8x2xi8>, %s: memref<2x4xbf16>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xbf16>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xbf16>, memref<8x2xi8>) blocks(%{{.*}}, %{{.*}}, %{{.*}} : memref<2x4xbf16>, memref<2x4xi8>, memref<8xf32>) outs(%{{.*}} : memref<?x4xbf16>)
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<8x2xi8>) blocks(%s, %z, %g : memref<2x4xbf16>, memref<2x4xi8>, memref<8xf32>)
      outs(%o : memref<?x4xbf16>)
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: memref<?x8xbf16>, %w: memref<2x8xi8>, %s: memref<4x2xbf16>, %z: memref<4x2xi8>, %g: memref<8xf32>, %o: memref<?x4xbf16>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xbf16>, memref<2x8xi8>) blocks(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>) outs(%{{.*}} : memref<?x4xbf16>) {transpose_rhs}
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<2x8xi8>) blocks(%s, %z, %g : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>)
      outs(%o : memref<?x4xbf16>) {transpose_rhs}
  return
}

// CHECK-LABEL: func.func @bytes_of_groups
func.func @bytes_of_groups(%x: memref<?x8xbf16>, %w: memref<4x8xi8>, %s: memref<4x2xbf16>, %z: memref<4x2xi8>, %g: memref<8xf32>, %o: memref<?x4xbf16>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xbf16>, memref<4x8xi8>) blocks(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>) outs(%{{.*}} : memref<?x4xbf16>) {transpose_rhs}
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<4x8xi8>) blocks(%s, %z, %g : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>)
      outs(%o : memref<?x4xbf16>) {transpose_rhs}
  return
}

// CHECK-LABEL: func.func @divided_groups
func.func @divided_groups(%x: memref<?x8xbf16>, %w: memref<2x8xi8>, %s: memref<4x2xbf16>, %z: memref<4x2xi8>, %g: memref<8xf32>, %d: memref<8xf32>, %o: memref<?x4xbf16>) {
  // CHECK: mpcrt.contract {{.*}}blocks(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>) divided(%{{.*}} : memref<8xf32>) outs(%{{.*}} : memref<?x4xbf16>) {transpose_rhs}
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<2x8xi8>) blocks(%s, %z, %g : memref<4x2xbf16>, memref<4x2xi8>, memref<8xf32>) divided(%d : memref<8xf32>)
      outs(%o : memref<?x4xbf16>) {transpose_rhs}
  return
}

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<?x8xf16>, %w: tensor<8x130xf16>, %dz: tensor<?x4xf16>, %v: tensor<130x4xf16>, %o: tensor<?x130xf16>, %e: tensor<?x32xi8>)
    -> (tensor<?x130xf16>, tensor<?x130xf16>) {
  // CHECK: mpcrt.contract ins({{.*}}) outs(%{{.*}} : tensor<?x130xf16>) mask(%{{.*}} : tensor<?x32xi8>) activation({{ ?}}relu) -> tensor<?x130xf16>, tensor<?x32xi8>
  %y, %m = mpcrt.contract ins(%x, %w : tensor<?x8xf16>, tensor<8x130xf16>) outs(%o : tensor<?x130xf16>) mask(%e : tensor<?x32xi8>)
      activation(relu) -> tensor<?x130xf16>, tensor<?x32xi8>
  // CHECK: mpcrt.contract ins({{.*}}) where(%{{.*}} : tensor<?x32xi8>) outs(%{{.*}} : tensor<?x130xf16>) {transpose_rhs} -> tensor<?x130xf16>
  %d = mpcrt.contract ins(%dz, %v : tensor<?x4xf16>, tensor<130x4xf16>) where(%m : tensor<?x32xi8>) outs(%o : tensor<?x130xf16>)
      {transpose_rhs} -> tensor<?x130xf16>
  return %y, %d : tensor<?x130xf16>, tensor<?x130xf16>
}

// A left operand that is rounded; sums of the right one's columns.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<?x8xf32>, %dy: tensor<?x4xf16>, %o: tensor<8x4xf16>, %e: tensor<i16>, %s: tensor<4xf32>) -> (tensor<8x4xf16>, tensor<i16>, tensor<4xf32>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x4xf16>) outs(%{{.*}} : tensor<8x4xf16>) largest(%{{.*}} : tensor<i16>) sums(%{{.*}} : tensor<4xf32>) {transpose_lhs} -> tensor<8x4xf16>, tensor<i16>, tensor<4xf32>
  %dw, %l, %db = mpcrt.contract ins(%x, %dy : tensor<?x8xf32>, tensor<?x4xf16>) outs(%o : tensor<8x4xf16>) largest(%e : tensor<i16>) sums(%s : tensor<4xf32>)
      {transpose_lhs} -> tensor<8x4xf16>, tensor<i16>, tensor<4xf32>
  return %dw, %l, %db : tensor<8x4xf16>, tensor<i16>, tensor<4xf32>
}

// CHECK-LABEL: func.func @rounded_sums
func.func @rounded_sums(%x: tensor<?x8xf16>, %dy: tensor<?x4xf16>, %o: tensor<8x4xf16>, %s: tensor<4xf16>) -> (tensor<8x4xf16>, tensor<4xf16>) {
  // CHECK: mpcrt.contract ins({{.*}}) outs(%{{.*}} : tensor<8x4xf16>) sums(%{{.*}} : tensor<4xf16>) {transpose_lhs} -> tensor<8x4xf16>, tensor<4xf16>
  %dw, %db = mpcrt.contract ins(%x, %dy : tensor<?x8xf16>, tensor<?x4xf16>) outs(%o : tensor<8x4xf16>) sums(%s : tensor<4xf16>) {transpose_lhs}
      -> tensor<8x4xf16>, tensor<4xf16>
  return %dw, %db : tensor<8x4xf16>, tensor<4xf16>
}

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<?x8xf16>, %w: tensor<8x16xf16>, %dz: tensor<?x4xf16>, %v: tensor<16x4xf16>, %o: tensor<?x16xf16>)
    -> (tensor<?x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>) {
  // CHECK: mpcrt.contract ins({{.*}}) outs(%{{.*}} : tensor<?x16xf16>) gelu kept(%{{.*}} : tensor<?x16xf16>) -> tensor<?x16xf16>, tensor<?x16xf16>
  %y, %z = mpcrt.contract ins(%x, %w : tensor<?x8xf16>, tensor<8x16xf16>) outs(%o : tensor<?x16xf16>) gelu kept(%o : tensor<?x16xf16>)
      -> tensor<?x16xf16>, tensor<?x16xf16>
  // CHECK: mpcrt.contract ins({{.*}}) outs(%{{.*}} : tensor<?x16xf16>) gelu -> tensor<?x16xf16>
  %p = mpcrt.contract ins(%x, %w : tensor<?x8xf16>, tensor<8x16xf16>) outs(%o : tensor<?x16xf16>) gelu -> tensor<?x16xf16>
  // CHECK: mpcrt.contract ins({{.*}}) gelu_at(%{{.*}} : tensor<?x16xf16>) outs(%{{.*}} : tensor<?x16xf16>) {transpose_rhs} -> tensor<?x16xf16>
  %d = mpcrt.contract ins(%dz, %v : tensor<?x4xf16>, tensor<16x4xf16>) gelu_at(%z : tensor<?x16xf16>) outs(%o : tensor<?x16xf16>)
      {transpose_rhs} -> tensor<?x16xf16>
  return %y, %p, %d : tensor<?x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>
}

// CHECK-LABEL: func.func @memrefs
func.func @memrefs(%x: memref<?x8xf32>, %g: memref<?x4xf32>, %o: memref<8x4xf32>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xf32>, memref<?x4xf32>) outs(%{{.*}} : memref<8x4xf32>) {transpose_lhs}
  mpcrt.contract ins(%x, %g : memref<?x8xf32>, memref<?x4xf32>) outs(%o : memref<8x4xf32>) {transpose_lhs}
  return
}

// CHECK-LABEL: func.func @batched
func.func @batched(%x: memref<?x3x8xf32>, %y: memref<?x5x8xf32>, %o: memref<?x3x5xf32>) {
  // CHECK: mpcrt.contract {{.*}} {accumulate, transpose_rhs}
  mpcrt.contract ins(%x, %y : memref<?x3x8xf32>, memref<?x5x8xf32>) outs(%o : memref<?x3x5xf32>) {transpose_rhs, accumulate}
  return
}

// CHECK-LABEL: func.func private @relu
// CHECK-SAME: attributes {mpcrt.kernel}
func.func private @relu(memref<?x64xf32>, index, index) attributes {mpcrt.kernel}

// CHECK-LABEL: func.func @launch
func.func @launch(%arena: memref<?xi8> {mpcrt.arena}, %batch: index {mpcrt.batch}, %y: memref<?x4xf32> {mpcrt.output = "out0"})
    attributes {mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 256 : i64} {
  // CHECK: %[[VIEW:.*]] = mpcrt.view %{{.*}}[%{{.*}}] fixed(128) per_sample(0) : memref<?xi8> -> memref<?x64xf32>
  %0 = mpcrt.view %arena[%batch] fixed(128) per_sample(0) : memref<?xi8> -> memref<?x64xf32>
  // CHECK: mpcrt.launch @relu count(%{{.*}}) grain(4096) args(%[[VIEW]] : memref<?x64xf32>)
  mpcrt.launch @relu count(%batch) grain(4096) args(%0 : memref<?x64xf32>)
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<?x8xf32>, %o: memref<?xf32>) {
  // CHECK: mpcrt.rows loops(1) {
  // CHECK-NEXT: linalg.generic
  mpcrt.rows loops(1) {
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x8xf32>) outs(%o : memref<?xf32>) {
    ^bb0(%i: f32, %s: f32):
      %0 = arith.addf %i, %s : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// The largest element of the result, too.
// CHECK-LABEL: func.func @largest
func.func @largest(%x: tensor<?x8xf16>, %g: tensor<?x4xf16>, %o: tensor<8x4xf16>, %l: tensor<i16>) -> (tensor<8x4xf16>, tensor<i16>) {
  // CHECK: mpcrt.contract {{.*}} outs(%{{.*}} : tensor<8x4xf16>) largest(%{{.*}} : tensor<i16>) {transpose_lhs} -> tensor<8x4xf16>, tensor<i16>
  %0:2 = mpcrt.contract ins(%x, %g : tensor<?x8xf16>, tensor<?x4xf16>) outs(%o : tensor<8x4xf16>) largest(%l : tensor<i16>)
      {transpose_lhs} -> tensor<8x4xf16>, tensor<i16>
  return %0#0, %0#1 : tensor<8x4xf16>, tensor<i16>
}

// Weights of integers, and two of them in each byte.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: memref<?x8xf32>, %w: memref<8x5xi8>, %p: memref<8x3xi8>, %o: memref<?x5xf32>) {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xf32>, memref<8x5xi8>) outs(%{{.*}} : memref<?x5xf32>)
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x5xi8>) outs(%o : memref<?x5xf32>)
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : memref<?x8xf32>, memref<8x3xi8>) outs(%{{.*}} : memref<?x5xf32>)
  mpcrt.contract ins(%x, %p : memref<?x8xf32>, memref<8x3xi8>) outs(%o : memref<?x5xf32>)
  return
}

func.func private @halve(%a: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func private @requantize(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}

// A kernel on parts of a product.
// CHECK-LABEL: func.func @interleaved
func.func @interleaved(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %n: index) {
  // CHECK: mpcrt.interleave result(0) consumed {
  // CHECK-NEXT: mpcrt.contract
  // CHECK-NEXT: mpcrt.launch @halve
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @halve count(%n) grain(1) args(%o : memref<4x4xf32>)
  }
  // CHECK: mpcrt.interleave result(0) replaced {
  mpcrt.interleave result(0) replaced {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @halve count(%n) grain(1) args(%o : memref<4x4xf32>)
  }
  // CHECK: mpcrt.interleave result(0) {
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @halve count(%n) grain(1) args(%o : memref<4x4xf32>)
  }
  return
}

// A kernel that makes numbers of 8 bits of sums, with a bias and without.
// CHECK-LABEL: func.func @requantized
func.func @requantized(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // CHECK: mpcrt.interleave result(0) consumed {
  // CHECK: } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 128>}
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @requantize count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 128>}
  // CHECK: } {mpcrt.requantization = array<i64: -1, 2, 3, -128, 127, 0>}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @requantize count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: -1, 2, 3, -128, 127, 0>}
  return
}

// A loop over time that threads share by rows.
// CHECK-LABEL: func.func @by_rows
func.func @by_rows(%h: memref<?x4xf32>, %w: memref<4x4xf32>, %z: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: mpcrt.parallel_rows count(%{{.*}}) {
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: mpcrt.contract
  mpcrt.parallel_rows count(%n) {
    scf.for %t = %c0 to %n step %c1 {
      mpcrt.contract ins(%h, %w : memref<?x4xf32>, memref<4x4xf32>) outs(%z : memref<?x4xf32>)
    }
  }
  return
}

// What is computed when weights change.
// CHECK-LABEL: func.func @prepared
func.func @prepared(%m: memref<?xi8> {mpcrt.prepared}, %w: memref<4xf32>, %n: index) {
  %k = mpcrt.view %m[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4xf32>
  // CHECK: mpcrt.prepare %{{.*}} bytes(256) {
  // CHECK-NEXT: memref.copy
  // CHECK-NEXT: } : memref<?xi8>
  mpcrt.prepare %m bytes(256) {
    memref.copy %w, %k : memref<4xf32> to memref<4xf32>
  } : memref<?xi8>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %o: memref<?x3x2x8xf16>) {
  // CHECK: mpcrt.attend ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}}, %{{.*}} : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 5.000000e-01 {causal, layer = "a"}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      outs(%o, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 0.5 {causal, layer = "a"}
  // CHECK: mpcrt.attend_gradient ins(%{{.*}} of %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) scale 5.000000e-01
  mpcrt.attend_gradient ins(%q of %o, %l, %q, %q, %q : memref<?x3x2x8xf16>, memref<?x2x3xf32>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      outs(%o, %o, %o : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) scale 0.5
  return
}

// CHECK-LABEL: func.func @masked_attention
func.func @masked_attention(%q: memref<?x3x2x8xf16>, %m: memref<?x1x1x3xi1>, %l: memref<?x2x3xf32>, %o: memref<?x3x2x8xf16>) {
  // CHECK: mpcrt.attend ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) mask(%{{.*}} : memref<?x1x1x3xi1>) outs(%{{.*}}, %{{.*}} : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 5.000000e-01
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) mask(%m : memref<?x1x1x3xi1>)
      outs(%o, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 0.5
  // CHECK: mpcrt.attend_gradient ins(%{{.*}} of %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) mask(%{{.*}} : memref<?x1x1x3xi1>) outs(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) scale 5.000000e-01
  mpcrt.attend_gradient ins(%q of %o, %l, %q, %q, %q : memref<?x3x2x8xf16>, memref<?x2x3xf32>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      mask(%m : memref<?x1x1x3xi1>) outs(%o, %o, %o : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) scale 0.5
  return
}

// CHECK-LABEL: func.func @attention_with_hidden_score
func.func @attention_with_hidden_score(%q: memref<?x3x2x8xf16>, %m: memref<?x1x1x3xi1>, %l: memref<?x2x3xf32>, %o: memref<?x3x2x8xf16>) {
  // CHECK: mpcrt.attend ins({{.*}}) outs({{.*}}) scale 5.000000e-01 {causal, hidden_score = -3.000000e+04 : f64}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      outs(%o, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 0.5 {causal, hidden_score = -3.0e4 : f64}
  // CHECK: mpcrt.attend_gradient ins({{.*}}) mask({{.*}}) outs({{.*}}) scale 5.000000e-01 {hidden_score = -3.000000e+04 : f64}
  mpcrt.attend_gradient ins(%q of %o, %l, %q, %q, %q : memref<?x3x2x8xf16>, memref<?x2x3xf32>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      mask(%m : memref<?x1x1x3xi1>) outs(%o, %o, %o : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) scale 0.5 {hidden_score = -3.0e4 : f64}
  return
}

// CHECK-LABEL: func.func @attention_with_dropout
func.func @attention_with_dropout(%q: memref<?x3x2x8xf16>, %m: memref<?x1x1x3xi1>, %k: memref<?x2x3x3xi1>, %l: memref<?x2x3xf32>, %o: memref<?x3x2x8xf16>) {
  // CHECK: mpcrt.attend ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) kept(%{{.*}} : memref<?x2x3x3xi1>) outs(%{{.*}}, %{{.*}} : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 5.000000e-01 {keep_scale = 2.000000e+00 : f64}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) kept(%k : memref<?x2x3x3xi1>)
      outs(%o, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 0.5 {keep_scale = 2.0 : f64}
  // CHECK: mpcrt.attend_gradient ins({{.*}}) mask(%{{.*}} : memref<?x1x1x3xi1>) kept(%{{.*}} : memref<?x2x3x3xi1>) outs({{.*}}) scale 5.000000e-01 {keep_scale = 2.000000e+00 : f64}
  mpcrt.attend_gradient ins(%q of %o, %l, %q, %q, %q : memref<?x3x2x8xf16>, memref<?x2x3xf32>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>)
      mask(%m : memref<?x1x1x3xi1>) kept(%k : memref<?x2x3x3xi1>) outs(%o, %o, %o : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) scale 0.5 {keep_scale = 2.0 : f64}
  return
}

// Parts of a contraction go together but for two activations.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %b: memref<4xf16>, %o: memref<?x4xf16>, %m: memref<?x16xi8>, %s: memref<4xf32>, %l: memref<i16>) {
  // CHECK: mpcrt.contract {{.*}} bias({{.*}}) where({{.*}}) outs({{.*}}) largest({{.*}}) sums({{.*}}) {accumulate}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) bias(%b : memref<4xf16>) where(%m : memref<?x16xi8>)
      outs(%o : memref<?x4xf16>) largest(%l : memref<i16>) sums(%s : memref<4xf32>) {accumulate}
  // CHECK: mpcrt.contract {{.*}} outs({{.*}}) sums({{.*}}) gelu
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) outs(%o : memref<?x4xf16>) sums(%s : memref<4xf32>) gelu
  return
}

// CHECK-LABEL: func.func @concatenation
func.func @concatenation(%a: memref<?x2xi32>, %b: memref<?x3xi32, strided<[7, 1], offset: 2>>, %out: memref<?x5xi32>, %t: tensor<2xf8E4M3FN>, %e: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  // CHECK: mpcrt.concatenate ins(%{{.*}}, %{{.*}} : memref<?x2xi32>, memref<?x3xi32, strided<[7, 1], offset: 2>>) outs(%{{.*}} : memref<?x5xi32>) axis 1
  mpcrt.concatenate ins(%a, %b : memref<?x2xi32>, memref<?x3xi32, strided<[7, 1], offset: 2>>) outs(%out : memref<?x5xi32>) axis 1
  // CHECK: mpcrt.concatenate ins(%{{.*}}, %{{.*}} : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) outs(%{{.*}} : tensor<4xf8E4M3FN>) axis 0 -> tensor<4xf8E4M3FN>
  %r = mpcrt.concatenate ins(%t, %t : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) outs(%e : tensor<4xf8E4M3FN>) axis 0 -> tensor<4xf8E4M3FN>
  return %r : tensor<4xf8E4M3FN>
}

// CHECK-LABEL: func.func @ranks
func.func @ranks(%t: tensor<4x3xf32>, %g: memref<784x64xf32>, %w: memref<784x64xbf16>) -> (tensor<4x3xf32>, index) {
  // CHECK: mpcrt.all_reduce sum outs(%{{.*}} : tensor<4x3xf32>) {always, by_elements} -> tensor<4x3xf32>
  %r = mpcrt.all_reduce sum outs(%t : tensor<4x3xf32>) {always, by_elements} -> tensor<4x3xf32>
  // CHECK: mpcrt.all_reduce sum outs(%{{.*}} : memref<784x64xf32>) {in_bfloat16}
  mpcrt.all_reduce sum outs(%g : memref<784x64xf32>) {in_bfloat16}
  // CHECK: mpcrt.reduce_scatter sum outs(%{{.*}} : memref<784x64xf32>) {bucket = 1 : i64, ends_bucket, in_bfloat16, layer = "dense"}
  mpcrt.reduce_scatter sum outs(%g : memref<784x64xf32>) {bucket = 1 : i64, ends_bucket, in_bfloat16, layer = "dense"}
  // CHECK: mpcrt.wait_for_ranks outs(%{{.*}} : memref<784x64xf32>) {bucket = 1 : i64}
  mpcrt.wait_for_ranks outs(%g : memref<784x64xf32>) {bucket = 1 : i64}
  // CHECK: %[[BEGIN:.*]], %[[COUNT:.*]] = mpcrt.own_part of 50176
  %begin, %count = mpcrt.own_part of 50176
  // CHECK: mpcrt.all_gather outs(%{{.*}} : memref<784x64xbf16>) {bucket = 2 : i64, ends_bucket}
  mpcrt.all_gather outs(%w : memref<784x64xbf16>) {bucket = 2 : i64, ends_bucket}
  // CHECK: mpcrt.wait_for_ranks outs(%{{.*}} : memref<784x64xbf16>) {bucket = 2 : i64}
  mpcrt.wait_for_ranks outs(%w : memref<784x64xbf16>) {bucket = 2 : i64}
  %end = arith.addi %begin, %count : index
  return %r, %end : tensor<4x3xf32>, index
}
