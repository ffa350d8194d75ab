// What the phase kernels promises, broken one promise at a time.
// RUN: mpc-opt %s --mpc-verify-kernels --split-input-file --verify-diagnostics

// expected-error @+1 {{@predict is an entry (mpc.entry) and does not say how large its arena is}}
func.func @predict(%b: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{is left after the phase kernels}}
  %y = tensor.empty() : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{is of an earlier phase than kernels; expected buffers and scalars}}
func.func @f(%x: tensor<4xf32>) {
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{is of an earlier phase than kernels; expected buffers and scalars}}
  %y = arith.constant dense<1.0> : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{allocates; every temporary is an mpcrt.view of the arena}}
  %y = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func private @kernel(%x: memref<4xf32>, %arena: memref<?xi8>, %batch: index, %begin: index, %end: index) attributes {mpcrt.kernel} {
  // expected-error @+1 {{is for host functions, not kernels}}
  %y = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<4xf32>
  return
}

// -----

func.func private @other()
func.func private @kernel(%begin: index, %end: index) attributes {mpcrt.kernel} {
  // expected-error @+1 {{is for host functions, not kernels}}
  func.call @other() : () -> ()
  return
}
