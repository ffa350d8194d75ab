// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.rearrange: "b (h p) (w q) c -> b (h w) (p q c)", as a reshape, a transposition and a
// reshape.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace mpc::keras {

using mlir::Value;

namespace {

/// One side of a pattern: a group of names for each dimension.
using Groups = llvm::SmallVector<llvm::SmallVector<llvm::StringRef>>;

std::optional<Groups> parseSide(llvm::StringRef text) {
  Groups groups;
  bool open = false;
  while (!(text = text.ltrim()).empty()) {
    if (text.front() == '(' || text.front() == ')') {
      if (open == (text.front() == '('))
        return std::nullopt;
      open = !open;
      if (open)
        groups.emplace_back();
      text = text.drop_front();
      continue;
    }
    llvm::StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty() || groups.size() > 16)
      return std::nullopt;
    text = text.drop_front(name.size());
    if (!open)
      groups.emplace_back();
    groups.back().push_back(name);
  }
  return open ? std::nullopt : std::optional(groups);
}

} // namespace

Value rearrange(OperationBuilder &b) {
  Value x = b.getValue(0, "tensor");
  const std::string pattern = b.getString(1, "pattern", "");
  auto [left, right] = llvm::StringRef(pattern).split("->");
  std::optional<Groups> from = parseSide(left), to = parseSide(right);
  if (!x)
    return {};
  if (!from || !to || int64_t(from->size()) != b.rankOf(x))
    return b.error("the pattern '" + pattern + "' of 'Rearrange' is not that of a tensor of " +
                   llvm::Twine(b.rankOf(x)) + " dimensions");
  // Each name's extent: given, or what is left of its dimension.
  llvm::StringMap<int64_t> extents, places;
  llvm::SmallVector<int64_t> shape;
  for (auto [d, group] : llvm::enumerate(*from)) {
    const int64_t whole = b.shapeOf(x)[d];
    int64_t known = 1, unknown = 0;
    for (llvm::StringRef name : group)
      if (std::optional<int64_t> extent = b.getInteger(kKeywordOnly, name)) {
        if (*extent < 1 || *extent > (int64_t(1) << 30))
          return b.error("'" + name + "' of 'Rearrange' is out of range");
        known *= *extent;
        extents[name] = *extent;
      } else {
        extents[name] = 0;
        ++unknown;
      }
    const bool isBatch = mlir::ShapedType::isDynamic(whole);
    if (b.hasFailed() || unknown > 1 || (isBatch && group.size() != 1) ||
        (!isBatch && (whole % known != 0 || (unknown == 0 && whole != known))))
      return b.hasFailed() ? Value()
                           : b.error("the pattern '" + pattern +
                                     "' of 'Rearrange' does not say "
                                     "the extents of its axes, or splits the batch");
    for (llvm::StringRef name : group) {
      if (places.count(name))
        return b.error("'" + name + "' stands twice in the pattern of 'Rearrange'");
      if (isBatch)
        extents[name] = whole;
      else if (extents[name] == 0)
        extents[name] = whole / known;
      places[name] = int64_t(shape.size());
      shape.push_back(extents[name]);
    }
  }
  llvm::SmallVector<int64_t> order, result;
  for (const auto &group : *to) {
    int64_t extent = 1;
    for (llvm::StringRef name : group) {
      auto place = places.find(name);
      if (place == places.end() || llvm::is_contained(order, place->second))
        return b.error("'" + name + "' of the pattern of 'Rearrange' stands on one side only");
      order.push_back(place->second);
      if (mlir::ShapedType::isDynamic(extents[name]) && (group.size() != 1 || !result.empty()))
        return b.error("'Rearrange' must leave the batch as the first dimension");
      extent = mlir::ShapedType::isDynamic(extents[name]) ? extents[name] : extent * extents[name];
    }
    result.push_back(extent);
  }
  if (order.size() != shape.size())
    return b.error("the pattern '" + pattern + "' of 'Rearrange' loses an axis");
  x = b.makeReshape(x, shape);
  return b.makeReshape(b.make<TransposeOp>(x, order), result);
}

} // namespace mpc::keras
