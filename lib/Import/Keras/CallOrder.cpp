// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/CallOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <map>

namespace mpc::keras {
namespace {

/// Producers first, depth first from the outputs. Files may hold long chains, so that no recursion
/// does; of a cycle, which is an error elsewhere, every call comes once.
std::vector<unsigned> visit(llvm::ArrayRef<OrderedCall> calls, llvm::ArrayRef<unsigned> outputs) {
  struct Open {
    unsigned call, nextProducer;
  };
  std::vector<unsigned> finished;
  std::vector<bool> seen(calls.size());
  std::vector<Open> open;
  auto enter = [&](unsigned call) {
    if (!seen[call])
      open.push_back({call, 0});
    seen[call] = true;
  };
  for (unsigned output : outputs) {
    enter(output);
    while (!open.empty()) {
      Open &last = open.back();
      llvm::ArrayRef<unsigned> producers = calls[last.call].producers;
      if (last.nextProducer < producers.size()) {
        enter(producers[last.nextProducer++]);
      } else {
        finished.push_back(last.call);
        open.pop_back();
      }
    }
  }
  return finished;
}

} // namespace

std::vector<unsigned> orderCalls(llvm::ArrayRef<OrderedCall> calls,
                                 llvm::ArrayRef<unsigned> outputs) {
  // The depth of a call is its longest way to an output; a layer's calls that come nearer to the
  // outputs than an earlier one of them are lifted to its depth. Calls of one depth run in the
  // order in which they were given any.
  std::vector<unsigned> depths(calls.size()), known, ordered;
  std::vector<bool> has(calls.size());
  llvm::DenseMap<const void *, unsigned> layers;
  auto give = [&](unsigned call, unsigned depth) {
    if (!has[call])
      known.push_back(call);
    has[call] = true;
    depths[call] = std::max(depths[call], depth);
  };
  const std::vector<unsigned> visited = visit(calls, outputs);
  for (unsigned call : llvm::reverse(visited)) {
    unsigned &layer = layers[calls[call].layer];
    layer = std::max(layer, depths[call]);
    give(call, layer);
    for (unsigned producer : calls[call].producers)
      give(producer, layer + 1);
  }
  std::map<unsigned, std::vector<unsigned>, std::greater<unsigned>> atDepth;
  for (unsigned call : known)
    atDepth[depths[call]].push_back(call);
  for (const auto &[depth, callsOfDepth] : atDepth)
    llvm::append_range(ordered, callsOfDepth);
  return ordered;
}

} // namespace mpc::keras
