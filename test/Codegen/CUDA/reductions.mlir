// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --mpc-outline-host-code | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s
// Sums are in float32, in an order that does not depend on the grid.

// A warp takes a row: each lane every 32nd element, then the lanes in pairs; one writes.
// CHECK-LABEL: void __launch_bounds__(256) kernel_sum_rows(f16 *a0, float *a1, const index a2, const index count) {
// CHECK-NEXT: const int lane = threadIdx.x % 32;
// CHECK-NEXT: for (index i = first_row(); i < count; i += row_step()) {
// CHECK-NEXT: const float [[START:v[0-9]+]] = a1[i];
// CHECK-NEXT: float [[SUM:v[0-9]+]] = {{[(]?-?0.0f[)]?}};
// CHECK-NEXT: #pragma unroll 8
// CHECK-NEXT: for (index [[C:v[0-9]+]] = lane; [[C]] < 512ll; [[C]] += 32) {
// CHECK-NEXT: const f16 [[X:v[0-9]+]] = a0[i * 512 + [[C]]];
// CHECK: [[SUM]] = v{{[0-9]+}};
// CHECK-NEXT: }
// CHECK-NEXT: for (int bit = 16; bit; bit /= 2) {
// CHECK-NEXT: const float [[OTHER:v[0-9]+]] = other_lane([[SUM]], bit);
// CHECK-NEXT: [[SUM]] = [[SUM]] + [[OTHER]];
// CHECK-NEXT: }
// CHECK-NEXT: [[SUM]] = [[START]] + [[SUM]];
// CHECK-NEXT: __syncwarp();
// CHECK-NEXT: if (lane == 0) {
// CHECK-NEXT: a1[i] = [[SUM]];
// CHECK-NEXT: }
// CHECK-NEXT: __syncwarp();
func.func @sum_rows(%x: memref<?x512xf16> {mpc.input = "x"}, %out: memref<?xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x512xf16>) outs(%out : memref<?xf32>) {
  ^bb0(%i: f16, %o: f32):
    %0 = arith.extf %i : f16 to f32
    %1 = arith.addf %o, %0 fastmath<reassoc> : f32
    linalg.yield %1 : f32
  }
  return
}

// Sums whose order is fixed (no reassoc) stay one thread's.
// CHECK-LABEL: void __launch_bounds__(256) kernel_ordered(float *a0, float *a1, const index a2, const index count) {
// CHECK-NEXT: for (index i = first_index(); i < count; i += index_step()) {
// CHECK: #pragma unroll 8
// CHECK-NEXT: for (index v{{[0-9]+}} = 0ll;
func.func @ordered(%x: memref<?x512xf32> {mpc.input = "x"}, %out: memref<?xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x512xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i : f32
    linalg.yield %0 : f32
  }
  return
}

