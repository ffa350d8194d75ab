// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/texts.h"

#include "runtime/rules/text_width.h"

#include <algorithm>
#include <cstring>

namespace mpc::data {

/// "[3, 1]": the place of a text in the tensor of texts; "" in a tensor of one.
static std::string placeOf(const Array &texts, int64_t number) {
  const std::vector<int64_t> shape = texts.shape();
  std::vector<int64_t> place(shape.size());
  for (size_t d = shape.size(); d-- > 0; number /= shape[d])
    place[d] = number % shape[d];
  return shape.empty() ? "" : " " + formatShape(place);
}

Status checkTexts(const Array &texts, const std::string &place) {
  const int64_t width = texts.dims().back();
  const int32_t *points = texts.as<int32_t>();
  for (int64_t i = 0, count = texts.elements(); i < count; ++i) {
    const bool isPoint = points[i] >= 0 && points[i] < rules::codePointLimit;
    if (isPoint && (!points[i] || i % width == 0 || points[i - 1]))
      continue;
    return Failure(place + ": the text" + placeOf(texts, i / width) +
                   (isPoint ? " has U+0000 inside, where it would end"
                            : " has a character that Unicode does not have") +
                   "; expected text; write it again");
  }
  return Status();
}

/// How many code points the text has.
static int64_t lengthOf(const int32_t *points, int64_t width) {
  return std::find(points, points + width, 0) - points;
}

Result<Array> fitTexts(const Array &texts, int64_t width, const std::string &label) {
  std::vector<int64_t> dims = texts.dims();
  const int64_t own = dims.back();
  if (own == width)
    return texts;
  dims.back() = width;
  Result<Array> fitted = Array::allocate(MPC_RT_INT32, dims);
  if (!fitted)
    return fitted;
  fitted->setText();
  const int64_t count = own ? texts.elements() / own : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t *points = texts.as<int32_t>() + i * own;
    const int64_t length = lengthOf(points, own);
    if (length > width)
      return Failure(
          "the text" + placeOf(texts, i) + " has " + std::to_string(length) +
          " characters; expected at most " + std::to_string(width) + " for " + label +
          "; shorten it, or compile the model with --text-width=" + std::to_string(length));
    std::memcpy(fitted->as<int32_t>() + i * width, points,
                static_cast<size_t>(length) * sizeof(int32_t));
  }
  return fitted;
}

std::string textAt(const Array &texts, int64_t index) {
  const int64_t width = texts.dims().back();
  const int32_t *points = texts.as<int32_t>() + index * width;
  std::string text;
  for (int64_t i = 0, length = lengthOf(points, width); i < length; ++i) {
    const auto point = static_cast<uint32_t>(points[i]);
    const auto rest = [&](unsigned shift) {
      text += static_cast<char>(0x80 | ((point >> shift) & 0x3f));
    };
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else if (point < 0x800) {
      text += static_cast<char>(0xc0 | point >> 6);
      rest(0);
    } else if (point < 0x10000) {
      text += static_cast<char>(0xe0 | point >> 12);
      rest(6);
      rest(0);
    } else {
      text += static_cast<char>(0xf0 | point >> 18);
      rest(12);
      rest(6);
      rest(0);
    }
  }
  return text;
}

} // namespace mpc::data
