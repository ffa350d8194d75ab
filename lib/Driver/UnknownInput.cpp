// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damaged files and models of other frameworks, told by their content.
#include "lib/Driver/UnknownInput.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mpc;
using llvm::StringRef;

/// The first two fields of ONNX's ModelProto, in the order of their numbers as writers leave them:
/// ir_version (1, a small number), then any of producer_name (2) to opset_import (8).
static bool startsAsOnnx(StringRef bytes) {
  if (bytes.size() < 4 || bytes[0] != 0x08 || bytes[1] < 1 || bytes[1] > 32)
    return false;
  const uint8_t tag = bytes[2];
  const unsigned field = tag >> 3, wireType = tag & 7;
  return field >= 2 && field <= 8 && wireType == (field == 5 ? 0 : 2);
}

bool mpc::isOnnxModel(StringRef path, StringRef bytes) {
  return path.ends_with(".onnx") || startsAsOnnx(bytes);
}

std::string mpc::describeUnknownInput(StringRef path, StringRef bytes) {
  const StringRef extension = llvm::sys::path::extension(path);
  const bool isEmpty = bytes.trim().empty(), isArchive = extension == ".keras";
  const bool isBinary =
      bytes.contains('\0') && !mlir::isBytecode(llvm::MemoryBufferRef(bytes, path));
  if (!isEmpty && !isArchive && extension != ".npz" && !isBinary)
    return "";
  const StringRef found = isEmpty     ? "is empty"
                          : isArchive ? "is not a .keras archive (no zip signature)"
                                      : "is no model (no signature of zip or HDF5)";
  return found.str() + "; the file is damaged or of another kind; save the model again with "
                       "model.save(\"model.keras\")";
}

std::string mpc::describeUnreadable(StringRef path, std::error_code error) {
  llvm::SmallString<128> graph(path);
  llvm::sys::path::append(graph, "saved_model.pb");
  if (llvm::sys::fs::exists(graph))
    return "is a SavedModel, which holds TensorFlow's operations and no layers; save the Keras "
           "model "
           "with model.save(\"model.keras\")";
  if (llvm::sys::fs::is_directory(path)) {
    std::error_code ignored;
    for (llvm::sys::fs::directory_iterator entry(path, ignored), end; !ignored && entry != end;
         entry.increment(ignored))
      if (llvm::sys::path::extension(entry->path()) == ".so")
        return "is the folder of a compiled model, which holds no layers; give the Keras model "
               "that was compiled (.keras, .h5 or its JSON)";
  }
  return "cannot be read: " + error.message() +
         "; expected a .keras archive, a legacy .h5 model, a Keras architecture as JSON, an .onnx "
         "model, or mpc IR";
}
