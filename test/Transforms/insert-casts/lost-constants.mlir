// RUN: mpc-opt %s --mpc-insert-casts -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: mpc-opt %s --mpc-insert-casts --remark-format=emitRemark --remarks-filter=mpc-casts -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// A constant that is another one in the compute dtype is told once per layer; infinities that were
// there before, bounds that bound nothing, and bfloat16, which has the range, are not. The last
// number of float32 in a constant that is to stay finite is the last one of the compute dtype.
// RUN: mpc-opt %s --mpc-insert-casts 2>/dev/null | FileCheck %s --check-prefix=LAST

#half = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
#brain = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
#single = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<?x4xf32> {mpc.output = "out1"}) {
  // CHECK: warning: {{.*}}its constant 1e-08 becomes 0 in f16; give the layer a policy that computes in float32 or bfloat16, or the model another constant
  // CHECK: warning: {{.*}}its constant -1e+09 becomes infinite in f16
  %a = mpc.layer "half" kind "Scale" inputs(%x) {precision = #half} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %epsilon = mpc.constant dense<1.000000e-08> : tensor<f32>
    %mask = mpc.constant dense<-1.000000e+09> : tensor<f32>
    %infinity = mpc.constant dense<0x7F800000> : tensor<f32>
    %bound = mpc.constant dense<1.000000e+12> : tensor<f32>
    %small = mpc.constant dense<6.000000e-08> : tensor<f32>
    %p = mpc.add %v, %epsilon : tensor<?x4xf32>, tensor<f32>
    %q = mpc.add %p, %mask : tensor<?x4xf32>, tensor<f32>
    %r = mpc.add %q, %mask : tensor<?x4xf32>, tensor<f32>
    %s = mpc.add %r, %infinity : tensor<?x4xf32>, tensor<f32>
    %t = mpc.minimum %s, %bound : tensor<?x4xf32>, tensor<f32>
    %u = mpc.add %t, %small : tensor<?x4xf32>, tensor<f32>
    // LAST-DAG: mpc.constant dense<-6.550400e+04> : tensor<f16>
    %last = mpc.constant {finite} dense<-3.40282347E+38> : tensor<f32>
    %z = mpc.maximum %u, %last : tensor<?x4xf32>, tensor<f32>
    mpc.yield %z : tensor<?x4xf32>
  }
  %b = mpc.layer "brain" kind "Scale" inputs(%x) {precision = #brain} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %epsilon = mpc.constant dense<1.000000e-08> : tensor<f32>
    %p = mpc.add %v, %epsilon : tensor<?x4xf32>, tensor<f32>
    // LAST-DAG: mpc.constant dense<3.389530e+38> : tensor<bf16>
    %last = mpc.constant {finite} dense<3.40282347E+38> : tensor<f32>
    %q = mpc.minimum %p, %last : tensor<?x4xf32>, tensor<f32>
    mpc.yield %q : tensor<?x4xf32>
  }
  // REMARK: rounded-input{{.*}}computes in f32 on what layer "brain" rounded to bf16; give that one float32 to keep its digits
  // REMARK-NOT: rounded-input
  %c = mpc.layer "single" kind "Activation" inputs(%b) {precision = #single} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %p = mpc.relu %v : tensor<?x4xf32>
    mpc.yield %p : tensor<?x4xf32>
  }
  %d = mpc.layer "after" kind "Activation" inputs(%c) {precision = #single} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %p = mpc.relu %v : tensor<?x4xf32>
    mpc.yield %p : tensor<?x4xf32>
  }
  return %a, %d : tensor<?x4xf32>, tensor<?x4xf32>
}
