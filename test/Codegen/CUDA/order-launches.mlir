// RUN: mpc-opt %s --mpc-order-launches --remark-format=emitRemark --remarks-filter=mpc-kernels 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-order-launches --mpc-order-launches | FileCheck %s
// RUN: mpc-opt %s --mpc-order-launches | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=TEXT

// The stages of a fork are a kernel's without a wait between them, at blocks of their own.
// TEXT: _body(float *a0, const index count, const unsigned first_block) {
// TEXT: first_index(first_block)
// TEXT: mpc_group_0(
// TEXT: unsigned next_block;
// TEXT-NEXT: MPC_STAGE(0) fill_body(s0_0, s0_count, 0u);
// TEXT-NEXT: next_block = 0u + blocks_of(s0_count);
// TEXT-NEXT: MPC_BESIDE(1) fill_body(s1_0, s1_count, next_block);
// TEXT-NEXT: MPC_STAGE(2) copy_body(s2_0, s2_1, s2_count, 0u);
// TEXT-NEXT: next_block = 0u + blocks_of(s2_count);
// TEXT-NEXT: MPC_BESIDE(3) copy_body(s3_0, s3_1, s3_count, next_block);
// The same kernels one behind the other, each of which needs the one before it, are another kernel.
// TEXT: mpc_group_1(
// TEXT: MPC_STAGE(0) copy_body(
// TEXT-NEXT: MPC_STAGE(1) fill_body(
// TEXT-NEXT: MPC_STAGE(2) copy_body(
// TEXT-NEXT: }
func.func private @fill(%x: memref<4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    memref.store %zero, %x[%i] : memref<4xf32>
  }
  return
}
func.func private @copy(%x: memref<4xf32>, %y: memref<4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %0 = memref.load %x[%i] : memref<4xf32>
    memref.store %0, %y[%i] : memref<4xf32>
  }
  return
}
func.func private @wide(%x: memref<65536xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    memref.store %zero, %x[%i] : memref<65536xf32>
  }
  return
}

// Two pairs of which the second one needs the first one, one behind the other: two forks.
// CHECK-LABEL: func.func @pairs
// CHECK: mpcrt.launch_all {
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%arg0 :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%arg2 :
// CHECK-NEXT: }
// CHECK-NEXT: mpcrt.launch_all {
// CHECK-NEXT: mpcrt.launch @copy {{.*}} args(%arg0, %arg1 :
// CHECK-NEXT: mpcrt.launch @copy {{.*}} args(%arg2, %arg3 :
// CHECK-NEXT: }
// CHECK-NEXT: return
// REMARK: order-launches{{.*}}no wait between 2 launches, from fill on
// REMARK: order-launches{{.*}}no wait between 2 launches, from copy on
func.func @pairs(%a: memref<4xf32> {mpc.input = "a"}, %b: memref<4xf32> {mpcrt.output = "b"}, %c: memref<4xf32> {mpc.input = "c"}, %d: memref<4xf32> {mpcrt.output = "d"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4xf32>)
  mpcrt.launch @copy count(%c4) grain(1) args(%a, %b : memref<4xf32>, memref<4xf32>)
  %k = arith.constant 4 : index
  mpcrt.launch @fill count(%k) grain(1) args(%c : memref<4xf32>)
  mpcrt.launch @copy count(%k) grain(1) args(%c, %d : memref<4xf32>, memref<4xf32>)
  return
}

// What is written where another one reads or writes keeps its place: before, or behind.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: launch_all
// CHECK: mpcrt.launch @copy {{.*}} args(%arg0, %arg1 :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%arg0 :
// CHECK-NEXT: mpcrt.launch @copy {{.*}} args(%arg2, %arg0 :
// CHECK-NEXT: return
func.func @ordered(%a: memref<4xf32> {mpc.input = "a"}, %b: memref<4xf32> {mpcrt.output = "b"}, %c: memref<4xf32> {mpc.input = "c"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  mpcrt.launch @copy count(%c4) grain(1) args(%a, %b : memref<4xf32>, memref<4xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4xf32>)
  mpcrt.launch @copy count(%c4) grain(1) args(%c, %a : memref<4xf32>, memref<4xf32>)
  return
}

// A launch that fills the GPU is a kernel of its own: narrow ones come together on one side of it.
// CHECK-LABEL: func.func @wide_between
// CHECK: mpcrt.launch_all {
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%arg0 :
// CHECK-NEXT: mpcrt.launch @fill {{.*}} args(%arg1 :
// CHECK-NEXT: }
// CHECK-NEXT: mpcrt.launch @wide
// CHECK-NEXT: return
func.func @wide_between(%a: memref<4xf32> {mpc.input = "a"}, %b: memref<4xf32> {mpcrt.output = "b"}, %w: memref<65536xf32> {mpc.input = "w"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %c65536 = arith.constant 65536 : index
  mpcrt.launch @fill count(%c4) grain(1) args(%a : memref<4xf32>)
  mpcrt.launch @wide count(%c65536) grain(1) args(%w : memref<65536xf32>)
  mpcrt.launch @fill count(%c4) grain(1) args(%b : memref<4xf32>)
  return
}
