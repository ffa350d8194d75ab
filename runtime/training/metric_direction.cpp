// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/metric_direction.h"

#include <algorithm>
#include <cctype>

namespace mpc::training {

std::optional<bool> largerIsBetter(const std::string &monitor) {
  std::string name = monitor.substr(0, monitor.find('[')); // an element of a vector
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return char(std::tolower(static_cast<unsigned char>(c))); });
  // The number that tells two metrics of one name apart: `auc_1`.
  size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && last > 0 && last + 1 < name.size() && name[last] == '_')
    name.resize(last);
  // Behind `val_` and an output's name.
  auto endsWith = [&](const std::string &end) {
    return name == end || (name.size() > end.size() &&
                           name.compare(name.size() - end.size() - 1, end.npos, "_" + end) == 0);
  };
  for (const char *end :
       {"loss", "error", "crossentropy", "ce", "bce", "hinge", "poisson", "logcosh", "log_cosh",
        "mse", "mae", "mape", "msle", "rmse", "divergence", "kld", "learning_rate"})
    if (endsWith(end))
      return false;
  for (const char *end : {"cosine_similarity", "correlation", "fbeta_score", "io_u", "r2_score",
                          "sensitivity", "specificity"})
    if (endsWith(end))
      return true;
  for (const char *part : {"acc", "auc", "precision", "recall", "f1", "iou"})
    if (name.find(part) != std::string::npos)
      return true;
  return std::nullopt;
}

} // namespace mpc::training
