// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .keras way in. The first byte chooses: the rest is an archive, or (checksums would stop most
// changes of an archive's members) its config.json alone.
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
  if (size == 0)
    return 0;
  const bool archive = data[0] == 'P';
  const size_t skipped = archive ? 0 : 1;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data) + skipped, size - skipped);
  ImportOptions options;
  options.readWeights = archive;
  llvm::Expected<ImportedModel> model =
      importKeras(llvm::MemoryBufferRef(bytes, "fuzzed"), options, *context);
  if (!model)
    llvm::consumeError(model.takeError());
  return 0;
}
