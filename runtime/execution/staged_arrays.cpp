// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/staged_arrays.h"

namespace mpc::rt {

mpc_rt_status_t StagedArrays::fetch(uint32_t number, void *data, uint64_t bytes, bool isUnread,
                                    void *&copy) {
  if (buckets.size() <= number)
    buckets.resize(size_t(number) + 1);
  Bucket &bucket = buckets[number];
  if (bucket.isSent) { // by a run before this one
    bucket.isSent = false;
    bucket.used = 0;
  }
  if (bucket.arrays.size() == bucket.used)
    bucket.arrays.emplace_back();
  Array &array = bucket.arrays[bucket.used++];
  array.data = data;
  array.bytes = bytes;
  array.copy.resize(bytes);
  copy = array.copy.data();
  return isUnread ? MPC_RT_OK : memory.bring(copy, data, bytes);
}

mpc_rt_status_t StagedArrays::arrive(uint32_t bucket) {
  buckets[bucket].isSent = true;
  return memory.arrive();
}

mpc_rt_status_t StagedArrays::giveBack(uint32_t number) {
  if (buckets.size() <= number)
    return MPC_RT_OK;
  Bucket &bucket = buckets[number];
  for (size_t i = 0; i != bucket.used; ++i)
    if (auto status = memory.give(bucket.arrays[i].data, bucket.arrays[i].copy.data(),
                                  bucket.arrays[i].bytes))
      return status;
  bucket.used = 0;
  return MPC_RT_OK;
}

} // namespace mpc::rt
