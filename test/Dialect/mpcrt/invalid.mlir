// RUN: mpc-opt %s --split-input-file --verify-diagnostics
// One case per rule of the verifiers.

func.func @rank(%x: memref<8xf32>, %w: memref<8x4xf32>, %o: memref<1x4xf32>) {
  // expected-error @+1 {{operands must all be matrices or all be batches of matrices}}
  mpcrt.contract ins(%x, %w : memref<8xf32>, memref<8x4xf32>) outs(%o : memref<1x4xf32>)
  return
}
// -----
func.func @contracted(%x: memref<?x8xf32>, %w: memref<9x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{contracts an extent of 8 with one of 9}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<9x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @result_extents(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x5xf32>) {
  // expected-error @+1 {{x 4, but out has}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x5xf32>)
  return
}
// -----
func.func @batch(%x: memref<?x2x8xf32>, %w: memref<3x8x4xf32>, %o: memref<?x2x4xf32>) {
  // expected-error @+1 {{batch extents differ}}
  mpcrt.contract ins(%x, %w : memref<?x2x8xf32>, memref<3x8x4xf32>) outs(%o : memref<?x2x4xf32>)
  return
}
// -----
func.func @mixed(%x: memref<?x8xf16>, %w: memref<8x4xbf16>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{operands have element types 'f16' and 'bf16'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xbf16>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @bias(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %b: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{bias must be a vector of 4}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) bias(%b : memref<8xf32>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @worlds(%x: memref<?x8xf32>, %w: tensor<8x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, tensor<8x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @no_result(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %o: tensor<?x4xf32>) {
  // expected-error @+1 {{has 0 results; 1 expected: one for each destination on tensors, none on memrefs}}
  mpcrt.contract ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>) outs(%o : tensor<?x4xf32>)
  return
}
// -----

func.func @largest_of_other_bits(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>, %l: memref<i16>) {
  // expected-error @+1 {{largest must have the bits of 'f32', but is 'memref<i16>'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>) largest(%l : memref<i16>)
  return
}

// -----
func.func @bits_of_other_rows(%x: memref<?x8xf32>, %w: memref<8x130xf32>, %o: memref<?x130xf32>, %m: memref<?x16xi8>) {
  // expected-error @+1 {{has bits 'memref<?x16xi8>' for 'memref<?x130xf32>'; expected rows of 32 bytes}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x130xf32>) outs(%o : memref<?x130xf32>) mask(%m : memref<?x16xi8>) activation(relu)
  return
}
// -----
func.func @mask_without_relu(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>, %m: memref<?x16xi8>) {
  // expected-error @+1 {{has a mask only with the activation relu}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>) mask(%m : memref<?x16xi8>)
  return
}
// -----
func.func @where_with_relu(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>, %m: memref<?x16xi8>) {
  // expected-error @+1 {{applies an activation and reads bits of relu; it may do one of these only}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) where(%m : memref<?x16xi8>) outs(%o : memref<?x4xf32>) activation(relu)
  return
}
// -----
func.func @sums_of_transposed(%x: memref<8x?xf32>, %w: memref<4x8xf32>, %o: memref<?x4xf32>, %s: memref<4xf32>) {
  // expected-error @+1 {{has sums only of one right matrix of f32, bf16 or f16 that is not transposed}}
  mpcrt.contract ins(%x, %w : memref<8x?xf32>, memref<4x8xf32>) outs(%o : memref<?x4xf32>) sums(%s : memref<4xf32>) {transpose_lhs, transpose_rhs}
  return
}
// -----
func.func @sums_of_other_16_bits(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>, %s: memref<4xbf16>) {
  // expected-error @+1 {{sums must be of f32, or of the 16 bits that out has, but are 'memref<4xbf16>'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) outs(%o : memref<?x4xf16>) sums(%s : memref<4xbf16>)
  return
}
// -----
func.func @sums_of_other_columns(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>, %s: memref<8xf32>) {
  // expected-error @+1 {{sums must be a vector of 4, but is 'memref<8xf32>'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>) sums(%s : memref<8xf32>)
  return
}
// -----
func.func @rounded_rhs(%x: memref<?x8xbf16>, %w: memref<8x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{operands have element types 'bf16' and 'f32'}}
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<8x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func private @alone_kernel(%x: memref<4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @alone(%x: memref<4xf32>, %n: index) {
  // expected-error @+1 {{holds two or more of mpcrt.launch, and nothing else}}
  mpcrt.launch_all {
    mpcrt.launch @alone_kernel count(%n) grain(1) args(%x : memref<4xf32>)
  }
  return
}
// -----
func.func @bits_of_batches(%x: memref<?x3x8xf32>, %w: memref<?x8x4xf32>, %o: memref<?x3x4xf32>, %m: memref<?x16xi8>) {
  // expected-error @+1 {{has a mask or a where only as one floating matrix of known width}}
  mpcrt.contract ins(%x, %w : memref<?x3x8xf32>, memref<?x8x4xf32>) where(%m : memref<?x16xi8>) outs(%o : memref<?x3x4xf32>)
  return
}
// -----
func.func @kept_without_gelu(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>, %z: memref<?x4xf16>) {
  // expected-error @+1 {{keeps what gelu is applied to, but has no gelu}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) outs(%o : memref<?x4xf16>) kept(%z : memref<?x4xf16>)
  return
}
// -----
func.func @gelu_and_relu(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>) {
  // expected-error @+1 {{applies an activation and applies gelu; it may do one of these only}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) outs(%o : memref<?x4xf16>) gelu activation(relu)
  return
}
// -----
func.func @mask_of_a_sum(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>, %m: memref<?x16xi8>) {
  // expected-error @+1 {{adds to another result and makes bits of relu; it may do one of these only}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) outs(%o : memref<?x4xf16>) mask(%m : memref<?x16xi8>) activation(relu) {accumulate}
  return
}
// -----
func.func @gelu_of_batches(%x: memref<?x3x8xf16>, %w: memref<?x8x4xf16>, %o: memref<?x3x4xf16>) {
  // expected-error @+1 {{applies gelu or its derivative only to one floating matrix}}
  mpcrt.contract ins(%x, %w : memref<?x3x8xf16>, memref<?x8x4xf16>) outs(%o : memref<?x3x4xf16>) gelu
  return
}
// -----
func.func @gelu_and_its_derivative(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>, %z: memref<?x4xf16>) {
  // expected-error @+1 {{applies gelu and applies the derivative of gelu; it may do one of these only}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) gelu_at(%z : memref<?x4xf16>) outs(%o : memref<?x4xf16>) gelu
  return
}
// -----
func.func @derivative_at_others(%x: memref<?x8xf16>, %w: memref<8x4xf16>, %o: memref<?x4xf16>, %z: memref<?x4xf32>) {
  // expected-error @+1 {{reads or keeps arguments of gelu of type 'memref<?x4xf32>', but out has 'memref<?x4xf16>'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf16>, memref<8x4xf16>) gelu_at(%z : memref<?x4xf32>) outs(%o : memref<?x4xf16>)
  return
}
// -----
func.func @dense(%x: memref<?x8xf32, strided<[16, 1]>>, %w: memref<8x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{operands must be dense and row-major}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32, strided<[16, 1]>>, memref<8x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @dense_result(%x: memref<?x8xf32>, %w: memref<8x16xf32>, %o: memref<?x16xf32, strided<[16, 1], offset: 16>>) {
  // expected-error @+1 {{operands must be dense and row-major}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x16xf32>) outs(%o : memref<?x16xf32, strided<[16, 1], offset: 16>>)
  return
}
// -----
func.func @unknown(%n: index) {
  // expected-error @+1 {{@nothing is not a function with mpcrt.kernel}}
  mpcrt.launch @nothing count(%n) grain(1)
  return
}
// -----
func.func private @kernel(memref<4xf32>, index, index) attributes {mpcrt.kernel}
func.func @count(%n: index) {
  // expected-error @+1 {{passes 0 arguments, but @kernel takes 1 and the bounds}}
  mpcrt.launch @kernel count(%n) grain(1)
  return
}
// -----
func.func private @kernel(memref<4xf32>, index, index) attributes {mpcrt.kernel}
func.func @type(%n: index, %x: memref<8xf32>) {
  // expected-error @+1 {{argument 0 has type 'memref<8xf32>', but @kernel takes 'memref<4xf32>'}}
  mpcrt.launch @kernel count(%n) grain(1) args(%x : memref<8xf32>)
  return
}
// -----
func.func private @kernel(index, index) attributes {mpcrt.kernel}
func.func @grain(%n: index) {
  // expected-error @+1 {{grain must be at least 1}}
  mpcrt.launch @kernel count(%n) grain(0)
  return
}
// -----
// expected-error @+1 {{last two arguments are the indices begin and end}}
func.func private @bounds(memref<4xf32>) attributes {mpcrt.kernel}
// -----
func.func @view(%arena: memref<?xi8>, %batch: index) {
  // expected-error @+1 {{only the leading dimension may be dynamic}}
  %0 = mpcrt.view %arena[%batch] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x?xf32>
  return
}
// -----
func.func @offset(%arena: memref<?xi8>, %batch: index) {
  // expected-error @+1 {{offsets must not be negative}}
  %0 = mpcrt.view %arena[%batch] fixed(-64) per_sample(0) : memref<?xi8> -> memref<4xf32>
  return
}
// -----
// expected-error @+1 {{mpcrt.batch is for an index}}
func.func private @batch_argument(i64 {mpcrt.batch})
// -----
// expected-error @+1 {{mpcrt.arena is for memref<?xi8>}}
func.func private @arena_argument(memref<?xf32> {mpcrt.arena})
// -----
// expected-error @+1 {{unknown argument attribute "mpcrt.other"}}
func.func private @other(index {mpcrt.other})
// -----
func.func @no_rows(%x: memref<?x8xf32>) {
  // expected-error @+1 {{loops must be at least 1, but is 0}}
  mpcrt.rows loops(0) {
  }
  return
}
// -----
func.func @foreign(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{holds linalg.generic ops on buffers and memref.alloca only, but got mpcrt.contract}}
  mpcrt.rows loops(1) {
    mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>)
  }
  return
}
// -----
func.func @reduces_rows(%x: memref<?x8xf32>, %o: memref<8xf32>) {
  mpcrt.rows loops(1) {
    // expected-error @+1 {{in mpcrt.rows must have 1 parallel loops first}}
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<?x8xf32>) outs(%o : memref<8xf32>) {
    ^bb0(%i: f32, %s: f32):
      linalg.yield %i : f32
    }
  }
  return
}

// -----

func.func @scale_type(%x: memref<?x8xbf16>, %w: memref<8x2xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xbf16>) {
  // expected-error @+1 {{scale and zero must be [blocks, 4], the scale of the left operand's element type}}
  mpcrt.contract ins(%x, %w : memref<?x8xbf16>, memref<8x2xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<8xf32>) outs(%o : memref<?x4xbf16>)
  return
}

// -----

func.func @place_count(%x: memref<?x8xf32>, %w: memref<8x2xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<7xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{places and divisors must be vectors of 8, but one is}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x2xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<7xf32>) outs(%o : memref<?x4xf32>)
  return
}

// -----

func.func @unpacked_blocks(%x: memref<?x8xf32>, %w: memref<8x4xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{has scales, zeros and places only all together, of packed weights}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<8xf32>) outs(%o : memref<?x4xf32>)
  return
}

// -----

func.func @groups_by_rows(%x: memref<?x8xf32>, %w: memref<2x8xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{scale and zero must be [4, blocks], the scale of the left operand's element type}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<2x8xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<8xf32>) outs(%o : memref<?x4xf32>) {transpose_rhs}
  return
}

// -----

func.func @bytes_by_rows(%x: memref<?x8xf32>, %w: memref<8x4xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{of packed weights or of transposed ones of i8}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<8xf32>) outs(%o : memref<?x4xf32>)
  return
}

// -----

func.func @divided_blocks(%x: memref<?x8xf32>, %w: memref<8x2xi8>, %s: memref<2x4xf32>, %z: memref<2x4xi8>, %g: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{has divisors of weights that are not transposed}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x2xi8>) blocks(%s, %z, %g : memref<2x4xf32>, memref<2x4xi8>, memref<8xf32>) divided(%g : memref<8xf32>) outs(%o : memref<?x4xf32>)
  return
}

