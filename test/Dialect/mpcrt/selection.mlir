// RUN: mpc-opt %s --split-input-file --verify-diagnostics | mpc-opt --split-input-file | FileCheck %s
// mpcrt.compact and mpcrt.select_boxes: forms that read back, and what verifiers refuse.

// CHECK-LABEL: func.func @on_buffers
func.func @on_buffers(%m: memref<8xi1>, %p: memref<8xi64>, %n: memref<i64>, %b: memref<?x9x4xf32>, %s: memref<?x3x9xf16>, %o: memref<f32>, %i: memref<?x3x5xi32>, %l: memref<?x3x9xi32>) {
  // CHECK: mpcrt.compact ins(%{{.*}} : memref<8xi1>) outs(%{{.*}}, %{{.*}} : memref<8xi64>, memref<i64>)
  mpcrt.compact ins(%m : memref<8xi1>) outs(%p, %n : memref<8xi64>, memref<i64>)
  // CHECK: mpcrt.select_boxes ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<?x9x4xf32>, memref<?x3x9xf16>, memref<f32>) least(%{{.*}} : memref<f32>) outs(%{{.*}}, %{{.*}} : memref<?x3x5xi32>, memref<?x3x9xi32>)
  mpcrt.select_boxes ins(%b, %s, %o : memref<?x9x4xf32>, memref<?x3x9xf16>, memref<f32>) least(%o : memref<f32>) outs(%i, %l : memref<?x3x5xi32>, memref<?x3x9xi32>)
  return
}

// -----

func.func @other_extent(%m: memref<8xi1>, %p: memref<7xi64>, %n: memref<i64>) {
  // expected-error@+1 {{takes a mask of known extent, places of its shape and a count without dimensions}}
  mpcrt.compact ins(%m : memref<8xi1>) outs(%p, %n : memref<7xi64>, memref<i64>)
  return
}

// -----

func.func @narrow_places(%m: memref<8xi1>, %p: memref<8xi32>, %n: memref<i64>) {
  // expected-error@+1 {{gives places and a count of i64}}
  mpcrt.compact ins(%m : memref<8xi1>) outs(%p, %n : memref<8xi32>, memref<i64>)
  return
}

// -----

func.func @other_boxes(%b: memref<2x8x4xf32>, %s: memref<2x3x9xf32>, %o: memref<f32>, %i: memref<2x3x5xi32>, %l: memref<2x3x9xi32>) {
  // expected-error@+1 {{takes boxes [batch, boxes, 4] and scores [batch, classes, boxes]}}
  mpcrt.select_boxes ins(%b, %s, %o : memref<2x8x4xf32>, memref<2x3x9xf32>, memref<f32>) outs(%i, %l : memref<2x3x5xi32>, memref<2x3x9xi32>)
  return
}

// -----

func.func @little_left(%b: memref<2x9x4xf32>, %s: memref<2x3x9xf32>, %o: memref<f32>, %i: memref<2x3x5xi32>, %l: memref<2x3x5xi32>) {
  // expected-error@+1 {{gives picks [batch, classes, limit] and has scores [batch, classes, boxes] left}}
  mpcrt.select_boxes ins(%b, %s, %o : memref<2x9x4xf32>, memref<2x3x9xf32>, memref<f32>) outs(%i, %l : memref<2x3x5xi32>, memref<2x3x5xi32>)
  return
}

// -----

func.func @wide_numbers(%b: memref<2x9x4xf32>, %s: memref<2x3x9xf32>, %o: memref<f32>, %i: memref<2x3x5xi64>, %l: memref<2x3x9xi32>) {
  // expected-error@+1 {{numbers boxes in i32}}
  mpcrt.select_boxes ins(%b, %s, %o : memref<2x9x4xf32>, memref<2x3x9xf32>, memref<f32>) outs(%i, %l : memref<2x3x5xi64>, memref<2x3x9xi32>)
  return
}

// -----

func.func @several_thresholds(%b: memref<2x9x4xf32>, %s: memref<2x3x9xf32>, %o: memref<2xf32>, %i: memref<2x3x5xi32>, %l: memref<2x3x9xi32>) {
  // expected-error@+1 {{compares with numbers without dimensions}}
  mpcrt.select_boxes ins(%b, %s, %o : memref<2x9x4xf32>, memref<2x3x9xf32>, memref<2xf32>) outs(%i, %l : memref<2x3x5xi32>, memref<2x3x9xi32>)
  return
}
