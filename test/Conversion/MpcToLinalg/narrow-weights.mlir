// RUN: mpc-opt %s --convert-mpc-to-linalg=narrow-weights=true | FileCheck %s
// RUN: mpc-opt %s --convert-mpc-to-linalg | FileCheck %s --check-prefix=WIDE
// Products read variables of integers as they are stored; other integers are cast.

mpc.variable @w : tensor<8x6xi8> role non_trainable
mpc.variable @p : tensor<8x3xi8> role non_trainable
mpc.variable @s : tensor<2x6xf32> role non_trainable
mpc.variable @z : tensor<2x6xi8> role non_trainable
mpc.variable @g : tensor<8xf32> role non_trainable

// CHECK-LABEL: func.func @bytes
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x6xi8>) outs(%{{.*}} : tensor<?x6xbf16>)
// WIDE-LABEL: func.func @bytes
// WIDE: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x6xbf16>)
func.func @bytes(%x: tensor<?x8xbf16>, %w: tensor<8x6xi8> {mpc.variable = @w}) -> tensor<?x6xbf16> attributes {mpc.entry} {
  %c = mpc.cast %w : tensor<8x6xi8> to tensor<8x6xbf16>
  %y = mpc.contract %x, %c contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x6xbf16>) -> tensor<?x6xbf16>
  return %y : tensor<?x6xbf16>
}

// Two numbers per byte, of an odd number of columns.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x3xi8>) outs(%{{.*}} : tensor<?x5xf32>)
func.func @halves(%x: tensor<?x2x8xf32>, %p: tensor<8x3xi8> {mpc.variable = @p}) -> tensor<?x2x5xf32> attributes {mpc.entry} {
  %u = mpc.unpack_int4 %p {extent = 5 : i64} : tensor<8x3xi8> -> tensor<8x5xi8>
  %c = mpc.cast %u : tensor<8x5xi8> to tensor<8x5xf32>
  %y = mpc.contract %x, %c contracting [2] x [0] : (tensor<?x2x8xf32>, tensor<8x5xf32>) -> tensor<?x2x5xf32>
  return %y : tensor<?x2x5xf32>
}

// As EinsumDense has them: the matrix is that of all columns.
// CHECK-LABEL: func.func @reshaped_halves
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x3xi8>) outs(%{{.*}} : tensor<?x6xf32>)
func.func @reshaped_halves(%x: tensor<?x8xf32>, %p: tensor<8x3xi8> {mpc.variable = @p}) -> tensor<?x2x3xf32> attributes {mpc.entry} {
  %u = mpc.unpack_int4 %p {extent = 6 : i64} : tensor<8x3xi8> -> tensor<8x6xi8>
  %c = mpc.cast %u : tensor<8x6xi8> to tensor<8x6xf32>
  %k = mpc.reshape %c : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x3xf32>) -> tensor<?x2x3xf32>
  return %y : tensor<?x2x3xf32>
}

// Whole bytes in another shape are not what the library reads.
// CHECK-LABEL: func.func @reshaped_bytes
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x6xf32>)
func.func @reshaped_bytes(%x: tensor<?x8xf32>, %w: tensor<8x6xi8> {mpc.variable = @w}) -> tensor<?x2x3xf32> attributes {mpc.entry} {
  %c = mpc.cast %w : tensor<8x6xi8> to tensor<8x6xf32>
  %k = mpc.reshape %c : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x3xf32>) -> tensor<?x2x3xf32>
  return %y : tensor<?x2x3xf32>
}

