// RUN: mpc-opt %s --mpc-merge-launches --canonicalize --cse --remark-format=emitRemark --remarks-filter=mpc-kernels 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-merge-launches --canonicalize --cse | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=TEXT

// A cast to float8 and the largest magnitude of the same numbers, which one kernel has: packs of eight.
// TEXT: {{ }}largest_beside(bf16 *a0, float *a1, f8e4m3 *a2, const index count) {
// TEXT: const index [[PACKS:v[0-9]+]] = ((size_t)a0 | (size_t)a2) % 16 == 0 ? 4194304ll / 8 : 0;
// TEXT-NEXT: for (index j = i; j < [[PACKS]]; j += 65536ll) {
// TEXT-NEXT: pack<bf16, 8> [[X:v[0-9]+]] = ((const pack<bf16, 8> *)a0)[j];
// TEXT-NEXT: pack<f8e4m3, 8> [[Y:v[0-9]+]];
// TEXT-NEXT: #pragma unroll
// TEXT-NEXT: for (int k = 0; k < 8; ++k) {
// TEXT: = [[X]].at[k];
// TEXT: [[Y]].at[k] =
// TEXT: ((pack<f8e4m3, 8> *)a2)[j] = [[Y]];
// TEXT-NEXT: }
// TEXT-NEXT: for (index [[I:v[0-9]+]] = [[PACKS]] * 8 + i; [[I]] < 4194304ll; [[I]] += 65536ll) {
// TEXT: = a0[

func.func private @cast(%x: memref<4194304xbf16>, %y: memref<4194304xf8E4M3FN>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %0 = memref.load %x[%i] : memref<4194304xbf16>
    %1 = arith.truncf %0 : bf16 to f8E4M3FN
    memref.store %1, %y[%i] : memref<4194304xf8E4M3FN>
  }
  return
}
func.func private @largest(%x: memref<4194304xbf16>, %parts: memref<65536xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %n = arith.constant 4194304 : index
  %step = arith.constant 65536 : index
  %least = arith.constant 0xFF800000 : f32
  scf.for %p = %begin to %end step %one {
    %0 = scf.for %i = %p to %n step %step iter_args(%most = %least) -> (f32) {
      %1 = memref.load %x[%i] : memref<4194304xbf16>
      %2 = arith.extf %1 : bf16 to f32
      %3 = math.absf %2 : f32
      %4 = arith.maximumf %most, %3 : f32
      scf.yield %4 : f32
    }
    memref.store %0, %parts[%p] : memref<65536xf32>
  }
  return
}
// A sum that rounds has its order, which packs would change.
func.func private @sum(%x: memref<4194304xbf16>, %parts: memref<65536xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  %n = arith.constant 4194304 : index
  %step = arith.constant 65536 : index
  %zero = arith.constant 0.0 : f32
  scf.for %p = %begin to %end step %one {
    %0 = scf.for %i = %p to %n step %step iter_args(%sum = %zero) -> (f32) {
      %1 = memref.load %x[%i] : memref<4194304xbf16>
      %2 = arith.extf %1 : bf16 to f32
      %4 = arith.addf %sum, %2 fastmath<reassoc> : f32
      scf.yield %4 : f32
    }
    memref.store %0, %parts[%p] : memref<65536xf32>
  }
  return
}
// Doubles in place.
func.func private @double(%x: memref<4194304xbf16>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %0 = memref.load %x[%i] : memref<4194304xbf16>
    %1 = arith.addf %0, %0 : bf16
    memref.store %1, %x[%i] : memref<4194304xbf16>
  }
  return
}

// REMARK: merge-launches{{.*}}@largest_beside for cast and largest

