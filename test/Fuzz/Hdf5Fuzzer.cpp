// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .h5 way in. libhdf5 runs in a child process, whose death is an error like any other: what is
// tested is the parent.
#include "mpc/Import/Keras/Import.h"

#include <cstddef>
#include <cstdint>
#include <memory>

using namespace mpc::keras;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % 500 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::Expected<ImportedModel> model =
      importKeras(llvm::MemoryBufferRef(bytes, "fuzzed"), {}, *context);
  if (!model)
    llvm::consumeError(model.takeError());
  return 0;
}
