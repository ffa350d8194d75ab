// RUN: mpc-opt %s --convert-mpc-to-linalg=turned-operands --cse | FileCheck %s
// RUN: mpc-opt %s --convert-mpc-to-linalg | FileCheck %s --check-prefix=OFF
// OFF: mpcrt.contract
// OFF-NOT: mpcrt.turn
// Operands of float8 are turned where Tensor Cores multiply rows with rows: once for all products, where the numbers are.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf8E4M3FN>, %[[W:.*]]: tensor<32x16xf8E4M3FN>, %[[G:.*]]: tensor<?x16xf8E5M2>)
// CHECK-DAG: %[[XT:.*]] = mpcrt.turn ins(%[[X]] : tensor<?x32xf8E4M3FN>) outs(%{{.*}} : tensor<?x32xf8E4M3FN>) -> tensor<?x32xf8E4M3FN>
// CHECK-DAG: %[[WT:.*]] = mpcrt.turn ins(%[[W]] :
// CHECK-DAG: %[[GT:.*]] = mpcrt.turn ins(%[[G]] :
// CHECK-NOT: mpcrt.turn
// CHECK: mpcrt.contract ins(%[[X]], %[[WT]] : {{.*}} {mpcrt.turned_rhs}
// CHECK: mpcrt.contract ins(%[[XT]], %[[GT]] : {{.*}} {mpcrt.turned_lhs, mpcrt.turned_rhs, transpose_lhs}
// Rows of both already.
// CHECK: mpcrt.contract ins(%[[G]], %[[W]] : {{.*}} {transpose_rhs}
// CHECK: mpcrt.contract ins(%[[X]], %[[WT]] : {{.*}} mpcrt.turned_rhs}
func.func @step(%x: tensor<?x32xf8E4M3FN>, %w: tensor<32x16xf8E4M3FN>, %g: tensor<?x16xf8E5M2>) -> (tensor<?x16xf32>, tensor<32x16xf32>, tensor<?x32xf32>, tensor<?x16xf32>) attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>) -> tensor<?x16xf32>
  %1 = mpc.contract %x, %g contracting [0] x [0] : (tensor<?x32xf8E4M3FN>, tensor<?x16xf8E5M2>) -> tensor<32x16xf32>
  %2 = mpc.contract %g, %w contracting [1] x [1] : (tensor<?x16xf8E5M2>, tensor<32x16xf8E4M3FN>) -> tensor<?x32xf32>
  %3 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>) -> tensor<?x16xf32> loc("again")
  return %0, %1, %2, %3 : tensor<?x16xf32>, tensor<32x16xf32>, tensor<?x32xf32>, tensor<?x16xf32>
}

// No Tensor Core takes ten columns: the driver's kernels do.
// CHECK-LABEL: func.func @ten_columns(
// CHECK-NOT: mpcrt.turn
func.func @ten_columns(%x: tensor<?x32xf8E4M3FN>, %w: tensor<32x10xf8E4M3FN>) -> tensor<?x10xf32> attributes {mpc.entry} {
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x32xf8E4M3FN>, tensor<32x10xf8E4M3FN>) -> tensor<?x10xf32>
  return %0 : tensor<?x10xf32>
}
