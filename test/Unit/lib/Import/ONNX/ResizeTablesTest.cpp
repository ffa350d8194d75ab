// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of a resized axis come from, at its ends.
#include "lib/Import/ONNX/Ops/ResizeTables.h"

#include <gtest/gtest.h>

using namespace mpc::onnx;

namespace {

ResizedAxis makeAxis(int64_t extent, int64_t places) {
  ResizedAxis axis;
  axis.extent = extent;
  axis.places = places;
  axis.scale = double(places) / double(extent);
  return axis;
}

// A neighbour that exclude_outside leaves out says nothing of the place itself.
TEST(ResizeTables, ExcludedNeighboursDoNotPutAPlaceOutside) {
  Resizing resizing;
  resizing.mode = Resizing::Mode::Cubic;
  resizing.coordinates = Resizing::Coordinates::CropAndResize;
  resizing.excludesOutside = true;
  ResizedAxis axis = makeAxis(4, 4);
  const mpc::ResampleTable table = tabulate(resizing, axis);
  EXPECT_EQ(table.indices.front(), -1);
  for (int64_t place = 0; place < axis.places; ++place)
    EXPECT_FALSE(isOutside(resizing, axis, place)) << place;
  axis.begin = 0.25;
  axis.end = 1.25;
  EXPECT_FALSE(isOutside(resizing, axis, 0));
  EXPECT_TRUE(isOutside(resizing, axis, 3));
}

TEST(ResizeTables, OnePlaceOfPytorchHalfPixelIsTheFirstElement) {
  Resizing resizing;
  resizing.mode = Resizing::Mode::Cubic;
  resizing.coordinates = Resizing::Coordinates::PytorchHalfPixel;
  const mpc::ResampleTable table = tabulate(resizing, makeAxis(4, 1));
  const llvm::SmallVector<int64_t> indices = {0, 0, 0, 1};
  const llvm::SmallVector<double> weights = {0, 0, 1, 0};
  EXPECT_EQ(table.indices, indices);
  for (size_t tap = 0; tap < weights.size(); ++tap)
    EXPECT_DOUBLE_EQ(table.weights[tap], weights[tap]) << tap;
}

} // namespace
