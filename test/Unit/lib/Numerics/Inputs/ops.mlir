// Each function is bounded for arguments within [low, high], which are numbers of every type, with T as
// f16, bf16, f32 and f64; SearchRangesTest.cpp looks for arguments whose results are outside.

func.func @exp_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -20.0>, high = array<f64: 8.0>} {
  %0 = mpc.exp %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @exp_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -2.0>, high = array<f64: 2.0>} {
  %0 = mpc.exp %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @exp_2(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 100.0>} {
  %0 = mpc.exp %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @expm1_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -20.0>, high = array<f64: 8.0>} {
  %0 = mpc.expm1 %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @expm1_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -0.5>, high = array<f64: 0.5>} {
  %0 = mpc.expm1 %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0078125>, high = array<f64: 300.0>} {
  %0 = mpc.log %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 4.0>} {
  %0 = mpc.log %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log_2(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %0 = mpc.log %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log1p_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -0.5>, high = array<f64: 300.0>} {
  %0 = mpc.log1p %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log1p_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %0 = mpc.log1p %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sqrt_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 1000.0>} {
  %0 = mpc.sqrt %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sqrt_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0>, high = array<f64: 4.0>} {
  %0 = mpc.sqrt %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @rsqrt_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0078125>, high = array<f64: 100.0>} {
  %0 = mpc.rsqrt %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @rsqrt_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 1.0>} {
  %0 = mpc.rsqrt %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sin_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -4.0>, high = array<f64: 4.0>} {
  %0 = mpc.sin %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sin_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 30000.0>} {
  %0 = mpc.sin %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @cos_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -4.0>, high = array<f64: 4.0>} {
  %0 = mpc.cos %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @tanh_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 3.0>} {
  %0 = mpc.tanh %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @tanh_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -20.0>, high = array<f64: 0.5>} {
  %0 = mpc.tanh %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sigmoid_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -10.0>, high = array<f64: 3.0>} {
  %0 = mpc.sigmoid %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sigmoid_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 60.0>} {
  %0 = mpc.sigmoid %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @softplus_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -20.0>, high = array<f64: 20.0>} {
  %0 = mpc.softplus %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @erf_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 3.0>} {
  %0 = mpc.erf %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @erf_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 0.125>} {
  %0 = mpc.erf %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @erfc_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 3.0>} {
  %0 = mpc.erfc %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @erfc_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 2.0>, high = array<f64: 8.0>} {
  %0 = mpc.erfc %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @gelu_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -8.0>, high = array<f64: 8.0>} {
  %0 = mpc.gelu %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @gelu_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0>, high = array<f64: 4.0>} {
  %0 = mpc.gelu %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @negate_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.negate %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @abs_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.abs %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @abs_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %0 = mpc.abs %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @relu_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.relu %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @relu_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -2.0>, high = array<f64: -1.0>} {
  %0 = mpc.relu %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sign_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %0 = mpc.sign %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sign_1(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 1.0>} {
  %0 = mpc.sign %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @sign_2(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %0 = mpc.sign %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @floor_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.5>, high = array<f64: 2.25>} {
  %0 = mpc.floor %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @round_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.5>, high = array<f64: 2.5>} {
  %0 = mpc.round %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @stop_gradient_0(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %0 = mpc.stop_gradient %x : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @add_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.add %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @add_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -30000.0, -40000.0>, high = array<f64: 30000.0, 40000.0>} {
  %0 = mpc.add %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @subtract_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.subtract %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @multiply_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.multiply %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @multiply_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0, -300.0>, high = array<f64: 300.0, 2.0>} {
  %0 = mpc.multiply %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @multiply_2(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0, 0.0>, high = array<f64: 0.0001220703125, 0.0001220703125>} {
  %0 = mpc.multiply %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, 1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.divide %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -4.0>, high = array<f64: 2.0, -0.5>} {
  %0 = mpc.divide %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_2(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0, -1.0>, high = array<f64: 2.0, 1.0>} {
  %0 = mpc.divide %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_no_nan_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, 1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.divide_no_nan %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_no_nan_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 1.0, -1.0>, high = array<f64: 2.0, 1.0>} {
  %0 = mpc.divide_no_nan %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @divide_no_nan_2(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0, 0.0>, high = array<f64: 1.0, 0.0>} {
  %0 = mpc.divide_no_nan %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @maximum_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.maximum %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @minimum_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 4.0>} {
  %0 = mpc.minimum %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @remainder_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -7.0, 1.0>, high = array<f64: 5.0, 3.0>} {
  %0 = mpc.remainder %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @remainder_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0, -3.0>, high = array<f64: 9.0, 3.0>} {
  %0 = mpc.remainder %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @arctan2_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0, -1.0>, high = array<f64: 1.0, 1.0>} {
  %0 = mpc.arctan2 %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @power_0(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.25, -2.0>, high = array<f64: 4.0, 3.0>} {
  %0 = mpc.power %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @power_1(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0, 1.0>, high = array<f64: 2.0, 3.0>} {
  %0 = mpc.power %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @power_2(%x: tensor<4x8xT>, %y: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: -1.0, -2.0>, high = array<f64: 1.0, 2.0>} {
  %0 = mpc.power %x, %y : tensor<4x8xT>, tensor<8xT>
  return %0 : tensor<4x8xT>
}
func.func @square(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.multiply %x, %x : tensor<4x8xT>, tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @power_of_20(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %p = mpc.constant dense<2.0> : tensor<T>
  %0 = mpc.power %x, %p : tensor<4x8xT>, tensor<T>
  return %0 : tensor<4x8xT>
}
func.func @power_of_30(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %p = mpc.constant dense<3.0> : tensor<T>
  %0 = mpc.power %x, %p : tensor<4x8xT>, tensor<T>
  return %0 : tensor<4x8xT>
}
func.func @power_of_5(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0>, high = array<f64: 4.0>} {
  %p = mpc.constant dense<0.5> : tensor<T>
  %0 = mpc.power %x, %p : tensor<4x8xT>, tensor<T>
  return %0 : tensor<4x8xT>
}
func.func @power_of_40(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -20.0>, high = array<f64: 20.0>} {
  %p = mpc.constant dense<4.0> : tensor<T>
  %0 = mpc.power %x, %p : tensor<4x8xT>, tensor<T>
  return %0 : tensor<4x8xT>
}
func.func @gelu_gradient(%x: tensor<4x8xT>, %y: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -6.0>, high = array<f64: 2.0, 6.0>} {
  %0 = mpc.gelu_gradient %x, %y : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @compare_select(%x: tensor<4x8xT>, %y: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 6.0>} {
  %c = mpc.compare gt %x, %y : tensor<4x8xT>, tensor<4x8xT>
  %0 = mpc.select %c, %x, %y : tensor<4x8xi1>, tensor<4x8xT>, tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @truths(%x: tensor<4x8xT>, %y: tensor<4x8xT>) -> tensor<4x8xi1> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 6.0>} {
  %c = mpc.compare gt %x, %y : tensor<4x8xT>, tensor<4x8xT>
  %d = mpc.is_finite %x : tensor<4x8xT>
  %0 = mpc.logical_and %c, %d : tensor<4x8xi1>, tensor<4x8xi1>
  return %0 : tensor<4x8xi1>
}
func.func @integers(%x: tensor<8xi32>, %y: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) attributes {low = array<f64: -5.0, -1000000.0>, high = array<f64: 9.0, 1000000.0>} {
  %0 = mpc.add %x, %y : tensor<8xi32>, tensor<8xi32>
  %1 = mpc.multiply %0, %y : tensor<8xi32>, tensor<8xi32>
  %2 = mpc.integer modulo %1, %y : tensor<8xi32>, tensor<8xi32>
  return %0, %1, %2 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}
func.func @casts(%x: tensor<4x8xT>) -> (tensor<4x8xf16>, tensor<4x8xbf16>, tensor<4x8xi32>, tensor<4x8xi8>, tensor<4x8xT>) attributes {low = array<f64: -300.5>, high = array<f64: 300.5>} {
  %0 = mpc.cast %x : tensor<4x8xT> to tensor<4x8xf32>
  %1 = mpc.cast %0 : tensor<4x8xf32> to tensor<4x8xf16>
  %2 = mpc.cast %0 : tensor<4x8xf32> to tensor<4x8xbf16>
  %3 = mpc.cast %0 : tensor<4x8xf32> to tensor<4x8xi32>
  %4 = mpc.cast %3 : tensor<4x8xi32> to tensor<4x8xi8>
  %5 = mpc.cast %3 : tensor<4x8xi32> to tensor<4x8xT>
  return %1, %2, %3, %4, %5 : tensor<4x8xf16>, tensor<4x8xbf16>, tensor<4x8xi32>, tensor<4x8xi8>, tensor<4x8xT>
}
func.func @contract_weights(%x: tensor<4x8xT>) -> (tensor<4x5xT>, tensor<4x5xT>) attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %w = mpc.constant dense<[[-0.0625, -0.484375, 0.46875, 0.890625, -0.75], [-0.953125, 0.875, 0.03125, -0.078125, -0.234375], [0.875, 0.890625, 0.578125, -0.40625, -0.078125], [-0.40625, 0.546875, -0.953125, -0.75, -0.375], [-0.84375, 0.203125, -0.890625, 0.0625, 0.890625], [0.546875, 0.703125, 0.578125, 0.765625, -0.46875], [0.453125, -0.625, -0.859375, -0.46875, 0.96875], [-0.140625, 0.03125, 0.734375, 0.203125, 0.671875]]> : tensor<8x5xT>
  %b = mpc.constant dense<[0.53125, 0.390625, 0.625, -0.078125, 0.34375]> : tensor<5xT>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<4x8xT>, tensor<8x5xT>) -> tensor<4x5xT>
  %1 = mpc.contract %x, %w bias %b contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<4x8xT>, tensor<8x5xT>, tensor<5xT>) -> tensor<4x5xT>
  return %0, %1 : tensor<4x5xT>, tensor<4x5xT>
}
func.func @contract_weights_left(%x: tensor<8x3xT>) -> tensor<5x3xT> attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %w = mpc.constant dense<[[-0.890625, 0.109375, -0.359375, 0.296875, -0.59375, -0.15625, 0.0625, 0.125], [-0.515625, -0.75, 0.921875, 0.921875, -0.65625, 0.375, -0.734375, 0.640625], [-0.40625, -0.921875, 0.171875, 0.703125, 0.65625, -0.53125, -0.828125, -0.828125], [0.5, 0.3125, 0.109375, -0.0625, -0.859375, 0.234375, -0.984375, -0.703125], [-0.578125, -0.875, -0.21875, 0.625, 0.15625, 0.046875, -0.390625, -0.84375]]> : tensor<5x8xT>
  %0 = mpc.contract %w, %x contracting [1] x [0] : (tensor<5x8xT>, tensor<8x3xT>) -> tensor<5x3xT>
  return %0 : tensor<5x3xT>
}
func.func @contract_any(%x: tensor<2x3x4xT>, %y: tensor<2x4x5xT>) -> tensor<2x3x5xT> attributes {low = array<f64: -3.0, -1.0>, high = array<f64: 2.0, 5.0>} {
  %0 = mpc.contract %x, %y batch [0] x [0] contracting [2] x [1] : (tensor<2x3x4xT>, tensor<2x4x5xT>) -> tensor<2x3x5xT>
  return %0 : tensor<2x3x5xT>
}
func.func @convolution(%x: tensor<1x5x5x2xT>) -> tensor<1x3x3x3xT> attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %w = mpc.constant dense<[[[[0.34375, 0.25, 0.4375], [-0.453125, 0.5, 0.5]], [[0.828125, 0.53125, -0.59375], [0.078125, 0.71875, -0.0625]], [[0.203125, 0.734375, 0.03125], [0.203125, 0.34375, -0.96875]]], [[[0.65625, 0.25, -0.921875], [0.5, -0.46875, -0.765625]], [[0.328125, 0.859375, 0.40625], [0.40625, 0.109375, 0.953125]], [[-0.921875, -0.765625, -0.921875], [0.46875, 0.0, 0.8125]]], [[[0.1875, 0.265625, -0.296875], [0.453125, -0.265625, 0.25]], [[0.46875, 0.046875, 0.1875], [0.5, -0.59375, -0.90625]], [[-0.484375, 0.234375, 1.0], [-0.125, 0.0625, -0.046875]]]]> : tensor<3x3x2x3xT>
  %0 = mpc.convolution %x, %w strides [2, 2] padding [1, 1] x [1, 1] dilations [1, 1] : (tensor<1x5x5x2xT>, tensor<3x3x2x3xT>) -> tensor<1x3x3x3xT>
  return %0 : tensor<1x3x3x3xT>
}
func.func @convolution_groups(%x: tensor<1x5x5x4xT>) -> tensor<1x3x3x4xT> attributes {low = array<f64: -1.0>, high = array<f64: 2.0>} {
  %w = mpc.constant dense<[[[[0.296875, -0.265625, 0.734375, -0.625]], [[-0.59375, 0.28125, 0.328125, -0.109375]], [[0.75, -0.328125, -0.6875, 0.34375]]], [[[-0.140625, 0.796875, 0.078125, -0.109375]], [[-0.53125, -0.875, -0.25, 0.25]], [[-0.28125, 0.109375, 0.359375, -0.671875]]], [[[0.375, -0.484375, 0.671875, 0.15625]], [[0.078125, 0.84375, 0.375, 0.65625]], [[0.15625, 0.671875, 0.625, -0.859375]]]]> : tensor<3x3x1x4xT>
  %0 = mpc.convolution %x, %w strides [1, 1] padding [0, 0] x [0, 0] dilations [1, 1] groups 4 : (tensor<1x5x5x4xT>, tensor<3x3x1x4xT>) -> tensor<1x3x3x4xT>
  return %0 : tensor<1x3x3x4xT>
}
func.func @convolution_input_gradient(%x: tensor<1x3x4xT>) -> tensor<1x6x2xT> attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %w = mpc.constant dense<[[[0.640625, -0.390625, -0.203125, -0.984375]], [[0.90625, 0.734375, -0.125, -0.875]], [[0.8125, 0.140625, 0.359375, -0.09375]]]> : tensor<3x1x4xT>
  %0 = mpc.convolution_input_gradient %x, %w strides [2] padding [0] x [1] dilations [1] groups 2 : (tensor<1x3x4xT>, tensor<3x1x4xT>) -> tensor<1x6x2xT>
  return %0 : tensor<1x6x2xT>
}
func.func @convolution_filter_gradient(%x: tensor<2x6x2xT>, %g: tensor<2x3x4xT>) -> tensor<3x1x4xT> attributes {low = array<f64: 1.0, -1.0>, high = array<f64: 2.0, 0.5>} {
  %0 = mpc.convolution_filter_gradient %x, %g strides [2] padding [0] x [1] dilations [1] groups 2 : (tensor<2x6x2xT>, tensor<2x3x4xT>) -> tensor<3x1x4xT>
  return %0 : tensor<3x1x4xT>
}
func.func @pool_gradient_max(%g: tensor<1x2x2x2xT>, %x: tensor<1x4x4x2xT>) -> tensor<1x4x4x2xT> attributes {low = array<f64: 0.5, -1.0>, high = array<f64: 2.0, 1.0>} {
  %0 = mpc.pool_gradient max %g of %x window [3, 3] strides [2, 2] padding [0, 0] x [1, 1] : (tensor<1x2x2x2xT>, tensor<1x4x4x2xT>) -> tensor<1x4x4x2xT>
  return %0 : tensor<1x4x4x2xT>
}
func.func @pool_gradient_mean(%g: tensor<1x2x2x2xT>, %h: tensor<1x3x3x2xT>) -> (tensor<1x4x4x2xT>, tensor<1x5x5x2xT>) attributes {low = array<f64: -3.0, 0.25>, high = array<f64: 2.0, 1.0>} {
  %0 = mpc.pool_gradient mean %g window [2, 2] strides [2, 2] padding [0, 0] x [0, 0] : (tensor<1x2x2x2xT>) -> tensor<1x4x4x2xT>
  %1 = mpc.pool_gradient mean %h window [3, 3] strides [2, 2] padding [1, 1] x [1, 1] : (tensor<1x3x3x2xT>) -> tensor<1x5x5x2xT>
  return %0, %1 : tensor<1x4x4x2xT>, tensor<1x5x5x2xT>
}
func.func @gradient_seed(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -2.0>, high = array<f64: 3.0>} {
  %0 = mpc.gradient_seed : tensor<T>
  %1 = mpc.multiply %x, %0 : tensor<4x8xT>, tensor<T>
  return %1 : tensor<4x8xT>
}
func.func @attention(%q: tensor<1x3x2x4xT>, %k: tensor<1x3x2x4xT>, %v: tensor<1x3x2x4xT>) -> (tensor<1x3x2x4xT>, tensor<1x2x3xACC>) attributes {low = array<f64: -2.0, -3.0, 1.0>, high = array<f64: 2.0, 1.0, 2.0>} {
  %0, %1 = mpc.attention %q, %k, %v {scale = 0.5 : f64} : tensor<1x3x2x4xT>, tensor<1x3x2x4xT>, tensor<1x3x2x4xT>
  return %0, %1 : tensor<1x3x2x4xT>, tensor<1x2x3xACC>
}
func.func @reduce_sum_3(%x: tensor<4x8xT>) -> tensor<4xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.reduce sum %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>
  return %0 : tensor<4xT>
}
func.func @reduce_mean_3(%x: tensor<4x8xT>) -> tensor<4xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.reduce mean %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>
  return %0 : tensor<4xT>
}
func.func @reduce_max_3(%x: tensor<4x8xT>) -> tensor<4xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.reduce max %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>
  return %0 : tensor<4xT>
}
func.func @reduce_min_3(%x: tensor<4x8xT>) -> tensor<4xT> attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.reduce min %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>
  return %0 : tensor<4xT>
}
func.func @reduce_sum_20000(%x: tensor<4x8xT>) -> tensor<4xT> attributes {low = array<f64: 20000.0>, high = array<f64: 30000.0>} {
  %0 = mpc.reduce sum %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>
  return %0 : tensor<4xT>
}
func.func @moments(%x: tensor<4x8xT>) -> (tensor<4xT>, tensor<4xT>) attributes {low = array<f64: -3.0>, high = array<f64: 5.0>} {
  %0, %1 = mpc.moments %x {axes = array<i64: 1>} : tensor<4x8xT> -> tensor<4xT>, tensor<4xT>
  return %0, %1 : tensor<4xT>, tensor<4xT>
}
func.func @softmax(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -6.0>, high = array<f64: 9.0>} {
  %0 = mpc.softmax %x {axis = 1 : i64} : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @log_softmax(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -6.0>, high = array<f64: 9.0>} {
  %0 = mpc.log_softmax %x {axis = 1 : i64} : tensor<4x8xT>
  return %0 : tensor<4x8xT>
}
func.func @pool(%x: tensor<1x4x4x2xT>) -> (tensor<1x2x2x2xT>, tensor<1x2x2x2xT>) attributes {low = array<f64: -3.0>, high = array<f64: 2.0>} {
  %0 = mpc.pool max %x window [3, 3] strides [2, 2] padding [0, 0] x [1, 1] : tensor<1x4x4x2xT> -> tensor<1x2x2x2xT>
  %1 = mpc.pool mean %x window [2, 2] strides [2, 2] padding [0, 0] x [0, 0] : tensor<1x4x4x2xT> -> tensor<1x2x2x2xT>
  return %0, %1 : tensor<1x2x2x2xT>, tensor<1x2x2x2xT>
}
func.func @movement(%x: tensor<4x8xT>) -> (tensor<2x8xT>, tensor<8x6xT>, tensor<8x4xT>, tensor<4x8xT>) attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %t = mpc.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xT> -> tensor<8x4xT>
  %s = mpc.slice %t {axis = 1 : i64, offset = 1 : i64, size = 2 : i64} : tensor<8x4xT> -> tensor<8x2xT>
  %r = mpc.reshape %s : tensor<8x2xT> -> tensor<2x8xT>
  %p = mpc.pad %t {axis = 1 : i64, low = 0 : i64, high = 2 : i64, value = 7.0 : f64} : tensor<8x4xT> -> tensor<8x6xT>
  %c = mpc.concatenate %s, %s {axis = 1 : i64} : (tensor<8x2xT>, tensor<8x2xT>) -> tensor<8x4xT>
  %v = mpc.reverse %x {axis = 1 : i64} : tensor<4x8xT>
  return %r, %p, %c, %v : tensor<2x8xT>, tensor<8x6xT>, tensor<8x4xT>, tensor<4x8xT>
}
func.func @resample(%x: tensor<1x2x2xT>) -> (tensor<1x4x2xT>, tensor<1x3x2xT>) attributes {low = array<f64: 1.0>, high = array<f64: 2.0>} {
  %0 = mpc.resample %x axes [1] taps [1] indices [0, -1, 1, 1] : tensor<1x2x2xT> -> tensor<1x4x2xT>
  %1 = mpc.resample %x axes [1] taps [2] indices [0, 1, 0, 1, 1, -1] weights dense<[0.25, 0.75, -0.5, 1.5, 1.0, 0.0]> : tensor<6xf64> : tensor<1x2x2xT> -> tensor<1x3x2xT>
  return %0, %1 : tensor<1x4x2xT>, tensor<1x3x2xT>
}
func.func @gather(%x: tensor<6x2xT>, %i: tensor<3xi32>) -> (tensor<3x2xT>, tensor<3x6xT>) attributes {low = array<f64: 1.0, 0.0>, high = array<f64: 2.0, 5.0>} {
  %0 = mpc.gather %x, %i {axis = 0 : i64} : tensor<6x2xT>, tensor<3xi32> -> tensor<3x2xT>
  %1 = mpc.one_hot %i : tensor<3xi32> -> tensor<3x6xT>
  return %0, %1 : tensor<3x2xT>, tensor<3x6xT>
}
func.func @gather_outside(%x: tensor<6x2xT>, %i: tensor<3xi32>) -> tensor<3x2xT> attributes {low = array<f64: 1.0, -9.0>, high = array<f64: 2.0, 9.0>} {
  %0 = mpc.gather %x, %i {axis = 0 : i64} : tensor<6x2xT>, tensor<3xi32> -> tensor<3x2xT>
  return %0 : tensor<3x2xT>
}
func.func @argmax(%x: tensor<4x8xT>) -> tensor<4xi32> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %0 = mpc.argmax %x {axis = 1 : i64} : tensor<4x8xT> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @training(%x: tensor<4x8xT>, %y: tensor<4x8xT>) -> (tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -1.0, 5.0>, high = array<f64: 2.0, 6.0>} {
  %s = mpc.constant dense<[3, 5]> : tensor<2xi64>
  %0 = mpc.dropout %x, %s {rate = 0.3 : f64, stream = 1 : i64} : tensor<4x8xT>, tensor<2xi64>
  %1 = mpc.normal_noise like %x, %s {mean = 0.5 : f64, stddev = 0.1 : f64, stream = 2 : i64} : tensor<4x8xT>, tensor<2xi64>
  %2 = mpc.uniform_noise like %x, %s {low = -0.1 : f64, high = 0.1 : f64, stream = 3 : i64} : tensor<4x8xT>, tensor<2xi64>
  %3 = mpc.in_training %x else %y : tensor<4x8xT>
  return %0, %1, %2, %3 : tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>
}
func.func @scan(%x: tensor<1x6x3xT>) -> (tensor<1x3xT>, tensor<1x6x3xT>) attributes {low = array<f64: -1.0>, high = array<f64: 2.0>} {
  %z = mpc.constant dense<0.0> : tensor<1x3xT>
  %0:2 = mpc.scan inits(%z) scanned(%x) {steps = 6 : i64} : (tensor<1x3xT>, tensor<1x6x3xT>) -> (tensor<1x3xT>, tensor<1x6x3xT>) {
  ^bb0(%sum: tensor<1x3xT>, %slice: tensor<1x3xT>):
    %half = mpc.constant dense<0.75> : tensor<T>
    %p = mpc.multiply %sum, %half : tensor<1x3xT>, tensor<T>
    %next = mpc.add %p, %slice : tensor<1x3xT>, tensor<1x3xT>
    %t = mpc.tanh %next : tensor<1x3xT>
    mpc.yield %next, %t : tensor<1x3xT>, tensor<1x3xT>
  }
  return %0#0, %0#1 : tensor<1x3xT>, tensor<1x6x3xT>
}
func.func @network(%x: tensor<4x8xT>) -> tensor<4x3xT> attributes {low = array<f64: -1.0>, high = array<f64: 1.0>} {
  %w = mpc.constant dense<[[-0.734375, 0.140625, -0.53125, -0.03125, -0.828125, -0.875], [-0.21875, 0.71875, -0.8125, -0.953125, 0.921875, -0.53125], [-0.328125, 1.0, 0.1875, -0.046875, -0.921875, 0.640625], [-0.796875, -0.546875, 0.359375, -0.5, 0.0, 0.90625], [-0.765625, 0.40625, -0.125, -0.21875, -0.515625, -0.53125], [-0.328125, -0.046875, 0.09375, -0.5, -0.984375, 0.9375], [0.59375, -0.8125, 0.078125, -0.015625, 0.0625, 0.6875], [-0.796875, 0.890625, 0.28125, -1.0, -0.78125, -0.5]]> : tensor<8x6xT>
  %v = mpc.constant dense<[[-0.828125, -0.515625, -0.8125], [-0.734375, 0.921875, -0.875], [-0.65625, 1.0, 0.953125], [0.25, -0.375, 0.25], [-0.71875, 0.390625, 0.53125], [0.546875, 0.203125, 0.4375]]> : tensor<6x3xT>
  %b = mpc.constant dense<[0.046875, -0.25, 0.3125, 0.703125, -0.515625, -0.5]> : tensor<6xT>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<4x8xT>, tensor<8x6xT>) -> tensor<4x6xT>
  %1 = mpc.add %0, %b : tensor<4x6xT>, tensor<6xT>
  %2 = mpc.relu %1 : tensor<4x6xT>
  %3 = mpc.contract %2, %v contracting [1] x [0] : (tensor<4x6xT>, tensor<6x3xT>) -> tensor<4x3xT>
  %4 = mpc.tanh %3 : tensor<4x3xT>
  %5 = mpc.softmax %4 {axis = 1 : i64} : tensor<4x3xT>
  return %5 : tensor<4x3xT>
}
func.func @batch_norm(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: -4.0>, high = array<f64: 4.0>} {
  %m = mpc.constant dense<[-1.0, 0.515625, -0.6875, -0.296875, -0.84375, 0.484375, 0.828125, 0.515625]> : tensor<8xT>
  %v = mpc.constant dense<[0.5, 0.25, 1.0, 2.0, 0.125, 0.75, 1.5, 3.0]> : tensor<8xT>
  %e = mpc.constant dense<0.0009765625> : tensor<T>
  %s = mpc.add %v, %e : tensor<8xT>, tensor<T>
  %r = mpc.rsqrt %s : tensor<8xT>
  %c = mpc.subtract %x, %m : tensor<4x8xT>, tensor<8xT>
  %y = mpc.multiply %c, %r : tensor<4x8xT>, tensor<8xT>
  return %y : tensor<4x8xT>
}
func.func @cross_entropy(%x: tensor<4x8xT>, %t: tensor<4x8xT>, %i: tensor<4xi32>) -> (tensor<4xT>, tensor<4xT>) attributes {low = array<f64: -6.0, -0.5, 0.0>, high = array<f64: 9.0, 1.0, 7.0>} {
  %0 = mpc.softmax_cross_entropy %x, %t : tensor<4x8xT>, tensor<4x8xT> -> tensor<4xT>
  %o = mpc.one_hot %i : tensor<4xi32> -> tensor<4x8xT>
  %1 = mpc.softmax_cross_entropy %x, %o : tensor<4x8xT>, tensor<4x8xT> -> tensor<4xT>
  return %0, %1 : tensor<4xT>, tensor<4xT>
}

// Operands that share numbers: affine forms know more than intervals.

func.func @layer_norm(%x: tensor<4x8xT>) -> (tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -40.0>, high = array<f64: 56.0>} {
  %g = mpc.constant dense<[-1.0, 0.5, 1.5, 1.25, -0.75, 0.5, 1.0, 0.25]> : tensor<8xT>
  %b = mpc.constant dense<[0.5, 0.25, -1.0, 2.0, 0.125, 0.75, -1.5, 3.0]> : tensor<8xT>
  %e = mpc.constant dense<0.0009765625> : tensor<T>
  %m, %v = mpc.moments %x {axes = array<i64: 1>, keep_dims} : tensor<4x8xT> -> tensor<4x1xT>, tensor<4x1xT>
  %s = mpc.add %v, %e : tensor<4x1xT>, tensor<T>
  %r = mpc.rsqrt %s : tensor<4x1xT>
  %i = mpc.multiply %r, %g : tensor<4x1xT>, tensor<8xT>
  %n = mpc.negate %m : tensor<4x1xT>
  %p = mpc.multiply %n, %i : tensor<4x1xT>, tensor<4x8xT>
  %h = mpc.add %p, %b : tensor<4x8xT>, tensor<8xT>
  %q = mpc.multiply %x, %i : tensor<4x8xT>, tensor<4x8xT>
  %y = mpc.add %q, %h : tensor<4x8xT>, tensor<4x8xT>
  %d = mpc.subtract %x, %m : tensor<4x8xT>, tensor<4x1xT>
  %z = mpc.multiply %d, %r : tensor<4x8xT>, tensor<4x1xT>
  return %y, %d, %z : tensor<4x8xT>, tensor<4x8xT>, tensor<4x8xT>
}
func.func @layer_norm_far(%x: tensor<4x8xT>) -> tensor<4x8xT> attributes {low = array<f64: 16384.0>, high = array<f64: 16640.0>} {
  %e = mpc.constant dense<0.0009765625> : tensor<T>
  %m, %v = mpc.moments %x {axes = array<i64: 1>, keep_dims} : tensor<4x8xT> -> tensor<4x1xT>, tensor<4x1xT>
  %s = mpc.add %v, %e : tensor<4x1xT>, tensor<T>
  %r = mpc.rsqrt %s : tensor<4x1xT>
  %d = mpc.subtract %x, %m : tensor<4x8xT>, tensor<4x1xT>
  %z = mpc.multiply %d, %r : tensor<4x8xT>, tensor<4x1xT>
  return %z : tensor<4x8xT>
}
func.func @rms_norm(%x: tensor<4x8xT>) -> (tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -40.0>, high = array<f64: 56.0>} {
  %e = mpc.constant dense<0.0009765625> : tensor<T>
  %2 = mpc.multiply %x, %x : tensor<4x8xT>, tensor<4x8xT>
  %m = mpc.reduce mean %2 {axes = array<i64: 1>, keep_dims} : tensor<4x8xT> -> tensor<4x1xT>
  %s = mpc.add %m, %e : tensor<4x1xT>, tensor<T>
  %r = mpc.rsqrt %s : tensor<4x1xT>
  %y = mpc.multiply %x, %r : tensor<4x8xT>, tensor<4x1xT>
  %t = mpc.reduce sum %2 {axes = array<i64: 1>, keep_dims} : tensor<4x8xT> -> tensor<4x1xT>
  %l = mpc.maximum %e, %t : tensor<T>, tensor<4x1xT>
  %u = mpc.rsqrt %l : tensor<4x1xT>
  %z = mpc.multiply %u, %x : tensor<4x1xT>, tensor<4x8xT>
  return %y, %z : tensor<4x8xT>, tensor<4x8xT>
}
func.func @beside_extremes(%x: tensor<4x8xT>) -> (tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -6.0>, high = array<f64: 9.0>} {
  %m = mpc.reduce max %x {axes = array<i64: 1>, keep_dims} : tensor<4x8xT> -> tensor<4x1xT>
  %d = mpc.subtract %x, %m : tensor<4x8xT>, tensor<4x1xT>
  %y = mpc.exp %d : tensor<4x8xT>
  %n = mpc.reduce min %x {axes = array<i64: 0>, keep_dims} : tensor<4x8xT> -> tensor<1x8xT>
  %z = mpc.subtract %n, %x : tensor<1x8xT>, tensor<4x8xT>
  return %y, %z : tensor<4x8xT>, tensor<4x8xT>
}
func.func @blend(%z: tensor<4x1xT>, %h: tensor<4x8xT>, %c: tensor<8xT>) -> tensor<4x8xT> attributes {low = array<f64: 0.0, -3.0, 1.0>, high = array<f64: 1.0, 2.0, 4.0>} {
  %1 = mpc.constant dense<1.0> : tensor<T>
  %p = mpc.multiply %z, %h : tensor<4x1xT>, tensor<4x8xT>
  %o = mpc.subtract %1, %z : tensor<T>, tensor<4x1xT>
  %q = mpc.multiply %o, %c : tensor<4x1xT>, tensor<8xT>
  %y = mpc.add %p, %q : tensor<4x8xT>, tensor<4x8xT>
  return %y : tensor<4x8xT>
}
func.func @cancels(%x: tensor<4x8xT>, %y: tensor<8xT>) -> (tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -300.0, -1.0>, high = array<f64: 200.0, 4.0>} {
  %s = mpc.add %x, %y : tensor<4x8xT>, tensor<8xT>
  %n = mpc.negate %x : tensor<4x8xT>
  %d = mpc.add %s, %n : tensor<4x8xT>, tensor<4x8xT>
  %w = mpc.cast %x : tensor<4x8xT> to tensor<4x8xbf16>
  %f = mpc.cast %w : tensor<4x8xbf16> to tensor<4x8xT>
  %r = mpc.subtract %x, %f : tensor<4x8xT>, tensor<4x8xT>
  return %d, %r : tensor<4x8xT>, tensor<4x8xT>
}
func.func @blend_scan(%x: tensor<1x6x3xT>) -> (tensor<1x3xT>, tensor<1x6x3xT>) attributes {low = array<f64: -1.0>, high = array<f64: 2.0>} {
  %z = mpc.constant dense<0.0> : tensor<1x3xT>
  %0:2 = mpc.scan inits(%z) scanned(%x) {steps = 6 : i64} : (tensor<1x3xT>, tensor<1x6x3xT>) -> (tensor<1x3xT>, tensor<1x6x3xT>) {
  ^bb0(%h: tensor<1x3xT>, %slice: tensor<1x3xT>):
    %1 = mpc.constant dense<1.0> : tensor<T>
    %g = mpc.sigmoid %slice : tensor<1x3xT>
    %c = mpc.tanh %slice : tensor<1x3xT>
    %p = mpc.multiply %g, %h : tensor<1x3xT>, tensor<1x3xT>
    %o = mpc.subtract %1, %g : tensor<T>, tensor<1x3xT>
    %q = mpc.multiply %o, %c : tensor<1x3xT>, tensor<1x3xT>
    %next = mpc.add %p, %q : tensor<1x3xT>, tensor<1x3xT>
    mpc.yield %next, %o : tensor<1x3xT>, tensor<1x3xT>
  }
  return %0#0, %0#1 : tensor<1x3xT>, tensor<1x6x3xT>
}
func.func @swish(%x: tensor<4x8xT>) -> (tensor<4x8xT>, tensor<4x8xT>) attributes {low = array<f64: -300.0>, high = array<f64: 200.0>} {
  %s = mpc.sigmoid %x : tensor<4x8xT>
  %y = mpc.multiply %x, %s : tensor<4x8xT>, tensor<4x8xT>
  %p = mpc.softplus %x : tensor<4x8xT>
  %t = mpc.tanh %p : tensor<4x8xT>
  %z = mpc.multiply %t, %x : tensor<4x8xT>, tensor<4x8xT>
  return %y, %z : tensor<4x8xT>, tensor<4x8xT>
}
// A batch decides about its own mean and variance.
func.func @batch_norm_training(%x: tensor<4x3x8xT>) -> (tensor<4x3x8xT>, tensor<4x3x8xT>) attributes {low = array<f64: -40.0>, high = array<f64: 56.0>} {
  %e = mpc.constant dense<0.0009765625> : tensor<T>
  %m = mpc.constant dense<[-1.0, 0.515625, -0.6875, -0.296875, -0.84375, 0.484375, 0.828125, 0.515625]> : tensor<8xT>
  %v = mpc.constant dense<[900.5, 800.25, 700.0, 999.0, 900.125, 700.75, 800.5, 1000.0]> : tensor<8xT>
  %g = mpc.constant dense<[0.5, 1.25, 1.0, 2.0, 1.125, 0.75, 1.5, 2.0]> : tensor<8xT>
  %b = mpc.constant dense<[0.5, 0.25, -1.0, 0.0, 0.125, 0.75, 0.5, 1.0]> : tensor<8xT>
  %m1, %v1 = mpc.moments %x {axes = array<i64: 0, 1>} : tensor<4x3x8xT> -> tensor<8xT>, tensor<8xT>
  %m2 = mpc.in_training %m1 else %m : tensor<8xT>
  %v2 = mpc.in_training %v1 else %v : tensor<8xT>
  %s = mpc.add %v2, %e : tensor<8xT>, tensor<T>
  %r = mpc.rsqrt %s : tensor<8xT>
  %c = mpc.subtract %x, %m2 : tensor<4x3x8xT>, tensor<8xT>
  %y = mpc.multiply %c, %r : tensor<4x3x8xT>, tensor<8xT>
  %k = mpc.multiply %r, %g : tensor<8xT>, tensor<8xT>
  %p = mpc.multiply %m2, %k : tensor<8xT>, tensor<8xT>
  %q = mpc.subtract %b, %p : tensor<8xT>, tensor<8xT>
  %n = mpc.multiply %x, %k : tensor<4x3x8xT>, tensor<8xT>
  %z = mpc.add %n, %q : tensor<4x3x8xT>, tensor<8xT>
  return %y, %z : tensor<4x3x8xT>, tensor<4x3x8xT>
}
// Products with constant weights: a row's elements are sums of what came in, also behind a relu and beside the input itself.
func.func @rows(%x: tensor<4x8xT>) -> (tensor<4x6xT>, tensor<4x8xT>, tensor<4x8xT>, tensor<4x3xT>) attributes {low = array<f64: -1.0>, high = array<f64: 3.0>} {
  %w = mpc.constant dense<[[0.34375, 0.609375, -0.953125, 0.609375, -0.0625, 0.03125], [0.265625, -0.421875, 0.953125, -0.890625, -0.4375, -0.234375], [0.140625, -0.1875, -0.734375, -0.90625, -0.984375, -0.890625], [-0.703125, 0.984375, -0.609375, 0.296875, 0.5, -0.53125], [-0.4375, -0.125, -0.46875, 0.9375, -0.640625, 0.796875], [0.59375, 0.6875, -0.765625, -0.21875, 0.25, -0.015625], [0.328125, 0.34375, 0.328125, -0.875, 0.90625, 0.109375], [0.796875, -0.453125, -0.28125, 0.75, -0.625, -0.859375]]> : tensor<8x6xT>
  %v = mpc.constant dense<[[-0.25, 0.359375, -0.75, 0.734375, -0.3125, -0.546875, 0.09375, 0.78125], [0.765625, 0.734375, -0.390625, -0.953125, 0.546875, 0.40625, 0.53125, -0.984375], [-0.921875, 0.0, -0.328125, -0.125, 0.859375, -0.59375, 0.0625, -0.34375], [-0.40625, 0.609375, -0.6875, -0.359375, -0.75, -0.703125, -0.4375, 0.390625], [0.15625, -0.109375, -0.65625, 0.59375, 0.59375, -0.53125, -0.875, -0.359375], [-0.703125, 0.59375, 0.03125, 0.015625, -0.421875, 0.015625, 0.921875, -0.53125]]> : tensor<6x8xT>
  %u = mpc.constant dense<[[0.53125, -0.96875, -0.375], [0.859375, 0.734375, -0.828125], [0.6875, 0.6875, -0.09375], [-0.265625, 0.953125, 0.890625], [0.359375, -0.203125, -0.578125], [0.859375, -0.453125, 0.109375], [0.34375, -0.515625, -0.359375], [0.484375, -0.59375, 0.34375]]> : tensor<8x3xT>
  %b = mpc.constant dense<[0.875, 0.359375, 0.296875, -0.078125, 0.921875, -0.546875]> : tensor<6xT>
  %g = mpc.constant dense<[-0.28125, 0.28125, 0.3125, -0.78125, -0.671875, 0.375, 0.671875, 0.265625]> : tensor<8xT>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<4x8xT>, tensor<8x6xT>) -> tensor<4x6xT>
  %1 = mpc.add %0, %b : tensor<4x6xT>, tensor<6xT>
  %2 = mpc.relu %1 : tensor<4x6xT>
  %3 = mpc.contract %2, %v contracting [1] x [0] : (tensor<4x6xT>, tensor<6x8xT>) -> tensor<4x8xT>
  %4 = mpc.add %x, %3 : tensor<4x8xT>, tensor<4x8xT>
  %5 = mpc.multiply %4, %g : tensor<4x8xT>, tensor<8xT>
  %6 = mpc.tanh %5 : tensor<4x8xT>
  %7 = mpc.contract %6, %u contracting [1] x [0] : (tensor<4x8xT>, tensor<8x3xT>) -> tensor<4x3xT>
  return %1, %4, %5, %7 : tensor<4x6xT>, tensor<4x8xT>, tensor<4x8xT>, tensor<4x3xT>
}
// Two sums alike, of which the next layer takes one out.
func.func @rows_cancel(%x: tensor<4x2xT>, %y: tensor<2xT>) -> (tensor<4x2xT>, tensor<4x2xT>, tensor<4x2xT>) attributes {low = array<f64: -2.0, -1.0>, high = array<f64: 6.0, 1.0>} {
  %w = mpc.constant dense<[[1.0, 1.0, 0.5], [0.5, 0.5, -1.0]]> : tensor<2x3xT>
  %v = mpc.constant dense<[[1.0, 0.5], [-1.0, 0.5], [0.25, -1.0]]> : tensor<3x2xT>
  %i = mpc.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xT>
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<4x2xT>, tensor<2x3xT>) -> tensor<4x3xT>
  %1 = mpc.contract %0, %v contracting [1] x [0] : (tensor<4x3xT>, tensor<3x2xT>) -> tensor<4x2xT>
  %2 = mpc.contract %x, %i contracting [1] x [0] : (tensor<4x2xT>, tensor<2x2xT>) -> tensor<4x2xT>
  %3 = mpc.subtract %2, %x : tensor<4x2xT>, tensor<4x2xT>
  %4 = mpc.negate %2 : tensor<4x2xT>
  %5 = mpc.add %4, %y : tensor<4x2xT>, tensor<2xT>
  %6 = mpc.subtract %1, %5 : tensor<4x2xT>, tensor<4x2xT>
  return %1, %3, %6 : tensor<4x2xT>, tensor<4x2xT>, tensor<4x2xT>
}
