// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Extremes of numbers that bfloat16 has are such numbers: relu6 behind a rounding needs no other one. The bits are moved, and nothing is
// added to them but in the first rounding.
// CHECK-LABEL: llvm.func {{.*}}@clamps
// CHECK: llvm.fadd
// CHECK-COUNT-2: llvm.add %{{.*}} : i32
// CHECK-NOT: llvm.add %{{.*}} : i32
// CHECK-COUNT-4: llvm.select %{{.*}} : i1, f32
// CHECK-NOT: llvm.add %{{.*}} : i32
// CHECK: llvm.lshr
// CHECK-NEXT: llvm.trunc %{{.*}} : i32 to i16
func.func private @clamps(%x: memref<?xbf16>, %to: memref<?xbf16>, %batch: index, %first: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  scf.for %i = %first to %end step %one {
    %0 = memref.load %x[%i] : memref<?xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.addf %1, %six : f32
    %3 = arith.truncf %2 : f32 to bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.maximumf %4, %zero : f32
    %6 = arith.truncf %5 : f32 to bf16
    %7 = arith.extf %6 : bf16 to f32
    %8 = arith.minimumf %7, %six : f32
    %9 = arith.truncf %8 : f32 to bf16
    memref.store %9, %to[%i] : memref<?xbf16>
  }
  return
}

// A bound that bfloat16 lacks is rounded, and so is a sum.
// CHECK-LABEL: llvm.func {{.*}}@rounds
// CHECK-COUNT-2: llvm.select %{{.*}} : i1, f32
// CHECK-COUNT-2: llvm.add %{{.*}} : i32
// CHECK: llvm.fadd
// CHECK-COUNT-2: llvm.add %{{.*}} : i32
func.func private @rounds(%x: memref<?xbf16>, %to: memref<?xbf16>, %batch: index, %first: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %bound = arith.constant 6.001 : f32
  scf.for %i = %first to %end step %one {
    %0 = memref.load %x[%i] : memref<?xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.minimumf %1, %bound : f32
    %3 = arith.truncf %2 : f32 to bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.addf %4, %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    memref.store %6, %to[%i] : memref<?xbf16>
  }
  return
}

// float16 as well: what is stored is rounded once, by the instruction that stores it anyway.
// CHECK-LABEL: llvm.func {{.*}}@halves
// CHECK-COUNT-1: llvm.fpext
// CHECK-NOT: llvm.fpext
// CHECK: llvm.return
func.func private @halves(%x: memref<?xf16>, %to: memref<?xf16>, %batch: index, %first: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %first to %end step %one {
    %0 = memref.load %x[%i] : memref<?xf16>
    %1 = arith.extf %0 : f16 to f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.truncf %2 : f32 to f16
    %4 = arith.extf %3 : f16 to f32
    %5 = arith.negf %4 : f32
    %6 = arith.truncf %5 : f32 to f16
    memref.store %6, %to[%i] : memref<?xf16>
  }
  return
}