// -----

func.func @divisor_count(%x: memref<?x8xf32>, %w: memref<2x8xi8>, %s: memref<4x2xf32>, %z: memref<4x2xi8>, %g: memref<8xf32>, %d: memref<4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{places and divisors must be vectors of 8, but one is 'memref<4xf32>'}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<2x8xi8>) blocks(%s, %z, %g : memref<4x2xf32>, memref<4x2xi8>, memref<8xf32>) divided(%d : memref<4xf32>) outs(%o : memref<?x4xf32>) {transpose_rhs}
  return
}

// -----

func.func @divisors_alone(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %d: memref<8xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{has scales, zeros and places only all together, of packed weights}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) divided(%d : memref<8xf32>) outs(%o : memref<?x4xf32>)
  return
}

// -----

func.func @transposed_without_scales(%x: memref<3x8xf32>, %w: memref<2x8xi8>, %o: memref<3x4xf32>) {
  // expected-error @+1 {{gives 3 x 2, but out has 3 x 4}}
  mpcrt.contract ins(%x, %w : memref<3x8xf32>, memref<2x8xi8>) outs(%o : memref<3x4xf32>) {transpose_rhs}
  return
}

// -----

func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @order(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %f: memref<?xf32>, %n: index) {
  // expected-error @+1 {{holds one mpcrt.contract or mpcrt.convolve and then one mpcrt.launch}}
  mpcrt.interleave result(0) {
    mpcrt.launch @k count(%n) grain(1) args(%f, %f : memref<?xf32>, memref<?xf32>)
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
  }
  return
}

