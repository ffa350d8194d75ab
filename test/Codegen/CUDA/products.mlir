// Which products need a kernel of the library: what cuBLASLt does not take (runtime/rules/blas_products.h).
// RUN: rm -rf %t && split-file %s %t
// RUN: mpcc %t/taken.mlir --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=TAKEN
// RUN: mpcc %t/zeros.mlir --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=TAKEN
// RUN: mpcc %t/bias.mlir --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=KERNEL
// RUN: mpcc %t/added.mlir --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=KERNEL
// RUN: mpcc %t/odd-integers.mlir --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=KERNEL

// TAKEN: typedef long long index
// TAKEN-NOT: mpc_product
// KERNEL: struct ProductArguments {
// KERNEL: mpc_product_f32(

//--- taken.mlir
// The sums of a gradient are over the batch, and relu stands behind the sum.
func.func @predict(%x: memref<?x16xf32> {mpc.input = "x"}, %w: memref<16x16xf32> {mpc.input = "w"}, %g: memref<16x16xf32> {mpcrt.output = "out0"}, %out: memref<?x16xf32> {mpcrt.output = "out1"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %x : memref<?x16xf32>, memref<?x16xf32>) outs(%g : memref<16x16xf32>) {transpose_lhs}
  mpcrt.contract ins(%x, %w : memref<?x16xf32>, memref<16x16xf32>) outs(%out : memref<?x16xf32>) {activation = #mpc<activation relu>}
  return
}
//--- zeros.mlir
func.func @predict(%x: memref<?x0xf32> {mpc.input = "x"}, %w: memref<0x16xf32> {mpc.input = "w"}, %out: memref<?x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x0xf32>, memref<0x16xf32>) outs(%out : memref<?x16xf32>)
  return
}
//--- bias.mlir
// Sums of nothing and a bias: the driver launches the kernel.
func.func @predict(%x: memref<?x0xf32> {mpc.input = "x"}, %w: memref<0x16xf32> {mpc.input = "w"}, %b: memref<16xf32> {mpc.input = "b"}, %out: memref<?x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x0xf32>, memref<0x16xf32>) bias(%b : memref<16xf32>) outs(%out : memref<?x16xf32>)
  return
}
//--- added.mlir
func.func @predict(%x: memref<?x16xf32> {mpc.input = "x"}, %w: memref<16x16xf32> {mpc.input = "w"}, %b: memref<16xf32> {mpc.input = "b"}, %out: memref<?x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x16xf32>, memref<16x16xf32>) bias(%b : memref<16xf32>) outs(%out : memref<?x16xf32>) {accumulate}
  return
}
//--- odd-integers.mlir
func.func @predict(%x: memref<?x18xi8> {mpc.input = "x"}, %w: memref<16x18xi8> {mpc.input = "w"}, %out: memref<?x16xi32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x18xi8>, memref<16x18xi8>) outs(%out : memref<?x16xi32>) {transpose_rhs}
  return
}
