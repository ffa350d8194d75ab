// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges are linear in the batch and have no total order. An arena is packed, though: sorted by
// where they begin, those before a range and those behind it end soon.
#include "lib/Conversion/LinalgToMpcrt/MemoryOrder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;

/// Between the places of two ops is room for those that move there.
static constexpr uint64_t kRoom = uint64_t(1) << 32;

static auto keyOf(const ByteRange &range) {
  return std::make_tuple(range.fixed + range.perSample, range.fixed, range.fixedEnd,
                         range.perSampleEnd);
}

MemoryOrder::Track &MemoryOrder::Arena::trackOf(const ByteRange &range) {
  return pieces[indexOf(range)].track;
}

size_t MemoryOrder::Arena::indexOf(const ByteRange &range) const {
  return llvm::lower_bound(
             pieces, range,
             [](const Piece &a, const ByteRange &b) { return keyOf(a.range) < keyOf(b); }) -
         pieces.begin();
}

void MemoryOrder::Arena::sort() {
  llvm::sort(pieces,
             [](const Piece &a, const Piece &b) { return keyOf(a.range) < keyOf(b.range); });
  pieces.erase(
      llvm::unique(pieces, [](const Piece &a, const Piece &b) { return a.range == b.range; }),
      pieces.end());
  largestEnds.resize(pieces.size());
  smallestBegins.resize(pieces.size());
  std::pair<int64_t, int64_t> ends{INT64_MIN, INT64_MIN}, begins{INT64_MAX, INT64_MAX};
  for (size_t i = 0; i < pieces.size(); ++i) {
    const ByteRange &range = pieces[i].range;
    ends = {std::max(ends.first, range.fixedEnd), std::max(ends.second, range.perSampleEnd)};
    largestEnds[i] = ends;
  }
  for (size_t i = pieces.size(); i-- > 0;) {
    const ByteRange &range = pieces[i].range;
    begins = {std::min(begins.first, range.fixed), std::min(begins.second, range.perSample)};
    smallestBegins[i] = begins;
  }
}

void MemoryOrder::Arena::findOverlapping(const ByteRange &range, SmallVectorImpl<Track *> &found) {
  auto add = [&](Piece &piece) {
    if (!piece.range.isBefore(range) && !range.isBefore(piece.range))
      found.push_back(&piece.track);
  };
  const size_t own = indexOf(range);
  for (size_t i = own; i-- > 0;) {
    if (largestEnds[i].first <= range.fixed && largestEnds[i].second <= range.perSample)
      break;
    add(pieces[i]);
  }
  for (size_t i = own; i < pieces.size(); ++i) {
    if (smallestBegins[i].first >= range.fixedEnd && smallestBegins[i].second >= range.perSampleEnd)
      break;
    add(pieces[i]);
  }
}

/// The view if it has a place in its arena.
static mpcrt::ViewOp storedView(Value base) {
  auto view = base.getDefiningOp<mpcrt::ViewOp>();
  return view && !view.getUnstored() ? view : mpcrt::ViewOp();
}

MemoryOrder::MemoryOrder(Block &block, BufferUses &uses) : block(block), uses(uses) {
  for (Operation &op : block) {
    places[&op] = kRoom * (places.size() + 1);
    if (const auto &touched = uses.of(&op))
      for (const BufferUse &use : *touched)
        if (auto view = storedView(use.base)) {
          auto &arena = arenas[view.getArena()];
          if (!arena)
            arena = std::make_unique<Arena>();
          arena->pieces.push_back({rangeOf(view), {}});
        }
  }
  for (auto &[_, arena] : arenas)
    arena->sort();
  for (Operation &op : block)
    for (auto [track, isWritten] : touchesOf(&op))
      track->add(places[&op], &op, isWritten);
}

MemoryOrder::Track *MemoryOrder::ownTrackOf(Value base) {
  if (auto view = storedView(base))
    return &arenas.find(view.getArena())->second->trackOf(rangeOf(view));
  if (!isa<BlockArgument>(base) && !base.getDefiningOp<memref::AllocaOp>() &&
      !base.getDefiningOp<mpcrt::ViewOp>())
    return nullptr;
  auto &track = others[base];
  if (!track)
    track = std::make_unique<Track>();
  return track.get();
}

