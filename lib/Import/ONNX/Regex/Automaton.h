// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest deterministic automaton that tells whether a whole text matches a regular
// expression: a library walks its table, a step for a code point.
#ifndef MPC_LIB_IMPORT_ONNX_REGEX_AUTOMATON_H
#define MPC_LIB_IMPORT_ONNX_REGEX_AUTOMATON_H

#include "lib/Import/ONNX/Regex/Syntax.h"

namespace mpc::onnx {

struct Automaton {
  /// The class of every code point. Class 0 is U+0000 alone, behind the end of a text: the state
  /// stays.
  std::vector<int32_t> classes;
  int64_t classCount = 0;
  /// State s goes to next[s * classCount + class]. The first state is 0.
  std::vector<int64_t> next;
  std::vector<bool> accepts;

  bool matches(llvm::ArrayRef<int32_t> text) const;
};

/// An error where the pattern is wrong, not regular, or would take too many states.
llvm::Expected<Automaton> makeAutomaton(llvm::StringRef pattern);

} // namespace mpc::onnx

#endif
