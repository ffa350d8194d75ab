// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LineParts: a line for a terminal whose less important parts give way to the others.
#ifndef MPC_RUNTIME_COMMANDS_LINE_PARTS_H
#define MPC_RUNTIME_COMMANDS_LINE_PARTS_H

#include <cstddef>
#include <string>
#include <vector>

namespace mpc::commands {

struct LinePart {
  std::string text;   // UTF-8, every character one column wide
  int dispensability; // 0: stays; of the others the greatest goes first
};

/// All parts, two spaces between them.
std::string joinParts(const std::vector<LinePart> &parts);

/// The parts without those that have to go so that the line has at most `columns` characters. What
/// stays may be longer all the same.
std::vector<LinePart> fitParts(std::vector<LinePart> parts, size_t columns);

/// The parts in lines of at most `columns` characters, where each of them is as short as that.
/// Every line but the first is indented.
std::string wrapParts(const std::vector<LinePart> &parts, size_t columns);

} // namespace mpc::commands
#endif
