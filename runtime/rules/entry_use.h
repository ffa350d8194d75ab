// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime must know this much of the entries that mpc makes: a row for each entry role of the
// dialect (EntryRole), in the same order.
#ifndef MPC_RUNTIME_RULES_ENTRY_USE_H
#define MPC_RUNTIME_RULES_ENTRY_USE_H

#include <string_view>

namespace mpc::rules {

struct EntryUse {
  std::string_view name;
  // Whether it may change what matrix products take from variables: packed weights end with it.
  bool updatesWeights;
  // Whether it takes means over the rows of the batch, which without rows are NaN.
  bool takesMeans;
};

inline constexpr EntryUse entryUses[] = {
    {"predict", false, false},       {"evaluate", false, true},
    {"gradients", true, true},       {"metric_results", false, false},
    {"train_step", true, true},      {"train_forward", true, true},
    {"train_backward", true, false}, {"train_apply", true, false},
    {"trace_predict", false, false}, {"trace_step", false, true},
    {"twin_predict", false, false},  {"twin_step", false, true},
    {"watched_step", true, true},    {"apart_predict", false, false},
    {"apart_step", false, true},
};

// An entry that mpc did not make may update whatever it takes.
constexpr EntryUse entryUse(std::string_view name) {
  for (const EntryUse &use : entryUses)
    if (use.name == name)
      return use;
  return {name, true, false};
}

} // namespace mpc::rules

#endif
