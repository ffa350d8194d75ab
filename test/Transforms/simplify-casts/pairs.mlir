// RUN: mpc-opt %s --mpc-simplify-casts --remark-format=emitRemark --remarks-filter=mpc-casts 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-simplify-casts -o %t.once
// RUN: mpc-opt %t.once --mpc-simplify-casts -o %t.twice
// RUN: diff %t.once %t.twice

// Widening and narrowing back is the value itself.
// CHECK-LABEL: func.func @widen_narrow
// CHECK-NEXT: return %arg0
func.func @widen_narrow(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = mpc.cast %x : tensor<?x8xbf16> to tensor<?x8xf32>
  %1 = mpc.cast %0 : tensor<?x8xf32> to tensor<?x8xbf16>
  return %1 : tensor<?x8xbf16>
}

// Narrowing and widening rounds.
// CHECK-LABEL: func.func @narrow_widen
// CHECK-NEXT: %[[A:.*]] = mpc.cast %arg0 : tensor<?x8xf32> to tensor<?x8xbf16>
// CHECK-NEXT: %[[B:.*]] = mpc.cast %[[A]] : tensor<?x8xbf16> to tensor<?x8xf32>
// CHECK-NEXT: return %[[B]]
// REMARK: f32 to bf16 to f32 kept: the first cast rounds, as in Keras
func.func @narrow_widen(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %1 = mpc.cast %0 : tensor<?x8xbf16> to tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// bfloat16 has values that float16 has not, and the other way round.
// CHECK-LABEL: func.func @crosswise
// CHECK-COUNT-2: mpc.cast
// REMARK: bf16 to f16 to bf16 kept
func.func @crosswise(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = mpc.cast %x : tensor<?x8xbf16> to tensor<?x8xf16>
  %1 = mpc.cast %0 : tensor<?x8xf16> to tensor<?x8xbf16>
  return %1 : tensor<?x8xbf16>
}

// After an exact cast the second one may start at the first value: one rounding either way.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[A:.*]] = mpc.cast %arg0 : tensor<?x8xbf16> to tensor<?x8xf16>
// CHECK-NEXT: return %[[A]]
func.func @chain(%x: tensor<?x8xbf16>) -> tensor<?x8xf16> {
  %0 = mpc.cast %x : tensor<?x8xbf16> to tensor<?x8xf32>
  %1 = mpc.cast %0 : tensor<?x8xf32> to tensor<?x8xf64>
  %2 = mpc.cast %1 : tensor<?x8xf64> to tensor<?x8xf16>
  return %2 : tensor<?x8xf16>
}

// Two roundings are not one.
// CHECK-LABEL: func.func @double_rounding
// CHECK-COUNT-2: mpc.cast
// REMARK: f64 to f32 to f16 kept
func.func @double_rounding(%x: tensor<?x8xf64>) -> tensor<?x8xf16> {
  %0 = mpc.cast %x : tensor<?x8xf64> to tensor<?x8xf32>
  %1 = mpc.cast %0 : tensor<?x8xf32> to tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @integers
// CHECK-SAME: (%[[A:.*]]: tensor<?xi8>, %[[B:.*]]: tensor<?xi32>, %[[C:.*]]: tensor<?xui8>)
// CHECK-NEXT: %[[F:.*]] = mpc.cast %[[B]] : tensor<?xi32> to tensor<?xf32>
// CHECK-NEXT: %[[I:.*]] = mpc.cast %[[F]] : tensor<?xf32> to tensor<?xi32>
// CHECK-NEXT: %[[H:.*]] = mpc.cast %[[C]] : tensor<?xui8> to tensor<?xbf16>
// CHECK-NEXT: return %[[A]], %[[I]], %[[H]]
// REMARK: i32 to f32 to i32 kept
func.func @integers(%a: tensor<?xi8>, %b: tensor<?xi32>, %c: tensor<?xui8>) -> (tensor<?xi8>, tensor<?xi32>, tensor<?xbf16>) {
  %0 = mpc.cast %a : tensor<?xi8> to tensor<?xf16>
  %1 = mpc.cast %0 : tensor<?xf16> to tensor<?xi8>
  %2 = mpc.cast %b : tensor<?xi32> to tensor<?xf32>
  %3 = mpc.cast %2 : tensor<?xf32> to tensor<?xi32>
  %4 = mpc.cast %c : tensor<?xui8> to tensor<?xf32>
  %5 = mpc.cast %4 : tensor<?xf32> to tensor<?xbf16>
  return %1, %3, %5 : tensor<?xi8>, tensor<?xi32>, tensor<?xbf16>
}

// A truth value is not its integer, nor an integer its truth value.
// CHECK-LABEL: func.func @truth
// CHECK-COUNT-2: mpc.cast
func.func @truth(%a: tensor<?xi8>) -> tensor<?xi8> {
  %0 = mpc.cast %a : tensor<?xi8> to tensor<?xi1>
  %1 = mpc.cast %0 : tensor<?xi1> to tensor<?xi8>
  return %1 : tensor<?xi8>
}

// Equal casts stay: gradients are summed as the casts are written. Dead ones go.
// CHECK-LABEL: func.func @duplicates
// CHECK-NEXT: %[[A:.*]] = mpc.cast %arg0
// CHECK-NEXT: %[[C:.*]] = mpc.cast %arg0
// CHECK-NEXT: %[[B:.*]] = mpc.add %[[A]], %[[C]]
// CHECK-NEXT: return %[[B]]
func.func @duplicates(%x: tensor<?x8xf32>) -> tensor<?x8xbf16> {
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %1 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %dead = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xf16>
  %2 = mpc.add %0, %1 : tensor<?x8xbf16>, tensor<?x8xbf16>
  return %2 : tensor<?x8xbf16>
}
