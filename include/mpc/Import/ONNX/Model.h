// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An ONNX model as structs: what the reader of the file hands to the importer of the graph, and
// nothing of protobuf. Everything here has passed the reader's limits (counts, depth, sizes).
#ifndef MPC_IMPORT_ONNX_MODEL_H
#define MPC_IMPORT_ONNX_MODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mpc::onnx {

/// ONNX's `TensorProto.DataType`, by its numbers (onnx/onnx.proto).
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// A constant tensor. `bytes` holds its elements in row-major order, little-endian, whichever field
/// of the file they stood in; types of 6, 4 and 2 bits stay packed, the first element lowest. It
/// points into the model's storage or into a mapped file of external data, at any alignment.
struct Tensor {
  std::string name;
  DataType type = DataType::Undefined;
  std::vector<int64_t> shape;
  llvm::ArrayRef<char> bytes;
  std::vector<std::string> strings; ///< elements of a tensor of strings
};

/// One extent of a value's shape: a number, a name that equal extents share, or neither.
struct Extent {
  std::optional<int64_t> value;
  std::string symbol;
};

/// A value's type as the file says it. A sequence or an optional has `element`.
struct Type {
  enum class Kind { Tensor, Sequence, Optional, Other } kind = Kind::Tensor;
  DataType type = DataType::Undefined;
  std::optional<std::vector<Extent>> shape; ///< none: the rank is unknown
  std::shared_ptr<Type> element;
};

struct ValueInfo {
  std::string name;
  std::optional<Type> type;
};

struct Graph;

struct Attribute {
  std::string name;
  std::string reference; ///< in a function's body: the attribute of the call that this one takes
  std::variant<std::monostate, float, int64_t, std::string, Tensor, std::shared_ptr<Graph>,
               std::vector<float>, std::vector<int64_t>, std::vector<std::string>,
               std::vector<Tensor>, std::vector<std::shared_ptr<Graph>>, Type>
      value;
};

struct Node {
  std::string name;   ///< as in the file; may be empty
  std::string op;     ///< "Conv"
  std::string domain; ///< "" is ONNX's own ("ai.onnx" is spelled "")
  std::string overload;
  int64_t opset = 0; ///< what defines it, where that is not the graph's: of nodes that mpc made
  std::vector<std::string> inputs, outputs; ///< "" is an input or output that is left out
  std::vector<Attribute> attributes;
};

struct Graph {
  std::string name;
  std::vector<ValueInfo> inputs, outputs, values; ///< values: the file's types of inner values
  std::vector<Tensor> initializers;
  std::vector<Node> nodes; ///< in the file's order, which is a topological one
};

struct OpsetImport {
  std::string domain; ///< "" is ONNX's own
  int64_t version = 0;
};

struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes; ///< attributes: those without default
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::string producer;
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<Function> functions;
  std::shared_ptr<void> storage; ///< what the bytes of tensors lie in
};

/// Reads `path`, which may be hostile. Errors: "FILE: what is wrong; what was expected", with the
/// node's or tensor's name where there is one. External data is read from beside the file only.
llvm::Expected<Model> readModel(llvm::StringRef path);

/// The same of a model in memory; `name` stands in errors. External data is refused.
llvm::Expected<Model> readModel(llvm::ArrayRef<char> bytes, llvm::StringRef name);

} // namespace mpc::onnx

#endif
