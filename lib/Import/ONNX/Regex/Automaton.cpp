// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Regex/Automaton.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errc.h"

#include <map>

namespace mpc::onnx {

namespace {

constexpr size_t kMostPlaces = 20'000;   ///< of the automaton that is not deterministic
constexpr size_t kMostStates = 10'000;   ///< before equal ones are merged
constexpr size_t kMostEntries = 1 << 20; ///< of the table
constexpr uint64_t kMostWork = uint64_t(1) << 28;

llvm::Error refuse(const llvm::Twine &text) {
  return llvm::createStringError(llvm::errc::invalid_argument, text);
}

/// A place between two parts of the pattern: where one can go on, by a code point or for nothing.
struct Place {
  enum class Kind { jump, split, set, boundary, match } kind = Kind::match;
  int next = -1, other = -1;
  int set = -1; ///< its number
  Boundary boundary = Boundary::beginOfText;
};

/// Thompson's construction, from the end of the pattern to its front.
class PlaceBuilder {
public:
  int add(Place place) {
    places.push_back(place);
    return int(places.size()) - 1;
  }
  bool isFull() const { return places.size() > kMostPlaces; }

  /// The place from which `node` and then what is at `next` matches.
  int build(const RegexNode &node, int next) {
    if (isFull())
      return next;
    switch (node.kind) {
    case RegexNode::Kind::empty:
      return next;
    case RegexNode::Kind::set:
      return add({Place::Kind::set, next, -1, numberOf(node.set), {}});
    case RegexNode::Kind::boundary:
      boundaries.push_back(node.boundary);
      return add({Place::Kind::boundary, next, -1, -1, node.boundary});
    case RegexNode::Kind::sequence:
      for (const auto &child : llvm::reverse(node.children))
        next = build(*child, next);
      return next;
    case RegexNode::Kind::choice: {
      int first = build(*node.children.back(), next);
      for (const auto &child : llvm::reverse(llvm::ArrayRef(node.children).drop_back()))
        first = add({Place::Kind::split, build(*child, next), first, -1, {}});
      return first;
    }
    case RegexNode::Kind::repeat:
      return buildRepeat(node, next);
    }
    return next;
  }

  std::vector<Place> places;
  std::vector<CodePointSet> sets;
  std::vector<Boundary> boundaries; ///< that the pattern asks for

private:
  int numberOf(const CodePointSet &set) {
    const auto [known, isNew] = numbers.try_emplace(set, int(sets.size()));
    if (isNew)
      sets.push_back(set);
    return known->second;
  }

  int buildRepeat(const RegexNode &node, int next) {
    const RegexNode &inner = *node.children.front();
    if (node.most < 0) {
      const int loop = add({Place::Kind::split, -1, next, -1, {}});
      places[size_t(loop)].next = build(inner, loop);
      next = loop;
    }
    const int last = next;
    for (int i = node.least; i < node.most && !isFull(); ++i)
      next = add({Place::Kind::split, build(inner, next), last, -1, {}});
    for (int i = 0; i < node.least && !isFull(); ++i)
      next = build(inner, next);
    return next;
  }

  std::map<CodePointSet, int> numbers;
};

/// The surroundings of a place of the text.
struct Neighbours {
  bool isBegin = false, isEnd = false;
  bool isWordBefore = false, isWordBehind = false;
  bool isNewlineBefore = false, isNewlineBehind = false;

