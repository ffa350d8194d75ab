// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX models, without the trial in a child, which would hide the parser's crashes and forks
// slowly. External data may lie in a folder with one file, `w`, of 64 bytes.
#include "lib/Import/ONNX/Reader/ReadModel.h"
#include "mpc/Import/ONNX/DataTypes.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace mpc::onnx;

namespace {

/// A folder that goes when the process ends.
struct Folder {
  Folder() {
    if (!mkdtemp(path))
      std::abort();
    std::ofstream(std::string(path) + "/w") << std::string(64, 'w');
  }
  ~Folder() {
    (void)::unlink((std::string(path) + "/w").c_str());
    (void)::rmdir(path);
  }
  char path[32] = "/tmp/mpc-onnx-fuzzer-XXXXXX";
};

/// Reads every byte that the importer could read.
struct Visitor {
  uint64_t sum = 0;

  void visit(const Tensor &tensor) {
    uint64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= uint64_t(extent);
    const bool isText = tensor.type == DataType::String;
    if (isText ? tensor.strings.size() != elements
               : tensor.bytes.size() != *packedBytes(tensor.type, elements))
      __builtin_trap();
    for (char byte : tensor.bytes)
      sum += uint64_t(byte);
    if (tensor.type == DataType::Bool)
      for (char byte : tensor.bytes)
        if (byte != 0 && byte != 1)
          __builtin_trap();
  }
  void visit(const std::shared_ptr<Graph> &graph) { visit(*graph); }
  void visit(const Attribute &attribute) {
    std::visit([&](const auto &value) { visitValue(value); }, attribute.value);
  }
  template <class T> void visitValue(const T &) {}
  void visitValue(const Tensor &tensor) { visit(tensor); }
  void visitValue(const std::shared_ptr<Graph> &graph) { visit(graph); }
  void visitValue(const std::vector<Tensor> &tensors) { visitAll(tensors); }
  void visitValue(const std::vector<std::shared_ptr<Graph>> &graphs) { visitAll(graphs); }
  void visit(const Node &node) {
    if (node.op.empty())
      __builtin_trap();
    visitAll(node.attributes);
  }
  void visit(const Graph &graph) {
    visitAll(graph.initializers);
    visitAll(graph.nodes);
  }
  void visit(const Function &function) {
    visitAll(function.defaults);
    visitAll(function.nodes);
  }
  template <class T> void visitAll(const std::vector<T> &list) {
    for (const T &item : list)
      visit(item);
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static const ReadLimits limits;
  const llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(data), size);
  llvm::Expected<Model> model = readModel(bytes, "fuzzed", folder.path, limits, Trial::None);
  if (!model) {
    if (llvm::toString(model.takeError()).find("fuzzed:") != 0)
      __builtin_trap();
    return 0;
  }
  Visitor visitor;
  visitor.visit(model->graph);
  visitor.visitAll(model->functions);
  volatile uint64_t sum = visitor.sum;
  (void)sum;
  return 0;
}