// Blocks of scales and zeros, behind a reshape as EinsumDense has it.
// CHECK-LABEL: func.func @blocks
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x3xi8>) blocks(%arg2, %arg3, %arg4 : tensor<2x6xf32>, tensor<2x6xi8>, tensor<8xf32>) outs(%{{.*}} : tensor<?x6xf32>)
// WIDE-LABEL: func.func @blocks
// WIDE: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x6xf32>)
func.func @blocks(%x: tensor<?x8xf32>, %p: tensor<8x3xi8> {mpc.variable = @p}, %s: tensor<2x6xf32> {mpc.variable = @s},
                  %z: tensor<2x6xi8> {mpc.variable = @z}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x2x3xf32> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %u = mpc.unpack_int4 %p {extent = 6 : i64} : tensor<8x3xi8> -> tensor<8x6xi8>
  %zg = mpc.gather %z, %i {axis = 0 : i64} : tensor<2x6xi8>, tensor<8xi32> -> tensor<8x6xi8>
  %zf = mpc.cast %zg : tensor<8x6xi8> to tensor<8x6xf32>
  %uf = mpc.cast %u : tensor<8x6xi8> to tensor<8x6xf32>
  %d = mpc.subtract %uf, %zf : tensor<8x6xf32>, tensor<8x6xf32>
  %sg = mpc.gather %s, %i {axis = 0 : i64} : tensor<2x6xf32>, tensor<8xi32> -> tensor<8x6xf32>
  %w = mpc.multiply %d, %sg : tensor<8x6xf32>, tensor<8x6xf32>
  %k = mpc.reshape %w : tensor<8x6xf32> -> tensor<8x2x3xf32>
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x3xf32>) -> tensor<?x2x3xf32>
  return %y : tensor<?x2x3xf32>
}