  bool holds(Boundary boundary) const {
    switch (boundary) {
    case Boundary::beginOfText:
      return isBegin;
    case Boundary::endOfText:
      return isEnd;
    case Boundary::beginOfLine:
      return isBegin || isNewlineBefore;
    case Boundary::endOfLine:
      return isEnd || isNewlineBehind;
    case Boundary::word:
      return isWordBefore != isWordBehind;
    case Boundary::noWord:
      return isWordBefore == isWordBehind;
    }
    return false;
  }
};

/// Code points that no set of the pattern tells apart.
struct Classes {
  std::vector<int32_t> ofPoint;
  std::vector<int32_t> examples;         ///< a code point of each
  std::vector<std::vector<bool>> inSets; ///< by class, by set
};

std::optional<Classes> makeClasses(llvm::ArrayRef<CodePointSet> sets) {
  std::vector<int32_t> starts{0, 1};
  for (const CodePointSet &set : sets)
    for (const CodePointSet::Range &range : set.getRanges()) {
      starts.push_back(range.first);
      starts.push_back(range.last + 1);
    }
  llvm::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  if (uint64_t(starts.size()) * (sets.size() + 1) > kMostWork / 16)
    return std::nullopt;
  Classes classes;
  classes.ofPoint.resize(size_t(kCodePointLimit), 0);
  classes.examples = {0};
  classes.inSets = {std::vector<bool>(sets.size(), false)};
  std::map<std::vector<bool>, int32_t> known;
  for (size_t i = 1; i < starts.size() && starts[i] < kCodePointLimit; ++i) {
    std::vector<bool> inSets;
    for (const CodePointSet &set : sets)
      inSets.push_back(set.contains(starts[i]));
    const auto [number, isNew] = known.try_emplace(inSets, int32_t(classes.examples.size()));
    if (isNew) {
      classes.examples.push_back(starts[i]);
      classes.inSets.push_back(std::move(inSets));
    }
    const int32_t end = i + 1 < starts.size() ? starts[i + 1] : kCodePointLimit;
    std::fill(classes.ofPoint.begin() + starts[i], classes.ofPoint.begin() + end, number->second);
  }
  return classes;
}

/// The construction of sets of places, each a state.
class Determinizer {
public:
  Determinizer(const PlaceBuilder &pattern, int start, const Classes &classes)
      : places(pattern.places), classes(classes), marks(pattern.places.size(), 0) {
    for (Boundary boundary : pattern.boundaries) {
      asksForBegin |= boundary == Boundary::beginOfText || boundary == Boundary::beginOfLine;
      asksForWords |= boundary == Boundary::word || boundary == Boundary::noWord;
      asksForLines |= boundary == Boundary::beginOfLine;
    }
    State first;
    first.places = {start};
    first.isBegin = asksForBegin;
    numberOf(std::move(first));
  }

  /// False where there would be too many states.
  bool run(Automaton &automaton) {
    const size_t count = classes.examples.size();
    for (size_t state = 0; state < order.size(); ++state) {
      if (order.size() > kMostStates || order.size() * count > kMostEntries || work > kMostWork)
        return false;
      const State from = *order[state];
      automaton.next.push_back(int64_t(state)); // behind the end
      automaton.accepts.push_back(reachesMatch(from));
      for (size_t number = 1; number < count; ++number)
        automaton.next.push_back(int64_t(step(from, number)));
    }
    return true;
  }

private:
  struct State {
    std::vector<int> places; ///< sorted
    bool isBegin = false, isWordBefore = false, isNewlineBefore = false;
    bool operator<(const State &other) const {
      return std::tie(places, isBegin, isWordBefore, isNewlineBefore) <
             std::tie(other.places, other.isBegin, other.isWordBefore, other.isNewlineBefore);
    }
  };

  size_t numberOf(State state) {
    const auto [known, isNew] = numbers.try_emplace(std::move(state), order.size());
    if (isNew)
      order.push_back(&known->first);
    return known->second;
  }

  static Neighbours lookBack(const State &state) {
    Neighbours around;
    around.isBegin = state.isBegin;
    around.isWordBefore = state.isWordBefore;
    around.isNewlineBefore = state.isNewlineBefore;
    return around;
  }

  /// Visits the places that are reached for nothing.
  void close(const State &from, const Neighbours &around,
             llvm::function_ref<void(const Place &)> visit) {
    ++round;
    std::vector<int> open = from.places;
    while (!open.empty()) {
      const int number = open.back();
      open.pop_back();
      if (std::exchange(marks[size_t(number)], round) == round)
        continue;
      ++work;
      const Place &place = places[size_t(number)];
      if (place.kind == Place::Kind::split)
        open.push_back(place.other);
      if (place.kind == Place::Kind::split || place.kind == Place::Kind::jump ||
          (place.kind == Place::Kind::boundary && around.holds(place.boundary)))
        open.push_back(place.next);
      visit(place);
    }
  }

  bool reachesMatch(const State &from) {
    Neighbours around = lookBack(from);
    around.isEnd = true;
    bool isMatch = false;
    close(from, around, [&](const Place &place) { isMatch |= place.kind == Place::Kind::match; });
    return isMatch;
  }