// CHECK-LABEL: func.func private @largest_beside_0(
// CHECK: %[[WHOLE:.*]] = memref.load
// CHECK-NEXT: %[[TWICE:.*]] = arith.addf %[[WHOLE]], %[[WHOLE]]
// CHECK-NEXT: arith.extf %[[TWICE]]
// CHECK-NOT: memref.load
// CHECK: memref.store %[[TWICE]]
// CHECK-LABEL: func.func private @largest_beside(
// CHECK-SAME: %[[X:[^:]*]]: memref<4194304xbf16>, %[[PARTS:[^:]*]]: memref<65536xf32>, %[[Y:[^:]*]]: memref<4194304xf8E4M3FN>
// CHECK: scf.for %[[P:.*]] = %
// CHECK-NEXT: scf.for %[[I:.*]] = %[[P]] to %{{.*}} iter_args(%[[MOST:.*]] =
// CHECK-NEXT: %[[NUMBER:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-NEXT: %[[NARROW:.*]] = arith.truncf %[[NUMBER]]
// CHECK-NEXT: arith.extf %[[NUMBER]]
// CHECK-NEXT: math.absf
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: memref.store %[[NARROW]], %[[Y]][%[[I]]]
// CHECK-NEXT: scf.yield

// CHECK: func.func @together
// CHECK: mpcrt.launch @largest_beside count(%{{.*}}) grain(1) args(%arg0, %arg2, %arg1 :
// CHECK-NEXT: return
func.func @together(%x: memref<4194304xbf16> {mpc.input = "x"}, %y: memref<4194304xf8E4M3FN> {mpcrt.output = "y"}, %parts: memref<65536xf32> {mpcrt.output = "parts"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %all = arith.constant 4194304 : index
  %c65536 = arith.constant 65536 : index
  mpcrt.launch @cast count(%all) grain(1) args(%x, %y : memref<4194304xbf16>, memref<4194304xf8E4M3FN>)
  mpcrt.launch @largest count(%c65536) grain(1) args(%x, %parts : memref<4194304xbf16>, memref<65536xf32>)
  return
}

// What is written in place is what the reduction behind it reads, in the same iteration.
// CHECK-LABEL: func.func @behind
// CHECK: mpcrt.launch @largest_beside_0
// CHECK-NEXT: return
func.func @behind(%x: memref<4194304xbf16> {mpc.input = "x"}, %parts: memref<65536xf32> {mpcrt.output = "parts"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %all = arith.constant 4194304 : index
  %c65536 = arith.constant 65536 : index
  mpcrt.launch @double count(%all) grain(1) args(%x : memref<4194304xbf16>)
  mpcrt.launch @largest count(%c65536) grain(1) args(%x, %parts : memref<4194304xbf16>, memref<65536xf32>)
  return
}

// The reduction reads what the other one then overwrites: it stays before it.
// CHECK-LABEL: func.func @before
// CHECK: mpcrt.launch @largest count
// CHECK-NEXT: mpcrt.launch @double
func.func @before(%x: memref<4194304xbf16> {mpc.input = "x"}, %parts: memref<65536xf32> {mpcrt.output = "parts"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %all = arith.constant 4194304 : index
  %c65536 = arith.constant 65536 : index
  mpcrt.launch @largest count(%c65536) grain(1) args(%x, %parts : memref<4194304xbf16>, memref<65536xf32>)
  mpcrt.launch @double count(%all) grain(1) args(%x : memref<4194304xbf16>)
  return
}

// CHECK-LABEL: func.func @sums
// CHECK: mpcrt.launch @cast
// CHECK-NEXT: mpcrt.launch @sum
func.func @sums(%x: memref<4194304xbf16> {mpc.input = "x"}, %y: memref<4194304xf8E4M3FN> {mpcrt.output = "y"}, %parts: memref<65536xf32> {mpcrt.output = "parts"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %all = arith.constant 4194304 : index
  %c65536 = arith.constant 65536 : index
  mpcrt.launch @cast count(%all) grain(1) args(%x, %y : memref<4194304xbf16>, memref<4194304xf8E4M3FN>)
  mpcrt.launch @sum count(%c65536) grain(1) args(%x, %parts : memref<4194304xbf16>, memref<65536xf32>)
  return
}
