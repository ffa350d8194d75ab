// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/Unit/lib/Autodiff/OpGradientCases.h"

#include <deque>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

/// The window of a convolution; its lists live as long as the program.
ConvolutionWindow window(Dims strides, Dims low, Dims high, Dims dilations, int64_t groups = 1) {
  static std::deque<Dims> kept;
  auto keep = [](Dims list) -> ArrayRef<int64_t> { return kept.emplace_back(std::move(list)); };
  return {keep(strides), keep(low), keep(high), keep(dilations), groups};
}

Case pool(std::string name, std::string shape, ReduceKind kind, Dims size, Dims strides, Dims low,
          Dims high) {
  return {
      std::move(name), {std::move(shape)}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
        return PoolOp::create(b, l, kind, v[0], size, strides, low, high);
      }};
}

Case adaptivePool(std::string name, std::string shape, ReduceKind kind, Dims places) {
  return {
      std::move(name), {std::move(shape)}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
        SmallVector<int64_t> extents(tensorTypeOf(v[0]).getShape());
        llvm::copy(places, extents.begin() + 1);
        ArrayRef<int64_t> none;
        return PoolOp::create(b, l, tensorTypeOf(v[0]).clone(extents), kind, v[0], none, none, none,
                              none);
      }};
}

} // namespace

std::vector<Case> mpc::test::windowCases() {
  std::vector<Case> all;
  auto convolution = [&](std::string name, std::string images, std::string filter,
                         ConvolutionWindow window) {
    all.push_back({"convolution_" + name,
                   {images, filter},
                   [=](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return ConvolutionOp::create(b, l, v[0], v[1], window);
                   }});
  };
  auto valid = window({1}, {0}, {0}, {1});
  auto strided = window({2, 1}, {1, 0}, {0, 2}, {1, 2}, 2);
  auto volume = window({1, 2, 1}, {0, 1, 1}, {1, 0, 0}, {1, 1, 1});
  convolution("1d", "B7K", "3KM", valid);
  convolution("2d_groups_dilated", "B564", "3226", strided);
  convolution("3d", "B443K", "222KM", volume);
  convolution("depthwise", "B65", "315", window({2}, {1}, {0}, {1}, 5));
  // The adjoints' own derivatives.
  all.push_back({"convolution_input_gradient",
                 {"B336", "3226"},
                 [=](OpBuilder &b, Location l, ValueRange v) -> Value {
                   auto type =
                       RankedTensorType::get({ShapedType::kDynamic, 6, 3, 4}, b.getF64Type());
                   return ConvolutionInputGradientOp::create(b, l, type, v[0], v[1], strided);
                 }});
  all.push_back({"convolution_filter_gradient",
                 {"B7K", "B5M"},
                 [=](OpBuilder &b, Location l, ValueRange v) -> Value {
                   auto type = RankedTensorType::get(
                       {3, tensorTypeOf(v[0]).getDimSize(2), tensorTypeOf(v[1]).getDimSize(2)},
                       b.getF64Type());
                   return ConvolutionFilterGradientOp::create(b, l, type, v[0], v[1], valid);
                 }});
  all.push_back(pool("pool_max", "B6N", ReduceKind::Max, {2}, {2}, {0}, {0}));
  all.push_back(
      pool("pool_max_overlapping", "B56N", ReduceKind::Max, {3, 2}, {2, 1}, {1, 0}, {0, 1}));
  all.push_back(pool("pool_max_volume", "B443N", ReduceKind::Max, {2, 2, 3}, {2, 1, 1}, {0, 0, 0},
                     {0, 0, 0}));
  all.push_back(pool("pool_mean", "B56N", ReduceKind::Mean, {2, 3}, {2, 2}, {0, 1}, {1, 1}));
  all.push_back(pool("pool_mean_gaps", "B9N", ReduceKind::Mean, {2}, {3}, {0}, {0}));
  all.push_back(adaptivePool("pool_adaptive_mean", "B75N", ReduceKind::Mean, {3, 7}));
  all.push_back(adaptivePool("pool_adaptive_max", "B7N", ReduceKind::Max, {3}));
  all.push_back({"resample", {"B35N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
                   ResampleTable rows, columns;
                   rows.axis = 1;
                   rows.taps = 2;
                   rows.indices = {0, 0, 0, 1, 2, -1, 1, 2};
                   rows.weights = {0.5, 0.5, 0.25, 0.75, 1, 0, -0.5, 1.5};
                   columns.axis = 2;
                   columns.indices = {4, 4, 0, -1, 1, 2};
                   return ResampleOp::create(b, l, v[0], ArrayRef<ResampleTable>{rows, columns});
                 }});
  return all;
}