// 128 partial sums of each column, then one: a thread per part and column, neighbours read neighbours,
// and each has eight reads under way. With so many threads the first kernel is no stage.
// CHECK-LABEL: void __launch_bounds__(256) kernel_sum_columns(float *a0, float *a1, float *a2, const index a3, const index count) {
// CHECK: const index [[C:v[0-9]+]] = (index)((unsigned long long)i % (unsigned long long)512ll);
// CHECK-NEXT: const index [[PART:v[0-9]+]] = (index)((unsigned long long)i / (unsigned long long)512ll);
// CHECK-NEXT: float [[SUM:v[0-9]+]] = 0.0f;
// CHECK-NEXT: #pragma unroll 8
// CHECK-NEXT: for (index [[R:v[0-9]+]] = [[PART]]; [[R]] < a3; [[R]] += 128ll) {
// CHECK-NEXT: const float [[X:v[0-9]+]] = a0[[[R]] * 512 + [[C]]];
// CHECK: a2[[[PART]] * 512 + [[C]]] = [[SUM]];
// CHECK-LABEL: void __launch_bounds__(256) kernel_sum_columns_1(
// CHECK: for (index [[P:v[0-9]+]] = 0ll; [[P]] < 128ll; ++[[P]]) {
// CHECK-NEXT: = a0[[[P]] * 512 + i];
func.func @sum_columns(%x: memref<?x512xf32> {mpc.input = "x"}, %out: memref<512xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x512xf32>) outs(%out : memref<512xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// Sums over several loops are over one where what they index follows each other.
// CHECK-LABEL: void __launch_bounds__(256) kernel_sum_places(
// CHECK: for (index [[R:v[0-9]+]] = v{{[0-9]+}}; [[R]] < v{{[0-9]+}}; [[R]] += 8192ll) {
// CHECK-NEXT: = a0[[[R]] * 32 + v{{[0-9]+}}];
func.func @sum_places(%x: memref<?x16x16x32xf32> {mpc.input = "x"}, %out: memref<32xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%x : memref<?x16x16x32xf32>) outs(%out : memref<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// Where they do not, each index is a remainder of the place in all combinations.
// CHECK-LABEL: void __launch_bounds__(256) kernel_sum_between(
// CHECK: for (index [[R:v[0-9]+]] = v{{[0-9]+}}; [[R]] < v{{[0-9]+}}; [[R]] += 4096ll) {
// CHECK-NEXT: const index [[LAST:v[0-9]+]] = (index)((unsigned long long)[[R]] % (unsigned long long)48ll);
// CHECK-NEXT: const index [[FIRST:v[0-9]+]] = (index)((unsigned long long)[[R]] / (unsigned long long)48ll);
// CHECK-NEXT: = a0[[[FIRST]] * 1536 + v{{[0-9]+}} * 48 + [[LAST]]];
func.func @sum_between(%x: memref<?x32x48xf32> {mpc.input = "x"}, %out: memref<32xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<?x32x48xf32>) outs(%out : memref<32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i fastmath<reassoc> : f32
    linalg.yield %0 : f32
  }
  return
}

// The finite test: the largest bit pattern without the sign, in 65536 parts, then 2048, then one.
// Maxima have no order: a thread takes packs of eight.
// CHECK-LABEL: void __launch_bounds__(256) kernel_largest(
// CHECK: const index [[PACKS:v[0-9]+]] = ((size_t)a0) % 16 == 0 ? [[COUNT:v[0-9]+]] / 8 : 0;
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT: for (index j = i; j < [[PACKS]]; j += 65536ll) {
// CHECK-NEXT: pack<f16, 8> [[PACK:v[0-9]+]] = ((const pack<f16, 8> *)a0)[j];
// CHECK: = [[PACK]].at[k];
// CHECK: const short [[BITS:v[0-9]+]] = (short)v{{[0-9]+}}.bits;
// CHECK-NEXT: const short [[MAGNITUDE:v[0-9]+]] = (short)([[BITS]] & (short)32767);
// CHECK-NEXT: = (unsigned short)v{{[0-9]+}} > (unsigned short)[[MAGNITUDE]] ? v{{[0-9]+}} : [[MAGNITUDE]];
// CHECK: for (index [[I:v[0-9]+]] = [[PACKS]] * 8 + i; [[I]] < [[COUNT]]; [[I]] += 65536ll) {
// CHECK-NEXT: = a0[[[I]]];
// CHECK-LABEL: static __device__ __noinline__ void kernel_largest_1_body(
// CHECK: for (index [[P:v[0-9]+]] = v{{[0-9]+}} * 8 + i; [[P]] < 65536ll; [[P]] += 2048ll) {
// CHECK-LABEL: static __device__ __noinline__ void kernel_largest_2_body(
// CHECK: for (index v{{[0-9]+}} = lane; v{{[0-9]+}} < 2048ll; v{{[0-9]+}} += 32) {
func.func @largest(%x: memref<?x512xf16> {mpc.input = "x"}, %out: memref<i16> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %mask = arith.constant 32767 : i16
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<?x512xf16>) outs(%out : memref<i16>) {
  ^bb0(%i: f16, %o: i16):
    %0 = arith.bitcast %i : f16 to i16
    %1 = arith.andi %0, %mask : i16
    %2 = arith.maxui %o, %1 : i16
    linalg.yield %2 : i16
  }
  return
}

// What follows each other is one kernel; the whole grid waits between its stages.
// CHECK: void __launch_bounds__(256) mpc_group_2(short *s0_0, short *s0_1, short *s0_2, const index s0_3, const index s0_count,
// CHECK-NEXT: short *s1_0, short *s1_1, const index s1_2, const index s1_count,
// CHECK-NEXT: const int first_stage, const int end_stage) {
// CHECK-NEXT: MPC_STAGE(0) kernel_largest_1_body(s0_0, s0_1, s0_2, s0_3, s0_count, 0u);
// CHECK-NEXT: MPC_STAGE(1) kernel_largest_2_body(s1_0, s1_1, s1_2, s1_count, 0u);
// CHECK-NEXT: }
// CHECK-NOT: mpc_group_3
