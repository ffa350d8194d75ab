// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table says which attributes there are.
#include "test/FakeCuda/cudnn_description.h"
#include "test/FakeCuda/cudnn_attention.h"
#include "test/FakeCuda/cudnn_graph.h"

#include <algorithm>
#include <set>

namespace fake::dnn {
namespace {

// cudnnBackendAttributeType_t: the size of an element; 0: none that is known here.
size_t sizeOf(int type) {
  switch (type) {
  case 2: // bool
    return 1;
  case 1: // enumerations
  case 4: // float
  case 7:
  case 8:
  case 10:
  case 11:
  case 14:
  case 18:
    return 4;
  case 0: // handle
  case 3: // int64
  case 6: // pointer
  case 15:
    return 8;
  default:
    return 0;
  }
}

struct Attribute {
  int name, type;
  int64_t least, most;
  bool isRequired;
  bool isReadOnly = false;
};
constexpr int64_t mostExtents = 9;

constexpr int typeHandle = 0, typeData = 1, typeBool = 2, typeInt64 = 3, typeFloat = 4,
              typePointer = 6, typeDescriptor = 15;

const std::vector<Attribute> &attributesOf(int kind) {
  static const std::map<int, std::vector<Attribute>> table = {
      {pointwise,
       {{0, 14, 1, 1, true},
        {1, typeData, 1, 1, true},
        {2, 10, 1, 1, false},
        {9, typeInt64, 1, 1, false}}},
      {window,
       {{100, typeData, 1, 1, true},
        {101, 7, 1, 1, true},
        {102, typeInt64, 1, mostExtents, true},
        {103, typeInt64, 1, mostExtents, true},
        {104, typeInt64, 1, mostExtents, true},
        {105, typeInt64, 1, mostExtents, true},
        {106, typeInt64, 1, 1, true}}},
      {engine, {{1301, typeInt64, 1, 1, true, true}, {1303, 11, 0, 64, false, true}}},
      {engineConfig, {{300, typeDescriptor, 1, 1, true, true}}},
      {heuristic,
       {{200, 8, 1, 1, true},
        {201, typeDescriptor, 1, 1, true},
        {202, typeDescriptor, 0, 1 << 20, false, true}}},
      {plan,
       {{400, typeHandle, 1, 1, true},
        {401, typeDescriptor, 1, 1, true},
        {402, typeInt64, 1, 1, false, true}}},
      {forwardOperation,
       {{700, typeFloat, 1, 1, true},
        {701, typeFloat, 1, 1, true},
        {702, typeDescriptor, 1, 1, true},
        {703, typeDescriptor, 1, 1, true},
        {704, typeDescriptor, 1, 1, true},
        {705, typeDescriptor, 1, 1, true}}},
      {dataGradientOperation,
       {{706, typeFloat, 1, 1, true},
        {707, typeFloat, 1, 1, true},
        {708, typeDescriptor, 1, 1, true},
        {709, typeDescriptor, 1, 1, true},
        {710, typeDescriptor, 1, 1, true},
        {711, typeDescriptor, 1, 1, true}}},
      {filterGradientOperation,
       {{712, typeFloat, 1, 1, true},
        {713, typeFloat, 1, 1, true},
        {714, typeDescriptor, 1, 1, true},
        {715, typeDescriptor, 1, 1, true},
        {716, typeDescriptor, 1, 1, true},
        {717, typeDescriptor, 1, 1, true}}},
      {pointwiseOperation,
       {{750, typeDescriptor, 1, 1, true},
        {751, typeDescriptor, 1, 1, true},
        {752, typeDescriptor, 1, 1, false},
        {753, typeDescriptor, 1, 1, true},
        {758, typeDescriptor, 1, 1, false}}},
      {matmul, {{1500, typeData, 1, 1, true}}},
      {matmulOperation,
       {{1520, typeDescriptor, 1, 1, true},
        {1521, typeDescriptor, 1, 1, true},
        {1522, typeDescriptor, 1, 1, true},
        {1523, typeDescriptor, 1, 1, true}}},
      {reduction, {{1600, 18, 1, 1, true}, {1601, typeData, 1, 1, true}}},
      {reductionOperation,
       {{1610, typeDescriptor, 1, 1, true},
        {1611, typeDescriptor, 1, 1, true},
        {1612, typeDescriptor, 1, 1, true}}},
      {reshapeOperation, {{2200, typeDescriptor, 1, 1, true}, {2201, typeDescriptor, 1, 1, true}}},
      {graph, {{800, typeHandle, 1, 1, true}, {801, typeDescriptor, 1, 64, true}}},
      {variantPack,
       {{1000, typeInt64, 1, 64, true},
        {1001, typePointer, 1, 64, true},
        {1003, typePointer, 1, 1, true}}},
      {tensor,
       {{900, typeInt64, 1, 1, true},
        {901, typeData, 1, 1, true},
        {902, typeInt64, 1, mostExtents, true},
        {903, typeInt64, 1, mostExtents, true},
        {906, typeInt64, 1, 1, true},
        {907, typeBool, 1, 1, false},
        {908, typeBool, 1, 1, false}}},
  };
  static const std::vector<Attribute> none;
  auto found = table.find(kind);
  return found == table.end() ? none : found->second;
}

const Attribute *find(int kind, int name) {
  for (const Attribute &attribute : attributesOf(kind))
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

// The kinds that an attribute takes.
bool takes(int name, int kind) {
  switch (name) {
  case 201:
    return kind == graph;
  case 401:
    return kind == engineConfig;
  case 702:
  case 708:
  case 714:
    return kind == window;
  case 750:
    return kind == pointwise;
  case 1523:
    return kind == matmul;
  case 1612:
    return kind == reduction;
  case 801:
    return (kind >= forwardOperation && kind <= pointwiseOperation) || kind == matmulOperation ||
           kind == reductionOperation || kind == reshapeOperation;
  default:
    return kind == tensor;
  }
}

// The bytes of an element of a cudnnDataType_t.
int64_t bytesOf(int type) {
  return type == 1 ? 8 : type == 0 || type == 4 ? 4 : type == 11 ? 1 : 2;
}

int checkTensor(const Description &d) {
  const int type = d.get<int>(901);
  if (type != 0 && type != 1 && type != 2 && type != 4 && type != 9 && type != 11)
    return notSupported;
  const int64_t bytes = bytesOf(type), alignment = d.get<int64_t>(900);
  auto extents = d.numbers(902), strides = d.numbers(903);
  auto isPositive = [](int64_t n) { return n > 0; };
  const bool isSound = extents.size() == strides.size() &&
                       std::all_of(extents.begin(), extents.end(), isPositive) &&
                       std::all_of(strides.begin(), strides.end(), isPositive);
  return isSound && alignment > 0 && alignment % bytes == 0 ? success : badParameter;
}

int checkWindow(const Description &d) {
  const auto rank = static_cast<size_t>(d.get<int64_t>(106));
  for (int name : {102, 103, 104, 105}) {
    auto numbers = d.numbers(name);
    const int64_t least = name <= 103 ? 1 : 0;
    if (numbers.size() != rank ||
        std::any_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n < least; }))
      return badParameter;
  }
  return d.get<int>(101) == 0 || d.get<int>(101) == 1 ? success : badParameter;
}

int checkPack(const Description &d) {
  auto ids = d.numbers(1000);
  const bool areUnique = std::set<int64_t>(ids.begin(), ids.end()).size() == ids.size();
  return areUnique && d.values.at(1001).count == static_cast<int64_t>(ids.size()) ? success
                                                                                  : badParameter;
}

int finalizePlan(Description &d) {
  auto config = d.description(401);
  d.subject = config->subject;
  d.choice = config->choice;
  // As for want of a library that the engine loads.
  return d.choice.index == unpreparedEngine ? prerequisiteMissing : success;
}

int finalizeHeuristic(Description &d) {
  const int mode = d.get<int>(200);
  if (mode < 0 || mode > 3)
    return badParameter;
  d.subject = d.description(201);
  d.offers = enginesFor(*d.subject, mode);
  return success;
}

} // namespace

