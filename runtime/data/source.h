// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: what a user hands over as data, read into named arrays: an .npz, a .npy or a folder of
// them, a CSV, or a folder of IDX files with MNIST's names.
#ifndef MPC_RUNTIME_DATA_SOURCE_H
#define MPC_RUNTIME_DATA_SOURCE_H

#include "runtime/data/npz.h"

namespace mpc::data {

/// Which pair of an MNIST folder is meant: `train-…` or `t10k-…`.
enum class Split { Train, Evaluate };

struct Source {
  enum class Kind { Npz, Npy, NpyFolder, Csv, IdxFolder };
  std::string path;
  Kind kind = Kind::Npz;
  NamedArrays arrays;             // IdxFolder: "images" and, where there, "labels"
  std::vector<std::string> order; // names in file order (Csv) or name order
  std::vector<std::string> notes; // what the log should say about the reading
};

/// Reads what is at `path`, of an .npz and a folder of .npy files only the arrays whose names
/// `isWanted` (empty: all), though `order` has every name; the kind is found by content, a CSV by
/// being neither. A single .npy is "x0". `-` is a CSV or a .npy on standard input.
Result<Source> readSource(const std::string &path, Split split, const WantedNames &isWanted);

/// Names of the arrays, comma-separated, shortened when there are many.
std::string listNames(const Source &source);

} // namespace mpc::data
#endif
