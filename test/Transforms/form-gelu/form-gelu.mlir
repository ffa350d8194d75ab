// RUN: mpc-opt %s --mpc-form-gelu --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-form-gelu --mpc-form-gelu | FileCheck %s

// The steps of gelu(approximate=True), with its constants in bfloat16.
// CHECK-LABEL: func.func @dense
// CHECK: %[[P:.*]] = mpc.contract
// CHECK-NEXT: %[[X:.*]] = mpc.add %[[P]]
// CHECK-NEXT: %[[Y:.*]] = mpc.gelu %[[X]] : tensor<?x4xbf16>
// CHECK-NEXT: return %[[Y]]
// REMARK: [Passed] gelu{{.*}}gelu of a product is one op
func.func @dense(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %b: tensor<4xbf16>) -> tensor<?x4xbf16> {
  %cube = mpc.constant dense<4.467770e-02> : tensor<bf16>
  %scale = mpc.constant dense<7.968750e-01> : tensor<bf16>
  %one = mpc.constant dense<1.0> : tensor<bf16>
  %half = mpc.constant dense<0.5> : tensor<bf16>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  %1 = mpc.add %0, %b : tensor<?x4xbf16>, tensor<4xbf16>
  %2 = mpc.multiply %1, %1 : tensor<?x4xbf16>, tensor<?x4xbf16>
  %3 = mpc.multiply %2, %1 : tensor<?x4xbf16>, tensor<?x4xbf16>
  %4 = mpc.multiply %cube, %3 : tensor<bf16>, tensor<?x4xbf16>
  %5 = mpc.add %1, %4 : tensor<?x4xbf16>, tensor<?x4xbf16>
  %6 = mpc.multiply %scale, %5 : tensor<bf16>, tensor<?x4xbf16>
  %7 = mpc.tanh %6 : tensor<?x4xbf16>
  %8 = mpc.add %one, %7 : tensor<bf16>, tensor<?x4xbf16>
  %9 = mpc.multiply %half, %1 : tensor<bf16>, tensor<?x4xbf16>
  %10 = mpc.multiply %9, %8 : tensor<?x4xbf16>, tensor<?x4xbf16>
  return %10 : tensor<?x4xbf16>
}

// Without a bias; constants on the right, as the canonicalizer puts them; what else reads the argument
// still does.
// CHECK-LABEL: func.func @other_readers
// CHECK: %[[X:.*]] = mpc.contract
// CHECK-NEXT: %[[Y:.*]] = mpc.gelu %[[X]] : tensor<?x4xf16>
// CHECK-NEXT: return %[[Y]], %[[X]]
// REMARK: [Passed] gelu{{.*}}gelu of a product is one op
func.func @other_readers(%x: tensor<?x8xf16>, %w: tensor<8x4xf16>) -> (tensor<?x4xf16>, tensor<?x4xf16>) {
  %cube = mpc.constant dense<0.044715> : tensor<f16>
  %scale = mpc.constant dense<0.7978845608> : tensor<f16>
  %one = mpc.constant dense<1.0> : tensor<f16>
  %half = mpc.constant dense<0.5> : tensor<f16>
  %1 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  %2 = mpc.multiply %1, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %3 = mpc.multiply %2, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %4 = mpc.multiply %3, %cube : tensor<?x4xf16>, tensor<f16>
  %5 = mpc.add %1, %4 : tensor<?x4xf16>, tensor<?x4xf16>
  %6 = mpc.multiply %5, %scale : tensor<?x4xf16>, tensor<f16>
  %7 = mpc.tanh %6 : tensor<?x4xf16>
  %8 = mpc.add %7, %one : tensor<?x4xf16>, tensor<f16>
  %9 = mpc.multiply %1, %half : tensor<?x4xf16>, tensor<f16>
  %10 = mpc.multiply %9, %8 : tensor<?x4xf16>, tensor<?x4xf16>
  return %10, %1 : tensor<?x4xf16>, tensor<?x4xf16>
}

