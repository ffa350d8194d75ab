// RUN: not mpc-opt %s --mpc-apply-policy -o %t.mlir 2>&1 | FileCheck %s
// RUN: not mpc-opt %s --mpc-apply-policy=policy-file=%S/Inputs/ambiguous.json 2>&1 | FileCheck %s --check-prefix=AMBIGUOUS
// RUN: not mpc-opt %s --mpc-apply-policy=policy=%S/Inputs/wrong.json 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not mpc-opt %s --mpc-apply-policy=policy=mixed_float32 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpc-opt %s "--mpc-apply-policy=policy=float32 policy-file=x.json" 2>&1 | FileCheck %s --check-prefix=BOTH
// Every layer at fault is named, in one run.

// AMBIGUOUS: error: layer "encoder": Path 'encoder' matches multiple dtype policy specification keys: ['e.*', '.*r']
// WRONG: error: {{.*}}wrong.json: default_policy: Cannot convert 'mixed_float32' to a mixed precision DTypePolicy
// UNKNOWN: error: Cannot convert 'mixed_float32' to a mixed precision DTypePolicy{{.*}}There is no file 'mixed_float32' either; expected a policy name or a JSON file
// BOTH: error: policy and policy-file exclude each other
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: error: layer "encoder": Cannot convert 'Float16' to a mixed precision DTypePolicy
  %0 = mpc.layer "encoder" kind "ReLU" inputs(%x) {policy = "Float16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: error: layer "b": policy "int8_from_mixed_bfloat16" quantizes its variables, which the import of a Keras model does and this IR is behind; compile the model file with this policy
  %1 = mpc.layer "b" kind "ReLU" inputs(%0) {policy = "int8_from_mixed_bfloat16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: error: layer "c": policy "complex64" computes in complex64, a dtype that mpc does not compile
  %2 = mpc.layer "c" kind "ReLU" inputs(%1) {policy = "complex64"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: error: layer "d": policy "int32" computes in int32, but a ReLU layer computes on floating tensors
  %3 = mpc.layer "d" kind "ReLU" inputs(%2) {policy = "int32"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: error: layer "stft": policy "mixed_bfloat16" computes in bfloat16, which a STFTSpectrogram layer does not take in Keras either; give it another policy, by a policy map for this layer alone
  %stft = mpc.layer "stft" kind "STFTSpectrogram" inputs(%2) {policy = "mixed_bfloat16", refuses = {bf16 = "which a STFTSpectrogram layer does not take in Keras either; give it another policy, by a policy map for this layer alone"}} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: layer "mel": policy "float64" computes in float64, and a MelSpectrogram layer transforms in float32 here; give it float32, by a policy map for this layer alone
  %mel = mpc.layer "mel" kind "MelSpectrogram" inputs(%2) {policy = "float64", refuses = {f64 = "and a MelSpectrogram layer transforms in float32 here; give it float32, by a policy map for this layer alone"}} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: layer "e": missing ), unterminated subpattern at position 0
  %4 = mpc.layer "e" kind "ReLU" inputs(%3) {policy = "{\"class_name\": \"DTypePolicyMap\", \"config\": {\"policy_map\": {\"(\": \"float16\"}}}"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  return %4 : tensor<?x8xf32>
}
