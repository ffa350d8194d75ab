// RUN: mpc-opt %s --split-input-file --verify-diagnostics | mpc-opt --split-input-file | FileCheck %s
// Ops of quantized layers: forms that read back, and what verifiers refuse.

// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<?x8xf32>, %h: tensor<?x8xbf16>, %packed: tensor<8x3xi8>, %bytes: tensor<8x3xui8>, %q: tensor<?x8xi8>, %w: tensor<8x5xi8>, %s: tensor<f32>, %history: tensor<6xf32>) {
  // CHECK: mpc.round %{{.*}} : tensor<?x8xf32>
  %r = mpc.round %x : tensor<?x8xf32>
  // CHECK: mpc.round_float8 %{{.*}} {format = f8E4M3FN} : tensor<?x8xbf16>
  %f = mpc.round_float8 %h {format = f8E4M3FN} : tensor<?x8xbf16>
  // CHECK: mpc.unpack_int4 %{{.*}} {extent = 5 : i64} : tensor<8x3xi8> -> tensor<8x5xi8>
  %u = mpc.unpack_int4 %packed {extent = 5 : i64} : tensor<8x3xi8> -> tensor<8x5xi8>
  // CHECK: mpc.unpack_int4 %{{.*}} {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  %n = mpc.unpack_int4 %bytes {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xi8>) -> tensor<?x5xi32>
  %y = mpc.contract %q, %w contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xi8>) -> tensor<?x5xi32>
  // CHECK: mpc.straight_through %{{.*}}, %{{.*}} : tensor<?x8xf32>
  %t = mpc.straight_through %r, %x : tensor<?x8xf32>
  // CHECK: mpc.straight_through %{{.*}}, %{{.*}} {finite} : tensor<?x8xbf16>
  %i = mpc.straight_through %h, %h {finite} : tensor<?x8xbf16>
  // CHECK: mpc.float8_quantize %{{.*}} scale %{{.*}} history %{{.*}} {format = f8E4M3FN} : tensor<?x8xbf16>, tensor<6xf32>
  %a = mpc.float8_quantize %h scale %s history %history {format = f8E4M3FN} : tensor<?x8xbf16>, tensor<6xf32>
  // CHECK: mpc.float8_quantize_gradient %{{.*}} scale %{{.*}} history %{{.*}} {format = f8E5M2} : tensor<?x8xf32>, tensor<6xf32>
  %b = mpc.float8_quantize_gradient %x scale %s history %history {format = f8E5M2} : tensor<?x8xf32>, tensor<6xf32>
  return
}

// -----

func.func @too_few_bytes(%packed: tensor<8x3xi8>) {
  // expected-error@+2 {{the last dimension must hold 7 numbers, two per byte}}
  // expected-error@+1 {{failed to infer returned types}}
  %u = "mpc.unpack_int4"(%packed) {extent = 7 : i64} : (tensor<8x3xi8>) -> tensor<8x7xi8>
  return
}

// -----

func.func @too_many_bytes(%packed: tensor<8x3xi8>) {
  // expected-error@+2 {{the last dimension must hold 4 numbers, two per byte}}
  // expected-error@+1 {{failed to infer returned types}}
  %u = "mpc.unpack_int4"(%packed) {extent = 4 : i64} : (tensor<8x3xi8>) -> tensor<8x4xi8>
  return
}

// -----

func.func @another_format(%x: tensor<4xf32>) {
  // expected-error@+1 {{format must be f8E4M3FN or f8E5M2, got 'f8E4M3FNUZ'}}
  %f = mpc.round_float8 %x {format = f8E4M3FNUZ} : tensor<4xf32>
  return
}

// -----

func.func @no_history(%x: tensor<4xf32>, %s: tensor<f32>, %history: tensor<0xf32>) {
  // expected-error@+1 {{the history must have at least one element}}
  %f = mpc.float8_quantize %x scale %s history %history {format = f8E4M3FN} : tensor<4xf32>, tensor<0xf32>
  return
}

// -----