std::vector<int64_t> Description::numbers(int name) const {
  auto found = values.find(name);
  std::vector<int64_t> result(found == values.end() ? 0 : static_cast<size_t>(found->second.count));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = get<int64_t>(name, i);
  return result;
}

std::shared_ptr<Description> Description::description(int name, size_t i) const {
  auto found = values.find(name);
  return found == values.end() || i >= found->second.descriptions.size()
             ? nullptr
             : found->second.descriptions[i];
}

bool isKind(int kind) { return !attributesOf(kind).empty(); }

int setValue(Description &d, int name, int type, int64_t count, const void *values) {
  const Attribute *attribute = find(d.kind, name);
  if (d.isFinalized || !attribute || attribute->isReadOnly || !values)
    return badParameter;
  if (type != attribute->type)
    return wrongAttributeType;
  if (count < attribute->least || count > attribute->most)
    return badParameter;
  Description::Value value;
  value.type = type;
  value.count = count;
  if (type == typeDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      const Handle *handle = static_cast<Handle *const *>(values)[i];
      if (!handle)
        return nullPointer;
      if (!takes(name, handle->is->kind))
        return badParameter;
      if (!handle->is->isFinalized)
        return notFinalized;
      value.descriptions.push_back(handle->is);
    }
  } else {
    auto *bytes = static_cast<const uint8_t *>(values);
    value.bytes.assign(bytes, bytes + static_cast<size_t>(count) * sizeOf(type));
  }
  d.values[name] = std::move(value);
  return success;
}

