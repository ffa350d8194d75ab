// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A long chain of operations: other vectors of iterations beside it hide its latency.
// CHECK: #[[INTERLEAVED:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK: #[[LONG:.*]] = #llvm.loop_annotation<interleave = #[[INTERLEAVED]], parallelAccesses = #{{.*}}>
// Short ones, and those of few iterations, are left to LLVM.
// CHECK-LABEL: llvm.func @short(
// CHECK-NOT: loop_annotation = #[[LONG]]
// CHECK-LABEL: llvm.func @few(
// CHECK-NOT: loop_annotation = #[[LONG]]
// CHECK-LABEL: llvm.func @long(
// CHECK: loop_annotation = #[[LONG]]
module {
func.func private @short(%a: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 1.5 : f32
  scf.for %i = %begin to %end step %c1 {
    %x0 = memref.load %a[%i] : memref<?xf32>
    %x1 = arith.mulf %x0, %k : f32
    %x2 = arith.mulf %x1, %k : f32
    %x3 = arith.mulf %x2, %k : f32
    %x4 = arith.mulf %x3, %k : f32
    %x5 = arith.mulf %x4, %k : f32
    %x6 = arith.mulf %x5, %k : f32
    %x7 = arith.mulf %x6, %k : f32
    %x8 = arith.mulf %x7, %k : f32
    memref.store %x8, %a[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}
func.func private @few(%a: memref<64xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 1.5 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %x0 = memref.load %a[%i] : memref<64xf32>
    %x1 = arith.mulf %x0, %k : f32
    %x2 = arith.mulf %x1, %k : f32
    %x3 = arith.mulf %x2, %k : f32
    %x4 = arith.mulf %x3, %k : f32
    %x5 = arith.mulf %x4, %k : f32
    %x6 = arith.mulf %x5, %k : f32
    %x7 = arith.mulf %x6, %k : f32
    %x8 = arith.mulf %x7, %k : f32
    %x9 = arith.mulf %x8, %k : f32
    %x10 = arith.mulf %x9, %k : f32
    %x11 = arith.mulf %x10, %k : f32
    %x12 = arith.mulf %x11, %k : f32
    %x13 = arith.mulf %x12, %k : f32
    %x14 = arith.mulf %x13, %k : f32
    %x15 = arith.mulf %x14, %k : f32
    %x16 = arith.mulf %x15, %k : f32
    %x17 = arith.mulf %x16, %k : f32
    %x18 = arith.mulf %x17, %k : f32
    %x19 = arith.mulf %x18, %k : f32
    %x20 = arith.mulf %x19, %k : f32
    %x21 = arith.mulf %x20, %k : f32
    %x22 = arith.mulf %x21, %k : f32
    %x23 = arith.mulf %x22, %k : f32
    %x24 = arith.mulf %x23, %k : f32
    %x25 = arith.mulf %x24, %k : f32
    %x26 = arith.mulf %x25, %k : f32
    %x27 = arith.mulf %x26, %k : f32
    %x28 = arith.mulf %x27, %k : f32
    %x29 = arith.mulf %x28, %k : f32
    %x30 = arith.mulf %x29, %k : f32
    %x31 = arith.mulf %x30, %k : f32
    %x32 = arith.mulf %x31, %k : f32
    %x33 = arith.mulf %x32, %k : f32
    %x34 = arith.mulf %x33, %k : f32
    %x35 = arith.mulf %x34, %k : f32
    %x36 = arith.mulf %x35, %k : f32
    %x37 = arith.mulf %x36, %k : f32
    %x38 = arith.mulf %x37, %k : f32
    %x39 = arith.mulf %x38, %k : f32
    %x40 = arith.mulf %x39, %k : f32
    %x41 = arith.mulf %x40, %k : f32
    %x42 = arith.mulf %x41, %k : f32
    %x43 = arith.mulf %x42, %k : f32
    %x44 = arith.mulf %x43, %k : f32
    %x45 = arith.mulf %x44, %k : f32
    %x46 = arith.mulf %x45, %k : f32
    %x47 = arith.mulf %x46, %k : f32
    %x48 = arith.mulf %x47, %k : f32
    %x49 = arith.mulf %x48, %k : f32
    %x50 = arith.mulf %x49, %k : f32
    %x51 = arith.mulf %x50, %k : f32
    %x52 = arith.mulf %x51, %k : f32
    %x53 = arith.mulf %x52, %k : f32
    %x54 = arith.mulf %x53, %k : f32
    %x55 = arith.mulf %x54, %k : f32
    %x56 = arith.mulf %x55, %k : f32
    %x57 = arith.mulf %x56, %k : f32
    %x58 = arith.mulf %x57, %k : f32
    %x59 = arith.mulf %x58, %k : f32
    %x60 = arith.mulf %x59, %k : f32
    %x61 = arith.mulf %x60, %k : f32
    %x62 = arith.mulf %x61, %k : f32
    %x63 = arith.mulf %x62, %k : f32
    %x64 = arith.mulf %x63, %k : f32
    %x65 = arith.mulf %x64, %k : f32
    %x66 = arith.mulf %x65, %k : f32
    %x67 = arith.mulf %x66, %k : f32
    %x68 = arith.mulf %x67, %k : f32
    %x69 = arith.mulf %x68, %k : f32
    %x70 = arith.mulf %x69, %k : f32
    %x71 = arith.mulf %x70, %k : f32
    %x72 = arith.mulf %x71, %k : f32
    %x73 = arith.mulf %x72, %k : f32
    %x74 = arith.mulf %x73, %k : f32
    %x75 = arith.mulf %x74, %k : f32
    %x76 = arith.mulf %x75, %k : f32
    %x77 = arith.mulf %x76, %k : f32
    %x78 = arith.mulf %x77, %k : f32
    %x79 = arith.mulf %x78, %k : f32
    %x80 = arith.mulf %x79, %k : f32
    %x81 = arith.mulf %x80, %k : f32
    %x82 = arith.mulf %x81, %k : f32
    %x83 = arith.mulf %x82, %k : f32
    %x84 = arith.mulf %x83, %k : f32
    %x85 = arith.mulf %x84, %k : f32
    %x86 = arith.mulf %x85, %k : f32
    %x87 = arith.mulf %x86, %k : f32
    %x88 = arith.mulf %x87, %k : f32
    %x89 = arith.mulf %x88, %k : f32
    %x90 = arith.mulf %x89, %k : f32
    %x91 = arith.mulf %x90, %k : f32
    %x92 = arith.mulf %x91, %k : f32
    %x93 = arith.mulf %x92, %k : f32
    %x94 = arith.mulf %x93, %k : f32
    %x95 = arith.mulf %x94, %k : f32
    %x96 = arith.mulf %x95, %k : f32
    memref.store %x96, %a[%i] : memref<64xf32>
  } {mpcrt.independent}
  return
}
func.func private @long(%a: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 1.5 : f32
  scf.for %i = %begin to %end step %c1 {
    %x0 = memref.load %a[%i] : memref<?xf32>
    %x1 = arith.mulf %x0, %k : f32
    %x2 = arith.mulf %x1, %k : f32
    %x3 = arith.mulf %x2, %k : f32
    %x4 = arith.mulf %x3, %k : f32
    %x5 = arith.mulf %x4, %k : f32
    %x6 = arith.mulf %x5, %k : f32
    %x7 = arith.mulf %x6, %k : f32
    %x8 = arith.mulf %x7, %k : f32
    %x9 = arith.mulf %x8, %k : f32
    %x10 = arith.mulf %x9, %k : f32
    %x11 = arith.mulf %x10, %k : f32
    %x12 = arith.mulf %x11, %k : f32
    %x13 = arith.mulf %x12, %k : f32
    %x14 = arith.mulf %x13, %k : f32
    %x15 = arith.mulf %x14, %k : f32
    %x16 = arith.mulf %x15, %k : f32
    %x17 = arith.mulf %x16, %k : f32
    %x18 = arith.mulf %x17, %k : f32
    %x19 = arith.mulf %x18, %k : f32
    %x20 = arith.mulf %x19, %k : f32
    %x21 = arith.mulf %x20, %k : f32
    %x22 = arith.mulf %x21, %k : f32
    %x23 = arith.mulf %x22, %k : f32
    %x24 = arith.mulf %x23, %k : f32
    %x25 = arith.mulf %x24, %k : f32
    %x26 = arith.mulf %x25, %k : f32
    %x27 = arith.mulf %x26, %k : f32
    %x28 = arith.mulf %x27, %k : f32
    %x29 = arith.mulf %x28, %k : f32
    %x30 = arith.mulf %x29, %k : f32
    %x31 = arith.mulf %x30, %k : f32
    %x32 = arith.mulf %x31, %k : f32
    %x33 = arith.mulf %x32, %k : f32
    %x34 = arith.mulf %x33, %k : f32
    %x35 = arith.mulf %x34, %k : f32
    %x36 = arith.mulf %x35, %k : f32
    %x37 = arith.mulf %x36, %k : f32
    %x38 = arith.mulf %x37, %k : f32
    %x39 = arith.mulf %x38, %k : f32
    %x40 = arith.mulf %x39, %k : f32
    %x41 = arith.mulf %x40, %k : f32
    %x42 = arith.mulf %x41, %k : f32
    %x43 = arith.mulf %x42, %k : f32
    %x44 = arith.mulf %x43, %k : f32
    %x45 = arith.mulf %x44, %k : f32
    %x46 = arith.mulf %x45, %k : f32
    %x47 = arith.mulf %x46, %k : f32
    %x48 = arith.mulf %x47, %k : f32
    %x49 = arith.mulf %x48, %k : f32
    %x50 = arith.mulf %x49, %k : f32
    %x51 = arith.mulf %x50, %k : f32
    %x52 = arith.mulf %x51, %k : f32
    %x53 = arith.mulf %x52, %k : f32
    %x54 = arith.mulf %x53, %k : f32
    %x55 = arith.mulf %x54, %k : f32
    %x56 = arith.mulf %x55, %k : f32
    %x57 = arith.mulf %x56, %k : f32
    %x58 = arith.mulf %x57, %k : f32
    %x59 = arith.mulf %x58, %k : f32
    %x60 = arith.mulf %x59, %k : f32
    %x61 = arith.mulf %x60, %k : f32
    %x62 = arith.mulf %x61, %k : f32
    %x63 = arith.mulf %x62, %k : f32
    %x64 = arith.mulf %x63, %k : f32
    %x65 = arith.mulf %x64, %k : f32
    %x66 = arith.mulf %x65, %k : f32
    %x67 = arith.mulf %x66, %k : f32
    %x68 = arith.mulf %x67, %k : f32
    %x69 = arith.mulf %x68, %k : f32
    %x70 = arith.mulf %x69, %k : f32
    %x71 = arith.mulf %x70, %k : f32
    %x72 = arith.mulf %x71, %k : f32
    %x73 = arith.mulf %x72, %k : f32
    %x74 = arith.mulf %x73, %k : f32
    %x75 = arith.mulf %x74, %k : f32
    %x76 = arith.mulf %x75, %k : f32
    %x77 = arith.mulf %x76, %k : f32
    %x78 = arith.mulf %x77, %k : f32
    %x79 = arith.mulf %x78, %k : f32
    %x80 = arith.mulf %x79, %k : f32
    %x81 = arith.mulf %x80, %k : f32
    %x82 = arith.mulf %x81, %k : f32
    %x83 = arith.mulf %x82, %k : f32
    %x84 = arith.mulf %x83, %k : f32
    %x85 = arith.mulf %x84, %k : f32
    %x86 = arith.mulf %x85, %k : f32
    %x87 = arith.mulf %x86, %k : f32
    %x88 = arith.mulf %x87, %k : f32
    %x89 = arith.mulf %x88, %k : f32
    %x90 = arith.mulf %x89, %k : f32
    %x91 = arith.mulf %x90, %k : f32
    %x92 = arith.mulf %x91, %k : f32
    %x93 = arith.mulf %x92, %k : f32
    %x94 = arith.mulf %x93, %k : f32
    %x95 = arith.mulf %x94, %k : f32
    %x96 = arith.mulf %x95, %k : f32
    memref.store %x96, %a[%i] : memref<?xf32>
  } {mpcrt.independent}
  return
}
}
