// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --cse --mpc-merge-launches --canonicalize --cse | FileCheck %s
// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --cse --mpc-merge-launches --canonicalize --cse | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s --check-prefix=TEXT

// The kernel that casts writes both orders of the numbers.
// CHECK-LABEL: func.func private @kernel_predict_turn_merged(
// CHECK: memref.store
// CHECK: memref.store
// Nobody reads these numbers in the order in which they were computed.
// CHECK-LABEL: func.func private @kernel_predict_turn_1_merged(
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK-LABEL: func.func @predict(
// CHECK: mpcrt.launch @kernel_predict_turn_merged count(
// CHECK-NOT: mpcrt.launch
// CHECK: mpcrt.contract {{.*}} mpcrt.turned_rhs
// CHECK: mpcrt.launch @kernel_predict_turn_1_merged count(
// CHECK-NOT: mpcrt.launch
// CHECK: mpcrt.contract {{.*}} mpcrt.turned_lhs

// A thread takes 16 rows of 4 columns.
// TEXT: {{ }}kernel_predict_turn_merged_element(const bf16 &a0, f8e4m3 &a1, f8e4m3 &a2, const index i, const index row, const index column) {
// TEXT: {{ }}kernel_predict_turn_merged(bf16 *a0, f8e4m3 *a1, f8e4m3 *a2, const index count) {
// TEXT-NEXT: const index tiles = ((size_t)a0 | (size_t)a1 | (size_t)a2) % 16 == 0 && 64ll % 16 == 0 && 64ll * 32ll == count ? count / 64 : 0;
// TEXT-NEXT: for (index j = first_index(); j < tiles; j += index_step()) {
// TEXT: pack<f8e4m3, 16> p2[4];
// TEXT: for (int g = 0; g < 16; g += 4) {
// TEXT: allp0[r] = ((const pack<bf16, 4> *)a0)[(first + g + r) * across + pack_column];
// TEXT: kernel_predict_turn_merged_element(p0.at[k], p1.at[k], p2[k].at[g + r], i * 4 + k, first + g + r, column + k);
// TEXT-NEXT: ((pack<f8e4m3, 4> *)a1)[i] = p1;
// TEXT: *(pack<f8e4m3, 16> *)(a2 + (pack_column * 4 + k) * 64ll + first) = p2[k];
// TEXT: for (index i = tiles * 64 + first_index(); i < count; i += index_step()) {
// TEXT: kernel_predict_turn_merged_element(a0[i], a1[i], a2[column * 64ll + row], i, row, column);

// The batch says how long a column is.
// TEXT: {{ }}kernel_predict_turn_1_merged(bf16 *a0, const index a1, f8e4m3 *a2, const index count) {
// TEXT-NEXT: const index tiles = ((size_t)a0 | (size_t)a2) % 16 == 0 && a1 % 16 == 0 && a1 * 64ll == count ? count / 64 : 0;
// TEXT: kernel_predict_turn_1_merged_element(a0[i], a1, a2[column * a1 + row], i, row, column);

func.func @predict(%x: memref<?x64xbf16> {mpc.input = "x"}, %w: memref<64x32xbf16> {mpc.input = "w"}, %out: memref<?x32xf32> {mpcrt.output = "out0"}, %gradient: memref<64x32xf32> {mpcrt.output = "out1"}, %back: memref<?x64xf32> {mpcrt.output = "out2"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 6144 : i64, mpcrt.arena_per_sample = 224 : i64} {
  %numbers = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<64x32xf8E4M3FN>
  %turned = mpcrt.view %arena[%n] fixed(2048) per_sample(0) : memref<?xi8> -> memref<64x32xf8E4M3FN>
  %samples = mpcrt.view %arena[%n] fixed(6144) per_sample(0) : memref<?xi8> -> memref<?x64xf8E4M3FN>
  %x8 = mpcrt.view %arena[%n] fixed(6144) per_sample(64) : memref<?xi8> -> memref<?x64xf8E4M3FN>
  %xt = mpcrt.view %arena[%n] fixed(6144) per_sample(128) : memref<?xi8> -> memref<?x64xf8E4M3FN>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : memref<64x32xbf16>) outs(%numbers : memref<64x32xf8E4M3FN>) {
  ^bb0(%i: bf16, %o: f8E4M3FN):
    %0 = arith.truncf %i : bf16 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  }
  mpcrt.turn ins(%numbers : memref<64x32xf8E4M3FN>) outs(%turned : memref<64x32xf8E4M3FN>)
  mpcrt.contract ins(%samples, %turned : memref<?x64xf8E4M3FN>, memref<64x32xf8E4M3FN>) outs(%out : memref<?x32xf32>) {layer = "dense", mpcrt.turned_rhs}
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x64xbf16>) outs(%x8 : memref<?x64xf8E4M3FN>) {
  ^bb0(%i: bf16, %o: f8E4M3FN):
    %0 = arith.truncf %i : bf16 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  }
  mpcrt.turn ins(%x8 : memref<?x64xf8E4M3FN>) outs(%xt : memref<?x64xf8E4M3FN>)
  %all = mpcrt.view %arena[%n] fixed(6144) per_sample(192) : memref<?xi8> -> memref<?x32xf8E4M3FN>
  mpcrt.contract ins(%xt, %all : memref<?x64xf8E4M3FN>, memref<?x32xf8E4M3FN>) outs(%gradient : memref<64x32xf32>) {layer = "dense", transpose_lhs, mpcrt.turned_lhs}
  mpcrt.contract ins(%all, %numbers : memref<?x32xf8E4M3FN>, memref<64x32xf8E4M3FN>) outs(%back : memref<?x64xf32>) {layer = "dense", transpose_rhs}
  return
}