func.func @integers_into_floats(%q: tensor<?x8xi8>, %w: tensor<8x5xi8>) {
  // expected-error@+1 {{of i8 gives i32, without bias, accumulator type or activation}}
  %y = mpc.contract %q, %w contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xi8>) -> tensor<?x5xf32>
  return
}

// -----

func.func @integers_with_bias(%q: tensor<?x8xi8>, %w: tensor<8x5xi8>, %b: tensor<5xf32>) {
  // expected-error@+1 {{of i8 gives i32, without bias, accumulator type or activation}}
  %y = mpc.contract %q, %w bias %b contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xi8>, tensor<5xf32>) -> tensor<?x5xi32>
  return
}

// -----

func.func @one_integer(%q: tensor<?x8xi8>, %w: tensor<8x5xf32>) {
  // expected-error@+1 {{operands have element types 'i8' and 'f32'}}
  %y = mpc.contract %q, %w contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xf32>) -> tensor<?x5xi32>
  return
}

// -----

// CHECK-LABEL: func.func @float8
func.func @float8(%x: tensor<?x8xbf16>, %w: tensor<8x5xf32>) {
  // CHECK: mpc.cast %{{.*}} : tensor<?x8xbf16> to tensor<?x8xf8E5M2>
  %a = mpc.cast %x : tensor<?x8xbf16> to tensor<?x8xf8E5M2>
  %b = mpc.cast %w : tensor<8x5xf32> to tensor<8x5xf8E4M3FN>
  // CHECK: mpc.pad %{{.*}} : tensor<8x5xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
  %p = mpc.pad %b {axis = 1 : i64, low = 0 : i64, high = 11 : i64, value = 0.0 : f64} : tensor<8x5xf8E4M3FN> -> tensor<8x16xf8E4M3FN>
  // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [0] : (tensor<?x8xf8E5M2>, tensor<8x16xf8E4M3FN>) -> tensor<?x16xf32>
  %y = mpc.contract %a, %p contracting [1] x [0] : (tensor<?x8xf8E5M2>, tensor<8x16xf8E4M3FN>) -> tensor<?x16xf32>
  return
}

// -----

func.func @float8_without_fraction(%a: tensor<?x8xf8E5M2>, %b: tensor<8x5xf8E5M2>) {
  // expected-error@+1 {{of float8, one operand at least in f8E4M3FN, gives f32, without bias, accumulator type or activation}}
  %y = mpc.contract %a, %b contracting [1] x [0] : (tensor<?x8xf8E5M2>, tensor<8x5xf8E5M2>) -> tensor<?x5xf32>
  return
}

// -----

func.func @float8_into_bfloat16(%a: tensor<?x8xf8E4M3FN>, %b: tensor<8x5xf8E4M3FN>) {
  // expected-error@+1 {{of float8, one operand at least in f8E4M3FN, gives f32}}
  %y = mpc.contract %a, %b contracting [1] x [0] : (tensor<?x8xf8E4M3FN>, tensor<8x5xf8E4M3FN>) -> tensor<?x5xbf16>
  return
}

// -----

func.func @float8_with_bias(%a: tensor<?x8xf8E4M3FN>, %b: tensor<8x5xf8E4M3FN>, %c: tensor<5xf32>) {
  // expected-error@+1 {{of float8, one operand at least in f8E4M3FN, gives f32, without bias}}
  %y = mpc.contract %a, %b bias %c contracting [1] x [0] : (tensor<?x8xf8E4M3FN>, tensor<8x5xf8E4M3FN>, tensor<5xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @float8_by_float(%a: tensor<?x8xf8E4M3FN>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{operands have element types 'f8E4M3FN' and 'f32'}}
  %y = mpc.contract %a, %b contracting [1] x [0] : (tensor<?x8xf8E4M3FN>, tensor<8x5xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @float8_is_only_multiplied(%a: tensor<?x8xf8E4M3FN>) {
  // expected-error@+1 {{operand #0 must be}}
  %y = mpc.cast %a : tensor<?x8xf8E4M3FN> to tensor<?x8xf32>
  return
}
