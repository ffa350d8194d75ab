// RUN: not mpc-opt %s --convert-mpcrt-to-llvm 2>&1 | FileCheck %s
// RUN: mpc-opt %s --mpc-kernels | mpc-opt --convert-mpcrt-to-llvm -o %t.mlir
// RUN: not mpc-opt %t.mlir --convert-mpcrt-to-llvm 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpc-opt %t.mlir --mpc-insert-casts 2>&1 | FileCheck %s --check-prefix=CASTS
// RUN: not mpc-opt %s --mpc-to-tensors 2>&1 | FileCheck %s --check-prefix=IMPORT
// Each pass names the phase whose IR it takes; the tables of a converted module stay as they are.
// CHECK: error: op 'linalg.fill' does not belong to phase kernels, of which convert-mpcrt-to-llvm takes IR; expected what mpcc --compile-to=kernels prints
// TWICE: error: op 'llvm.func' does not belong to phase kernels, of which convert-mpcrt-to-llvm takes IR
// CASTS: error: op 'llvm.func' does not belong to phase policy, of which mpc-insert-casts takes IR
// IMPORT: error: op '{{.*}}' does not belong to phase import; expected ops of mpc and func only
func.func @predict(%out: memref<?x8xf32> {mpcrt.output = "out0"}, %batch: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c = arith.constant 1.0 : f32
  linalg.fill ins(%c : f32) outs(%out : memref<?x8xf32>)
  return
}
