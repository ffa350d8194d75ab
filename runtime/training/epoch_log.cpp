// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV and JSON lines.
#include "runtime/training/epoch_log.h"
#include "runtime/data/atomic_file.h"
#include "runtime/untrusted/outlets.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace mpc::training {

/// A metric may be called as the number of the epoch is, which each line begins with.
static std::string nameInLine(const std::string &name) {
  return name == "epoch" ? "metric:epoch" : name;
}

data::Status CsvLog::historyChanged(const std::vector<Logs> &history) {
  std::map<std::string, bool> names; // ordered as CSVLogger sorts its keys
  for (const Logs &logs : history)
    for (const auto &[name, value] : logs)
      names[name] = true;
  std::string text = "epoch";
  std::set<std::string> taken = {text};
  for (const auto &[name, known] : names)
    text += "," + untrusted::makeDistinct(untrusted::forCsv(nameInLine(name)), taken);
  text += "\n";
  for (size_t epoch = 0; epoch < history.size(); ++epoch) {
    text += std::to_string(epoch);
    for (const auto &[name, known] : names) {
      const double *value = findLog(history[epoch], name);
      text += "," + (value ? formatReal(*value) : std::string("NA")); // as CSVLogger
    }
    text += "\n";
  }
  return checked_(data::writeFileAtomically(path_, text));
}

std::string jsonLine(int64_t epoch, const Logs &logs) {
  auto line = nlohmann::ordered_json::object();
  line["epoch"] = epoch;
  for (const auto &[name, value] : logs) {
    if (std::isfinite(value))
      line[nameInLine(name)] = value;
    else
      line[nameInLine(name)] = formatReal(value);
  }
  return untrusted::forJson(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

data::Status JsonLog::historyChanged(const std::vector<Logs> &history) {
  std::string text;
  for (size_t epoch = 0; epoch < history.size(); ++epoch)
    text += jsonLine(static_cast<int64_t>(epoch), history[epoch]) + "\n";
  return checked_(data::writeFileAtomically(path_, text));
}

} // namespace mpc::training
