// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From options and a path to an entry with its data.
#include "runtime/commands/entry_rows.h"

#include <cstring>

namespace mpc::commands {

using data::Result;
using training::Session;

Result<EntryRows> openEntryRows(const training::SessionOptions &options, const char *entry,
                                const std::string &path, data::Split split, Console &console) {
  console.doing("loading " + options.library, loadingAdvice);
  Result<std::unique_ptr<Session>> session = Session::open(options);
  if (!session)
    return session.failure();
  console.notes((*session)->notes());
  Result<const mpc_rt_entry_info_t *> found = (*session)->requireEntry(entry);
  if (!found)
    return found.failure();
  const bool withTargets = std::strcmp(entry, "predict") != 0;
  data::Signature signature = (*session)->signature(**found);
  // Columns of a CSV that are targets in training are no features of a prediction.
  if (const mpc_rt_entry_info_t *evaluate = (*session)->findEntry("evaluate");
      evaluate && !withTargets) {
    data::Signature whole = (*session)->signature(*evaluate);
    signature.targets = std::move(whole.targets);
    signature.sampleWeights = std::move(whole.sampleWeights);
  }
  data::Signature read = signature;
  if (!withTargets)
    read.targets = read.sampleWeights = {}; // names alone matter
  console.doing("reading " + path, readingAdvice);
  Result<data::Source> source = data::readSource(path, split, data::namesOf({std::move(read)}));
  if (!source)
    return source.failure();
  Result<data::Dataset> data = data::bindSource(*source, signature, withTargets);
  if (!data)
    return data.failure();
  console.notes(data->notes);
  return EntryRows{std::move(*session), *found, std::move(*data)};
}

} // namespace mpc::commands
