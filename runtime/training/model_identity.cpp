// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/model_identity.h"

#include "data/crc32c.h"
#include "data/json_guard.h"

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mpc::training {

/// Tells models apart whose layers have other policies: a checksum of what each computes in.
static std::string digestLayers(const char *manifest) {
  if (!manifest || !data::checkJson(manifest, std::strlen(manifest), 64).empty())
    return "";
  nlohmann::json json = nlohmann::json::parse(manifest, nullptr, false);
  if (!json.is_object() || !json["layers"].is_array())
    return "";
  nlohmann::json policies = nlohmann::json::array();
  for (const auto &layer : json["layers"])
    for (const char *key : {"path", "policy", "compute", "variable"})
      if (layer.is_object() && layer.contains(key))
        policies.push_back(layer[key]);
  const std::string text = policies.dump();
  char digest[9];
  std::snprintf(digest, sizeof digest, "%08x", data::crc32c(0, text.data(), text.size()));
  return digest;
}

ModelIdentity identityOf(const Session &session) {
  const mpc_rt_executable_t &tables = session.executable();
  return {
      {"model", tables.model_name},
      {"source_hash", tables.source_hash},
      {"--policy", MPC_RT_EXECUTABLE_HAS(&tables, policy) && tables.policy ? tables.policy : ""},
      {"policies of layers", digestLayers(tables.manifest)}};
}

} // namespace mpc::training