int getValue(const Description &d, int name, int type, int64_t room, int64_t *count, void *values) {
  if (!d.isFinalized)
    return notInitialized;
  const Attribute *attribute = find(d.kind, name);
  if (!attribute || room < 0 || (room > 0 && !values))
    return badParameter;
  if (type != attribute->type)
    return wrongAttributeType;
  auto copy = [&](const void *from, size_t size, int64_t available) {
    if (count)
      *count = room == 0 ? available : std::min(room, available);
    if (room > 0 && available > 0)
      std::memcpy(values, from, size * static_cast<size_t>(std::min(room, available)));
    return success;
  };
  if (name == 1301)
    return copy(&d.choice.index, sizeof d.choice.index, 1);
  if (name == 1303)
    return copy(d.choice.notes.data(), sizeof(int), static_cast<int64_t>(d.choice.notes.size()));
  if (name == 402)
    return copy(&d.choice.workspaceBytes, sizeof d.choice.workspaceBytes, 1);
  if (name == 300 || name == 202) {
    const int kind = name == 300 ? engine : engineConfig;
    const std::vector<Engine> offers = name == 300 ? std::vector<Engine>{d.choice} : d.offers;
    // One more is announced than comes, as the real one does at times.
    auto available = static_cast<int64_t>(offers.size());
    if (count)
      *count = room == 0 ? available + (name == 202) : std::min(room, available);
    for (int64_t i = 0; i < std::min(room, available); ++i) {
      Handle *handle = static_cast<Handle **>(values)[i];
      if (!handle || handle->is->kind != kind || handle->is->isFinalized)
        return badParameter;
      auto made = std::make_shared<Description>(kind);
      made->isFinalized = true;
      made->subject = d.subject;
      made->choice = offers[static_cast<size_t>(i)];
      handle->is = made;
    }
    return success;
  }
  auto found = d.values.find(name);
  if (found == d.values.end() || type == typeDescriptor)
    return badParameter;
  return copy(found->second.bytes.data(), sizeOf(type), found->second.count);
}

int finalize(Description &d) {
  if (d.isFinalized)
    return badParameter;
  for (const Attribute &attribute : attributesOf(d.kind))
    if (attribute.isRequired && (attribute.isReadOnly || !d.has(attribute.name)))
      return badParameter;
  int status = success;
  switch (d.kind) {
  case tensor:
    status = checkTensor(d);
    break;
  case window:
    status = checkWindow(d);
    break;
  case forwardOperation:
  case dataGradientOperation:
  case filterGradientOperation:
    status = checkConvolution(d);
    break;
  case pointwiseOperation:
    status = checkPointwise(d);
    break;
  case matmulOperation:
    status = checkMatmul(d);
    break;
  case reductionOperation:
    status = checkReduction(d);
    break;
  case reshapeOperation:
    status = checkReshape(d);
    break;
  case graph:
    status = checkGraph(d);
    break;
  case heuristic:
    status = finalizeHeuristic(d);
    break;
  case plan:
    status = finalizePlan(d);
    break;
  case variantPack:
    status = checkPack(d);
    break;
  default:
    break;
  }
  d.isFinalized = status == success;
  return status;
}

} // namespace fake::dnn
