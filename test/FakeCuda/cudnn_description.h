// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backend descriptors of cuDNN's look-alike: attributes with their types and counts, and what has
// to hold of them. Statuses are those that cuDNN 9.28 gives for the same mistakes.
#ifndef MPC_TEST_FAKECUDA_CUDNN_DESCRIPTION_H
#define MPC_TEST_FAKECUDA_CUDNN_DESCRIPTION_H

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace fake::dnn {

enum Status : int {
  success = 0,
  notInitialized = 1001,
  badParameter = 2000,
  nullPointer = 2002,
  misalignedPointer = 2003,
  notFinalized = 2004,
  wrongAttributeType = 2010,
  notSupported = 3000,
  prerequisiteMissing = 3008,
  internalUnexpectedValue = 4002
};

// cudnnBackendDescriptorType_t.
enum Kind : int {
  pointwise = 0,
  window = 1,
  engine = 2,
  engineConfig = 3,
  heuristic = 4,
  plan = 5,
  forwardOperation = 10,
  filterGradientOperation = 11,
  dataGradientOperation = 12,
  pointwiseOperation = 13,
  graph = 15,
  variantPack = 16,
  tensor = 17,
  matmul = 18,
  matmulOperation = 19,
  reduction = 21,
  reductionOperation = 22,
  reshapeOperation = 31
};

// An engine that a heuristic offers.
struct Engine {
  int64_t index = -1;
  std::vector<int> notes;
  int64_t workspaceBytes = 0;
};

struct Description {
  struct Value {
    int type = 0;
    int64_t count = 0;
    std::vector<uint8_t> bytes;
    std::vector<std::shared_ptr<Description>> descriptions; // of descriptors, instead of bytes
  };
  explicit Description(int kind) : kind(kind) {}

  bool has(int name) const { return values.count(name) != 0; }
  template <typename Type> Type get(int name, size_t i = 0) const {
    Type value{};
    auto found = values.find(name);
    if (found != values.end() && (i + 1) * sizeof value <= found->second.bytes.size())
      std::memcpy(&value, found->second.bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  std::vector<int64_t> numbers(int name) const;
  // Null when it was not set.
  std::shared_ptr<Description> description(int name, size_t i = 0) const;

  int kind;
  bool isFinalized = false;
  bool isDestroyed = false; // its handle is gone
  std::map<int, Value> values;
  std::shared_ptr<Description> subject;  // engine and its config: the graph
  fake::dnn::Engine choice;              // of the two, and of a plan
  std::vector<fake::dnn::Engine> offers; // of a heuristic
};

// A handle of the API points to this.
struct Handle {
  std::shared_ptr<Description> is;
};

bool isKind(int kind);
int setValue(Description &description, int name, int type, int64_t count, const void *values);
int getValue(const Description &description, int name, int type, int64_t room, int64_t *count,
             void *values);
// Checks everything, and makes what the kind has of its own.
int finalize(Description &description);

} // namespace fake::dnn

#endif