// The second dimension is contracted: the packed rows are not those of the product.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT: blocks(
// CHECK: return
func.func @transposed(%x: tensor<?x6xf32>, %p: tensor<8x3xi8> {mpc.variable = @p}, %s: tensor<2x6xf32> {mpc.variable = @s},
                      %z: tensor<2x6xi8> {mpc.variable = @z}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x8xf32> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %u = mpc.unpack_int4 %p {extent = 6 : i64} : tensor<8x3xi8> -> tensor<8x6xi8>
  %zg = mpc.gather %z, %i {axis = 0 : i64} : tensor<2x6xi8>, tensor<8xi32> -> tensor<8x6xi8>
  %zf = mpc.cast %zg : tensor<8x6xi8> to tensor<8x6xf32>
  %uf = mpc.cast %u : tensor<8x6xi8> to tensor<8x6xf32>
  %d = mpc.subtract %uf, %zf : tensor<8x6xf32>, tensor<8x6xf32>
  %sg = mpc.gather %s, %i {axis = 0 : i64} : tensor<2x6xf32>, tensor<8xi32> -> tensor<8x6xf32>
  %w = mpc.multiply %d, %sg : tensor<8x6xf32>, tensor<8x6xf32>
  %y = mpc.contract %x, %w contracting [1] x [1] : (tensor<?x6xf32>, tensor<8x6xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// What no variable holds is unpacked and cast.
// CHECK-LABEL: func.func @computed
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x6xf32>)
func.func @computed(%x: tensor<?x8xf32>, %q: tensor<8x6xi8>) -> tensor<?x6xf32> attributes {mpc.entry} {
  %c = mpc.cast %q : tensor<8x6xi8> to tensor<8x6xf32>
  %y = mpc.contract %x, %c contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x6xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// As gptq and awq store them: [columns / 2, rows] bytes of numbers from 0 to 15, tables by columns.
mpc.variable @pu : tensor<3x8xui8> role non_trainable
mpc.variable @su : tensor<6x2xbf16> role non_trainable
mpc.variable @zu : tensor<6x2xui8> role non_trainable
mpc.variable @a : tensor<8xbf16> role non_trainable
mpc.variable @b : tensor<6xbf16> role non_trainable

// CHECK-LABEL: func.func @groups
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %arg1 : tensor<?x8xbf16>, tensor<3x8xi8>) blocks(%arg2, %arg3, %arg4 : tensor<6x2xbf16>, tensor<6x2xi8>, tensor<8xf32>) outs(%{{.*}} : tensor<?x6xbf16>) {{.*}}transpose_rhs
// WIDE-LABEL: func.func @groups
// WIDE: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x6xbf16>)
func.func @groups(%x: tensor<?x8xbf16>, %p: tensor<3x8xui8> {mpc.variable = @pu}, %s: tensor<6x2xbf16> {mpc.variable = @su},
                  %z: tensor<6x2xui8> {mpc.variable = @zu}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x2x3xbf16> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %pt = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<3x8xui8> -> tensor<8x3xui8>
  %st = mpc.transpose %s {permutation = array<i64: 1, 0>} : tensor<6x2xbf16> -> tensor<2x6xbf16>
  %zt = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<6x2xui8> -> tensor<2x6xui8>
  %u = mpc.unpack_int4 %pt {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  %zg = mpc.gather %zt, %i {axis = 0 : i64} : tensor<2x6xui8>, tensor<8xi32> -> tensor<8x6xui8>
  %zf = mpc.cast %zg : tensor<8x6xui8> to tensor<8x6xbf16>
  %uf = mpc.cast %u : tensor<8x6xui8> to tensor<8x6xbf16>
  %d = mpc.subtract %uf, %zf : tensor<8x6xbf16>, tensor<8x6xbf16>
  %sg = mpc.gather %st, %i {axis = 0 : i64} : tensor<2x6xbf16>, tensor<8xi32> -> tensor<8x6xbf16>
  %w = mpc.multiply %d, %sg : tensor<8x6xbf16>, tensor<8x6xbf16>
  %k = mpc.reshape %w : tensor<8x6xbf16> -> tensor<8x2x3xbf16>
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x2x3xbf16>) -> tensor<?x2x3xbf16>
  return %y : tensor<?x2x3xbf16>
}

// gptq of 2, 3 and 8 bits: a byte per number.
mpc.variable @pb : tensor<6x8xui8> role non_trainable

// CHECK-LABEL: func.func @bytes_of_groups
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %arg1 : tensor<?x8xbf16>, tensor<6x8xi8>) blocks(%arg2, %arg3, %arg4 : tensor<6x2xbf16>, tensor<6x2xi8>, tensor<8xf32>) outs(%{{.*}} : tensor<?x6xbf16>) {{.*}}transpose_rhs
// WIDE-LABEL: func.func @bytes_of_groups
// WIDE: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x6xbf16>)
func.func @bytes_of_groups(%x: tensor<?x8xbf16>, %p: tensor<6x8xui8> {mpc.variable = @pb}, %s: tensor<6x2xbf16> {mpc.variable = @su},
                           %z: tensor<6x2xui8> {mpc.variable = @zu}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x2x3xbf16> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %pt = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<6x8xui8> -> tensor<8x6xui8>
  %st = mpc.transpose %s {permutation = array<i64: 1, 0>} : tensor<6x2xbf16> -> tensor<2x6xbf16>
  %zt = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<6x2xui8> -> tensor<2x6xui8>
  %zg = mpc.gather %zt, %i {axis = 0 : i64} : tensor<2x6xui8>, tensor<8xi32> -> tensor<8x6xui8>
  %zf = mpc.cast %zg : tensor<8x6xui8> to tensor<8x6xbf16>
  %pf = mpc.cast %pt : tensor<8x6xui8> to tensor<8x6xbf16>
  %d = mpc.subtract %pf, %zf : tensor<8x6xbf16>, tensor<8x6xbf16>
  %sg = mpc.gather %st, %i {axis = 0 : i64} : tensor<2x6xbf16>, tensor<8xi32> -> tensor<8x6xbf16>
  %w = mpc.multiply %d, %sg : tensor<8x6xbf16>, tensor<8x6xbf16>
  %k = mpc.reshape %w : tensor<8x6xbf16> -> tensor<8x2x3xbf16>
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x2x3xbf16>) -> tensor<?x2x3xbf16>
  return %y : tensor<?x2x3xbf16>
}

// Signed bytes with scales of blocks are no form that Keras has.
mpc.variable @ps : tensor<8x6xi8> role non_trainable

