// RUN: mpc-opt %s --mpc-apply-policy --remark-format=emitRemark --remarks-filter=mpc-policy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: mpc-opt %s --mpc-apply-policy --mpc-verify-policy | mpc-opt --mpc-verify-policy -o /dev/null
// Without an option each layer keeps what the file says: a name, a serialised policy or a map.

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: mpc.layer "none" kind "ReLU" {{.*}} {precision = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "default">}
  // REMARK: remark: {{.*}}layer "none" (ReLU): float32 by default: compute f32, variables f32, accumulate f32
  %0 = mpc.layer "none" kind "ReLU" inputs(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: mpc.layer "named" {{.*}} {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">}
  // REMARK: layer "named" (ReLU): mixed_bfloat16 by file: compute bf16, variables f32, accumulate f32
  %1 = mpc.layer "named" kind "ReLU" inputs(%0) {policy = "mixed_bfloat16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: mpc.layer "serialised" {{.*}} {precision = #mpc.precision<compute = f64, variable = f64, accumulate = f64, rule = "file">}
  %2 = mpc.layer "serialised" kind "ReLU" inputs(%1) {policy = "{\"module\": \"keras\", \"class_name\": \"DTypePolicy\", \"config\": {\"name\": \"float64\"}, \"registered_name\": null}"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: mpc.layer "enc/d1" {{.*}} {precision = #mpc.precision<compute = f16, variable = f16, accumulate = f32, rule = "file: policy map key \22enc/.*\22">}
  // REMARK: layer "enc/d1" (ReLU): float16 by file: policy map key "enc/.*"
  %3 = mpc.layer "enc/d1" kind "ReLU" inputs(%2) {policy = "{\"class_name\": \"DTypePolicyMap\", \"config\": {\"default_policy\": \"mixed_float16\", \"policy_map\": {\"enc/.*\": \"float16\"}}}"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: mpc.layer "head" {{.*}} {precision = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file: policy map default">}
  %4 = mpc.layer "head" kind "ReLU" inputs(%3) {policy = "{\"class_name\": \"DTypePolicyMap\", \"config\": {\"default_policy\": \"mixed_float16\", \"policy_map\": {\"enc/.*\": \"float16\"}}}"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  return %4 : tensor<?x8xf32>
}
