// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/epoch_log.h"
#include "runtime/untrusted/outlets.h"

#include <set>

namespace mpc::training {

using data::Status;

TensorBoardLog::TensorBoardLog(const std::string &folder,
                               std::function<void(const std::string &)> warn)
    : checked_(std::move(warn)), train_{EventFile(folder + "/train"), false},
      validation_{EventFile(folder + "/validation"), true} {}

Status TensorBoardLog::prepare(bool withValidation) {
  if (Status status = train_.file.prepare(); !status || !withValidation)
    return status;
  return validation_.file.prepare();
}

Status TensorBoardLog::write(Events &events, const std::vector<Logs> &history) {
  std::string records;
  for (size_t epoch = events.epochs; epoch < history.size(); ++epoch) {
    std::set<std::string> taken;
    for (const auto &[name, value] : history[epoch]) {
      const std::string tag = untrusted::makeDistinct(untrusted::forLine(name), taken);
      if ((name.compare(0, 4, "val_") == 0) == events.areOfValidation)
        records += scalarRecord(static_cast<int64_t>(epoch),
                                "epoch_" + (events.areOfValidation ? tag.substr(4) : tag), value);
    }
  }
  if (records.empty())
    return Status();
  if (Status status = events.file.append(records); !status)
    return status;
  events.epochs = history.size();
  return Status();
}

Status TensorBoardLog::historyChanged(const std::vector<Logs> &history) {
  if (!hasBegun_)
    train_.epochs = validation_.epochs = history.size() - 1; // those before are in other files
  hasBegun_ = true;
  for (Events *events : {&train_, &validation_})
    (void)static_cast<bool>(checked_(write(*events, history)));
  return Status();
}

} // namespace mpc::training
