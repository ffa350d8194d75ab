// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The message that the reader parsed, changed and written: its unknown fields are part of it.
#include "mpc/Export/ONNX/OnnxFile.h"
#include "lib/Import/ONNX/Reader/Onnx.pb.h"
#include "lib/Import/ONNX/Reader/ReadTensor.h"
#include "lib/Import/ONNX/Reader/Refuse.h"

namespace mpc::onnx {

/// Protobuf writes no more.
static constexpr uint64_t kMostBytes = (uint64_t{1} << 31) - 1;

static bool isExternal(const file::TensorProto &tensor) { return tensor.data_location() == 1; }

/// Whether a graph's nodes have tensors in other files, or graphs that have. The reader bounds how
/// deep they lie.
static bool hasExternal(const file::GraphProto &graph, bool isInner) {
  if (isInner && llvm::any_of(graph.initializer(), isExternal))
    return true;
  for (const file::NodeProto &node : graph.node())
    for (const file::AttributeProto &attribute : node.attribute())
      if ((attribute.has_t() && isExternal(attribute.t())) ||
          llvm::any_of(attribute.tensors(), isExternal) ||
          (attribute.has_g() && hasExternal(attribute.g(), true)) ||
          llvm::any_of(attribute.graphs(),
                       [](const file::GraphProto &inner) { return hasExternal(inner, true); }))
        return true;
  return false;
}

/// Elements in one field, whichever they stood in.
static void store(llvm::ArrayRef<char> bytes, file::TensorProto &tensor) {
  std::string raw(bytes.begin(), bytes.end()); // the field that is cleared may hold them
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

llvm::Expected<std::string> makeModelFile(Model model,
                                          const std::map<std::string, std::vector<char>> &values) {
  file::ModelProto &message = *static_cast<Storage *>(model.storage.get())->message;
  if (hasExternal(message.graph(), false))
    return refuse(
        "constants of nodes lie in other files, which only initializers of the graph may; "
        "save the model in one file");
  // Sparse initializers follow the others, and stay as they are.
  auto &tensors = *message.mutable_graph()->mutable_initializer();
  uint64_t bytes = 0;
  for (int i = 0; i < tensors.size(); ++i) {
    const Tensor &read = model.graph.initializers.at(size_t(i));
    auto given = values.find(read.name);
    if (given == values.end() && !isExternal(tensors[i]))
      continue;
    const llvm::ArrayRef<char> elements =
        given == values.end() ? read.bytes : llvm::ArrayRef<char>(given->second);
    bytes += elements.size();
    if (bytes > kMostBytes)
      break;
    store(elements, tensors[i]);
  }
  if (bytes > kMostBytes || message.ByteSizeLong() > kMostBytes)
    return refuse(
        "has more than 2 GiB with all tensors in one file, which protobuf does not write");
  std::string file;
  if (!message.SerializeToString(&file))
    return refuse("cannot be written as a message of protobuf");
  return file;
}

} // namespace mpc::onnx
