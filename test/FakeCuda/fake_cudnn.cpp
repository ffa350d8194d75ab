// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcudnn of the software device: the backend graph API. What the real one refuses is refused with
// its status; what a GPU would only sometimes notice ends the process.
//
//   MPC_FAKE_CUDNN_RELU_LOSES_NAN  a relu in a graph makes 0 of NaN
//   MPC_FAKE_CUDNN_BROKEN          cudnnCreate fails, as with a driver that is too old
#include "test/FakeCuda/cudnn_attention.h"
#include "test/FakeCuda/driver_functions.h"
#include "test/FakeCuda/lost_time.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

using fake::OneAtATime;
using namespace fake::dnn;

namespace {

struct Context {
  void *stream = nullptr;
};

std::set<Context *> contexts;
std::set<Handle *> descriptors;

[[noreturn]] void end(int code, const std::string &text) {
  std::fprintf(stderr, "fake-cuda: error: %s\n", text.c_str());
  std::fflush(stderr);
  _exit(code);
}

// At the end of the process everything must have been given back.
void checkLeaks() {
  if (!contexts.empty() || !descriptors.empty())
    end(98, "leaked: " + std::to_string(contexts.size()) + " cuDNN handles, " +
                std::to_string(descriptors.size()) + " descriptors");
}

void watchLeaks() {
  static const int registered = std::atexit(checkLeaks);
  (void)registered;
}

bool isDevice(const void *address, size_t bytes) {
  static auto function = fake::findInDriver<decltype(&mpc_fake_is_device)>("mpc_fake_is_device");
  return function(address, bytes) != 0;
}

bool overlap(const void *a, size_t bytesOfA, const void *b, size_t bytesOfB) {
  auto *p = static_cast<const char *>(a), *q = static_cast<const char *>(b);
  return p < q + bytesOfB && q < p + bytesOfA;
}

// One graph on a stream; a recorded one runs as often as its step.
struct Run {
  std::shared_ptr<Description> plan;
  std::map<int64_t, void *> addresses;
  std::map<int64_t, std::vector<uint8_t>> scalars; // as they were when it was executed
  void *workspace;
};

void run(void *data) {
  const Run &r = *static_cast<Run *>(data);
  fake::loseTime("MPC_FAKE_CUDNN_SLOW", r.plan->choice.index);
  if (r.plan->isDestroyed)
    end(99, "a graph runs whose plan was destroyed: its kernels went with it");
  const fake::dnn::Engine &engine = r.plan->choice;
  if (engine.index >= 90)
    end(99, "engine " + std::to_string(engine.index) +
                " runs, whose notes promise other numbers than mpc does");
  // Whoever keeps something in the workspace loses it, of a large one at both ends.
  const auto room = static_cast<size_t>(engine.workspaceBytes),
             part = std::min<size_t>(room, 1 << 16);
  if (room) {
    std::memset(r.workspace, 0xFF, part);
    std::memset(static_cast<uint8_t *>(r.workspace) + (room - part), 0xFF, part);
  }
  compute(*r.plan->subject, engine, r.addresses);
}

// Null for what is no descriptor, or one that was destroyed.
Description *descriptionOf(void *descriptor) {
  auto *handle = static_cast<Handle *>(descriptor);
  return descriptors.count(handle) ? handle->is.get() : nullptr;
}

// Addresses by the ids of the graph; a status where one is missing or not as it was promised.
int bindPlaces(const Description &graph, const Description &pack, Run &run, const void *workspace,
               size_t workspaceBytes) {
  std::map<int64_t, void *> &addresses = run.addresses;
  const std::string what = isAttention(graph) ? "an attention" : "a convolution";
  auto ids = pack.numbers(1000);
  for (size_t i = 0; i < ids.size(); ++i)
    addresses[ids[i]] = pack.get<void *>(1001, i);
  const std::vector<Place> places = placesOf(graph);
  if (places.size() != ids.size())
    return badParameter;
  for (const Place &place : places) {
    auto found = addresses.find(place.id);
    if (found == addresses.end() || !found->second)
      return badParameter;
    if (place.isByValue) {
      auto *value = static_cast<const uint8_t *>(found->second);
      std::vector<uint8_t> &copy = run.scalars[place.id];
      copy.assign(value, value + place.bytes);
      found->second = copy.data();
      continue;
    }
    if (reinterpret_cast<uintptr_t>(found->second) % static_cast<uintptr_t>(place.alignment))
      return misalignedPointer;
    if (!isDevice(found->second, place.bytes))
      end(99, "tensor " + std::to_string(place.id) + " of " + what + " is not in device memory");
    if (workspaceBytes && overlap(found->second, place.bytes, workspace, workspaceBytes))
      end(99, "the workspace of " + what + " lies over tensor " + std::to_string(place.id));
  }
  for (const Place &result : places)
    for (const Place &place : places)
      if (result.isResult && place.id != result.id && !place.isByValue &&
          overlap(addresses[place.id], place.bytes, addresses[result.id], result.bytes))
        end(99, what + " writes over what it reads, or another result");
  return success;
}

} // namespace

