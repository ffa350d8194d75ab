// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the entries of a library that was compiled for several shapes of its inputs: "predict"
// for the first, "predict_shape_2", "predict_shape_3", … for the others. The compiler gives them,
// the runtime and its commands choose among them by the shapes of the data.
#ifndef MPC_RUNTIME_RULES_ENTRY_NAMES_H
#define MPC_RUNTIME_RULES_ENTRY_NAMES_H

#include <cstddef>
#include <string>
#include <string_view>

namespace mpc::rules {

constexpr std::string_view shapeInfix = "_shape_";

// How many shapes one library may have.
constexpr size_t mostShapes = 64;

// The entry `name` for the shape of this number; the first is 1.
inline std::string entryForShape(std::string_view name, size_t number) {
  std::string text(name);
  return number == 1 ? text : text.append(shapeInfix).append(std::to_string(number));
}

// The name without the number of the shape: "predict" of "predict_shape_2".
constexpr std::string_view entryWithoutShape(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == name.size())
    return name;
  const std::string_view stem = name.substr(0, end + 1);
  const bool isNumbered =
      stem.size() > shapeInfix.size() && stem.substr(stem.size() - shapeInfix.size()) == shapeInfix;
  return isNumbered ? stem.substr(0, stem.size() - shapeInfix.size()) : name;
}

} // namespace mpc::rules

#endif
