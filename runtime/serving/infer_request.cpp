// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a body to arrays.
#include "runtime/serving/infer_request.h"

#include "runtime/data/convert.h"
#include "runtime/serving/request_reader.h"
#include "runtime/serving/served_model.h"

#include <cstring>

namespace mpc::serving {

using data::Array;
using data::Failure;
using data::Result;

/// The tensor in binary, of which `rest` has the bytes at the front.
static Result<Array> readBinary(mpc_rt_dtype_t dtype, const DescribedInput &input,
                                std::string_view rest) {
  const std::optional<uint64_t> wanted =
      data::byteSize(*input.shape, data::dtypeInfo(dtype)->bytes);
  if (!wanted || *wanted != *input.binaryBytes)
    return Failure("has a binary_data_size of " + std::to_string(*input.binaryBytes) +
                   "; expected that of its shape " + data::formatShape(*input.shape) +
                   (wanted ? ", " + std::to_string(*wanted) : ""));
  if (*wanted > rest.size())
    return Failure("wants " + std::to_string(*wanted) + " binary bytes; the request has " +
                   std::to_string(rest.size()) + " for it");
  Result<Array> array = Array::allocate(dtype, *input.shape);
  if (!array)
    return array;
  if (*wanted)
    std::memcpy(array->data(), rest.data(), *wanted);
  const int64_t bad = dtype == MPC_RT_BOOL ? data::firstOutside(*array, 0, 1) : -1;
  if (bad >= 0)
    return Failure("element " + std::to_string(bad) + " is " + data::formatElement(*array, bad) +
                   "; expected 0 or 1");
  return array;
}

static Result<Array> readInput(const DescribedInput &input, std::string_view &rest) {
  const std::optional<mpc_rt_dtype_t> dtype = protocolDtype(input.datatype);
  if (!dtype)
    return Failure("has the datatype '" + input.datatype +
                   "'; expected BOOL, INT8 to INT64, UINT8 to UINT64, FP16, BF16, FP32 or FP64");
  if (!input.shape)
    return Failure("has no shape");
  if (input.binaryBytes && input.numbers)
    return Failure("has both data and a binary_data_size");
  if (!input.binaryBytes && !input.numbers)
    return Failure("has neither data nor a binary_data_size");
  if (input.numbers)
    return input.numbers->toArray(*dtype, *input.shape);
  Result<Array> array = readBinary(*dtype, input, rest);
  if (array)
    rest.remove_prefix(array->bytes());
  return array;
}

Result<InferRequest> parseInferRequest(std::string_view body, std::optional<size_t> jsonBytes) {
  if (jsonBytes && *jsonBytes > body.size())
    return Failure("Inference-Header-Content-Length is " + std::to_string(*jsonBytes) +
                   "; the body has " + std::to_string(body.size()) + " bytes");
  const std::string_view text = body.substr(0, jsonBytes.value_or(body.size()));
  std::string_view rest = body.substr(text.size());
  if (text.size() > maximumJsonBytes)
    return Failure("the JSON has " + std::to_string(text.size()) + " bytes; expected at most " +
                   std::to_string(maximumJsonBytes) + "; send large tensors in binary");
  RequestReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader) || !reader.problem().empty())
    return Failure("the request's JSON: " +
                   (reader.problem().empty() ? "cannot be read" : reader.problem()));
  InferRequest request = reader.request();
  if (reader.inputs().empty())
    return Failure("the request has no inputs");
  for (const DescribedInput &input : reader.inputs()) {
    if (input.name.empty())
      return Failure("an input has no name");
    const std::string place = "input '" + input.name + "'";
    if (request.inputs.count(input.name))
      return Failure(place + ": is there twice");
    Result<Array> array = readInput(input, rest);
    if (!array)
      return array.failure().within(place);
    request.inputs.emplace(input.name, std::move(*array));
  }
  for (const InferRequest::Output &output : request.outputs)
    if (output.name.empty())
      return Failure("a requested output has no name");
  if (!rest.empty())
    return Failure("the request has " + std::to_string(rest.size()) +
                   " bytes behind its last binary tensor");
  return request;
}

} // namespace mpc::serving
