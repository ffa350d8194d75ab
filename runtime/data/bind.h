// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binding: which array of a source feeds which input or target of a model, and whether it fits.
#ifndef MPC_RUNTIME_DATA_BIND_H
#define MPC_RUNTIME_DATA_BIND_H

#include "runtime/data/source.h"

namespace mpc::data {

/// One input or target of a compiled entry.
struct TensorSpec {
  std::string name;                 // the model's own name
  std::vector<std::string> aliases; // other names that data may use: "x0", an output's name
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  std::vector<int64_t> dims; // of one row, without the batch
  int64_t indexLimit = 0;    // whole parts of values must lie in [0, indexLimit); 0 = free
  bool isWhole = false;      // every call takes all of the array, whose dims these are
  bool isText = false;       // of code points, which are the last of dims
};

/// The tensors that an entry takes, in its order.
struct Signature {
  std::vector<TensorSpec> inputs, targets;
  std::vector<TensorSpec> sampleWeights; // one per target, or none
};

/// An array that feeds one tensor of the entry.
struct Column {
  TensorSpec spec;
  Array array;          // [rows, spec.dims...]; of weights, any dim behind the rows may be 1
  float divisor = 0;    // IDX bytes: value / divisor; 0 = as they are
  int64_t firstRow = 0; // rows before it belong to someone else
};

/// Data that fits an entry: every column checked, all of the same number of rows.
struct Dataset {
  std::vector<Column> columns; // inputs, targets, then sample weights if the entry takes any
  size_t inputCount = 0, targetCount = 0, weightCount = 0;
  int64_t rows = 0;
  std::string path;
  std::vector<std::string> notes;

  /// Rows [begin, begin + count), sharing the arrays.
  Dataset slice(int64_t begin, int64_t count) const;
};

/// The names that bindSource() looks for, for readSource(): those of every signature.
WantedNames namesOf(std::vector<Signature> signatures);

/// All faults at once: missing arrays (with what is there), shapes, element types, unequal rows,
/// labels out of range (with row and value). Shapes may differ by one trailing 1, as in Keras.
/// Integers and float64 fit floating tensors; floating arrays never fit integer tensors. Texts fit
/// texts, if none is longer than the model has room for. Targets
/// and weights are bound only with `withTargets`. Weights come from an output's own array, else
/// from `sample_weight`, else they are ones; they have a value per row, or more dimensions that
/// broadcast to the elements of the output's loss. Arrays that nobody asks for are ignored, but for
/// a sample_weight that the entry cannot take.
Result<Dataset> bindSource(const Source &source, const Signature &signature, bool withTargets);

} // namespace mpc::data
#endif
