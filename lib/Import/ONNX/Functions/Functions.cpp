// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of functions.txtpb, which the build has made binary, read when somebody asks first.
#include "mpc/Import/ONNX/Functions.h"
#include "lib/Import/ONNX/Reader/MessageConverter.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mpc::onnx;

static constexpr unsigned char kTable[] = {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
#embed "lib/Import/ONNX/Functions/functions.pb"
#pragma clang diagnostic pop
};

namespace {
struct Version {
  int64_t since; ///< of the op
  int64_t opset; ///< of the body
  const Function *function;
};

struct Table {
  Table() {
    if (!message.ParseFromArray(kTable, sizeof kTable))
      llvm::report_fatal_error("the table of ONNX's functions is damaged");
    MessageConverter converter("ONNX's functions", storage, limits);
    for (const file::FunctionTable::Row &row : message.row()) {
      Function &function = functions.emplace_back();
      if (!converter.convert(row.function(), function))
        llvm::report_fatal_error(converter.takeError());
      for (int64_t since : row.since())
        versions[function.name].push_back({since, function.opsets.at(0).version, &function});
    }
  }

  file::FunctionTable message;
  const ReadLimits limits;
  Storage storage{nullptr, "", limits};
  std::deque<Function> functions;
  llvm::StringMap<std::vector<Version>> versions; ///< of an op, by `since`, then by `opset`
};
} // namespace

const Function *mpc::onnx::findFunction(llvm::StringRef op, int64_t opset) {
  static const Table table;
  const auto found = table.versions.find(op);
  if (found == table.versions.end())
    return nullptr;
  const Version *best = nullptr;
  for (const Version &version : found->second) {
    if (version.since > opset)
      continue;
    // The op's own version decides first; of its bodies the newest that the model could know, or
    // else the first that there was.
    if (!best || version.since > best->since ||
        (version.since == best->since && version.opset <= opset))
      best = &version;
  }
  return best ? best->function : nullptr;
}
