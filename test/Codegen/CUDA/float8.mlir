// RUN: mpc-opt %s --convert-linalg-to-mpcrt=target=cuda --mpc-outline-host-code | mpcc - --compile-from=kernels --target=cuda --emit=cuda | FileCheck %s
// Numbers of float8 are bytes that one function of the prelude makes; with their product come the kernels
// that the driver needs around it, and no others.

// CHECK: __device__ inline f8e4m3 narrow_f8e4m3(float x) {
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: __device__ inline f8e5m2 narrow_f8e5m2(float x) {
// CHECK: mpc_transposed_operands_8(
// CHECK: mpc_widened_operands_8(
// CHECK-NOT: mpc_product
// CHECK: kernel_predict_element(const bf16 &a0, f8e4m3 &a1,
// CHECK: const f8e4m3 [[Y:v[0-9]+]] = narrow_f8e4m3(widen({{v[0-9]+}}));
// CHECK: a1 = [[Y]];
// CHECK: kernel_predict_1{{(_body)?}}_element(const float &a0, f8e5m2 &a1,
// CHECK: narrow_f8e5m2({{v[0-9]+}})
// CHECK: f8e5m2{0x00}
func.func @predict(%x: memref<?x16xbf16> {mpc.input = "x"}, %w: memref<16x16xf32> {mpc.input = "w"}, %out: memref<?x16xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 256 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %zero = arith.constant 0.0 : f8E5M2
  %some = arith.constant 1.0 : f32
  %a = mpcrt.view %arena[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<?x16xf8E4M3FN>
  %b = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<16x16xf8E5M2>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x16xbf16>) outs(%a : memref<?x16xf8E4M3FN>) {
  ^bb0(%i: bf16, %o: f8E4M3FN):
    %0 = arith.truncf %i : bf16 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  }
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : memref<16x16xf32>) outs(%b : memref<16x16xf8E5M2>) {
  ^bb0(%i: f32, %o: f8E5M2):
    %0 = arith.truncf %i : f32 to f8E5M2
    %1 = arith.cmpf olt, %i, %some : f32
    %2 = arith.select %1, %0, %zero : f8E5M2
    linalg.yield %2 : f8E5M2
  }
  mpcrt.contract ins(%a, %b : memref<?x16xf8E4M3FN>, memref<16x16xf8E5M2>) outs(%out : memref<?x16xf32>) {layer = "dense"}
  return
}
