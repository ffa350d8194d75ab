// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/DataRanges.h"
#include "runtime/data/convert.h"
#include "runtime/data/source.h"
#include "tools/DataErrors.h"
#include <algorithm>
#include <cmath>

using namespace mpc;

llvm::Expected<InputRanges> mpc::rangesOfData(const std::string &path) {
  data::Result<data::Source> source = data::readSource(path, data::Split::Evaluate, {});
  if (!source)
    return toError(source.failure());
  InputRanges ranges;
  if (source->kind == data::Source::Kind::IdxFolder) {
    ranges["x0"] = {0, 1};
    return ranges;
  }
  for (const auto &[name, array] : source->arrays) {
    std::pair<double, double> range{0, 0};
    bool isFinite = array.elements() > 0;
    for (int64_t i = 0; i < array.elements() && isFinite; ++i) {
      const double value = data::elementAsDouble(array, i);
      isFinite = std::isfinite(value);
      // A model of float32 gets it rounded.
      const double rounded = double(float(value));
      range.first = std::min({i ? range.first : value, value, rounded});
      range.second = std::max({i ? range.second : value, value, rounded});
    }
    if (isFinite)
      ranges[name] = range;
  }
  return ranges;
}
