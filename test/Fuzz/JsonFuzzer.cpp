// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Keras architecture as JSON, which is also the config.json of an archive.
#include "mpc/Import/Keras/Import.h"

#include <cstddef>
#include <cstdint>
#include <memory>

using namespace mpc::keras;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned runs = 0;
  // Uniqued attributes stay with the context.
  if (runs++ % 500 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  if (bytes.ltrim().empty() || bytes.ltrim().front() != '{')
    return 0; // no JSON to mpcc
  ImportOptions options;
  options.readWeights = false;
  llvm::Expected<ImportedModel> model =
      importKeras(llvm::MemoryBufferRef(bytes, "fuzzed"), options, *context);
  if (!model)
    llvm::consumeError(model.takeError());
  return 0;
}