SmallVector<MemoryOrder::Touch> MemoryOrder::touchesOf(Operation *op) {
  const auto &touched = uses.of(op);
  if (!touched)
    return {{&unknown, true}, {&all, true}};
  SmallVector<Touch> touches;
  bool writes = false;
  for (const BufferUse &use : *touched) {
    Track *own = ownTrackOf(use.base);
    touches.push_back({own ? own : &unknown, use.isWritten});
    writes |= use.isWritten;
  }
  if (!touches.empty())
    touches.push_back({&all, writes});
  return touches;
}

SmallVector<MemoryOrder::Track *> MemoryOrder::tracksOf(Value base) {
  SmallVector<Track *> tracks;
  if (auto view = storedView(base)) {
    if (auto arena = arenas.find(view.getArena()); arena != arenas.end())
      arena->second->findOverlapping(rangeOf(view), tracks);
  } else if (Track *own = ownTrackOf(base)) {
    tracks.push_back(own);
  } else {
    return {&all};
  }
  tracks.push_back(&unknown);
  return tracks;
}

Operation *MemoryOrder::findNext(Operation *op, Value buffer) {
  std::optional<std::pair<Place, Operation *>> first;
  const Place after = places.lookup(op);
  for (Track *track : tracksOf(baseOf(buffer)))
    for (auto next = track->ops.upper_bound(after); next != track->ops.end(); ++next) {
      if (first && first->first <= next->first)
        break;
      const auto &touched = uses.of(next->second);
      if (touched && llvm::none_of(*touched, [&](const BufferUse &use) {
            return mayOverlap(use.base, buffer);
          }))
        continue;
      first = {next->first, next->second};
      break;
    }
  return first ? first->second : nullptr;
}

bool MemoryOrder::anyOrderedWith(Operation *op, Operation *first, Operation *last,
                                 llvm::function_ref<bool(Operation *)> matches) {
  const Place from = places.lookup(first), to = places.lookup(last);
  // Where it writes, all others matter; where it reads, those that write.
  llvm::SmallDenseMap<Track *, bool> tracks;
  if (const auto &touched = uses.of(op)) {
    for (const BufferUse &use : *touched)
      for (Track *track : tracksOf(use.base))
        tracks[track] |= use.isWritten;
  } else {
    tracks[&all] = true;
  }
  return llvm::any_of(tracks, [&](const auto &entry) {
    const auto &others = entry.second ? entry.first->ops : entry.first->writers;
    for (auto other = others.lower_bound(from); other != others.end() && other->first < to; ++other)
      if (other->second != op && uses.dependOnEachOther(other->second, op) &&
          matches(other->second))
        return true;
    return false;
  });
}

bool MemoryOrder::moveDefinitions(RewriterBase &rewriter, ArrayRef<Value> values,
                                  Operation *point) {
  const Place place = places.lookup(point);
  llvm::SetVector<Operation *> moving;
  auto add = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    if (producer && producer->getBlock() == &block && places.lookup(producer) >= place)
      moving.insert(producer);
  };
  llvm::for_each(values, add);
  for (size_t i = 0; i < moving.size(); ++i) {
    if (moving[i] == point || !isPure(moving[i]))
      return false;
    moving[i]->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  }
  SmallVector<Operation *> inOrder = moving.takeVector();
  llvm::sort(inOrder,
             [&](Operation *a, Operation *b) { return places.lookup(a) < places.lookup(b); });
  for (Operation *op : inOrder) {
    rewriter.moveOpBefore(op, point);
    places[op] = place - kRoom + ++moved;
  }
  return true;
}

std::function<void(Operation *)> MemoryOrder::replace(Operation *a, Operation *b,
                                                      Operation *point) {
  SmallVector<Touch> touches = touchesOf(a);
  llvm::append_range(touches, touchesOf(b));
  const Place place = places.lookup(point);
  for (auto [track, _] : touches)
    for (auto *ops : {&track->ops, &track->writers}) {
      ops->erase(places.lookup(a));
      ops->erase(places.lookup(b));
    }
  return [this, touches, place](Operation *merged) {
    places[merged] = place;
    for (auto [track, isWritten] : touches)
      track->add(place, merged, isWritten);
    if (!uses.of(merged))
      unknown.add(place, merged, /*writes=*/true);
  };
}
