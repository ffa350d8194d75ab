// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The child returns a verdict and no message: the parent then parses the same bytes, which it knows
// to come to an end within the limits.
#include "lib/Import/ONNX/Reader/ParseMessage.h"
#include "lib/Import/ONNX/Reader/Onnx.pb.h"
#include "lib/Import/ONNX/Reader/Refuse.h"
#include "mpc/Support/GuardedChild.h"

#include <google/protobuf/io/coded_stream.h>
#include <unistd.h>

using namespace mpc;
using namespace mpc::onnx;

static bool parse(llvm::ArrayRef<char> bytes, const ReadLimits &limits, file::ModelProto &model) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                int(bytes.size()));
  stream.SetRecursionLimit(limits.messageDepth);
  return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

llvm::Expected<std::shared_ptr<file::ModelProto>>
mpc::onnx::parseMessage(llvm::ArrayRef<char> bytes, llvm::StringRef name, const ReadLimits &limits,
                        Trial trial) {
  if (bytes.size() > limits.fileBytes)
    return refuse(name + ": has " + llvm::Twine(bytes.size()) + " bytes; expected at most " +
                  llvm::Twine(limits.fileBytes) + " bytes; save its tensors as external data");
  auto parsed = std::make_shared<file::ModelProto>();
  const auto damaged = [&] {
    return refuse(name +
                  ": is no ONNX model, or a damaged one: its messages break off or are nested "
                  "deeper than " +
                  llvm::Twine(limits.messageDepth) +
                  " levels; expected a model as onnx.save() writes it");
  };
  if (trial == Trial::InChild) {
    ChildLimits childLimits;
    // Tensors take as much as in the file, small messages many times of it.
    childLimits.memory = (uint64_t{1} << 28) + 16 * uint64_t{bytes.size()};
    childLimits.processorSeconds = unsigned(limits.seconds + (bytes.size() >> 24));
    // Processors have others to serve.
    childLimits.wallSeconds = 60 * childLimits.processorSeconds;
    GuardedChild child;
    if (!child.start(childLimits, [&](int pipe) {
          const char verdict = parse(bytes, limits, *parsed);
          return ::write(pipe, &verdict, 1) == 1;
        }))
      return refuse(name + ": cannot be read in a process of its own: the system grants none");
    char verdict = 0;
    if (!child.read(&verdict, 1) || !child.finish())
      return refuse(name + ": damaged ONNX model: its parser crashed or came to no end within " +
                    llvm::Twine(childLimits.processorSeconds) + " s of processor time and " +
                    llvm::Twine(childLimits.memory >> 20) + " MiB");
    if (!verdict)
      return damaged();
  }
  if (!parse(bytes, limits, *parsed))
    return damaged();
  return parsed;
}
