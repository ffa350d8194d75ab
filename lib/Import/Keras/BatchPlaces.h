// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensors of a Keras graph that have the batch elsewhere than in a first dimension of its own,
// as windows of images have that are folded into the batch.
#ifndef MPC_LIB_IMPORT_KERAS_BATCHPLACES_H
#define MPC_LIB_IMPORT_KERAS_BATCHPLACES_H

#include "lib/Import/Common/BatchPlace.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpc::keras {

/// A value stands for one tensor; where the graph means another one by the same elements, it has a
/// value of its own.
class BatchPlaces {
public:
  /// Where the tensor has the batch for which `value` stands.
  BatchPlace get(mlir::Value value) const {
    auto found = places.find(value);
    return found == places.end() ? BatchPlace() : found->second;
  }
  void set(mlir::Value value, const BatchPlace &place) {
    if (place.isFirst())
      places.erase(value);
    else
      places[value] = place;
  }

  /// A tensor with so many times the batch in its first dimension: its value has the batch and this
  /// number as two dimensions. Nothing for others.
  std::optional<int64_t> getTimesBatch(mlir::Value value) const {
    const BatchPlace place = get(value);
    return place == BatchPlace{0, 1, place.after} && place.after > 1 ? std::optional(place.after)
                                                                     : std::nullopt;
  }
  void setTimesBatch(mlir::Value value, int64_t times) { set(value, {0, 1, times}); }

private:
  llvm::DenseMap<mlir::Value, BatchPlace> places;
};

} // namespace mpc::keras

#endif
