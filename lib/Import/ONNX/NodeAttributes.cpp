// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/NodeAttributes.h"

namespace mpc::onnx {

namespace {
struct Default {
  llvm::StringLiteral op, name;
  std::variant<int64_t, float, llvm::StringLiteral> value;
};
} // namespace

static constexpr Default kDefaults[] = {
#define MPC_INTEGER(OP, NAME, VALUE) {OP, NAME, int64_t(VALUE)},
#define MPC_NUMBER(OP, NAME, VALUE) {OP, NAME, float(VALUE)},
#define MPC_TEXT(OP, NAME, VALUE) {OP, NAME, llvm::StringLiteral(VALUE)},
#include "lib/Import/ONNX/AttributeDefaults.inc"
#undef MPC_INTEGER
#undef MPC_NUMBER
#undef MPC_TEXT
};

/// Whether the attribute says what the node would mean without it.
static bool isDefault(const Node &node, const Attribute &attribute) {
  if (!node.domain.empty())
    return false;
  for (const Default &row : kDefaults) {
    if (row.op != node.op || row.name != attribute.name)
      continue;
    if (const auto *number = std::get_if<int64_t>(&row.value)) {
      const auto *own = std::get_if<int64_t>(&attribute.value);
      return own && *own == *number;
    }
    if (const auto *number = std::get_if<float>(&row.value)) {
      const auto *own = std::get_if<float>(&attribute.value);
      return own && *own == *number;
    }
    const auto *own = std::get_if<std::string>(&attribute.value);
    return own && *own == std::get<llvm::StringLiteral>(row.value);
  }
  return false;
}

const Attribute *NodeAttributes::find(llvm::StringRef name) const {
  for (const Attribute &attribute : node.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

template <typename T> const T *NodeAttributes::get(llvm::StringRef name) const {
  const Attribute *attribute = find(name);
  const T *value = attribute ? std::get_if<T>(&attribute->value) : nullptr;
  if (value)
    read.insert(attribute);
  return value;
}

llvm::SmallVector<llvm::StringRef> NodeAttributes::getUnread() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Attribute &attribute : node.attributes)
    if (!read.contains(&attribute) && !isDefault(node, attribute))
      names.push_back(attribute.name);
  return names;
}

int64_t NodeAttributes::getInteger(llvm::StringRef name, int64_t otherwise) const {
  const int64_t *value = get<int64_t>(name);
  return value ? *value : otherwise;
}

double NodeAttributes::getNumber(llvm::StringRef name, double otherwise) const {
  const float *value = get<float>(name);
  return value ? double(*value) : otherwise;
}

llvm::StringRef NodeAttributes::getText(llvm::StringRef name, llvm::StringRef otherwise) const {
  const std::string *value = get<std::string>(name);
  return value ? llvm::StringRef(*value) : otherwise;
}

llvm::SmallVector<int64_t> NodeAttributes::getIntegers(llvm::StringRef name) const {
  const auto *values = get<std::vector<int64_t>>(name);
  return values ? llvm::SmallVector<int64_t>(values->begin(), values->end())
                : llvm::SmallVector<int64_t>();
}

llvm::SmallVector<double> NodeAttributes::getNumbers(llvm::StringRef name) const {
  const auto *values = get<std::vector<float>>(name);
  return values ? llvm::SmallVector<double>(values->begin(), values->end())
                : llvm::SmallVector<double>();
}

llvm::ArrayRef<std::string> NodeAttributes::getTexts(llvm::StringRef name) const {
  const auto *values = get<std::vector<std::string>>(name);
  return values ? llvm::ArrayRef<std::string>(*values) : llvm::ArrayRef<std::string>();
}

const Tensor *NodeAttributes::getTensor(llvm::StringRef name) const { return get<Tensor>(name); }

const Graph *NodeAttributes::getGraph(llvm::StringRef name) const {
  const auto *graph = get<std::shared_ptr<Graph>>(name);
  return graph ? graph->get() : nullptr;
}

} // namespace mpc::onnx
