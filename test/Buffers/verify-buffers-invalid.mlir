// What the phase buffers promises, broken one promise at a time.
// RUN: mpc-opt %s --mpc-verify-buffers --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>, %i: index) -> f32 {
  // expected-error @+1 {{is on tensors after the phase buffers}}
  %y = tensor.extract %x[%i] : tensor<4xf32>
  return %y : f32
}

// -----

func.func @f(%x: memref<4x4xf32>, %offset: index, %i: index) -> f32 {
  // expected-error @+1 {{whose strides are not static}}
  %part = memref.subview %x[0, 0] [2, 2] [1, %offset] : memref<4x4xf32> to memref<2x2xf32, strided<[4, ?]>>
  // expected-error @+1 {{uses 'memref<2x2xf32, strided<[4, ?]>>', whose strides are not static}}
  %y = memref.load %part[%i, %i] : memref<2x2xf32, strided<[4, ?]>>
  return %y : f32
}

// -----

// Extents behind the first one are known.
func.func @f(%x: memref<4x?xf32>, %i: index) -> f32 {
  // expected-error @+1 {{uses 'memref<4x?xf32>', whose strides are not static}}
  %y = memref.load %x[%i, %i] : memref<4x?xf32>
  return %y : f32
}

// -----

func.func @f() {
  // expected-error @+1 {{allocates; every temporary is an mpcrt.view of the arena}}
  %y = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{allocates; every temporary is an mpcrt.view of the arena}}
  memref.dealloc %y : memref<4xf32>
  return
}

// -----

// Constants may stand beside functions.
memref.global "private" constant @table : memref<4xf32> = dense<1.0>
// expected-error @+1 {{is mutable; state is passed as arguments}}
memref.global "private" @counter : memref<i64> = dense<0>

// -----

// expected-error @+1 {{never writes output "out0"}}
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %out: memref<?x8xf32> {mpcrt.output = "out0"}, %b: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{writes into its input 0}}
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %out: memref<?x8xf32> {mpcrt.output = "out0"}, %b: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  memref.copy %x, %out : memref<?x8xf32> to memref<?x8xf32>
  memref.copy %out, %x : memref<?x8xf32> to memref<?x8xf32>
  return
}

// -----

// A view of a target is the target.
// expected-error @+1 {{writes into its input 1}}
func.func @evaluate(%x: memref<?x8xf32> {mpc.input = "x"}, %y: memref<?x8xf32> {mpc.target = "y0"}, %out: memref<?x8xf32> {mpcrt.output = "loss"}, %b: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<evaluate>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %zero = arith.constant 0.0 : f32
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x8xf32> into memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%flat : memref<?xf32>)
  memref.copy %x, %out : memref<?x8xf32> to memref<?x8xf32>
  return
}
