// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sensitivities of layers, of the values that mpc-run numerics reports.
#ifndef MPC_TOOLS_MPCC_SEARCH_SENSITIVITIES_H
#define MPC_TOOLS_MPCC_SEARCH_SENSITIVITIES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace mpc {

/// By layer path: the errors that a layer's own roundings make, times what the loss makes of them.
/// A rounding changes a value by about rms * u, where u is half a unit of the format in the last
/// place, and n of them are taken for independent: sqrt(n) * rms(value) * u * rms(gradient).
/// Gradients are those of the layer's values of as many elements. Without any, a layer has the
/// error of its values against float32, relative to them. Larger than every finite number of them
/// is a layer in which a value becomes infinite.
llvm::Expected<std::map<std::string, double>> readSensitivities(llvm::StringRef json);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_SENSITIVITIES_H
