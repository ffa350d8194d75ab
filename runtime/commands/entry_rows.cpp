// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From options and a path to an entry with its data.
#include "runtime/commands/entry_rows.h"
#include "runtime/rules/entry_names.h"

#include <cstring>

namespace mpc::commands {

using data::Result;
using training::Session;

/// The entry itself, first, and those that compute the same for other shapes of the inputs.
static std::vector<const mpc_rt_entry_info_t *> entriesOfShapes(const Session &session,
                                                                const mpc_rt_entry_info_t &entry) {
  const mpc_rt_executable_t &tables = session.executable();
  std::vector<const mpc_rt_entry_info_t *> entries = {&entry};
  for (uint32_t i = 0; i < tables.entry_count; ++i)
    if (&tables.entries[i] != &entry &&
        rules::entryWithoutShape(tables.entries[i].name) == std::string_view(entry.name))
      entries.push_back(&tables.entries[i]);
  return entries;
}

/// The data as the first of the entries takes it whose shapes it has; of several that with its
/// number of rows. A failure is that of the entry itself, and says how many shapes there are.
static Result<data::Dataset> bindToShape(const Session &session, const data::Source &source,
                                         const data::Signature &signature, bool withTargets,
                                         const mpc_rt_entry_info_t *&entry) {
  const auto entries = entriesOfShapes(session, *entry);
  Result<data::Dataset> first = data::bindSource(source, signature, withTargets);
  Result<data::Dataset> chosen = first;
  for (size_t i = 1; i < entries.size(); ++i) {
    if (chosen && session.fixedBatch(*entry) == chosen->rows)
      break;
    const mpc_rt_entry_info_t *other = entries[i];
    data::Signature own = signature;
    own.inputs = session.signature(*other).inputs;
    Result<data::Dataset> bound = data::bindSource(source, own, withTargets);
    if (bound && (!chosen || session.fixedBatch(*other) == bound->rows)) {
      chosen = std::move(bound);
      entry = other;
    }
  }
  if (chosen || entries.size() == 1)
    return chosen;
  data::Failure failure = first.failure();
  failure.append(data::Failure(source.path + ": has none of the " + std::to_string(entries.size()) +
                               " shapes that " + session.path() +
                               " was compiled for; mpc-run inspect lists them"));
  return failure;
}

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
  Result<data::Dataset> data = bindToShape(**session, *source, signature, withTargets, *found);
  if (!data)
    return data.failure();
  console.notes(data->notes);
  return EntryRows{std::move(*session), *found, std::move(*data)};
}

} // namespace mpc::commands
