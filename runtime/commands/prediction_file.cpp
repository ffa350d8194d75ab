// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing predictions.
#include "runtime/commands/prediction_file.h"

#include "runtime/data/atomic_file.h"
#include "runtime/data/csv.h"
#include "runtime/data/npy.h"
#include "runtime/data/npz.h"
#include "runtime/untrusted/outlets.h"

#include <filesystem>
#include <set>

namespace mpc::commands {

using data::Array;
using data::Failure;
using data::Status;

const std::vector<std::string> predictionSuffixes = {".npz", ".npy", ".csv"};

/// As file systems compare names that do not tell capitals apart.
static std::string folded(std::string name) {
  for (char &c : name)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return name;
}

/// Under out0, out1, ... and, where those leave them free, the names of the model's outputs: a
/// layer may be called out1, too, or something that no member of an archive may be called.
static data::NamedArrays nameOutputs(const std::vector<Array> &outputs,
                                     const std::vector<std::string> &names, Console &console) {
  data::NamedArrays result;
  std::set<std::string> taken;
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.emplace("out" + std::to_string(i), outputs[i]);
    taken.insert("out" + std::to_string(i));
  }
  for (size_t i = 0; i < outputs.size() && i < names.size(); ++i) {
    const std::string number = "out" + std::to_string(i);
    if (names[i].empty() || names[i] == number)
      continue;
    const bool isSafe = untrusted::isMemberName(names[i] + ".npy");
    if (isSafe && taken.insert(folded(names[i])).second) {
      result.emplace(names[i], outputs[i]);
      continue;
    }
    constexpr size_t shown = 100;
    console.note("the output '" + names[i].substr(0, shown) +
                 (names[i].size() > shown ? "..." : "") + "' is written as " + number +
                 (isSafe ? " only: its name stands for another output"
                         : " only: no member of an archive may have its name"));
  }
  return result;
}

/// The columns of a table: an output is called what the model calls it, where that is known.
static data::Result<std::string> tableOf(const std::string &path, const std::vector<Array> &outputs,
                                         const std::vector<std::string> &names) {
  std::vector<data::NamedArray> columns;
  std::set<std::string> taken;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = i < names.size() ? names[i] : "";
    if (name.empty() || !taken.insert(name).second)
      name = "out" + std::to_string(i);
    columns.push_back({name, outputs[i]});
  }
  return data::formatCsv(columns, path);
}

Status writePrediction(const std::string &path, const std::vector<Array> &outputs,
                       const std::vector<std::string> &names, Console &console) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (path == "-" || suffix == ".csv") {
    data::Result<std::string> text =
        tableOf(path == "-" ? "standard output" : path, outputs, names);
    if (!text)
      return text.failure();
    return path == "-" ? console.write(*text) : data::writeFileAtomically(path, *text);
  }
  if (suffix != ".npy")
    return data::writeNpz(path, nameOutputs(outputs, names, console));
  if (outputs.size() != 1)
    return Failure(path + ": holds one array, and the model has " + std::to_string(outputs.size()) +
                   " outputs; expected an .npz or .csv for them");
  return data::writeNpyFile(path, outputs[0]);
}

} // namespace mpc::commands
