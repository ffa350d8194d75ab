// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/value_report.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mpc::reports {

Format formatOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return {0x1p-24, 0x1p-14, 65504};
  case MPC_RT_BFLOAT16:
    return {0x1p-133, 0x1p-126, 0x1.fep127};
  default: // what statistics are made of
    return {0x1p-149, 0x1p-126, 0x1.fffffep127};
  }
}

const char *dtypeName(mpc_rt_dtype_t dtype) {
  const data::DtypeInfo *info = data::dtypeInfo(dtype);
  return info ? info->keras : "";
}

std::optional<double> headroomOf(const TracedValue &value) {
  if (value.counts.max_magnitude == 0)
    return std::nullopt;
  return std::log2(formatOf(value.dtype).largest / value.counts.max_magnitude);
}

namespace {

/// The text of an object, written member by member: a tree of nodes would take longer than all the
/// counting that a small value needs.
class ObjectText {
public:
  explicit ObjectText(std::string &out) : out(out) { out += '{'; }
  void end() { out += '}'; }

  void add(std::string_view key, uint64_t value) { put(key, value); }
  /// JSON has no infinities, and a missing number is null, too.
  void add(std::string_view key, double value) {
    if (std::isfinite(value))
      put(key, value);
    else
      addText(key, "null");
  }
  template <typename Number> void add(std::string_view key, const std::optional<Number> &value) {
    if (value)
      add(key, *value);
    else
      addText(key, "null");
  }
  void addName(std::string_view key, const std::string &name) {
    const bool isPlain = std::all_of(name.begin(), name.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    addText(key, isPlain ? "\"" + name + "\""
                         : untrusted::forJson(Json(name).dump(
                               -1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  /// `text` is JSON.
  void addText(std::string_view key, std::string_view text) {
    addKey(key);
    out += text;
  }
  /// A member that is an object; it ends before others are added.
  ObjectText nest(std::string_view key) {
    addKey(key);
    return ObjectText(out);
  }

private:
  void addKey(std::string_view key) {
    if (out.back() != '{')
      out += ',';
    ((out += '"') += key) += "\":";
  }
  template <typename Number> void put(std::string_view key, Number value) {
    char text[32];
    const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
    addText(key, {text, static_cast<size_t>(end.ptr - text)});
  }

  std::string &out;
};

void addExponents(ObjectText &object, const TracedValue &value) {
  ObjectText exponents = object.nest("exponents");
  for (auto [exponent, count] : value.exponents) {
    char key[16];
    const std::to_chars_result end = std::to_chars(key, key + sizeof key, exponent);
    exponents.add({key, static_cast<size_t>(end.ptr - key)}, count);
  }
  exponents.end();
}

void addErrors(ObjectText &object, const mpc_rt_traced_value_t &counts) {
  const double compared = static_cast<double>(std::max<uint64_t>(1, counts.compared));
  ObjectText error = object.nest("error");
  error.add("max_abs", counts.max_error);
  error.add("max_rel", counts.max_relative_error);
  error.add("rms", std::sqrt(counts.sum_of_squared_errors / compared));
  error.end();
}

void append(std::string &out, const TracedValue &value) {
  const mpc_rt_traced_value_t &counts = value.counts;
  const uint64_t finite = counts.count - counts.infinite - counts.nan;
  auto mean = [&](double sum) { return finite ? sum / static_cast<double>(finite) : 0.0; };
  ObjectText object(out);
  object.addName("layer", value.layer);
  object.addName("op", value.op);
  object.addName("direction", directionName(value.direction));
  object.addName("dtype", dtypeName(value.dtype));
  object.add("slot", uint64_t{value.slot});
  object.addText("scaled", value.isScaled ? "true" : "false");
  object.add("count", counts.count);
  object.add("zero", counts.zero);
  object.add("underflow", value.underflow());
  object.add("subnormal", counts.subnormal);
  object.add("inf", counts.infinite);
  object.add("nan", counts.nan);
  object.add("saturated", counts.saturated);
  object.add("min_abs",
             counts.min_magnitude > 0 ? std::optional(counts.min_magnitude) : std::nullopt);
  object.add("max_abs", counts.max_magnitude);
  object.add("mean", mean(counts.sum));
  object.add("rms", std::sqrt(mean(counts.sum_of_squares)));
  addExponents(object, value);
  object.add("headroom_bits", headroomOf(value));
  if (value.wasCompared())
    addErrors(object, counts);
  else
    object.addText("error", "null");
  object.end();
}

} // namespace

std::string describe(const TracedValue &value) {
  std::string json;
  append(json, value);
  return json;
}

std::string writeReport(const std::vector<TracedValue> &values, int64_t steps, int64_t rows) {
  std::string json =
      "{\"steps\":" + std::to_string(steps) + ",\"rows\":" + std::to_string(rows) + ",\"values\":[";
  constexpr size_t usualLength = 1024;
  json.reserve(json.size() + values.size() * usualLength);
  // A value is a line.
  const char *between = "\n";
  for (const TracedValue &value : values) {
    json += between;
    append(json, value);
    between = ",\n";
  }
  json += "\n]}\n";
  return json;
}

} // namespace mpc::reports
