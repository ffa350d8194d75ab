// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries for several shapes of the inputs have an entry for each; a call whose shapes are known
// runs the one that they fit.
#ifndef MPC_RUNTIME_EXECUTION_ENTRIES_OF_SHAPES_H
#define MPC_RUNTIME_EXECUTION_ENTRIES_OF_SHAPES_H

#include "mpc-rt/executable.h"

#include <functional>
#include <string>

namespace mpc::rt {

// Extents of a caller's tensor.
struct ShapeView {
  const int64_t *dims;
  uint32_t rank;
};
using InputShape = std::function<ShapeView(uint32_t input)>;

// The entry itself if its inputs have these shapes, else the one that computes the same for them;
// the entry where there is none, so that its check says what was expected.
const mpc_rt_entry_info_t &entryForShapes(const mpc_rt_executable_t &executable,
                                          const mpc_rt_entry_info_t &entry,
                                          const InputShape &shapeOf);

// "(1, 16000) or (1, 32000)": the shapes that the input may have.
std::string describeShapes(const mpc_rt_executable_t &executable, const mpc_rt_entry_info_t &entry,
                           uint32_t input);
std::string shapeText(const int64_t *dims, uint32_t rank);

} // namespace mpc::rt

#endif
