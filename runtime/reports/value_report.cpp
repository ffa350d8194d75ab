// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/value_report.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace mpc::reports {

Format formatOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return {0x1p-24, 0x1p-14, 65504};
  case MPC_RT_BFLOAT16:
    return {0x1p-133, 0x1p-126, 0x1.fep127};
  case MPC_RT_FLOAT8_E4M3FN:
    return {0x1p-9, 0x1p-6, 448};
  case MPC_RT_FLOAT8_E5M2:
    return {0x1p-16, 0x1p-14, 57344};
  default: // what statistics are made of
    return {0x1p-149, 0x1p-126, 0x1.fffffep127};
  }
}

const char *dtypeName(mpc_rt_dtype_t dtype) { return mpc_rt_dtype_name(dtype); }

std::optional<double> headroomOf(const TracedValue &value) {
  if (value.counts.max_magnitude == 0)
    return std::nullopt;
  return std::log2(formatOf(value.dtype).largest / value.counts.max_magnitude);
}

namespace {

/// The text of an object, written member by member: a tree of nodes would take longer than all the
/// counting that a small value needs, and so would appending in small pieces.
class ObjectText {
public:
  explicit ObjectText(std::string &out) : out(out) { out += '{'; }
  void end() { out += '}'; }

  void add(std::string_view key, uint64_t value) { put(key, value); }
  /// Digits of float32 are enough where it has the number. JSON has no infinities, and a missing
  /// number is null, too.
  void add(std::string_view key, double value) {
    if (const auto narrow = static_cast<float>(value); std::isnormal(narrow) || value == 0)
      put(key, narrow);
    else if (std::isfinite(value))
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
  void add(int key, uint64_t value) {
    char text[16];
    const std::to_chars_result end = std::to_chars(text, text + sizeof text, key);
    put({text, static_cast<size_t>(end.ptr - text)}, value);
  }
  void addName(std::string_view key, std::string_view name) {
    const bool isPlain = std::all_of(name.begin(), name.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    addText(key, isPlain ? "\"" : "");
    if (isPlain)
      (out += name) += '"';
    else
      out += untrusted::forJson(
          Json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  /// `text` is JSON.
  void addText(std::string_view key, std::string_view text) {
    char start[mostOfKey + 4];
    out.append(start, addKey(start, key));
    out += text;
  }
  /// A member that is an object; it ends before others are added.
  ObjectText nest(std::string_view key) {
    addText(key, "");
    return ObjectText(out);
  }

private:
  static constexpr size_t mostOfKey = 28;

  /// Returns the end of what it writes; keys are those below.
  char *addKey(char *text, std::string_view key) const {
    assert(key.size() <= mostOfKey);
    if (out.back() != '{')
      *text++ = ',';
    *text++ = '"';
    text = std::copy(key.begin(), key.end(), text);
    *text++ = '"';
    *text++ = ':';
    return text;
  }
  template <typename Number> void put(std::string_view key, Number value) {
    char text[mostOfKey + 4 + 32];
    out.append(text, std::to_chars(addKey(text, key), text + sizeof text, value).ptr);
  }

  std::string &out;
};

void addExponents(ObjectText &object, const TracedValue &value) {
  ObjectText exponents = object.nest("exponents");
  for (auto [exponent, count] : value.exponents)
    exponents.add(exponent, count);
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
