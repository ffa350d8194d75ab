// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variable layout. An optimizer slot's name is the path of its variable with '/' as '_', then '_'
// and the slot's name (Keras, optimizers/base_optimizer.py, add_variable_from_reference); the
// slot's name is what makes a family.
#include "runtime/execution/variable_layout.h"
#include "runtime/base/memory.h"
#include "runtime/module/model.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace mpc::rt {
namespace {

struct Slot {
  size_t family, parameter; // parameter: position among the trainable variables
  uint32_t variable;
};

class Slots {
public:
  explicit Slots(const mpc_rt_executable_t &executable) {
    for (uint32_t i = 0; i < executable.variable_count; ++i) {
      auto &variable = executable.variables[i];
      if (variable.role != MPC_RT_ROLE_TRAINABLE)
        continue;
      std::string flat = variable.tensor.name;
      std::replace(flat.begin(), flat.end(), '/', '_');
      parameters.emplace(flat, parameters.size());
    }
  }

  // Scalars such as the iteration stand in families of their own, after the parameters' slots.
  Slot classify(const std::string &name, uint32_t variable) {
    for (size_t cut = name.rfind('_'); cut != std::string::npos && cut > 0;
         cut = name.rfind('_', cut - 1)) {
      auto found = parameters.find(name.substr(0, cut));
      if (found == parameters.end())
        continue;
      auto family = families.emplace(name.substr(cut + 1), families.size()).first->second;
      return {family, found->second, variable};
    }
    return {SIZE_MAX, SIZE_MAX, variable};
  }

private:
  std::unordered_map<std::string, size_t> parameters, families;
};

} // namespace

bool layOutVariables(const mpc_rt_executable_t &executable, VariableLayout &layout) {
  uint32_t count = executable.variable_count;
  layout.offsets.assign(count, 0);
  layout.sizes.assign(count, 0);
  uint64_t end = 0;
  bool fits = true;
  auto add = [&](uint32_t index) {
    layout.sizes[index] = tensorBytes(executable.variables[index].tensor);
    layout.offsets[index] = end;
    fits = fits && !__builtin_add_overflow(end, alignUp(layout.sizes[index]), &end);
  };

  Slots slots(executable);
  for (uint32_t role : {MPC_RT_ROLE_TRAINABLE, MPC_RT_ROLE_OPTIMIZER, MPC_RT_ROLE_SHADOW,
                        MPC_RT_ROLE_NON_TRAINABLE, MPC_RT_ROLE_METRIC, MPC_RT_ROLE_RANDOM}) {
    std::vector<Slot> order;
    for (uint32_t i = 0; i < count; ++i)
      if (executable.variables[i].role == role)
        order.push_back(role == MPC_RT_ROLE_OPTIMIZER
                            ? slots.classify(executable.variables[i].tensor.name, i)
                            : Slot{0, i, i});
    // The variable breaks ties, so that equals keep the model's order.
    std::sort(order.begin(), order.end(), [](const Slot &a, const Slot &b) {
      return std::tie(a.family, a.parameter, a.variable) <
             std::tie(b.family, b.parameter, b.variable);
    });
    layout.roles[role].offset = end;
    for (auto &slot : order)
      add(slot.variable);
    layout.roles[role].bytes = end - layout.roles[role].offset;
  }
  layout.bytes = end;
  return fits;
}

std::vector<VariableLayout::Block> hugeSpans(const VariableLayout &layout) {
  std::vector<VariableLayout::Block> spans;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const uint64_t first = alignUp(layout.offsets[i], hugePage);
    const uint64_t end = (layout.offsets[i] + layout.sizes[i]) / hugePage * hugePage;
    if (first < end)
      spans.push_back({first, end - first});
  }
  std::sort(spans.begin(), spans.end(), [](auto &a, auto &b) { return a.offset < b.offset; });
  return spans;
}

} // namespace mpc::rt
