// RUN: mpc-opt %s --mpc-expand-math | FileCheck %s
// float32 and narrower become arithmetic without fast-math flags; float64 and the rest stay.

// CHECK-LABEL: func.func @float32
// CHECK-NOT: math.{{exp|expm1|tanh|erf|log|log1p}}
// CHECK: llvm.intr.fmuladd(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
// CHECK-NOT: math.fma
// CHECK-NOT: fastmath
// CHECK-NOT: scf.if
// CHECK: return
func.func @float32(%x: f32) -> (f32, f32, f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.expm1 %x : f32
  %2 = math.tanh %x : f32
  %3 = math.erf %x : f32
  %4 = math.log %x : f32
  %5 = math.log1p %x : f32
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f32, f32
}

// One rounding, after everything else.
// CHECK-LABEL: func.func @bfloat16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: bf16
// CHECK: %[[Y:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT: return %[[Y]]
func.func @bfloat16(%x: bf16) -> bf16 {
  %0 = math.tanh %x : bf16
  return %0 : bf16
}

// CHECK-LABEL: func.func @left_to_libm
// CHECK-NEXT: math.exp %{{.*}} : f64
// CHECK-NEXT: math.powf
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: return
func.func @left_to_libm(%x: f64, %y: f32) -> (f64, f32, f32, f32) {
  %0 = math.exp %x : f64
  %1 = math.powf %y, %y : f32
  %2 = math.sin %y : f32
  %3 = math.sqrt %y : f32
  return %0, %1, %2, %3 : f64, f32, f32, f32
}
