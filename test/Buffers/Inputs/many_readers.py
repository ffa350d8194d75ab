# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints an entry that computes a number and adds it to each of N buffers."""

import sys

count = int(sys.argv[1])
buffers = ", ".join(f"%m{i}: memref<8xf32>" for i in range(count))
print(f"""func.func @train_step(%x: memref<f32>, {buffers}) {{
  %read = bufferization.to_tensor %x restrict : memref<f32> to tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %rate = linalg.generic {{indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}}
      ins(%read : tensor<f32>) outs(%empty : tensor<f32>) {{
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }} -> tensor<f32>""")
for i in range(count):
    print(f"""  %t{i} = bufferization.to_tensor %m{i} restrict writable : memref<8xf32> to tensor<8xf32>
  %u{i} = linalg.generic {{indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%rate : tensor<f32>) outs(%t{i} : tensor<8xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> tensor<8xf32>
  bufferization.materialize_in_destination %u{i} in restrict writable %m{i} : (tensor<8xf32>, memref<8xf32>) -> ()""")
print("  return\n}")
