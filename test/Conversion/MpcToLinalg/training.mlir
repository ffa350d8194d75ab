// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// The step of one variable is one pass over memory, in place; what is one number per step is computed once.

mpc.variable @w : tensor<8x4xf32> role trainable
mpc.variable @m : tensor<8x4xf32> role optimizer
mpc.variable @v : tensor<8x4xf32> role optimizer
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}

// CHECK: mpc.variable @w
// CHECK: mpc.loss_scale
// CHECK-LABEL: func.func @adam
// CHECK-SAME: %[[W:.*]]: tensor<8x4xf32> {mpc.variable = @w}, %[[G:[a-z0-9]*]]: tensor<8x4xbf16>, %[[M:.*]]: tensor<8x4xf32> {mpc.variable = @m}, %[[V:.*]]: tensor<8x4xf32> {mpc.variable = @v}, %[[LR:[a-z0-9]*]]: tensor<f32>
func.func @adam(%w: tensor<8x4xf32> {mpc.variable = @w}, %g: tensor<8x4xbf16>, %m: tensor<8x4xf32> {mpc.variable = @m},
                %v: tensor<8x4xf32> {mpc.variable = @v}, %lr: tensor<f32>, %it: tensor<f32>, %scale: tensor<f32>)
    -> (tensor<8x4xf32> {mpc.updates = @w}, tensor<8x4xf32> {mpc.updates = @m}, tensor<8x4xf32> {mpc.updates = @v}, tensor<8x4xbf16>) attributes {mpc.entry} {
  // CHECK: %[[TOP:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]} ins(%[[G]] : tensor<8x4xbf16>) outs(%{{.*}} : tensor<i16>)
  // CHECK: arith.bitcast %{{.*}} : bf16 to i16
  // CHECK: arith.maxui
  // CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%[[TOP]] : tensor<i16>) outs(%{{.*}} : tensor<i1>)
  %f = mpc.all_finite %g : tensor<8x4xbf16>
  // CHECK-COUNT-2: math.powf
  // CHECK: %{{.*}}:4 = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[G]], %{{.*}}, %[[F]], %{{.*}} : tensor<8x4xbf16>, tensor<f32>, tensor<i1>, tensor<f32>) outs(%[[W]], %[[M]], %[[V]], %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xbf16>)
  // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.divf %[[WIDE]], %{{.*}} : f32
  // CHECK-NOT: math.powf
  // CHECK: %[[NEW:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  // CHECK-COUNT-2: arith.select
  // CHECK: %[[SHADOW:.*]] = arith.truncf %[[NEW]] : f32 to bf16
  // CHECK: linalg.yield %[[NEW]], %{{.*}}, %{{.*}}, %[[SHADOW]] : f32, f32, f32, bf16
  %w1, %m1, %v1, %s = mpc.optimizer_step %w, %g slots(%m, %v) rate(%lr) iteration(%it) unscale(%scale) if(%f)
    rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>)
    : (tensor<8x4xf32>, tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xbf16>)
  return %w1, %m1, %v1, %s : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xbf16>
}

// CHECK-LABEL: func.func @scale
func.func @scale(%scale: tensor<f32>, %count: tensor<i64>, %f: tensor<i1>) -> (tensor<f32>, tensor<i64>) attributes {mpc.entry} {
  // CHECK-DAG: arith.constant 1999 : i64
  // CHECK-DAG: arith.constant 5.000000e-01 : f32
  // CHECK: arith.cmpi eq
  // CHECK-NOT: arith.maximumf
  %s1, %c1 = mpc.loss_scale_update %scale, %count if %f {growth_steps = 2000 : i64}
  return %s1, %c1 : tensor<f32>, tensor<i64>
}

// CHECK-LABEL: func.func @seed
func.func @seed() -> tensor<f32> attributes {mpc.entry} {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<f32>
  %0 = mpc.gradient_seed : tensor<f32>
  return %0 : tensor<f32>
}
