// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// One step of SGD with momentum: finite, then with an infinite gradient, which changes nothing but the
// loss scale.

func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI64(tensor<*xi64>)

func.func @step(%w: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %lr: tensor<f32>, %it: tensor<f32>, %scale: tensor<f32>, %count: tensor<i64>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>) attributes {mpc.entry} {
  %f = mpc.all_finite %g : tensor<3xf32>
  %w1, %m1, %h = mpc.optimizer_step %w, %g slots(%m) rate(%lr) iteration(%it) unscale(%scale) if(%f)
    rule(#mpc.sgd<momentum = 0.5 : f64, nesterov = false>)
    : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xbf16>)
  %hw = mpc.cast %h : tensor<3xbf16> to tensor<3xf32>
  %s1, %c1 = mpc.loss_scale_update %scale, %count if %f {growth_steps = 2 : i64}
  return %w1, %m1, %hw, %s1, %c1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>
}

func.func @run(%g: tensor<3xf32>) {
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %m = arith.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
  %lr = arith.constant dense<0.25> : tensor<f32>
  %it = arith.constant dense<1.0> : tensor<f32>
  %scale = arith.constant dense<8.0> : tensor<f32>
  %count = arith.constant dense<1> : tensor<i64>
  %0:5 = func.call @step(%w, %g, %m, %lr, %it, %scale, %count) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<i64>)
  %u0 = tensor.cast %0#0 : tensor<3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  %u1 = tensor.cast %0#1 : tensor<3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  %u2 = tensor.cast %0#2 : tensor<3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  %u3 = tensor.cast %0#3 : tensor<f32> to tensor<*xf32>
  func.call @printMemrefF32(%u3) : (tensor<*xf32>) -> ()
  %u4 = tensor.cast %0#4 : tensor<i64> to tensor<*xi64>
  func.call @printMemrefI64(%u4) : (tensor<*xi64>) -> ()
  return
}

func.func @main() {
  // g / 8 = 1, 0.5, 0.01; velocity = 0.5 m - 0.25 g; w + velocity
  // CHECK: [0.75, 2.375, 2.4975]
  // CHECK: [-0.25, 0.375, -0.5025]
  // 2.4975 is nearest to 2.5 in bfloat16.
  // CHECK: [0.75, 2.375, 2.5]
  // CHECK: [16]
  // CHECK: [0]
  %finite = arith.constant dense<[8.0, 4.0, 0.08]> : tensor<3xf32>
  func.call @run(%finite) : (tensor<3xf32>) -> ()
  // CHECK: [1, 2, 3]
  // CHECK: [0, 1, -1]
  // CHECK: [1, 2, 3]
  // CHECK: [4]
  // CHECK: [0]
  %infinite = arith.constant dense<[8.0, 0xFF800000, 0.08]> : tensor<3xf32>
  func.call @run(%infinite) : (tensor<3xf32>) -> ()
  return
}
