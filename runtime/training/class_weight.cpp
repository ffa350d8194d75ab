// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and applying class weights.
#include "runtime/training/class_weight.h"

#include "runtime/data/convert.h"
#include "runtime/data/gather.h"
#include "runtime/data/input_file.h"
#include "runtime/data/json_guard.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace mpc::training {

using data::Array;
using data::Column;
using data::Failure;
using data::Result;
using data::Status;

Result<ClassWeights> readClassWeights(const std::string &path) {
  Result<std::string> text = data::readWholeFile(path, 1 << 26);
  if (!text)
    return text.failure();
  const char *expected = "; expected a JSON object such as {\"0\": 1.0, \"1\": 2.5}";
  if (std::string wrong = data::checkJson(text->data(), text->size(), 4); !wrong.empty())
    return Failure(path + ": " + wrong + expected);
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object())
    return Failure(path + ": is no object" + expected);
  ClassWeights weights;
  Failure failure;
  for (const auto &[key, value] : json.items()) {
    int64_t index = -1;
    auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || rest != key.data() + key.size() || index < 0)
      failure.append(Failure(path + ":" + key + ": is no class index" + expected));
    else if (!value.is_number() || !(value.get<double>() >= 0) ||
             value.get<double>() > static_cast<double>(std::numeric_limits<float>::max()))
      failure.append(
          Failure(path + ":" + key + ": has no weight from 0 on that float32 can hold" + expected));
    else
      weights[index] = value.get<double>();
  }
  if (!failure.empty())
    return failure;
  return weights;
}

/// Keras takes the class of [rows] and [rows, 1], and the largest of [rows, classes]; of more
/// classes in a row it has no one weight.
static Status checkHasOneClass(const Column &target, const std::string &path) {
  const std::vector<int64_t> &dims = target.spec.dims;
  const bool isNumber = dims.empty() || (dims.size() == 1 && dims[0] == 1);
  if (isNumber || (dims.size() == 1 && data::isFloating(target.spec.dtype)))
    return Status();
  std::string shape = "rows";
  for (int64_t dim : dims)
    shape += ", " + std::to_string(dim);
  return Failure(path + ": cannot be used: the target '" + target.spec.name + "' has the shape [" +
                 shape + "], more than one class in a row; expected [rows], [rows, 1] or one-hot " +
                 "[rows, classes]; use sample_weight in the data, a weight for each class there");
}

/// The class of row `row` of a target.
static int64_t classOf(const Column &target, int64_t row) {
  int64_t perRow = 1;
  for (int64_t dim : target.spec.dims)
    perRow *= dim;
  int64_t first = (target.firstRow + row) * perRow, best = 0;
  if (perRow == 1)
    return std::llrint(data::elementAsDouble(target.array, first));
  for (int64_t i = 1; i < perRow; ++i)
    if (data::elementAsDouble(target.array, first + i) >
        data::elementAsDouble(target.array, first + best))
      best = i;
  return best;
}

Status applyClassWeights(data::Dataset &data, const ClassWeights &weights,
                         const std::string &path) {
  if (data.targetCount != 1)
    return Failure(path + ": cannot be used: the model has " + std::to_string(data.targetCount) +
                   " targets; expected one; use sample_weight in the data");
  if (data.weightCount != 1)
    return Failure(path + ": cannot be used: the compiled model takes no sample weights; expected "
                          "a model compiled with them");
  const Column &target = data.columns[data.inputCount];
  if (Status status = checkHasOneClass(target, path); !status)
    return status;
  Column &column = data.columns.back();
  std::vector<int64_t> dims = column.array.dims();
  dims[0] = data.rows;
  Result<Array> scaled = Array::allocate(MPC_RT_FLOAT32, dims);
  if (!scaled)
    return scaled.failure().within(path);
  int64_t perRow = column.array.elements() / std::max<int64_t>(column.array.rows(), 1);
  for (int64_t row = 0; row < data.rows; ++row) {
    auto at = weights.find(classOf(target, row));
    auto factor = static_cast<float>(at == weights.end() ? 1.0 : at->second);
    for (int64_t i = row * perRow; i < (row + 1) * perRow; ++i)
      scaled->as<float>()[i] =
          factor *
          static_cast<float>(data::elementAsDouble(column.array, column.firstRow * perRow + i));
  }
  column.array = *scaled;
  column.firstRow = 0;
  return Status();
}

} // namespace mpc::training