EXPORT size_t cudnnGetVersion() { return 92801; }
EXPORT const char *cudnnGetErrorString(int status) {
  return status == success              ? "CUDNN_STATUS_SUCCESS"
         : status / 1000 * 1000 == 2000 ? "CUDNN_STATUS_BAD_PARAM"
         : status / 1000 * 1000 == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED"
                                        : "CUDNN_STATUS_INTERNAL_ERROR";
}
EXPORT int cudnnCreate(Context **context) {
  const OneAtATime lock;
  if (std::getenv("MPC_FAKE_CUDNN_BROKEN"))
    return notInitialized;
  watchLeaks();
  *context = new Context;
  contexts.insert(*context);
  return success;
}
EXPORT int cudnnDestroy(Context *context) {
  const OneAtATime lock;
  if (!contexts.erase(context))
    return badParameter;
  delete context;
  return success;
}
EXPORT int cudnnSetStream(Context *context, void *stream) {
  const OneAtATime lock;
  if (!contexts.count(context))
    return badParameter;
  context->stream = stream;
  return success;
}

EXPORT int cudnnBackendCreateDescriptor(int kind, void **descriptor) {
  const OneAtATime lock;
  if (!isKind(kind))
    return notSupported;
  watchLeaks();
  auto *handle = new Handle{std::make_shared<Description>(kind)};
  descriptors.insert(handle);
  *descriptor = handle;
  return success;
}
EXPORT int cudnnBackendDestroyDescriptor(void *descriptor) {
  const OneAtATime lock;
  auto *handle = static_cast<Handle *>(descriptor);
  if (!descriptors.erase(handle))
    return badParameter;
  handle->is->isDestroyed = true;
  delete handle;
  return success;
}
EXPORT int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                                    const void *values) {
  const OneAtATime lock;
  Description *d = descriptionOf(descriptor);
  return d ? setValue(*d, name, type, count, values) : nullPointer;
}
EXPORT int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t room,
                                    int64_t *count, void *values) {
  const OneAtATime lock;
  Description *d = descriptionOf(descriptor);
  return d ? getValue(*d, name, type, room, count, values) : nullPointer;
}
EXPORT int cudnnBackendFinalize(void *descriptor) {
  const OneAtATime lock;
  Description *d = descriptionOf(descriptor);
  if (!d)
    return nullPointer;
  // An object that is made for a device has the handle of one.
  for (int name : {400, 800})
    if (d->has(name) && !contexts.count(d->get<Context *>(name)))
      return badParameter;
  return finalize(*d);
}
EXPORT int cudnnBackendExecute(Context *context, void *plan, void *variantPack) {
  const OneAtATime lock;
  Description *chosen = descriptionOf(plan), *pack = descriptionOf(variantPack);
  if (!contexts.count(context) || !chosen || !pack || chosen->kind != fake::dnn::plan ||
      pack->kind != fake::dnn::variantPack)
    return badParameter;
  if (!chosen->isFinalized || !pack->isFinalized)
    return notFinalized;
  if (chosen->get<Context *>(400) != context)
    return badParameter;
  auto bytes = static_cast<size_t>(chosen->choice.workspaceBytes);
  auto *workspace = pack->get<void *>(1003);
  if (bytes && !workspace)
    return nullPointer;
  if (bytes && !isDevice(workspace, bytes))
    end(99, "the workspace of a graph is not in device memory, or too small");
  auto made = std::make_unique<Run>();
  made->plan = static_cast<Handle *>(plan)->is;
  made->workspace = workspace;
  if (int status = bindPlaces(*chosen->subject, *pack, *made, workspace, bytes))
    return status;
  const std::string name =
      nameOf(*chosen->subject) + " engine " + std::to_string(chosen->choice.index);
  static auto enqueue = fake::findInDriver<decltype(&mpc_fake_enqueue)>("mpc_fake_enqueue");
  enqueue(
      context->stream, name.c_str(),
      [](void *data) {
        run(data);
        return 1;
      },
      made.release(), [](void *data) { delete static_cast<Run *>(data); });
  return success;
}