// With the bound of the square, as Keras's gelu is imported.
// CHECK-LABEL: func.func @bounded
// CHECK: %[[X:.*]] = mpc.contract
// CHECK-NEXT: %[[Y:.*]] = mpc.gelu %[[X]] : tensor<?x4xf16>
// CHECK-NEXT: return %[[Y]]
// REMARK: [Passed] gelu{{.*}}gelu of a product is one op
func.func @bounded(%x: tensor<?x8xf16>, %w: tensor<8x4xf16>) -> tensor<?x4xf16> {
  %bound = mpc.constant dense<1600.0> : tensor<f16>
  %cube = mpc.constant dense<0.044715> : tensor<f16>
  %scale = mpc.constant dense<0.7978845608> : tensor<f16>
  %one = mpc.constant dense<1.0> : tensor<f16>
  %half = mpc.constant dense<0.5> : tensor<f16>
  %1 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  %square = mpc.multiply %1, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %2 = mpc.minimum %square, %bound : tensor<?x4xf16>, tensor<f16>
  %3 = mpc.multiply %2, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %4 = mpc.multiply %3, %cube : tensor<?x4xf16>, tensor<f16>
  %5 = mpc.add %1, %4 : tensor<?x4xf16>, tensor<?x4xf16>
  %6 = mpc.multiply %5, %scale : tensor<?x4xf16>, tensor<f16>
  %7 = mpc.tanh %6 : tensor<?x4xf16>
  %8 = mpc.add %7, %one : tensor<?x4xf16>, tensor<f16>
  %9 = mpc.multiply %1, %half : tensor<?x4xf16>, tensor<f16>
  %10 = mpc.multiply %9, %8 : tensor<?x4xf16>, tensor<?x4xf16>
  return %10 : tensor<?x4xf16>
}

// CHECK-LABEL: func.func @float32
// CHECK: mpc.tanh
// CHECK-NOT: mpc.gelu
// REMARK: [Missed] gelu{{.*}}gelu of a product stays elementary ops: it is not in 16 bits
func.func @float32(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) -> tensor<?x4xf32> {
  %cube = mpc.constant dense<0.044715> : tensor<f32>
  %scale = mpc.constant dense<0.7978845608028654> : tensor<f32>
  %one = mpc.constant dense<1.0> : tensor<f32>
  %half = mpc.constant dense<0.5> : tensor<f32>
  %1 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %2 = mpc.multiply %1, %1 : tensor<?x4xf32>, tensor<?x4xf32>
  %3 = mpc.multiply %2, %1 : tensor<?x4xf32>, tensor<?x4xf32>
  %4 = mpc.multiply %3, %cube : tensor<?x4xf32>, tensor<f32>
  %5 = mpc.add %1, %4 : tensor<?x4xf32>, tensor<?x4xf32>
  %6 = mpc.multiply %5, %scale : tensor<?x4xf32>, tensor<f32>
  %7 = mpc.tanh %6 : tensor<?x4xf32>
  %8 = mpc.add %7, %one : tensor<?x4xf32>, tensor<f32>
  %9 = mpc.multiply %1, %half : tensor<?x4xf32>, tensor<f32>
  %10 = mpc.multiply %9, %8 : tensor<?x4xf32>, tensor<?x4xf32>
  return %10 : tensor<?x4xf32>
}

// The exact form.
// CHECK-LABEL: func.func @exact
// CHECK: mpc.erf
// CHECK-NOT: mpc.gelu
// REMARK: [Missed] gelu{{.*}}it is the exact form, with erf
func.func @exact(%x: tensor<?x8xf16>, %w: tensor<8x4xf16>) -> tensor<?x4xf16> {
  %root = mpc.constant dense<1.4142135623730951> : tensor<f16>
  %one = mpc.constant dense<1.0> : tensor<f16>
  %half = mpc.constant dense<0.5> : tensor<f16>
  %1 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  %2 = mpc.divide %1, %root : tensor<?x4xf16>, tensor<f16>
  %3 = mpc.erf %2 : tensor<?x4xf16>
  %4 = mpc.add %3, %one : tensor<?x4xf16>, tensor<f16>
  %5 = mpc.multiply %1, %half : tensor<?x4xf16>, tensor<f16>
  %6 = mpc.multiply %5, %4 : tensor<?x4xf16>, tensor<?x4xf16>
  return %6 : tensor<?x4xf16>
}

