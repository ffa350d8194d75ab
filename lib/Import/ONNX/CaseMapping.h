// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unicode's simple case mappings, one code point for one: texts keep their length.
#ifndef MPC_LIB_IMPORT_ONNX_CASEMAPPING_H
#define MPC_LIB_IMPORT_ONNX_CASEMAPPING_H

#include <cstdint>
#include <vector>

namespace mpc::onnx {

enum class Case { lower, upper };

/// By code point, the number that is to be added to it.
std::vector<int32_t> makeCaseMapping(Case to);

} // namespace mpc::onnx

#endif