// CHECK-LABEL: func.func @signed_bytes
// CHECK-NOT: blocks(
// CHECK: return
func.func @signed_bytes(%x: tensor<?x8xf32>, %p: tensor<8x6xi8> {mpc.variable = @ps}, %s: tensor<2x6xf32> {mpc.variable = @s},
                        %z: tensor<2x6xi8> {mpc.variable = @z}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x6xf32> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %zg = mpc.gather %z, %i {axis = 0 : i64} : tensor<2x6xi8>, tensor<8xi32> -> tensor<8x6xi8>
  %zf = mpc.cast %zg : tensor<8x6xi8> to tensor<8x6xf32>
  %uf = mpc.cast %p : tensor<8x6xi8> to tensor<8x6xf32>
  %d = mpc.subtract %uf, %zf : tensor<8x6xf32>, tensor<8x6xf32>
  %sg = mpc.gather %s, %i {axis = 0 : i64} : tensor<2x6xf32>, tensor<8xi32> -> tensor<8x6xf32>
  %w = mpc.multiply %d, %sg : tensor<8x6xf32>, tensor<8x6xf32>
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x6xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// What divides the rows, of awq, comes in float32.
// CHECK-LABEL: func.func @divided_groups
// CHECK: %[[DIVISORS:.*]] = linalg.generic {{.*}} ins(%arg5 : tensor<8xbf16>) outs(%{{.*}} : tensor<8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: mpcrt.contract ins(%{{.*}}, %arg1 : tensor<?x8xbf16>, tensor<3x8xi8>) blocks(%arg2, %arg3, %arg4 : tensor<6x2xbf16>, tensor<6x2xi8>, tensor<8xf32>) divided(%[[DIVISORS]] : tensor<8xf32>) outs(%{{.*}} : tensor<?x6xbf16>) {{.*}}transpose_rhs
func.func @divided_groups(%x: tensor<?x8xbf16>, %p: tensor<3x8xui8> {mpc.variable = @pu}, %s: tensor<6x2xbf16> {mpc.variable = @su},
                          %z: tensor<6x2xui8> {mpc.variable = @zu}, %g: tensor<8xf32> {mpc.variable = @g}, %a: tensor<8xbf16> {mpc.variable = @a}) -> tensor<?x6xbf16> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %pt = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<3x8xui8> -> tensor<8x3xui8>
  %st = mpc.transpose %s {permutation = array<i64: 1, 0>} : tensor<6x2xbf16> -> tensor<2x6xbf16>
  %zt = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<6x2xui8> -> tensor<2x6xui8>
  %u = mpc.unpack_int4 %pt {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  %zg = mpc.gather %zt, %i {axis = 0 : i64} : tensor<2x6xui8>, tensor<8xi32> -> tensor<8x6xui8>
  %zf = mpc.cast %zg : tensor<8x6xui8> to tensor<8x6xbf16>
  %uf = mpc.cast %u : tensor<8x6xui8> to tensor<8x6xbf16>
  %d = mpc.subtract %uf, %zf : tensor<8x6xbf16>, tensor<8x6xbf16>
  %sg = mpc.gather %st, %i {axis = 0 : i64} : tensor<2x6xbf16>, tensor<8xi32> -> tensor<8x6xbf16>
  %w = mpc.multiply %d, %sg : tensor<8x6xbf16>, tensor<8x6xbf16>
  %ac = mpc.reshape %a : tensor<8xbf16> -> tensor<8x1xbf16>
  %v = mpc.divide %w, %ac : tensor<8x6xbf16>, tensor<8x1xbf16>
  %y = mpc.contract %x, %v contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x6xbf16>) -> tensor<?x6xbf16>
  return %y : tensor<?x6xbf16>
}

