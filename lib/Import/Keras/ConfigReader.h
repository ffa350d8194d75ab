// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the config of a layer: a missing or null key gives the default, a value of another kind is
// an error.
#ifndef MPC_LIB_IMPORT_KERAS_CONFIGREADER_H
#define MPC_LIB_IMPORT_KERAS_CONFIGREADER_H

#include "lib/Import/Common/ValueBuilder.h"
#include "mpc/Import/Keras/Config.h"

#include <optional>

namespace mpc::keras {

class ConfigReader : public ValueBuilder {
public:
  ConfigReader(mlir::OpBuilder builder, mlir::Location location, const LayerConfig &layer)
      : ValueBuilder(builder, location), layer(layer) {}

  const LayerConfig &layer;

  double getNumber(llvm::StringRef key, double otherwise);
  std::optional<double> getOptionalNumber(llvm::StringRef key);
  int64_t getInteger(llvm::StringRef key, int64_t otherwise);
  bool getFlag(llvm::StringRef key, bool otherwise);
  std::string getString(llvm::StringRef key, llvm::StringRef otherwise);
  /// A list of integers; null elements become `nullValue`. Nothing when the key is missing or null.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(llvm::StringRef key, int64_t nullValue);
};

} // namespace mpc::keras

#endif
