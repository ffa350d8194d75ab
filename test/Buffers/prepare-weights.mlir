// RUN: mpc-opt %s --mpc-prepare-weights --remark-format=emitRemark --remarks-filter=mpc-memory 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-prepare-weights > %t.once
// RUN: mpc-opt %t.once --mpc-prepare-weights | diff %t.once -
// RUN: mpc-opt %s --mpc-prepare-weights --mpc-plan-memory --mpc-verify-buffers -o /dev/null
// RUN: mpc-opt %s --mpc-prepare-weights=target=cpu | FileCheck %s --check-prefix=CPU
// On a CPU predictions alone.
// CPU-LABEL: func.func @predict
// CPU: mpcrt.prepare {{.*}} bytes(512)
// CPU-NOT: mpcrt.prepare

#each = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#vector = affine_map<(d0) -> (d0)>

module {
mpc.variable @w : tensor<4x3xi8> role non_trainable
mpc.variable @b : tensor<3xf32> role non_trainable
mpc.variable @lr : tensor<3xf32> role optimizer

// A transposed kernel, filled up with zeros, and what is computed of that; but nothing that takes an
// input. The buffers have places of their own, a multiple of 256 bytes each.
// REMARK: Passed{{.*}}prepare-weights{{.*}}predict{{.*}}bytes that it computes of weights alone{{.*}}bytes=512
// REMARK: Passed{{.*}}prepare-weights{{.*}}train_step{{.*}}bytes=256
// REMARK-NOT: prepare-weights
// CHECK-LABEL: func.func @predict
// CHECK-SAME: %[[MEMORY:[a-z0-9]+]]: memref<?xi8> {mpcrt.prepared}
// CHECK-DAG: %[[PADDED:.*]] = mpcrt.view %[[MEMORY]][%{{.*}}] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xi8>
// CHECK-DAG: %[[WIDE:.*]] = mpcrt.view %[[MEMORY]][%{{.*}}] fixed(256) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
// CHECK: mpcrt.prepare %[[MEMORY]] bytes(512) {
// CHECK-NEXT: linalg.fill
// CHECK-SAME: outs(%[[PADDED]]
// CHECK-NEXT: linalg.generic
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ins(%[[PADDED]]
// CHECK-SAME: outs(%[[WIDE]]
// CHECK: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: } : memref<?xi8>
// CHECK-NOT: memref.dealloc
// CHECK: mpcrt.contract ins(%{{.*}}, %[[WIDE]]
func.func @predict(%x: memref<?x4xf32> {mpc.input = "x"}, %w: memref<4x3xi8> {mpc.variable = @w}, %out: memref<?x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  %zero = arith.constant 0 : i8
  %scaled = memref.alloc(%n) : memref<?x4xf32>
  linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x4xf32>) outs(%scaled : memref<?x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %in : f32
    linalg.yield %y : f32
  }
  %padded = memref.alloc() : memref<8x4xi8>
  linalg.fill ins(%zero : i8) outs(%padded : memref<8x4xi8>)
  %part = memref.subview %padded[0, 0] [3, 4] [1, 1] : memref<8x4xi8> to memref<3x4xi8, strided<[4, 1]>>
  linalg.generic {indexing_maps = [#turned, #each], iterator_types = ["parallel", "parallel"]} ins(%w : memref<4x3xi8>) outs(%part : memref<3x4xi8, strided<[4, 1]>>) {
  ^bb0(%in: i8, %o: i8):
    linalg.yield %in : i8
  }
  %wide = memref.alloc() : memref<8x4xf32>
  linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]} ins(%padded : memref<8x4xi8>) outs(%wide : memref<8x4xf32>) {
  ^bb0(%in: i8, %o: f32):
    %y = arith.sitofp %in : i8 to f32
    linalg.yield %y : f32
  }
  mpcrt.contract ins(%scaled, %wide : memref<?x4xf32>, memref<8x4xf32>) outs(%out : memref<?x8xf32>) {transpose_rhs}
  memref.dealloc %scaled : memref<?x4xf32>
  memref.dealloc %padded : memref<8x4xi8>
  memref.dealloc %wide : memref<8x4xf32>
  return
}

// Of what the step writes nothing stays, nor of what belongs to the optimizer, which a schedule sets
// in every step; of the frozen kernel it does.
// CHECK-LABEL: func.func @train_step
// CHECK: mpcrt.prepare %{{.*}} bytes(256) {
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ins(%arg1 : memref<4x3xi8>)
// CHECK: } : memref<?xi8>
// CHECK: memref.alloc() : memref<3xf32>
// CHECK: memref.alloc() : memref<3xf32>
// CHECK-NOT: mpcrt.prepare
func.func @train_step(%x: memref<?x4xf32> {mpc.input = "x"}, %w: memref<4x3xi8> {mpc.variable = @w}, %b: memref<3xf32> {mpc.variable = @b}, %lr: memref<3xf32> {mpc.variable = @lr}, %out: memref<?x3xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %wide = memref.alloc() : memref<4x3xf32>
  linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]} ins(%w : memref<4x3xi8>) outs(%wide : memref<4x3xf32>) {
  ^bb0(%in: i8, %o: f32):
    %y = arith.sitofp %in : i8 to f32
    linalg.yield %y : f32
  }
  %twice = memref.alloc() : memref<3xf32>
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%b : memref<3xf32>) outs(%twice : memref<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %in : f32
    linalg.yield %y : f32
  }
  %rate = memref.alloc() : memref<3xf32>
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%lr : memref<3xf32>) outs(%rate : memref<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %in : f32
    linalg.yield %y : f32
  }
  mpcrt.contract ins(%x, %wide : memref<?x4xf32>, memref<4x3xf32>) bias(%twice : memref<3xf32>) outs(%out : memref<?x3xf32>)
  linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%rate : memref<3xf32>) outs(%b : memref<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  }
  memref.dealloc %wide : memref<4x3xf32>
  memref.dealloc %twice : memref<3xf32>
  memref.dealloc %rate : memref<3xf32>
  return
}

// The stages of a caller's loop run once per update.
// CHECK-LABEL: func.func @train_forward
// CHECK-NOT: mpcrt.prepare
func.func @train_forward(%x: memref<?x4xf32> {mpc.input = "x"}, %w: memref<4x3xi8> {mpc.variable = @w}, %out: memref<?x3xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<train_forward>} {
  %wide = memref.alloc() : memref<4x3xf32>
  linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]} ins(%w : memref<4x3xi8>) outs(%wide : memref<4x3xf32>) {
  ^bb0(%in: i8, %o: f32):
    %y = arith.sitofp %in : i8 to f32
    linalg.yield %y : f32
  }
  mpcrt.contract ins(%x, %wide : memref<?x4xf32>, memref<4x3xf32>) outs(%out : memref<?x3xf32>)
  memref.dealloc %wide : memref<4x3xf32>
  return
}
}
