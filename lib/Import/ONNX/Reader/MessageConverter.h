// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From protobuf's messages to the structs of Model.h, with all that has to hold of each by itself:
// counts, depth, names, elements.
#ifndef MPC_IMPORT_ONNX_READER_MESSAGECONVERTER_H
#define MPC_IMPORT_ONNX_READER_MESSAGECONVERTER_H

#include "lib/Import/ONNX/Reader/Onnx.pb.h"
#include "lib/Import/ONNX/Reader/ReadTensor.h"

namespace mpc::onnx {

class MessageConverter {
public:
  /// `name`: of the file, in errors.
  MessageConverter(llvm::StringRef name, Storage &storage, const ReadLimits &limits)
      : file(name), limits(limits), tensors(storage, limits) {}

  /// False where something is wrong; takeError() then says what.
  bool convert(const file::ModelProto &from, Model &to);
  bool convert(const file::FunctionProto &from, Function &to);
  llvm::Error takeError();

private:
  bool convert(const file::GraphProto &from, Graph &to);
  bool convert(const file::NodeProto &from, Node &to);
  bool convert(const file::AttributeProto &from, Attribute &to);
  bool convertByType(const file::AttributeProto &from, int type, Attribute &to);
  bool convert(const file::TypeProto &from, Type &to, unsigned depth);
  bool convert(const file::ValueProto &from, ValueInfo &to);
  template <class Proto> bool convertTensor(const Proto &from, Tensor &to);
  template <class Proto> std::shared_ptr<Graph> convertGraph(const Proto &from);
  template <class Protos> bool convertNodes(const Protos &from, std::vector<Node> &to);
  template <class Protos, class Results> bool convertAll(const Protos &from, Results &to);
  bool convertOpsets(const google::protobuf::RepeatedPtrField<file::OpsetProto> &from,
                     std::vector<OpsetImport> &to);
  bool convertNames(const google::protobuf::RepeatedPtrField<std::string> &from,
                    std::vector<std::string> &to);
  bool takeName(const std::string &from, std::string &to);
  bool takeDomain(const std::string &from, std::string &to);
  bool count(uint64_t parts);
  /// Always false.
  bool fail(const llvm::Twine &what);

  llvm::StringRef file;
  const ReadLimits &limits;
  TensorReader tensors;
  std::string place; ///< node, function or tensor that is being read
  std::string fault;
  uint64_t parts = 0, nameBytes = 0;
  unsigned graphDepth = 0;
  bool isFunction = false; ///< whose attributes may refer to those of the call
};

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_MESSAGECONVERTER_H
