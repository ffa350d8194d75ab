// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithms that cuBLASLt chose for each product. They are kept on disk, so that its heuristic
// is asked once per shape and not once per process.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_CACHE_H
#define MPC_RUNTIME_DRIVERS_CUDA_ALGORITHM_CACHE_H

#include "runtime/drivers/cuda/cublaslt_api.h"

#include <map>
#include <string>

namespace mpc::rt::cuda {

class AlgorithmCache {
public:
  // Reads the file for this library and device; `name` says both. It lies in the folder that
  // MPC_CACHE names (empty: nothing is read or kept), else in $XDG_CACHE_HOME/mpc or
  // $HOME/.cache/mpc. A file that is missing, and lines that are damaged, count as nothing.
  void open(const std::string &name);
  // Adds what is new to the file, which others may have written meanwhile; it is replaced as a
  // whole. Where that fails nothing is kept: the next process asks the library again.
  ~AlgorithmCache();

  // `key` says everything of a product that the choice depends on, without spaces.
  bool find(const std::string &key, lt::Algorithm &algorithm) const;
  void add(const std::string &key, const lt::Algorithm &algorithm);

private:
  std::string path; // empty: none
  std::map<std::string, lt::Algorithm> known, added;
};

} // namespace mpc::rt::cuda

#endif
