// RUN: mpc-opt %s --mpc-expand-math --convert-mpcrt-to-llvm --split-input-file | FileCheck %s

// A NaN whose last 16 bits are zero is rounded like any number. Arithmetic makes no other ones of such.
// CHECK-LABEL: llvm.func @arithmetic
// CHECK: llvm.fadd
// CHECK-NOT: llvm.fcmp "uno"
// CHECK: llvm.return
module {
func.func private @arithmetic(%a: memref<?xbf16>, %b: memref<?xbf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %half = arith.constant 5.0e-01 : f32
  scf.for %i = %begin to %end step %c1 {
    %x = memref.load %a[%i] : memref<?xbf16>
    %y = memref.load %b[%i] : memref<?xbf16>
    %sum = arith.addf %x, %y : bf16
    %wide = arith.extf %sum : bf16 to f32
    %tanh = math.tanh %wide : f32
    %exp = math.exp %tanh : f32
    %scaled = arith.mulf %exp, %half : f32
    %root = math.sqrt %scaled : f32
    %rounded = arith.truncf %root : f32 to bf16
    memref.store %rounded, %b[%i] : memref<?xbf16>
  }
  return
}
}

// -----

// What comes from float32 may be any NaN: of memory, a bit pattern, a constant, or computed from one.
// CHECK-LABEL: llvm.func @any
// CHECK-COUNT-4: llvm.fcmp "uno"
// CHECK: llvm.return
module {
func.func private @any(%a: memref<?xf32>, %n: memref<?xi32>, %b: memref<?xbf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c1 = arith.constant 1 : index
  %nan = arith.constant 0x7FFFFFFF : f32
  scf.for %i = %begin to %end step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %loaded = arith.truncf %x : f32 to bf16
    memref.store %loaded, %b[%i] : memref<?xbf16>
    %y = memref.load %b[%i] : memref<?xbf16>
    %wide = arith.extf %y : bf16 to f32
    %sum = arith.addf %wide, %x : f32
    %computed = arith.truncf %sum : f32 to bf16
    memref.store %computed, %b[%i] : memref<?xbf16>
    %bits = memref.load %n[%i] : memref<?xi32>
    %pattern = arith.bitcast %bits : i32 to f32
    %cast = arith.truncf %pattern : f32 to bf16
    memref.store %cast, %b[%i] : memref<?xbf16>
    %product = arith.mulf %wide, %nan : f32
    %constant = arith.truncf %product : f32 to bf16
    memref.store %constant, %b[%i] : memref<?xbf16>
  }
  return
}
}
