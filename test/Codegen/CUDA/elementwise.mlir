// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --mpc-outline-host-code | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s
// One thread per element, in steps of the grid; a small float is computed in float32 and rounded once.

// CHECK: typedef long long index;
// No library call, no kernel of the driver's.
// CHECK-NOT: mpc_relu

// Casts and arithmetic of one chain.
// CHECK-LABEL: static __device__ inline void kernel_chain_element(const bf16 &a0, float &a1, const index a2, const index i) {
// CHECK-NEXT: const bf16 [[X:v[0-9]+]] = a0;
// CHECK-NEXT: const bf16 [[TWICE:v[0-9]+]] = narrow_bf16(widen([[X]]) + widen([[X]]));
// CHECK-NEXT: const float [[WIDE:v[0-9]+]] = (float)widen([[TWICE]]);
// CHECK-NEXT: const float [[MAX:v[0-9]+]] = maximum([[WIDE]], 0.0f);
// CHECK-NEXT: const float [[TANH:v[0-9]+]] = tanhf([[MAX]]);
// CHECK-NEXT: a1 = [[TANH]];
// Four neighbours at a time where every buffer begins at a multiple of 16 bytes; the rest, and all
// elements elsewhere, one by one.
// CHECK-LABEL: void __launch_bounds__(256) kernel_chain(bf16 *a0, float *a1, const index a2, const index count) {
// CHECK-NEXT: const index packs = ((size_t)a0 | (size_t)a1) % 16 == 0 ? count / 4 : 0;
// CHECK-NEXT: for (index i = first_index(); i < packs; i += index_step()) {
// CHECK-NEXT: pack<bf16, 4> p0 = ((const pack<bf16, 4> *)a0)[i];
// CHECK-NEXT: pack<float, 4> p1;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int k = 0; k < 4; ++k)
// CHECK-NEXT: kernel_chain_element(p0.at[k], p1.at[k], a2, i * 4 + k);
// CHECK-NEXT: ((pack<float, 4> *)a1)[i] = p1;
// CHECK-NEXT: }
// CHECK-NEXT: for (index i = packs * 4 + first_index(); i < count; i += index_step())
// CHECK-NEXT: kernel_chain_element(a0[i], a1[i], a2, i);
func.func @chain(%x: memref<?x8xbf16> {mpc.input = "x"}, %out: memref<?x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xbf16>) outs(%out : memref<?x8xf32>) {
  ^bb0(%i: bf16, %o: f32):
    %0 = arith.addf %i, %i : bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = math.tanh %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// A vector is added to every row: it is read by packs, too, each at its column.
// CHECK-LABEL: void kernel_broadcast_element(const float &a0, float *a1, float &a2, const index a3, const float &b0, const index i, const index row, const index column) {
// CHECK-NEXT: const float [[X:v[0-9]+]] = a0;
// CHECK-NEXT: const float [[S:v[0-9]+]] = [[X]] + b0;
// CHECK-NEXT: a2 = [[S]];
// CHECK-LABEL: void __launch_bounds__(256) kernel_broadcast(float *a0, float *a1, float *a2, const index a3, const index count) {
// CHECK-NEXT: const index packs = ((size_t)a0 | (size_t)a2 | (size_t)a1) % 16 == 0 ? count / 4 : 0;
// CHECK: const pack<float, 4> b0 = *(const pack<float, 4> *)&a1[column];
// CHECK: kernel_broadcast_element(p0.at[k], a1, p2.at[k], a3, b0.at[k], i * 4 + k, row, column + k);
// CHECK: kernel_broadcast_element(a0[i], a1, a2[i], a3, a1[column], i, row, column);
func.func @broadcast(%x: memref<?x8xf32> {mpc.input = "x"}, %b: memref<8xf32> {mpc.input = "b"}, %out: memref<?x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : memref<?x8xf32>, memref<8xf32>) outs(%out : memref<?x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows that are padded have holes: no access covers two of them.
// CHECK-LABEL: void __launch_bounds__(256) kernel_padded(f16 *a0, f16 *a1, const index a2, const index count) {
// CHECK-NEXT: for (index i = first_index(); i < count; i += index_step()) {
// CHECK: a1[v{{[0-9]+}} * 16 + v{{[0-9]+}}] =
func.func @padded(%x: memref<?x8xf16> {mpc.input = "x"}, %out: memref<?x16xf16> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %part = memref.subview %out[0, 0] [%n, 8] [1, 1] : memref<?x16xf16> to memref<?x8xf16, strided<[16, 1]>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xf16>) outs(%part : memref<?x8xf16, strided<[16, 1]>>) {
  ^bb0(%i: f16, %o: f16):
    %0 = arith.negf %i : f16
    linalg.yield %0 : f16
  }
  return
}

// What lies side by side for the elements of a pack is read at once, what they have in common once.
// CHECK-LABEL: void kernel_rows_element(bf16 *a0, bf16 *a1, bf16 &a2, const index a3, const bf16 &b0, const index i, const index row, const index column) {
// CHECK-NEXT: const bf16 v{{[0-9]+}} = a0[row * 2 + 1ll];
// CHECK-LABEL: void __launch_bounds__(256) kernel_rows(bf16 *a0, bf16 *a1, bf16 *a2, const index a3, const index count) {
// CHECK-NEXT: const index packs = ((size_t)a2 | (size_t)a1) % 16 == 0 ? count / 8 : 0;
// CHECK: const index row = (unsigned long long)(i * 8) / 64;
// CHECK-NEXT: const index column = (unsigned long long)(i * 8) % 64;
// CHECK: const pack<bf16, 8> b0 = *(const pack<bf16, 8> *)&a1[1ll * 64 + column];
// CHECK: kernel_rows_element(a0, a1, p2.at[k], a3, b0.at[k], i * 8 + k, row, column + k);
func.func @rows(%x: memref<?x2xbf16> {mpc.input = "x"}, %w: memref<2x64xbf16> {mpc.input = "w"}, %out: memref<?x64xbf16> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 1)>, affine_map<(d0, d1) -> (1, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %w : memref<?x2xbf16>, memref<2x64xbf16>) outs(%out : memref<?x64xbf16>) {
  ^bb0(%i: bf16, %j: bf16, %o: bf16):
    %0 = arith.mulf %i, %j : bf16
    linalg.yield %0 : bf16
  }
  return
}

