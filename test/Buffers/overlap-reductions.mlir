// RUN: mpc-opt %s --mpc-overlap-reductions=bucket-bytes=64 | FileCheck %s
// RUN: mpc-opt %s --mpc-overlap-reductions=bucket-bytes=64 -o %t.once
// RUN: mpc-opt %t.once --mpc-overlap-reductions=bucket-bytes=64 -o %t.twice
// RUN: diff %t.once %t.twice

// Two of 32 bytes go together, the third in a message of its own. All are waited for in front of what touches one.
// CHECK-LABEL: func.func @train_step
func.func @train_step(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %out: memref<8xf32>, %count: memref<i32>) {
  // CHECK: mpcrt.all_reduce sum outs(%arg0 : memref<8xf32>)
  // CHECK-NOT: ends_bucket
  mpcrt.all_reduce sum outs(%a : memref<8xf32>)
  // CHECK: mpcrt.all_reduce sum outs(%arg1 : memref<8xf32>) {ends_bucket}
  mpcrt.all_reduce sum outs(%b : memref<8xf32>)
  // CHECK: mpcrt.all_reduce sum outs(%arg2 : memref<8xf32>) {bucket = 1 : i64, ends_bucket}
  mpcrt.all_reduce sum outs(%c : memref<8xf32>)
  // Another type: another message.
  // CHECK: mpcrt.all_reduce sum outs(%arg4 : memref<i32>) {bucket = 2 : i64, ends_bucket}
  mpcrt.all_reduce sum outs(%count : memref<i32>)
  // CHECK: mpcrt.wait_for_ranks outs(%arg0 : memref<8xf32>) {bucket = 0 : i64}
  // CHECK-NEXT: mpcrt.wait_for_ranks outs(%arg1 : memref<8xf32>) {bucket = 0 : i64}
  // CHECK-NEXT: memref.copy %arg1, %arg3
  memref.copy %b, %out : memref<8xf32> to memref<8xf32>
  // What nothing here touches leaves the function.
  // CHECK: mpcrt.wait_for_ranks outs(%arg2 : memref<8xf32>) {bucket = 1 : i64}
  // CHECK-NEXT: mpcrt.wait_for_ranks outs(%arg4 : memref<i32>) {bucket = 2 : i64}
  // CHECK-NEXT: return
  return
}

// One that is needed before the next one is there goes alone; views are the memory that they are of.
// CHECK-LABEL: func.func @evaluate
func.func @evaluate(%a: memref<8xf32>, %b: memref<8xf32>, %out: memref<2x4xf32>) {
  // CHECK: mpcrt.all_reduce sum outs(%arg0 : memref<8xf32>) {ends_bucket}
  mpcrt.all_reduce sum outs(%a : memref<8xf32>)
  %view = memref.expand_shape %a [[0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
  // CHECK: mpcrt.wait_for_ranks outs(%arg0 : memref<8xf32>) {bucket = 0 : i64}
  // CHECK-NEXT: memref.copy
  memref.copy %view, %out : memref<2x4xf32> to memref<2x4xf32>
  // CHECK: mpcrt.all_reduce sum outs(%arg1 : memref<8xf32>) {bucket = 1 : i64, ends_bucket}
  mpcrt.all_reduce sum outs(%b : memref<8xf32>)
  return
}

// Two bytes of each number go: four arrays of 32 bytes in a message of 64, which others do not join.
// CHECK-LABEL: func.func @train_backward
func.func @train_backward(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %e: memref<8xf32>) {
  // CHECK-COUNT-3: mpcrt.all_reduce sum outs(%{{.*}} : memref<8xf32>) {in_bfloat16}
  mpcrt.all_reduce sum outs(%a : memref<8xf32>) {in_bfloat16}
  mpcrt.all_reduce sum outs(%b : memref<8xf32>) {in_bfloat16}
  mpcrt.all_reduce sum outs(%c : memref<8xf32>) {in_bfloat16}
  // CHECK: mpcrt.all_reduce sum outs(%arg3 : memref<8xf32>) {ends_bucket, in_bfloat16}
  mpcrt.all_reduce sum outs(%d : memref<8xf32>) {in_bfloat16}
  // CHECK: mpcrt.all_reduce sum outs(%arg4 : memref<8xf32>) {bucket = 1 : i64, ends_bucket}
  mpcrt.all_reduce sum outs(%e : memref<8xf32>)
  return
}