// No product's; a step that something else reads; other numbers.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: mpc.tanh
// CHECK-NOT: mpc.gelu
// REMARK-NOT: remark:
func.func @others(%x: tensor<?x8xf16>, %w: tensor<8x4xf16>, %a: tensor<?x4xf16>)
    -> (tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>) {
  %cube = mpc.constant dense<0.044715> : tensor<f16>
  %scale = mpc.constant dense<0.7978845608> : tensor<f16>
  %one = mpc.constant dense<1.0> : tensor<f16>
  %half = mpc.constant dense<0.5> : tensor<f16>
  %a2 = mpc.multiply %a, %a : tensor<?x4xf16>, tensor<?x4xf16>
  %a3 = mpc.multiply %a2, %a : tensor<?x4xf16>, tensor<?x4xf16>
  %a4 = mpc.multiply %a3, %cube : tensor<?x4xf16>, tensor<f16>
  %a5 = mpc.add %a, %a4 : tensor<?x4xf16>, tensor<?x4xf16>
  %a6 = mpc.multiply %a5, %scale : tensor<?x4xf16>, tensor<f16>
  %a7 = mpc.tanh %a6 : tensor<?x4xf16>
  %a8 = mpc.add %a7, %one : tensor<?x4xf16>, tensor<f16>
  %a9 = mpc.multiply %a, %half : tensor<?x4xf16>, tensor<f16>
  %a10 = mpc.multiply %a9, %a8 : tensor<?x4xf16>, tensor<?x4xf16>
  %1 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  %2 = mpc.multiply %1, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %3 = mpc.multiply %2, %1 : tensor<?x4xf16>, tensor<?x4xf16>
  %4 = mpc.multiply %3, %cube : tensor<?x4xf16>, tensor<f16>
  %5 = mpc.add %1, %4 : tensor<?x4xf16>, tensor<?x4xf16>
  %6 = mpc.multiply %5, %scale : tensor<?x4xf16>, tensor<f16>
  %7 = mpc.tanh %6 : tensor<?x4xf16>
  %8 = mpc.add %7, %one : tensor<?x4xf16>, tensor<f16>
  %9 = mpc.multiply %1, %half : tensor<?x4xf16>, tensor<f16>
  %10 = mpc.multiply %9, %8 : tensor<?x4xf16>, tensor<?x4xf16>
  %11 = mpc.multiply %5, %half : tensor<?x4xf16>, tensor<f16>
  %12 = mpc.tanh %11 : tensor<?x4xf16>
  %13 = mpc.add %12, %one : tensor<?x4xf16>, tensor<f16>
  %14 = mpc.multiply %9, %13 : tensor<?x4xf16>, tensor<?x4xf16>
  return %a10, %10, %7, %14 : tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>
}

// A half of another shape widens what is gelu of one row.
// CHECK-LABEL: func.func @widened
// CHECK-NOT: mpc.gelu
// CHECK: return
func.func @widened(%a: tensor<1x3xbf16>, %w: tensor<3x8xbf16>) -> tensor<4x8xbf16> {
  %half = mpc.constant dense<0.5> : tensor<4x8xbf16>
  %one = mpc.constant dense<1.0> : tensor<bf16>
  %scale = mpc.constant dense<7.968750e-01> : tensor<bf16>
  %cube = mpc.constant dense<4.467770e-02> : tensor<bf16>
  %x = mpc.contract %a, %w contracting [1] x [0] : (tensor<1x3xbf16>, tensor<3x8xbf16>) -> tensor<1x8xbf16>
  %0 = mpc.multiply %x, %x : tensor<1x8xbf16>, tensor<1x8xbf16>
  %1 = mpc.multiply %0, %x : tensor<1x8xbf16>, tensor<1x8xbf16>
  %2 = mpc.multiply %1, %cube : tensor<1x8xbf16>, tensor<bf16>
  %3 = mpc.add %x, %2 : tensor<1x8xbf16>, tensor<1x8xbf16>
  %4 = mpc.multiply %3, %scale : tensor<1x8xbf16>, tensor<bf16>
  %5 = mpc.tanh %4 : tensor<1x8xbf16>
  %6 = mpc.add %5, %one : tensor<1x8xbf16>, tensor<bf16>
  %7 = mpc.multiply %x, %half : tensor<1x8xbf16>, tensor<4x8xbf16>
  %8 = mpc.multiply %7, %6 : tensor<4x8xbf16>, tensor<1x8xbf16>
  return %8 : tensor<4x8xbf16>
}