// -----

func.func private @k(%a: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @beyond(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %f: memref<?xf32>, %n: index) {
  // expected-error @+1 {{result(1) is none of the launch's 1 arguments}}
  mpcrt.interleave result(1) {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @k count(%n) grain(1) args(%f : memref<?xf32>)
  }
  return
}

// -----

func.func private @k(%a: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @unrelated(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %f: memref<?xf32>, %n: index) {
  // expected-error @+1 {{argument 0 of the launch is not the product's out, but result(0) alone must be}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @k count(%n) grain(1) args(%f : memref<?xf32>)
  }
  return
}

// -----

func.func private @k(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @twice(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{argument 1 of the launch is the product's out, but result(0) alone must be}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %o : memref<4x4xf32>, memref<4x4xf32>)
  }
  return
}

// -----

func.func private @k(%a: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @consumed_and_replaced(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{has a result that is consumed or replaced, not both}}
  mpcrt.interleave result(0) consumed replaced {
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>)
    mpcrt.launch @k count(%n) grain(1) args(%o : memref<4x4xf32>)
  }
  return
}

// -----

func.func private @k(%a: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @largest_too(%x: memref<4x8xf32>, %w: memref<8x4xf32>, %o: memref<4x4xf32>, %l: memref<i32>, %n: index) {
  mpcrt.interleave result(0) {
    // expected-error @+1 {{takes no kernel in mpcrt.interleave: a contraction has neither largest, blocks nor bits, and of int8 few weights unless a requantization consumes it, a convolution is no gradient of a filter, and both are on buffers}}
    mpcrt.contract ins(%x, %w : memref<4x8xf32>, memref<8x4xf32>) outs(%o : memref<4x4xf32>) largest(%l : memref<i32>)
    mpcrt.launch @k count(%n) grain(1) args(%o : memref<4x4xf32>)
  }
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @five_numbers(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @no_such_scale(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 4, 3, 0, 255, 0>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @sums_as_numbers(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 0, 0, 255, 0>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @no_bounds(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 7, 7, 0>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @bounds_of_32_bits(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 65536, 0>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @negative_offset(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization that is not [bias or -1, scale, out, low, high, offset] of its launch's arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, -1>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @float_bias(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization of int32 sums with a bias of int32 and scales of float32 into int8, but other arguments}}
  mpcrt.interleave result(0) {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 2, 1, 3, 0, 255, 0>}
  return
}

// -----

func.func private @k(%o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @replaced_sums(%x: memref<4x8xi8>, %w: memref<8x4xi8>, %o: memref<4x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<4x4xi8>, %n: index) {
  // expected-error @+1 {{has a requantization of int32 sums with a bias of int32 and scales of float32 into int8, but other arguments}}
  mpcrt.interleave result(0) replaced {
    mpcrt.contract ins(%x, %w : memref<4x8xi8>, memref<8x4xi8>) outs(%o : memref<4x4xi32>)
    mpcrt.launch @k count(%n) grain(1) args(%o, %b, %s, %q : memref<4x4xi32>, memref<4xi32>, memref<4xf32>, memref<4x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 0>}
  return
}

// -----

func.func private @k(%a: memref<3x1x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @of_a_filter(%x: memref<2x8x1xf32>, %dy: memref<2x6x4xf32>, %dw: memref<3x1x4xf32>, %n: index) {
  mpcrt.interleave result(0) replaced {
    // expected-error @+1 {{takes no kernel in mpcrt.interleave}}
    mpcrt.convolve filter_gradient ins(%x, %dy : memref<2x8x1xf32>, memref<2x6x4xf32>) outs(%dw : memref<3x1x4xf32>) strides [1] padding [0] x [0] dilations [1] groups 1
    mpcrt.launch @k count(%n) grain(1) args(%dw : memref<3x1x4xf32>)
  }
  return
}

// -----
func.func @transposed_rows(%x: memref<8x?xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>, %n: index) {
  mpcrt.parallel_rows count(%n) {
    // expected-error @+1 {{transpose_lhs, largest, blocks, bits, sums and gelu are not for rows}}
    mpcrt.contract ins(%x, %w : memref<8x?xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>) {transpose_lhs}
  }
  return
}
// -----
func.func @weights_of_a_step(%x: memref<?x8xf32>, %w: memref<5x8x4xf32>, %o: memref<?x4xf32>, %n: index, %t: index) {
  mpcrt.parallel_rows count(%n) {
    %now = memref.subview %w[0, 0, 0] [1, 8, 4] [1, 1, 1] : memref<5x8x4xf32> to memref<8x4xf32>
    // expected-error @+1 {{has its right operand and its bias from outside}}
    mpcrt.contract ins(%x, %now : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>)
  }
  return
}
// -----
func.func @rows_in_rows(%n: index) {
  mpcrt.parallel_rows count(%n) {
    // expected-error @+1 {{has no form for a part of the rows}}
    mpcrt.parallel_rows count(%n) {
    }
  }
  return
}
// -----
func.func @attention_extents(%q: memref<?x3x2x8xf16>, %k: memref<?x4x2x8xf16>, %o: memref<?x4x2x8xf16>, %l: memref<?x2x3xf32>) {
  // expected-error @+1 {{disagree in their extents}}
  mpcrt.attend ins(%q, %k, %k : memref<?x3x2x8xf16>, memref<?x4x2x8xf16>, memref<?x4x2x8xf16>) outs(%o, %l : memref<?x4x2x8xf16>, memref<?x2x3xf32>) scale 1.0
  return
}
// -----
func.func @attention_causal_mask(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %m: memref<1x1x3x3xi1>) {
  // expected-error @+1 {{is causal and has a mask}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) mask(%m : memref<1x1x3x3xi1>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0 {causal}
  return
}
// -----
func.func @attention_mask_of_targets(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %m: memref<1x1x3x1xi1>) {
  // expected-error @+1 {{the mask must be [batch, heads, targets, sources]}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) mask(%m : memref<1x1x3x1xi1>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0
  return
}
// -----
func.func @attention_mask_of_heads(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %m: memref<1x3x1x3xi1>) {
  // expected-error @+1 {{the mask's extents must be 1 or those of the scores}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) mask(%m : memref<1x3x1x3xi1>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0
  return
}
// -----
func.func @attention_hides_nothing(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>) {
  // expected-error @+1 {{has hidden_score and hides nothing}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0 {hidden_score = -1.0 : f64}
  return
}
// -----
func.func @attention_kept_without_scale(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %m: memref<?x2x3x3xi1>) {
  // expected-error @+1 {{has kept or keep_scale without the other}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) kept(%m : memref<?x2x3x3xi1>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0
  return
}
// -----
func.func @attention_kept_of_one_head(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf32>, %m: memref<?x1x3x3xi1>) {
  // expected-error @+1 {{kept must be [batch, heads, targets, sources]}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) kept(%m : memref<?x1x3x3xi1>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0 {keep_scale = 2.0 : f64}
  return
}
// -----
func.func @attention_log_sums(%q: memref<?x3x2x8xf16>, %l: memref<?x2x3xf16>) {
  // expected-error @+1 {{log_sums must be float32, or float64 of float64}}
  mpcrt.attend ins(%q, %q, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf16>) scale 1.0
  return
}
// -----
func.func @attention_types(%q: memref<?x3x2x8xf16>, %k: memref<?x3x2x8xf32>, %l: memref<?x2x3xf32>) {
  // expected-error @+1 {{of one element type}}
  mpcrt.attend ins(%q, %k, %q : memref<?x3x2x8xf16>, memref<?x3x2x8xf32>, memref<?x3x2x8xf16>) outs(%q, %l : memref<?x3x2x8xf16>, memref<?x2x3xf32>) scale 1.0
  return
}
// -----
func.func @attention_gradient(%q: memref<?x3x2x8xf16>, %k: memref<?x4x2x8xf16>, %l: memref<?x2x3xf32>) {
  // expected-error @+1 {{the gradient of 'memref<?x3x2x8xf16>' is 'memref<?x4x2x8xf16>'}}
  mpcrt.attend_gradient ins(%q of %q, %l, %q, %q, %q : memref<?x3x2x8xf16>, memref<?x2x3xf32>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) outs(%k, %q, %q : memref<?x4x2x8xf16>, memref<?x3x2x8xf16>, memref<?x3x2x8xf16>) scale 1.0
  return
}
// -----
func.func @float8_without_fraction(%x: memref<?x8xf8E5M2>, %w: memref<8x4xf8E5M2>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{of float8, one operand at least in f8E4M3FN, gives f32, without bias, largest, bits, accumulate or activation}}
  mpcrt.contract ins(%x, %w : memref<?x8xf8E5M2>, memref<8x4xf8E5M2>) outs(%o : memref<?x4xf32>)
  return
}
// -----
func.func @float8_into_float16(%x: memref<?x8xf8E5M2>, %w: memref<8x4xf8E4M3FN>, %o: memref<?x4xf16>) {
  // expected-error @+1 {{of float8, one operand at least in f8E4M3FN, gives f32}}
  mpcrt.contract ins(%x, %w : memref<?x8xf8E5M2>, memref<8x4xf8E4M3FN>) outs(%o : memref<?x4xf16>)
  return
}
// -----
func.func @float8_with_relu(%x: memref<?x8xf8E5M2>, %w: memref<8x4xf8E4M3FN>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{of float8, one operand at least in f8E4M3FN, gives f32, without bias, largest, bits, accumulate or activation}}
  mpcrt.contract ins(%x, %w : memref<?x8xf8E5M2>, memref<8x4xf8E4M3FN>) outs(%o : memref<?x4xf32>) activation(relu)
  return
}
// -----
func.func @float8_accumulates(%x: memref<?x8xf8E5M2>, %w: memref<8x4xf8E4M3FN>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{of float8, one operand at least in f8E4M3FN, gives f32, without bias, largest, bits, accumulate or activation}}
  mpcrt.contract ins(%x, %w : memref<?x8xf8E5M2>, memref<8x4xf8E4M3FN>) outs(%o : memref<?x4xf32>) {accumulate}
  return
}
// -----
func.func @prepared_elsewhere(%m: memref<?xi8>) {
  // expected-error @+1 {{stands in an entry, whose argument mpcrt.prepared is its memory}}
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  return
}
// -----
func.func @prepared_of_nothing(%m: memref<?xi8> {mpcrt.prepared}) {
  // expected-error @+1 {{needs at least a byte, but has 0}}
  mpcrt.prepare %m bytes(0) {
  } : memref<?xi8>
  return
}
// -----
func.func @prepared_outside(%m: memref<?xi8> {mpcrt.prepared}, %n: index) {
  %k = mpcrt.view %m[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<4xf32>
  // expected-error @+1 {{has a view 'memref<4xf32>' outside of its 256 bytes}}
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  return
}
// -----
func.func @prepared_around(%m: memref<?xi8> {mpcrt.prepared}, %n: index) {
  %k = mpcrt.view %m[%n] fixed(9223372036854775807) per_sample(0) : memref<?xi8> -> memref<4xf32>
  // expected-error @+1 {{has a view 'memref<4xf32>' outside of its 256 bytes}}
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  return
}
// -----
func.func @prepared_too_large(%m: memref<?xi8> {mpcrt.prepared}, %n: index) {
  %k = mpcrt.view %m[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4611686018427387904xf32>
  // expected-error @+1 {{has a view 'memref<4611686018427387904xf32>' outside of its 256 bytes}}
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  return
}
// -----
func.func @prepared_twice(%m: memref<?xi8> {mpcrt.prepared}) {
  // expected-error @+1 {{is not the only one of its entry}}
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  mpcrt.prepare %m bytes(256) {
  } : memref<?xi8>
  return
}
// -----
// expected-error @+1 {{mpcrt.prepared is for memref<?xi8>}}
func.func @prepared_as_numbers(%m: memref<?xf32> {mpcrt.prepared}) {
  return
}

// -----

func.func @else_number(%x: f32, %y: f32) -> f32 {
  // expected-error @+1 {{mpcrt.else_number is for arith.select of floats}}
  %z = arith.addf %x, %y {mpcrt.else_number} : f32
  return %z : f32
}

// -----

func.func @concatenate_axis(%a: memref<?x2xf32>, %c: memref<?x4xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  mpcrt.concatenate ins(%a, %a : memref<?x2xf32>, memref<?x2xf32>) outs(%c : memref<?x4xf32>) axis 2
  return
}

// -----

func.func @concatenate_negative_axis(%a: memref<?x2xf32>, %c: memref<?x4xf32>) {
  // expected-error @+1 {{axis -1 is out of range for rank 2}}
  mpcrt.concatenate ins(%a, %a : memref<?x2xf32>, memref<?x2xf32>) outs(%c : memref<?x4xf32>) axis -1
  return
}

// -----

func.func @concatenate_types(%a: memref<2xf16>, %c: memref<2xf32>) {
  // expected-error @+1 {{part 0 has elements of type 'f16', but out of type 'f32'}}
  mpcrt.concatenate ins(%a : memref<2xf16>) outs(%c : memref<2xf32>) axis 0
  return
}

// -----

func.func @concatenate_ranks(%a: memref<2xf32>, %c: memref<2x1xf32>) {
  // expected-error @+1 {{part 0 must have rank 2 and a static extent along the axis}}
  mpcrt.concatenate ins(%a : memref<2xf32>) outs(%c : memref<2x1xf32>) axis 0
  return
}

// -----

func.func @concatenate_batches(%a: memref<?x2xf32>, %c: memref<?x2xf32>) {
  // expected-error @+1 {{part 0 must have rank 2 and a static extent along the axis}}
  mpcrt.concatenate ins(%a : memref<?x2xf32>) outs(%c : memref<?x2xf32>) axis 0
  return
}

// -----

func.func @concatenate_other_extents(%a: memref<3x2xf32>, %c: memref<4x2xf32>) {
  // expected-error @+1 {{part 0 and out differ in dimension 0, which is not the axis}}
  mpcrt.concatenate ins(%a : memref<3x2xf32>) outs(%c : memref<4x2xf32>) axis 1
  return
}

// -----

func.func @concatenate_sum(%a: memref<?x2xf32>, %c: memref<?x4xf32>) {
  // expected-error @+1 {{parts have 2 elements along the axis, but out has 4}}
  mpcrt.concatenate ins(%a : memref<?x2xf32>) outs(%c : memref<?x4xf32>) axis 1
  return
}

// -----

func.func @concatenate_mixed(%a: tensor<?x2xf32>, %c: memref<?x2xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  mpcrt.concatenate ins(%a : tensor<?x2xf32>) outs(%c : memref<?x2xf32>) axis 1
  return
}

// -----

func.func @concatenate_overflow(%a: memref<6917529027641081856xi1>, %c: memref<1xi1>) {
  // expected-error @+1 {{more elements along the axis than 64 bits can count}}
  mpcrt.concatenate ins(%a, %a : memref<6917529027641081856xi1>, memref<6917529027641081856xi1>) outs(%c : memref<1xi1>) axis 0
  return
}

// -----

func.func @scatter_tensor(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{leaves parts of what is in a buffer}}
  %r = mpcrt.reduce_scatter sum outs(%a : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @scatter_mean(%a: memref<8xf32>) {
  // expected-error @+1 {{ranks reduce by sum, max or min, not mean}}
  mpcrt.reduce_scatter mean outs(%a : memref<8xf32>)
  return
}

// -----

func.func @scatter_samples(%a: memref<?xf32>) {
  // expected-error @+1 {{reduces what ranks have in one shape, not the samples of a batch}}
  mpcrt.reduce_scatter sum outs(%a : memref<?xf32>)
  return
}

// -----

func.func @gather_samples(%a: memref<?xf16>) {
  // expected-error @+1 {{gathers what ranks have in one shape, not the samples of a batch}}
  mpcrt.all_gather outs(%a : memref<?xf16>)
  return
}

// -----

func.func @gather_tensor(%a: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error @+1 {{gathers what is in a buffer}}
  %r = mpcrt.all_gather outs(%a : tensor<8xf16>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

func.func @gather_bucket(%a: memref<8xf16>) {
  // expected-error @+1 {{has a negative bucket}}
  mpcrt.all_gather outs(%a : memref<8xf16>) {bucket = -1 : i64}
  return
}

// -----

func.func @own_part() {
  // expected-error @+1 {{has a negative number of elements}}
  %begin, %count = mpcrt.own_part of -1
  return
}

// -----

func.func @reduce_in_bfloat16(%a: memref<8xf32>) {
  // expected-error @+1 {{goes in bfloat16, which sums of f32 alone may}}
  mpcrt.all_reduce max outs(%a : memref<8xf32>) {in_bfloat16}
  return
}

// -----

func.func @summed_by_parts(%x: memref<?x8xf32>, %dy: memref<?x4xf32>, %dw: memref<8x4xf32>) {
  // expected-error @+1 {{with summed_by_parts is a product alone, with transpose_lhs, in f32}}
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {accumulate, summed_by_parts, transpose_lhs}
  return
}

// -----

func.func @turned_shape(%x: memref<?x8xf8E5M2>, %o: memref<?x16xf8E5M2>) {
  // expected-error @+1 {{takes a matrix and one of its shape and element type for the result}}
  mpcrt.turn ins(%x : memref<?x8xf8E5M2>) outs(%o : memref<?x16xf8E5M2>)
  return
}

// -----

// A reader that does not know would multiply other numbers.
func.func @turned_unknown(%x: tensor<16x8xf8E4M3FN>, %w: tensor<8x16xf8E4M3FN>, %e: tensor<8x16xf8E4M3FN>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error @+1 {{gives what only an mpcrt.contract reads that knows of it, as an operand that is turned}}
  %t = mpcrt.turn ins(%w : tensor<8x16xf8E4M3FN>) outs(%e : tensor<8x16xf8E4M3FN>) -> tensor<8x16xf8E4M3FN>
  %y = mpcrt.contract ins(%x, %t : tensor<16x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>) outs(%o : tensor<16x16xf32>) {mpcrt.turned_lhs} -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// -----

func.func @turned_floats(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @+1 {{"mpcrt.turned_rhs" is for mpcrt.contract of matrices of float8}}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%o : memref<?x4xf32>) {mpcrt.turned_rhs}
  return
}

// -----

// expected-error @+1 {{mpcrt.turns is for kernels}}
func.func private @turning() attributes {mpcrt.turns}
