// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled model's entry and the rows of a file that it runs over.
#ifndef MPC_RUNTIME_COMMANDS_ENTRY_ROWS_H
#define MPC_RUNTIME_COMMANDS_ENTRY_ROWS_H

#include "runtime/commands/console.h"
#include "runtime/data/bind.h"
#include "runtime/training/session.h"

namespace mpc::commands {

struct EntryRows {
  std::unique_ptr<training::Session> session;
  const mpc_rt_entry_info_t *entry;
  data::Dataset data;
};

/// Opens the model and reads `path`; what there is to note goes to the console. Targets and sample
/// weights are read for every entry but "predict".
data::Result<EntryRows> openEntryRows(const training::SessionOptions &options, const char *entry,
                                      const std::string &path, data::Split split, Console &console);

} // namespace mpc::commands
#endif
