// RUN: mpc-opt %s --convert-mpc-to-linalg --mpc-fuse-linalg --mpc-verify-tensors | FileCheck %s

// Each square reads its operand twice. Were everything merged twice that is read twice, the last body would
// have a thousand million multiplications.
// CHECK-LABEL: func.func @squares
// CHECK: linalg.generic
// CHECK-COUNT-30: arith.mulf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @squares(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %0 = mpc.multiply %x, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %1 = mpc.multiply %0, %0 : tensor<?x8xf32>, tensor<?x8xf32>
  %2 = mpc.multiply %1, %1 : tensor<?x8xf32>, tensor<?x8xf32>
  %3 = mpc.multiply %2, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  %4 = mpc.multiply %3, %3 : tensor<?x8xf32>, tensor<?x8xf32>
  %5 = mpc.multiply %4, %4 : tensor<?x8xf32>, tensor<?x8xf32>
  %6 = mpc.multiply %5, %5 : tensor<?x8xf32>, tensor<?x8xf32>
  %7 = mpc.multiply %6, %6 : tensor<?x8xf32>, tensor<?x8xf32>
  %8 = mpc.multiply %7, %7 : tensor<?x8xf32>, tensor<?x8xf32>
  %9 = mpc.multiply %8, %8 : tensor<?x8xf32>, tensor<?x8xf32>
  %10 = mpc.multiply %9, %9 : tensor<?x8xf32>, tensor<?x8xf32>
  %11 = mpc.multiply %10, %10 : tensor<?x8xf32>, tensor<?x8xf32>
  %12 = mpc.multiply %11, %11 : tensor<?x8xf32>, tensor<?x8xf32>
  %13 = mpc.multiply %12, %12 : tensor<?x8xf32>, tensor<?x8xf32>
  %14 = mpc.multiply %13, %13 : tensor<?x8xf32>, tensor<?x8xf32>
  %15 = mpc.multiply %14, %14 : tensor<?x8xf32>, tensor<?x8xf32>
  %16 = mpc.multiply %15, %15 : tensor<?x8xf32>, tensor<?x8xf32>
  %17 = mpc.multiply %16, %16 : tensor<?x8xf32>, tensor<?x8xf32>
  %18 = mpc.multiply %17, %17 : tensor<?x8xf32>, tensor<?x8xf32>
  %19 = mpc.multiply %18, %18 : tensor<?x8xf32>, tensor<?x8xf32>
  %20 = mpc.multiply %19, %19 : tensor<?x8xf32>, tensor<?x8xf32>
  %21 = mpc.multiply %20, %20 : tensor<?x8xf32>, tensor<?x8xf32>
  %22 = mpc.multiply %21, %21 : tensor<?x8xf32>, tensor<?x8xf32>
  %23 = mpc.multiply %22, %22 : tensor<?x8xf32>, tensor<?x8xf32>
  %24 = mpc.multiply %23, %23 : tensor<?x8xf32>, tensor<?x8xf32>
  %25 = mpc.multiply %24, %24 : tensor<?x8xf32>, tensor<?x8xf32>
  %26 = mpc.multiply %25, %25 : tensor<?x8xf32>, tensor<?x8xf32>
  %27 = mpc.multiply %26, %26 : tensor<?x8xf32>, tensor<?x8xf32>
  %28 = mpc.multiply %27, %27 : tensor<?x8xf32>, tensor<?x8xf32>
  %29 = mpc.multiply %28, %28 : tensor<?x8xf32>, tensor<?x8xf32>
  return %29 : tensor<?x8xf32>
}
