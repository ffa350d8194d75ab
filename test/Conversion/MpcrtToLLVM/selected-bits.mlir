// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A choice between two bfloat16 is one between integers: LLVM takes short vectors of bfloat through float32. What is only moved is no number
// in between: code that is not optimised would take that through float32, too.
// CHECK-LABEL: llvm.func {{.*}}@kernel
// CHECK-NOT: bf16
// CHECK: llvm.select %{{.*}} : i1, i16
// CHECK-NOT: bf16
// CHECK: llvm.return
func.func private @kernel(%c: memref<?xi1>, %x: memref<?xbf16>, %y: memref<?xbf16>, %to: memref<?xbf16>, %batch: index, %first: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %first to %end step %one {
    %0 = memref.load %c[%i] : memref<?xi1>
    %1 = memref.load %x[%i] : memref<?xbf16>
    %2 = memref.load %y[%i] : memref<?xbf16>
    %3 = arith.select %0, %1, %2 : bf16
    memref.store %3, %to[%i] : memref<?xbf16>
  }
  return
}
