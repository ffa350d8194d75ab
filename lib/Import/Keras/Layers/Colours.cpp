// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/Colours.h"

namespace mpc::keras {

using mlir::Value;

Colours splitColours(ValueBuilder &b, Value images) {
  Colours channels;
  for (int64_t channel = 0; channel < 3; ++channel)
    channels[channel] = b.make<SliceOp>(images, /*axis=*/3, channel, /*size=*/1);
  return channels;
}

Colours toHueSaturationValue(ValueBuilder &b, Value images) {
  auto [red, green, blue] = splitColours(b, images);
  Value zero = b.makeConstant(0), one = b.makeConstant(1);
  Value value = b.make<MaximumOp>(b.make<MaximumOp>(red, green), blue);
  Value range = b.make<SubtractOp>(value, b.make<MinimumOp>(b.make<MinimumOp>(red, green), blue));
  auto divisor = [&](Value x) { return b.makeSelect(ComparePredicate::GT, x, zero, x, one); };
  Value saturation = b.makeSelect(ComparePredicate::GT, value, zero,
                                  b.make<DivideOp>(range, divisor(value)), zero);
  Value scale =
      b.make<MultiplyOp>(b.make<DivideOp>(one, divisor(range)), b.makeConstant(1.0 / 6.0));
  auto between = [&](Value from, Value to, double offset) {
    Value angle = b.make<MultiplyOp>(scale, b.make<SubtractOp>(to, from));
    return offset == 0 ? angle : b.make<AddOp>(angle, b.makeConstant(offset));
  };
  Value hue = b.makeSelect(ComparePredicate::EQ, green, value, between(red, blue, 2.0 / 6.0),
                           between(green, red, 4.0 / 6.0));
  hue = b.makeSelect(ComparePredicate::EQ, red, value, between(blue, green, 0), hue);
  hue = b.makeSelect(ComparePredicate::GT, range, zero, hue, zero);
  hue = b.makeSelect(ComparePredicate::LT, hue, zero, b.make<AddOp>(hue, one), hue);
  return {hue, saturation, value};
}

Value toImages(ValueBuilder &b, const Colours &colours) {
  Value hue = colours[0], saturation = colours[1], value = colours[2];
  Value sixths = b.make<MultiplyOp>(hue, b.makeConstant(6)), one = b.makeConstant(1),
        rest = b.make<SubtractOp>(one, saturation);
  auto channel = [&](double centre, double sign, double offset) {
    Value distance = b.make<AbsOp>(b.make<SubtractOp>(sixths, b.makeConstant(centre)));
    if (sign < 0)
      distance = b.make<NegateOp>(distance);
    Value part = b.make<AddOp>(distance, b.makeConstant(offset));
    part = b.make<MinimumOp>(b.make<MaximumOp>(part, b.makeConstant(0)), one);
    return b.make<MultiplyOp>(b.make<AddOp>(rest, b.make<MultiplyOp>(saturation, part)), value);
  };
  Value channels[] = {channel(3, 1, -1), channel(2, -1, 2), channel(4, -1, 2)};
  return b.make<ConcatenateOp>(mlir::ValueRange(channels), int64_t(3));
}

} // namespace mpc::keras
