// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run devices: what this machine can run.
#include "commands/commands.h"
#include "mpc-rt/device.h"

#include <nlohmann/json.hpp>

namespace mpc::commands {

static const char *const policies[] = {"float32", "mixed_bfloat16", "mixed_float16", "bfloat16",
                                       "float16"};

static const struct {
  uint64_t bit;
  const char *name;
} features[] = {{MPC_RT_FEATURE_AVX2, "avx2"},
                {MPC_RT_FEATURE_FMA, "fma"},
                {MPC_RT_FEATURE_F16C, "f16c"},
                {MPC_RT_FEATURE_AVX512F, "avx512f"},
                {MPC_RT_FEATURE_AVX512_V4, "avx512-v4"},
                {MPC_RT_FEATURE_AVX512_VNNI, "avx512-vnni"},
                {MPC_RT_FEATURE_AVX512_BF16, "avx512-bf16"},
                {MPC_RT_FEATURE_AVX512_FP16, "avx512-fp16"},
                {MPC_RT_FEATURE_AMX_BF16, "amx-bf16"},
                {MPC_RT_FEATURE_AMX_INT8, "amx-int8"}};

static std::string orNone(const char *text) { return text ? text : ""; }

static nlohmann::ordered_json describe(uint32_t index, const mpc_rt_device_info_t &info) {
  auto json = nlohmann::ordered_json::object();
  json["name"] = orNone(info.name);
  json["kind"] = orNone(info.kind);
  json["available"] = info.available != 0;
  json["model"] = orNone(info.model);
  json["isa"] = info.isa ? nlohmann::ordered_json(info.isa) : nlohmann::ordered_json(nullptr);
  json["cpu_kind"] =
      info.cpu_kind ? nlohmann::ordered_json(info.cpu_kind) : nlohmann::ordered_json(nullptr);
  json["cores"] = info.cores;
  json["memory_bytes"] = info.memory_bytes;
  json["features"] = nlohmann::ordered_json::array();
  for (const auto &feature : features)
    if (info.features & feature.bit)
      json["features"].push_back(feature.name);
  json["advice"] = orNone(info.advice);
  json["policies"] = nlohmann::ordered_json::object();
  for (const char *policy : policies) {
    mpc_rt_policy_gain_t gain = {};
    gain.struct_size = sizeof gain;
    if (!info.available || mpc_rt_device_policy_gain(index, policy, &gain))
      continue;
    auto row = nlohmann::ordered_json::object();
    row["native"] = gain.native != 0;
    row["peak_ratio"] = gain.peak_ratio;
    row["memory_ratio"] = gain.memory_ratio;
    row["summary"] = orNone(gain.summary);
    row["warning"] = orNone(gain.warning);
    json["policies"][policy] = std::move(row);
  }
  return json;
}

static std::string tableOf(const nlohmann::ordered_json &device) {
  auto text = [&](const char *key) { return device[key].get<std::string>(); };
  std::string table = text("name") + ": " + (text("model").empty() ? text("kind") : text("model"));
  if (!device["available"].get<bool>())
    return table + "\n  not available: " + text("advice") + "\n";
  if (device["isa"].is_string())
    table += ", " + text("isa");
  if (device["cpu_kind"].is_string())
    table += ", kernels by the rules of " + text("cpu_kind");
  if (uint32_t cores = device["cores"].get<uint32_t>())
    table += ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  if (uint64_t bytes = device["memory_bytes"].get<uint64_t>())
    table += ", " + std::to_string(bytes >> 20) + " MiB";
  std::string list;
  for (const auto &feature : device["features"])
    list += (list.empty() ? "" : " ") + feature.get<std::string>();
  table += "\n" + (list.empty() ? "" : "  features: " + list + "\n");
  if (!text("advice").empty())
    table += "  hint: " + text("advice") + "\n";
  for (const auto &[policy, gain] : device["policies"].items()) {
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "%-15s %-8s peak x%-5.3g memory x%-5.3g ",
                  policy.c_str(), gain["native"].get<bool>() ? "native" : "emulated",
                  gain["peak_ratio"].get<double>(), gain["memory_ratio"].get<double>());
    table += std::string("  ") + numbers + gain["summary"].get<std::string>() + "\n";
    if (std::string warning = gain["warning"].get<std::string>(); !warning.empty())
      table += "                  warning: " + warning + "\n";
  }
  return table;
}

int devices(Arguments &arguments, Console &console) {
  arguments.requirePositional(0, "no argument");
  if (!arguments.errors().empty())
    return console.usage("mpc-run devices", arguments.errors());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < mpc_rt_device_count(); ++i) {
    mpc_rt_device_info_t info = {};
    info.struct_size = sizeof info;
    if (mpc_rt_device_info(i, &info))
      return console.fail(
          data::Failure(std::string("device ") + std::to_string(i) + ": " + mpc_rt_last_error()));
    list.push_back(describe(i, info));
  }
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  if (arguments.has("json"))
    return console.json(list.dump(2, ' ', false, replace) + "\n");
  std::string text;
  for (const auto &device : list)
    text += tableOf(device);
  return console.table(text);
}

} // namespace mpc::commands
