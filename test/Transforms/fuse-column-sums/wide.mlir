// RUN: mpc-opt %s --mpc-fuse-column-sums=rounded --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Sums that are read in float32 are more than the library has.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: sums(
// REMARK: column-sums{{.*}}the sums are not rounded to the type of the contraction's result
func.func @wide(%x: tensor<?x64xbf16>, %dy: tensor<?x64xbf16>) -> (tensor<64x64xbf16>, tensor<64xf32>) attributes {mpc.entry} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%dy : tensor<?x64xbf16>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%in: bf16, %sum: f32):
    %w = arith.extf %in : bf16 to f32
    %next = arith.addf %sum, %w : f32
    linalg.yield %next : f32
  } -> tensor<64xf32>
  %d = tensor.empty() : tensor<64x64xbf16>
  %g = mpcrt.contract ins(%x, %dy : tensor<?x64xbf16>, tensor<?x64xbf16>) outs(%d : tensor<64x64xbf16>) {transpose_lhs} -> tensor<64x64xbf16>
  return %g, %s : tensor<64x64xbf16>, tensor<64xf32>
}
