// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing a response, without a tree of JSON in memory.
#include "runtime/serving/infer_response.h"

#include "runtime/data/convert.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace mpc::serving {

using data::Array;
using data::Failure;
using data::Result;

std::string quoteJson(const std::string &text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

Result<std::vector<WantedOutput>> resolveOutputs(const ServedModel &model,
                                                 const InferRequest &request) {
  std::vector<WantedOutput> wanted;
  for (const InferRequest::Output &output : request.outputs) {
    const int index = model.findOutput(output.name);
    if (index < 0) {
      std::string names;
      for (const ServedTensor &has : model.outputs)
        names += (names.empty() ? "" : ", ") + has.name;
      return Failure("output '" + output.name +
                     "': the model has none of this name; it has: " + names.substr(0, 1000));
    }
    wanted.push_back(
        {static_cast<size_t>(index), output.name, output.isBinary.value_or(request.wantsBinary)});
  }
  for (size_t i = 0; request.outputs.empty() && i < model.outputs.size(); ++i)
    wanted.push_back({i, model.outputs[i].name, request.wantsBinary});
  return wanted;
}

template <typename T> static void appendNumber(T value, std::string &out) {
  char text[40];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  out.append(text, end.ptr);
}

template <typename T> static void appendReal(T value, std::string &out) {
  if (std::isnan(value))
    out += "null";
  else if (std::isinf(value))
    out += value > 0 ? "1e999" : "-1e999";
  else
    appendNumber(value, out);
}

template <typename T, typename Append>
static void appendElements(const Array &array, std::string &out, Append append) {
  const T *values = array.as<T>();
  for (int64_t i = 0, count = array.elements(); i < count; ++i) {
    if (i)
      out += ',';
    append(values[i], out);
  }
}

static void appendData(const Array &array, std::string &out) {
  switch (array.dtype()) {
  case MPC_RT_FLOAT32:
    return appendElements<float>(array, out, appendReal<float>);
  case MPC_RT_FLOAT64:
    return appendElements<double>(array, out, appendReal<double>);
  case MPC_RT_BFLOAT16:
  case MPC_RT_FLOAT16:
    return appendElements<float>(data::widenForNpz(array), out, appendReal<float>);
  case MPC_RT_INT8:
    return appendElements<int8_t>(array, out, appendNumber<int>);
  case MPC_RT_UINT8:
    return appendElements<uint8_t>(array, out, appendNumber<unsigned>);
  case MPC_RT_INT16:
    return appendElements<int16_t>(array, out, appendNumber<int>);
  case MPC_RT_UINT16:
    return appendElements<uint16_t>(array, out, appendNumber<unsigned>);
  case MPC_RT_INT32:
    return appendElements<int32_t>(array, out, appendNumber<int32_t>);
  case MPC_RT_UINT32:
    return appendElements<uint32_t>(array, out, appendNumber<uint32_t>);
  case MPC_RT_INT64:
    return appendElements<int64_t>(array, out, appendNumber<int64_t>);
  case MPC_RT_UINT64:
    return appendElements<uint64_t>(array, out, appendNumber<uint64_t>);
  case MPC_RT_BOOL:
    return appendElements<uint8_t>(
        array, out, [](uint8_t value, std::string &to) { to += value ? "true" : "false"; });
  }
}

InferResponse formatInferResponse(const ServedModel &model, const std::optional<std::string> &id,
                                  const std::vector<WantedOutput> &wanted,
                                  const std::vector<Array> &outputs) {
  InferResponse response;
  std::string &text = response.body;
  text = "{\"model_name\":" + quoteJson(model.name) + ",\"model_version\":\"1\"";
  if (id)
    text += ",\"id\":" + quoteJson(*id);
  text += ",\"outputs\":[";
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Array &array = outputs[wanted[i].index];
    text += (i ? ",{\"name\":" : "{\"name\":") + quoteJson(wanted[i].name) + ",\"datatype\":\"" +
            protocolName(array.dtype()) + "\",\"shape\":[";
    for (int64_t d = 0; d < array.rank(); ++d) {
      text += d ? "," : "";
      appendNumber(array.dims()[static_cast<size_t>(d)], text);
    }
    if (wanted[i].isBinary) {
      text += "],\"parameters\":{\"binary_data_size\":" + std::to_string(array.bytes()) + "}}";
    } else {
      text += "],\"data\":[";
      appendData(array, text);
      text += "]}";
    }
  }
  text += "]}";
  const size_t jsonBytes = text.size();
  for (const WantedOutput &output : wanted)
    if (output.isBinary) {
      const Array &array = outputs[output.index];
      if (array.bytes())
        text.append(reinterpret_cast<const char *>(array.data()), array.bytes());
      response.jsonBytes = jsonBytes;
    }
  return response;
}

} // namespace mpc::serving
