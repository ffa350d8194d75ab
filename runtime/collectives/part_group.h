// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over the parts of a batch. Each rank computes the same number of them, each part on a
// thread of its own; who reduces over parts reduces over those of all ranks. With powers of two of
// both a sum is one binary tree over all parts in order, whoever computes which: its bytes do not
// depend on the number of ranks.
#ifndef MPC_RUNTIME_COLLECTIVES_PART_GROUP_H
#define MPC_RUNTIME_COLLECTIVES_PART_GROUP_H

#include "runtime/collectives/communicator.h"
#include "runtime/collectives/part_meeting.h"
#include "runtime/collectives/part_tree.h"

#include <memory>

namespace mpc::rt {

class PartGroup {
public:
  // `parts` of this rank: a power of two.
  PartGroup(Communicator &communicator, unsigned parts);
  PartGroup(const PartGroup &) = delete;
  PartGroup &operator=(const PartGroup &) = delete;

  // That of one part. The first part's thread is the one that waits for other ranks.
  Reducer &reducer(unsigned part) { return *reducers[part]; }
  // Whether the first part alone has results.
  void setOneResult(bool has) { hasOneResult = has; }
  // How many threads work at the same time where parts meet.
  void setWorkers(unsigned most) { meeting.setWorkers(most); }
  // A part will not go on: the others stop waiting, with this failure.
  void stop(mpc_rt_status_t status, const char *problem);
  // After a failure, when no part runs: returns when the communicator has no job any more.
  void settle();
  // When no part runs: forgets what a failure left half done. After a failure of other ranks there
  // is no going on.
  void restart();

private:
  struct Job {
    Reduction reduction;
    std::vector<std::vector<RankArray>> arrays; // by part
    unsigned started = 0, taken = 0;            // by how many parts
    bool isReady = false, isCombined = false, isSent = false, isReduced = false;
    bool isMixed = false;        // parts want different reductions
    bool staysWithFirst = false; // in the arrays of the first part, which alone needs it
    uint64_t sent = 0;           // the communicator's number
    std::vector<char> result;    // of all arrays, one behind the other, for all parts
    std::unique_ptr<PartTree> tree;
    std::vector<char> before; // by part: the sums of the parts before it on this rank
  };
  class Part : public Reducer {
  public:
    Part(PartGroup &group, unsigned index) : group(group), index(index) {}
    uint64_t start(Reduction reduction, std::vector<RankArray> arrays) override {
      return group.start(index, reduction, std::move(arrays));
    }
    mpc_rt_status_t wait(uint64_t number) override { return group.wait(index, number); }
    PartMeeting *meeting() override { return group.hasOneResult ? &group.meeting : nullptr; }
    unsigned part() const override { return index; }

    PartGroup &group;
    const unsigned index;
    uint64_t started = 0, taken = 0;
  };

  uint64_t start(unsigned part, Reduction reduction, std::vector<RankArray> arrays);
  mpc_rt_status_t wait(unsigned part, uint64_t number);
  Job &jobOf(uint64_t number) { return *jobs[number - 1 - forgotten]; }
  std::vector<char> takeSpare(size_t bytes);
  mpc_rt_status_t plantTree(Job &job);
  void combineParts(Job &job);
  void waitForParts(std::unique_lock<std::mutex> &lock, Job &job);
  void recordRounding(const Job &job);
  void sumPartsBefore(Job &job);
  void sendCombined();
  mpc_rt_status_t waitForRanks(std::unique_lock<std::mutex> &lock, Job &job);
  void take(const Part &part, const Job &job);
  void forgetTaken();
  mpc_rt_status_t report();

  Communicator &communicator;
  const unsigned parts;
  bool hasOneResult = false;
  PartMeeting meeting;
  std::vector<std::unique_ptr<Part>> reducers;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::unique_ptr<Job>> jobs; // those that not every part has taken
  uint64_t forgotten = 0, sent = 0;      // how many jobs came before these; how many are sent
  std::vector<std::vector<char>> spare;  // memory of results
  mpc_rt_status_t failure = MPC_RT_OK;
  std::string problem;
};

} // namespace mpc::rt

#endif
