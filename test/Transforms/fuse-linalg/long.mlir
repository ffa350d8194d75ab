// RUN: mpc-opt %s --mpc-fuse-linalg --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// Kernels do not grow without an end: LLVM takes more than twice as long for one of twice the code.

#map = affine_map<(d0, d1) -> (d0, d1)>

// Functions count as about what they are approximated by: 48 of them are one kernel.
// CHECK-LABEL: func.func @fits
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
func.func @fits(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    %1 = math.tanh %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.tanh %2 : f32
    %4 = math.tanh %3 : f32
    %5 = math.tanh %4 : f32
    %6 = math.tanh %5 : f32
    %7 = math.tanh %6 : f32
    %8 = math.tanh %7 : f32
    %9 = math.tanh %8 : f32
    %10 = math.tanh %9 : f32
    %11 = math.tanh %10 : f32
    %12 = math.tanh %11 : f32
    %13 = math.tanh %12 : f32
    %14 = math.tanh %13 : f32
    %15 = math.tanh %14 : f32
    %16 = math.tanh %15 : f32
    %17 = math.tanh %16 : f32
    %18 = math.tanh %17 : f32
    %19 = math.tanh %18 : f32
    %20 = math.tanh %19 : f32
    %21 = math.tanh %20 : f32
    %22 = math.tanh %21 : f32
    %23 = math.tanh %22 : f32
    linalg.yield %23 : f32
  } -> tensor<?x4xf32>
  %y1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%y0 : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    %1 = math.tanh %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.tanh %2 : f32
    %4 = math.tanh %3 : f32
    %5 = math.tanh %4 : f32
    %6 = math.tanh %5 : f32
    %7 = math.tanh %6 : f32
    %8 = math.tanh %7 : f32
    %9 = math.tanh %8 : f32
    %10 = math.tanh %9 : f32
    %11 = math.tanh %10 : f32
    %12 = math.tanh %11 : f32
    %13 = math.tanh %12 : f32
    %14 = math.tanh %13 : f32
    %15 = math.tanh %14 : f32
    %16 = math.tanh %15 : f32
    %17 = math.tanh %16 : f32
    %18 = math.tanh %17 : f32
    %19 = math.tanh %18 : f32
    %20 = math.tanh %19 : f32
    %21 = math.tanh %20 : f32
    %22 = math.tanh %21 : f32
    %23 = math.tanh %22 : f32
    linalg.yield %23 : f32
  } -> tensor<?x4xf32>
  return %y1 : tensor<?x4xf32>
}

// REMARK: producer not merged: {{.*}}the kernel would have too many operands or ops
// CHECK-LABEL: func.func @too_long
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
func.func @too_long(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    %1 = math.tanh %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.tanh %2 : f32
    %4 = math.tanh %3 : f32
    %5 = math.tanh %4 : f32
    %6 = math.tanh %5 : f32
    %7 = math.tanh %6 : f32
    %8 = math.tanh %7 : f32
    %9 = math.tanh %8 : f32
    %10 = math.tanh %9 : f32
    %11 = math.tanh %10 : f32
    %12 = math.tanh %11 : f32
    %13 = math.tanh %12 : f32
    %14 = math.tanh %13 : f32
    %15 = math.tanh %14 : f32
    %16 = math.tanh %15 : f32
    %17 = math.tanh %16 : f32
    %18 = math.tanh %17 : f32
    %19 = math.tanh %18 : f32
    %20 = math.tanh %19 : f32
    %21 = math.tanh %20 : f32
    %22 = math.tanh %21 : f32
    %23 = math.tanh %22 : f32
    linalg.yield %23 : f32
  } -> tensor<?x4xf32>
  %y1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%y0 : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    %1 = math.tanh %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.tanh %2 : f32
    %4 = math.tanh %3 : f32
    %5 = math.tanh %4 : f32
    %6 = math.tanh %5 : f32
    %7 = math.tanh %6 : f32
    %8 = math.tanh %7 : f32
    %9 = math.tanh %8 : f32
    %10 = math.tanh %9 : f32
    %11 = math.tanh %10 : f32
    %12 = math.tanh %11 : f32
    %13 = math.tanh %12 : f32
    %14 = math.tanh %13 : f32
    %15 = math.tanh %14 : f32
    %16 = math.tanh %15 : f32
    %17 = math.tanh %16 : f32
    %18 = math.tanh %17 : f32
    %19 = math.tanh %18 : f32
    %20 = math.tanh %19 : f32
    %21 = math.tanh %20 : f32
    %22 = math.tanh %21 : f32
    %23 = math.tanh %22 : f32
    %24 = math.tanh %23 : f32
    linalg.yield %24 : f32
  } -> tensor<?x4xf32>
  return %y1 : tensor<?x4xf32>
}