// Where rows share at least four packs, as of a product of few terms, a thread reads these once for several
// rows, four of which it has under way before it computes. A product of two numbers of 16 bits is exact:
// it is added with one rounding.
// CHECK-LABEL: void kernel_terms_element(bf16 *a0, bf16 *a1, bf16 &a2, const index a3, const bf16 &b0, const bf16 &b1, const bf16 &b2, const bf16 &b3, const index i, const index row, const index column) {
// CHECK: const float [[FIRST:v[0-9]+]] = {{v[0-9]+}} * {{v[0-9]+}};
// CHECK: const float [[SECOND:v[0-9]+]] = fmaf({{v[0-9]+}}, {{v[0-9]+}}, [[FIRST]]);
// CHECK: const float [[THIRD:v[0-9]+]] = fmaf({{v[0-9]+}}, {{v[0-9]+}}, [[SECOND]]);
// CHECK: const float [[FOURTH:v[0-9]+]] = fmaf({{v[0-9]+}}, {{v[0-9]+}}, [[THIRD]]);
// CHECK: = narrow_bf16([[FOURTH]]);
// CHECK-LABEL: void __launch_bounds__(256, 2) kernel_terms(bf16 *a0, bf16 *a1, bf16 *a2, const index a3, const index count) {
// CHECK-NEXT: const index packs = ((size_t)a2 | (size_t)a1) % 16 == 0 ? count / 8 : 0;
// CHECK-NEXT: const index across = 8, rows = packs / across, depth = rows_of_thread(packs);
// CHECK-NEXT: const index tiles = divided(rows + depth - 1, depth) * across;
// CHECK: const index end = first + depth < rows ? first + depth : rows;
// CHECK-NEXT: const pack<bf16, 8> b0 = *(const pack<bf16, 8> *)&a1[column];
// CHECK: for (index row = first; row < end; row += at_once) {
// CHECK-NEXT: pack<bf16, 8> allp2[at_once];
// CHECK: allp2[r] = ((const pack<bf16, 8> *)a2)[(row + r) * across + j % across];
// CHECK: pack<bf16, 8> p2 = allp2[r];
// CHECK: kernel_terms_element(a0, a1, p2.at[k], a3, b0.at[k], b1.at[k], b2.at[k], b3.at[k], i * 8 + k, row + r, column + k);
// CHECK: for (index i = rows * 64 + first_index(); i < count; i += index_step()) {
func.func @terms(%x: memref<?x4xbf16> {mpc.input = "x"}, %w: memref<4x64xbf16> {mpc.input = "w"}, %out: memref<?x64xbf16> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %zero = arith.constant 0.0 : bf16
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, 1)>, affine_map<(d0, d1) -> (1, d1)>, affine_map<(d0, d1) -> (d0, 2)>, affine_map<(d0, d1) -> (2, d1)>, affine_map<(d0, d1) -> (d0, 3)>, affine_map<(d0, d1) -> (3, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %w, %x, %w, %x, %w, %x, %w : memref<?x4xbf16>, memref<4x64xbf16>, memref<?x4xbf16>, memref<4x64xbf16>, memref<?x4xbf16>, memref<4x64xbf16>, memref<?x4xbf16>, memref<4x64xbf16>) outs(%out : memref<?x64xbf16>) {
  ^bb0(%a0: bf16, %b0: bf16, %a1: bf16, %b1: bf16, %a2: bf16, %b2: bf16, %a3: bf16, %b3: bf16, %o: bf16):
    %x0 = arith.extf %a0 : bf16 to f32
    %y0 = arith.extf %b0 : bf16 to f32
    %p0 = arith.mulf %x0, %y0 : f32
    %x1 = arith.extf %a1 : bf16 to f32
    %y1 = arith.extf %b1 : bf16 to f32
    %p1 = arith.mulf %x1, %y1 : f32
    %s1 = arith.addf %p0, %p1 : f32
    %x2 = arith.extf %a2 : bf16 to f32
    %y2 = arith.extf %b2 : bf16 to f32
    %p2 = arith.mulf %x2, %y2 : f32
    %s2 = arith.addf %s1, %p2 : f32
    %x3 = arith.extf %a3 : bf16 to f32
    %y3 = arith.extf %b3 : bf16 to f32
    %p3 = arith.mulf %x3, %y3 : f32
    %s3 = arith.addf %p3, %s2 : f32
    %r = arith.truncf %s3 : f32 to bf16
    %isPositive = arith.cmpf ogt, %o, %zero : bf16
    %y = arith.select %isPositive, %r, %zero : bf16
    linalg.yield %y : bf16
  }
  return
}
