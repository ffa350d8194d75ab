// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/value_report.h"
#include "runtime/untrusted/outlets.h"

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

Json describe(const TracedValue &value) {
  const mpc_rt_traced_value_t &counts = value.counts;
  const uint64_t finite = counts.count - counts.infinite - counts.nan;
  auto mean = [&](double sum) { return finite ? sum / static_cast<double>(finite) : 0.0; };
  Json json = Json::object();
  json["layer"] = value.layer;
  json["op"] = value.op;
  json["direction"] = directionName(value.direction);
  json["dtype"] = dtypeName(value.dtype);
  json["slot"] = value.slot;
  json["scaled"] = value.isScaled;
  json["count"] = counts.count;
  json["zero"] = counts.zero;
  const std::optional<uint64_t> underflow = value.underflow();
  json["underflow"] = underflow ? Json(*underflow) : Json(nullptr);
  json["subnormal"] = counts.subnormal;
  json["inf"] = counts.infinite;
  json["nan"] = counts.nan;
  json["saturated"] = counts.saturated;
  json["min_abs"] = counts.min_magnitude > 0 ? Json(counts.min_magnitude) : Json(nullptr);
  json["max_abs"] = counts.max_magnitude;
  json["mean"] = mean(counts.sum);
  json["rms"] = std::sqrt(mean(counts.sum_of_squares));
  // Keys that differ need not be looked for among each other.
  Json::object_t exponents;
  for (auto [exponent, count] : value.exponents)
    exponents.emplace_back(std::to_string(exponent), count);
  json["exponents"] = std::move(exponents);
  const std::optional<double> headroom = headroomOf(value);
  json["headroom_bits"] = headroom ? Json(*headroom) : Json(nullptr);
  if (!value.wasCompared()) {
    json["error"] = nullptr;
    return json;
  }
  const double compared = static_cast<double>(std::max<uint64_t>(1, counts.compared));
  json["error"] = Json::object();
  json["error"]["max_abs"] = counts.max_error;
  json["error"]["max_rel"] = counts.max_relative_error;
  json["error"]["rms"] = std::sqrt(counts.sum_of_squared_errors / compared);
  return json;
}

std::string writeReport(const std::vector<TracedValue> &values, int64_t steps, int64_t rows) {
  std::string json =
      "{\"steps\":" + std::to_string(steps) + ",\"rows\":" + std::to_string(rows) + ",\"values\":[";
  // A value is a line.
  const char *between = "\n";
  for (const TracedValue &value : values) {
    json +=
        between + describe(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    between = ",\n";
  }
  return untrusted::forJson(json + "\n]}") + "\n";
}

} // namespace mpc::reports