  size_t step(const State &from, size_t number) {
    Neighbours around = lookBack(from);
    const int32_t example = classes.examples[number];
    around.isWordBehind = getWordCharacters().contains(example);
    around.isNewlineBehind = example == '\n';
    State to;
    close(from, around, [&](const Place &place) {
      if (place.kind == Place::Kind::set && classes.inSets[number][size_t(place.set)])
        to.places.push_back(place.next);
    });
    llvm::sort(to.places);
    to.places.erase(std::unique(to.places.begin(), to.places.end()), to.places.end());
    if (!to.places.empty()) {
      to.isWordBefore = asksForWords && around.isWordBehind;
      to.isNewlineBefore = asksForLines && around.isNewlineBehind;
    }
    return numberOf(std::move(to));
  }

  llvm::ArrayRef<Place> places;
  const Classes &classes;
  bool asksForBegin = false, asksForWords = false, asksForLines = false;
  std::map<State, size_t> numbers;
  std::vector<const State *> order; ///< keys of a map stay where they are
  std::vector<uint64_t> marks;      ///< the round in which a place was visited last
  uint64_t round = 0, work = 0;
};

/// Merges states that no text tells apart (Moore): blocks are split by the blocks they go to until
/// none is.
void minimize(Automaton &automaton) {
  const size_t count = automaton.accepts.size(), classCount = size_t(automaton.classCount);
  std::vector<int64_t> block(automaton.accepts.begin(), automaton.accepts.end());
  for (size_t before = 0, blocks = 1; blocks != before;) {
    before = blocks;
    std::map<std::vector<int64_t>, int64_t> known;
    std::vector<int64_t> refined;
    for (size_t state = 0; state < count; ++state) {
      std::vector<int64_t> key{block[state]};
      for (size_t number = 0; number < classCount; ++number)
        key.push_back(block[size_t(automaton.next[state * classCount + number])]);
      refined.push_back(known.try_emplace(std::move(key), int64_t(known.size())).first->second);
    }
    block = std::move(refined); // the block of state 0 is 0
    blocks = known.size();
  }
  const auto blockCount = size_t(*llvm::max_element(block)) + 1;
  std::vector<int64_t> next(blockCount * classCount);
  std::vector<bool> accepts(blockCount);
  for (size_t state = 0; state < count; ++state) {
    const auto own = size_t(block[state]);
    accepts[own] = automaton.accepts[state];
    for (size_t number = 0; number < classCount; ++number)
      next[own * classCount + number] = block[size_t(automaton.next[state * classCount + number])];
  }
  automaton.next = std::move(next);
  automaton.accepts = std::move(accepts);
}

} // namespace

bool Automaton::matches(llvm::ArrayRef<int32_t> text) const {
  int64_t state = 0;
  for (int32_t point : text)
    state = next[size_t(state * classCount + classes[size_t(point)])];
  return accepts[size_t(state)];
}

llvm::Expected<Automaton> makeAutomaton(llvm::StringRef pattern) {
  llvm::Expected<std::unique_ptr<RegexNode>> tree = parseRegex(pattern);
  if (!tree)
    return tree.takeError();
  PlaceBuilder builder;
  const int start = builder.build(**tree, builder.add({}));
  if (builder.isFull())
    return refuse("is too large: its repeats stand for more than " + llvm::Twine(kMostPlaces) +
                  " places");
  std::vector<CodePointSet> told = builder.sets;
  for (Boundary boundary : builder.boundaries)
    if (boundary == Boundary::word || boundary == Boundary::noWord)
      told.push_back(getWordCharacters());
    else if (boundary == Boundary::beginOfLine || boundary == Boundary::endOfLine)
      told.push_back({{'\n', '\n'}});
  llvm::sort(llvm::MutableArrayRef(told).drop_front(builder.sets.size()));
  told.erase(std::unique(
                 told.begin() + int64_t(builder.sets.size()), told.end(),
                 [](const CodePointSet &a, const CodePointSet &b) { return !(a < b) && !(b < a); }),
             told.end());
  std::optional<Classes> classes = makeClasses(told);
  if (!classes)
    return refuse("is too large: it tells too many code points apart");
  Automaton automaton;
  automaton.classCount = int64_t(classes->examples.size());
  if (!Determinizer(builder, start, *classes).run(automaton))
    return refuse("would need an automaton of more than " + llvm::Twine(kMostStates) +
                  " states, or of more than " + llvm::Twine(kMostEntries) + " entries");
  automaton.classes = std::move(classes->ofPoint);
  minimize(automaton);
  return automaton;
}

} // namespace mpc::onnx