// Columns that are divided are not what the library knows.
// CHECK-LABEL: func.func @divided_columns
// CHECK-NOT: blocks(
// CHECK: return
func.func @divided_columns(%x: tensor<?x8xbf16>, %p: tensor<3x8xui8> {mpc.variable = @pu}, %s: tensor<6x2xbf16> {mpc.variable = @su},
                           %z: tensor<6x2xui8> {mpc.variable = @zu}, %g: tensor<8xf32> {mpc.variable = @g}, %a: tensor<6xbf16> {mpc.variable = @b}) -> tensor<?x6xbf16> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %pt = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<3x8xui8> -> tensor<8x3xui8>
  %st = mpc.transpose %s {permutation = array<i64: 1, 0>} : tensor<6x2xbf16> -> tensor<2x6xbf16>
  %zt = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<6x2xui8> -> tensor<2x6xui8>
  %u = mpc.unpack_int4 %pt {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  %zg = mpc.gather %zt, %i {axis = 0 : i64} : tensor<2x6xui8>, tensor<8xi32> -> tensor<8x6xui8>
  %zf = mpc.cast %zg : tensor<8x6xui8> to tensor<8x6xbf16>
  %uf = mpc.cast %u : tensor<8x6xui8> to tensor<8x6xbf16>
  %d = mpc.subtract %uf, %zf : tensor<8x6xbf16>, tensor<8x6xbf16>
  %sg = mpc.gather %st, %i {axis = 0 : i64} : tensor<2x6xbf16>, tensor<8xi32> -> tensor<8x6xbf16>
  %w = mpc.multiply %d, %sg : tensor<8x6xbf16>, tensor<8x6xbf16>
  %v = mpc.divide %w, %a : tensor<8x6xbf16>, tensor<6xbf16>
  %y = mpc.contract %x, %v contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x6xbf16>) -> tensor<?x6xbf16>
  return %y : tensor<?x6xbf16>
}

// Unsigned numbers whose scales lie the other way are unpacked as before.
// CHECK-LABEL: func.func @mixed_layouts
// CHECK-NOT: blocks(
// CHECK: return
func.func @mixed_layouts(%x: tensor<?x8xf32>, %p: tensor<3x8xui8> {mpc.variable = @pu}, %s: tensor<2x6xf32> {mpc.variable = @s},
                         %z: tensor<6x2xui8> {mpc.variable = @zu}, %g: tensor<8xf32> {mpc.variable = @g}) -> tensor<?x6xf32> attributes {mpc.entry} {
  %i = mpc.cast %g : tensor<8xf32> to tensor<8xi32>
  %pt = mpc.transpose %p {permutation = array<i64: 1, 0>} : tensor<3x8xui8> -> tensor<8x3xui8>
  %zt = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<6x2xui8> -> tensor<2x6xui8>
  %u = mpc.unpack_int4 %pt {extent = 6 : i64} : tensor<8x3xui8> -> tensor<8x6xui8>
  %zg = mpc.gather %zt, %i {axis = 0 : i64} : tensor<2x6xui8>, tensor<8xi32> -> tensor<8x6xui8>
  %zf = mpc.cast %zg : tensor<8x6xui8> to tensor<8x6xf32>
  %uf = mpc.cast %u : tensor<8x6xui8> to tensor<8x6xf32>
  %d = mpc.subtract %uf, %zf : tensor<8x6xf32>, tensor<8x6xf32>
  %sg = mpc.gather %s, %i {axis = 0 : i64} : tensor<2x6xf32>, tensor<8xi32> -> tensor<8x6xf32>
  %w = mpc.multiply %d, %sg : tensor<8x6xf32>, tensor<8x6xf32>
  %y = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x6xf32>) -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// Unsigned bytes that no scale makes numbers of are cast: the library reads signed ones.
mpc.variable @wu : tensor<8x6xui8> role non_trainable
// CHECK-LABEL: func.func @unsigned_bytes
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x6xbf16>)
func.func @unsigned_bytes(%x: tensor<?x8xbf16>, %w: tensor<8x6xui8> {mpc.variable = @wu}) -> tensor<?x6xbf16> attributes {mpc.entry} {
  %c = mpc.cast %w : tensor<8x6xui8> to tensor<8x6xbf16>
  %y = mpc.contract %x, %c contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x6xbf16>) -> tensor<?x6xbf16>
  return %y : tensor<?x6xbf16>
}
