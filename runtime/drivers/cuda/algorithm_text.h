// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cublasLtMatmulAlgo_t as text: its bytes, which NVIDIA documents as serializable for the same
// version of the library.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_TEXT_H
#define MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_TEXT_H

#include "runtime/drivers/cuda/cublaslt_api.h"

#include <string>

namespace mpc::rt::cuda {

std::string hexOf(const lt::Algorithm &algorithm);
// False where `text` is nothing that hexOf() gave.
bool algorithmOf(const std::string &text, lt::Algorithm &algorithm);
// 16 digits that differ where a text is damaged.
std::string checksumOf(const std::string &text);
// Without anything but letters, digits, '-' and '.'.
std::string asWord(const std::string &name);

} // namespace mpc::rt::cuda

#endif
