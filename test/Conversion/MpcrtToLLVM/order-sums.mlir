// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s
// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s --check-prefix=FLAGS

// The order of a sum is the IR's: LLVM is not asked to find one.
// FLAGS-NOT: reassoc
module {
// 37 terms: two vectors, five terms that are left over, of which four join when four lanes are left. The factor is one
// number in all lanes.
// CHECK-LABEL: llvm.func @read
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[A:.*]] = llvm.fmul %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[B:.*]] = llvm.fmul %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: %[[C:.*]] = llvm.fadd %[[A]], %[[B]] : vector<16xf32>
// CHECK: %[[LOW:.*]] = llvm.shufflevector %[[C]], %[[C]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>
// CHECK: %[[HIGH:.*]] = llvm.shufflevector %[[C]], %[[C]] [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>
// CHECK: llvm.fadd %[[LOW]], %[[HIGH]] : vector<8xf32>
// CHECK: %[[FOUR:.*]] = llvm.fadd %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.fadd %[[FOUR]], %{{.*}} : vector<4xf32>
// CHECK: llvm.fadd %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: llvm.extractelement
// CHECK: llvm.extractelement
// CHECK: %[[ONE:.*]] = llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK: %[[LAST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: %[[TERM:.*]] = llvm.fmul %[[LAST]], %{{.*}} : f32
// CHECK: llvm.fadd %[[ONE]], %[[TERM]] : f32
func.func @read(%x: memref<?x37xf32>, %factor: memref<?xf32>, %sums: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %columns = arith.constant 37 : index
  scf.for %row = %begin to %end step %one {
    %f = memref.load %factor[%row] : memref<?xf32>
    %old = memref.load %sums[%row] : memref<?xf32>
    %sum = scf.for %i = %zero to %columns step %one iter_args(%s = %old) -> (f32) {
      %v = memref.load %x[%row, %i] : memref<?x37xf32>
      %t = arith.mulf %v, %f : f32
      %next = arith.addf %s, %t fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    memref.store %sum, %sums[%row] : memref<?xf32>
  }
  return
}

// What is no row is read as LLVM likes; the terms lie in a buffer, in which they are summed as above.
// CHECK-LABEL: llvm.func @stride
// CHECK: llvm.alloca {{.*}} x f32 {alignment = 64 : i64}
// CHECK: llvm.store %{{.*}}, %{{.*}} {access_groups = [{{.*}}]{{.*}}} : f32, !llvm.ptr
// CHECK: %[[READ:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: llvm.shufflevector %[[READ]], %[[READ]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>
func.func @stride(%x: memref<?x20x2xf32>, %sums: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %columns = arith.constant 20 : index
  scf.for %row = %begin to %end step %one {
    %old = memref.load %sums[%row] : memref<?xf32>
    %sum = scf.for %i = %zero to %columns step %one iter_args(%s = %old) -> (f32) {
      %v = memref.load %x[%row, %i, %zero] : memref<?x20x2xf32>
      %next = arith.addf %s, %v fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    memref.store %sum, %sums[%row] : memref<?xf32>
  }
  return
}

// Of unknown length: four vectors, then one, then the loop for fewer than 16 terms.
// CHECK-LABEL: llvm.func @unknown
// CHECK-COUNT-5: -> vector<16xf32>
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> f32
// A sum that may not be regrouped stays.
// CHECK-LABEL: llvm.func @strict
// CHECK-NOT: vector<
func.func @unknown(%x: memref<?xf32>, %sums: memref<f32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %old = memref.load %sums[] : memref<f32>
  %sum = scf.for %i = %begin to %end step %one iter_args(%s = %old) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %next = arith.addf %s, %v fastmath<reassoc> : f32
    scf.yield %next : f32
  }
  memref.store %sum, %sums[] : memref<f32>
  return
}
func.func @strict(%x: memref<64xf32>, %sums: memref<f32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %columns = arith.constant 64 : index
  %old = memref.load %sums[] : memref<f32>
  %sum = scf.for %i = %zero to %columns step %one iter_args(%s = %old) -> (f32) {
    %v = memref.load %x[%i] : memref<64xf32>
    %next = arith.addf %s, %v : f32
    scf.yield %next : f32
  }
  memref.store %sum, %sums[] : memref<f32>
  return
}
}
