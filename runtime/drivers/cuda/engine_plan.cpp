// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which engines keep the promises of docs/numerics.md.
#include "runtime/drivers/cuda/engine_plan.h"

#include <algorithm>

namespace mpc::rt::cuda::dnn {
namespace {

// Sums are in float32 and each result is rounded once, equal runs give equal bytes, and an infinity
// stays where it is: transformed domains and partial sums in 16 bits do not keep that.
bool isAllowed(const std::vector<int> &notes, bool isFloat32, const EngineRules &rules) {
  return std::none_of(notes.begin(), notes.end(), [&](int note) {
    switch (note) {
    case tensorCore:
      return isFloat32 && !rules.tf32;
    case downConvertInputs:
    case reducedPrecisionReduction:
    case fft:
    case nondeterministic:
    case winograd:
    case winogradTile4x4:
    case winogradTile6x6:
    case winogradTile13x13:
      return true;
    default:
      return false;
    }
  });
}

// Far more than there are notes.
constexpr int64_t mostNotes = 64;

struct Engine {
  int64_t index = -1;
  std::vector<int> notes;
};

// False where the library does not say.
bool readEngine(const Api &library, Descriptor config, Engine &engine) {
  Descriptions made(library);
  Descriptor descriptor = made.make(engineDescriptor);
  made.get(config, configEngine, typeDescriptor, 1, &descriptor);
  made.get(descriptor, engineIndex, typeInt64, 1, &engine.index);
  engine.notes.resize(mostNotes);
  int64_t count =
      made.get(descriptor, engineNumericalNote, typeNumericalNote, mostNotes, engine.notes.data());
  engine.notes.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, mostNotes)));
  return made.status() == success;
}

} // namespace

void EnginePlan::addCandidates(Handle handle, Descriptor graph, HeuristicMode mode, bool isFloat32,
                               const EngineRules &rules) {
  const size_t before = candidates.size();
  Descriptions asked(library);
  Descriptor heuristic = asked.make(heuristicDescriptor);
  asked.set(heuristic, heuristicGraph, typeDescriptor, graph)
      .set(heuristic, heuristicMode, typeHeuristicMode, mode)
      .finalize(heuristic);
  int64_t count = asked.get(heuristic, heuristicResults, typeDescriptor, 0, nullptr);
  std::vector<Descriptor> configs;
  for (int64_t i = 0; i < count && !asked.status(); ++i)
    configs.push_back(asked.make(engineConfigDescriptor));
  // Fewer may come than were announced.
  count = std::min(count, asked.get(heuristic, heuristicResults, typeDescriptor,
                                    static_cast<int64_t>(configs.size()), configs.data()));
  const size_t most = before + rules.candidates;
  for (int64_t i = 0; i < count && !asked.status() && candidates.size() < most; ++i) {
    Engine engine;
    if (!readEngine(library, configs[i], engine) || !isAllowed(engine.notes, isFloat32, rules))
      continue;
    // Another mode has offered it, in another form at most.
    if (std::any_of(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(before),
                    [&](const Candidate &other) { return other.index == engine.index; }))
      continue;
    Descriptions made(library);
    Descriptor candidate = made.make(planDescriptor);
    made.set(candidate, planHandle, typeHandle, handle)
        .set(candidate, planConfig, typeDescriptor, configs[i])
        .finalize(candidate);
    int64_t bytes = 0;
    made.get(candidate, planWorkspaceBytes, typeInt64, 1, &bytes);
    if (made.status() || bytes < 0 || bytes > rules.workspaceBytes)
      continue;
    choice.take(std::move(made));
    candidates.push_back({candidate, bytes, engine.index});
  }
  if (candidates.size() > before)
    choice.take(std::move(asked));
}

bool EnginePlan::choose(Handle handle, Descriptor graph, bool isFloat32, const EngineRules &rules) {
  addCandidates(handle, graph, modeA, isFloat32, rules);
  // Mode A may offer nothing but an engine for anything, which takes ten times as long as one of
  // mode B.
  if (candidates.empty() || rules.candidates > 1)
    addCandidates(handle, graph, modeB, isFloat32, rules);
  if (candidates.empty() && rules.slow)
    addCandidates(handle, graph, modeFallback, isFloat32, rules);
  return !candidates.empty();
}

int EnginePlan::execute(Handle handle, const std::vector<std::pair<int64_t, void *>> &addresses,
                        void *space) const {
  Descriptions made(library);
  std::vector<int64_t> ids;
  std::vector<void *> pointers;
  for (auto [id, address] : addresses) {
    ids.push_back(id);
    pointers.push_back(address);
  }
  Descriptor pack = made.make(variantPackDescriptor);
  made.set(pack, packIds, ids)
      .set(pack, packPointers, typePointer, static_cast<int64_t>(pointers.size()), pointers.data())
      .set(pack, packWorkspace, typePointer, space)
      .finalize(pack);
  return made.status() ? made.status() : library.execute(handle, candidates[taken].plan, pack);
}

} // namespace mpc::rt::cuda::dnn
