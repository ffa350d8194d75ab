// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Trace/ArenaEnd.h"
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

static constexpr int64_t kAlignment = 64, kAlignmentOfSample = 16;

ArenaEnd::ArenaEnd(func::FuncOp entry)
    : entry(entry),
      memory(*llvm::find_if(entry.getArguments(),
                            [&](BlockArgument argument) {
                              return entry.getArgAttr(argument.getArgNumber(),
                                                      MpcrtDialect::kArenaAttr) != nullptr;
                            })),
      fixed(sizeOf(MpcrtDialect::kArenaFixedAttr)),
      perSample(sizeOf(MpcrtDialect::kArenaPerSampleAttr)), fixedBefore(fixed) {}

int64_t ArenaEnd::sizeOf(StringRef name) {
  return entry->getAttrOfType<IntegerAttr>(name).getInt();
}

int64_t ArenaEnd::align(int64_t bytes) { return llvm::alignTo(bytes, kAlignment); }

int64_t ArenaEnd::takeFixed(int64_t bytes) {
  const int64_t offset = align(fixed);
  fixed = align(offset + bytes);
  return offset;
}

int64_t ArenaEnd::takePerSample(int64_t bytes) {
  const int64_t offset = perSample;
  perSample += llvm::alignTo(bytes, kAlignmentOfSample);
  return offset;
}

void ArenaEnd::close() {
  entry.walk([&](mpcrt::ViewOp view) {
    if (isOfArena(view) && !view.getUnstored() && rangeOf(view).perSampleEnd != 0)
      view.setFixed(view.getFixed() + static_cast<uint64_t>(fixed - fixedBefore));
  });
  Builder builder(entry.getContext());
  entry->setAttr(MpcrtDialect::kArenaFixedAttr, builder.getI64IntegerAttr(fixed));
  entry->setAttr(MpcrtDialect::kArenaPerSampleAttr, builder.getI64IntegerAttr(perSample));
}

mpcrt::ViewOp ReportRoom::makeView(OpBuilder &builder, Value buffer, Type element) {
  SmallVector<int64_t> shape;
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), extent = 1;
  for (int64_t i = 0, rank = cast<MemRefType>(buffer.getType()).getRank(); i < rank; ++i) {
    const std::optional<BatchExtent> size = getExtent(buffer, i);
    if (!size || (!size->isFixed() && (i != 0 || size->fixed != 0)))
      return nullptr;
    shape.push_back(size->isFixed() ? size->fixed : ShapedType::kDynamic);
    extent = size->isFixed() ? extent : size->perSample;
    bytes *= size->isFixed() ? size->fixed : size->perSample;
  }
  const auto type = MemRefType::get(shape, element);
  const bool grows = !type.hasStaticShape();
  int64_t &end = grows ? perSample : fixed;
  auto view = mpcrt::ViewOp::create(builder, entry.getLoc(), type, arena.getMemory(),
                                    getBatchArgument(entry),
                                    /*fixed=*/static_cast<uint64_t>(grows ? 0 : end),
                                    /*per_sample=*/static_cast<uint64_t>(grows ? end : 0));
  view.setExtent(static_cast<uint64_t>(extent));
  end += llvm::alignTo(bytes, grows ? kAlignmentOfSample : kAlignment);
  views.push_back(view);
  return view;
}

void ReportRoom::startAgain() {
  mostFixed = std::max(mostFixed, fixed);
  mostPerSample = std::max(mostPerSample, perSample);
  fixed = perSample = 0;
}

void ReportRoom::close() {
  startAgain();
  const int64_t behind = arena.getFixed();
  const int64_t place = mostFixed ? arena.takeFixed(mostFixed) : 0;
  const int64_t placeOfSample = mostPerSample ? arena.takePerSample(mostPerSample) : 0;
  for (mpcrt::ViewOp view : views) {
    const bool grows = rangeOf(view).perSampleEnd != 0;
    view.setFixed(view.getFixed() + static_cast<uint64_t>(grows ? behind : place));
    view.setPerSample(view.getPerSample() + static_cast<uint64_t>(grows ? placeOfSample : 0));
  }
  arena.close();
}
