// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/part_threads.h"

#include "runtime/base/status.h"

#include <string>
#include <system_error>

namespace mpc::rt {

PartThreads::PartThreads(unsigned parts) {
  try {
    for (unsigned part = 1; part < parts; ++part)
      threads.emplace_back([this, part] { work(part); });
  } catch (const std::system_error &error) {
    end();
    throw Exhausted("the parts of a batch want " + std::to_string(parts) +
                    " threads: " + error.what());
  }
}

PartThreads::~PartThreads() { end(); }

void PartThreads::end() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void PartThreads::run(const std::function<void(unsigned)> &given) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    body = &given;
    busy = static_cast<unsigned>(threads.size());
    ++begun;
  }
  changed.notify_all();
  given(0);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return busy == 0; });
}

void PartThreads::work(unsigned part) {
  std::unique_lock<std::mutex> lock(mutex);
  for (uint64_t seen = 0;;) {
    changed.wait(lock, [&] { return closing || begun != seen; });
    if (closing)
      return;
    seen = begun;
    const auto &given = *body;
    lock.unlock();
    given(part);
    lock.lock();
    if (--busy == 0)
      changed.notify_all();
  }
}

} // namespace mpc::rt
