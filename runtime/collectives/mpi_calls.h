// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of MPI that the runtime needs, of whichever MPI is on the machine. It is opened
// at run time, so that mpc is built and used without one. Implementations differ in what a handle
// is: Open MPI's are addresses of objects that its library exports, MPICH's are ints, those of the
// standard ABI (MPI 5.0, chapter 20) are pointers with fixed values.
#ifndef MPC_RUNTIME_COLLECTIVES_MPI_CALLS_H
#define MPC_RUNTIME_COLLECTIVES_MPI_CALLS_H

#include <cstddef>
#include <memory>
#include <string>

namespace mpc::rt {

// A message under way.
struct MpiRequest {
  void *handle = nullptr;
};

struct MpiCommunicator {
  void *handle = nullptr;
};

class MpiCalls {
public:
  // How far an MPI that was initialized before may be called by threads.
  enum class Threads { Single, Funneled, Serialized, Multiple };

  // The MPI of the launcher that started this process, or the one that MPC_MPI_LIBRARY names. Null,
  // and `problem` says what to do, where there is none.
  static std::unique_ptr<MpiCalls> open(std::string &problem);
  virtual ~MpiCalls() = default;

  virtual const char *name() const = 0;
  // As many bytes go over TCP at once, without waiting for an answer that there is room.
  virtual size_t eagerBytes() const = 0;
  virtual bool isInitialized() = 0;
  virtual bool isFinalized() = 0;
  virtual bool initialize(Threads wanted, Threads &provided) = 0;
  virtual Threads threads() = 0;
  virtual bool isMainThread() = 0;
  // A communicator of the runtime's own, like the one whose MPI_Comm is at `of` (null: like
  // MPI_COMM_WORLD); its errors come back as codes.
  virtual bool duplicate(const void *of, MpiCommunicator &made) = 0;
  virtual unsigned rank(MpiCommunicator communicator) = 0;
  virtual unsigned size(MpiCommunicator communicator) = 0;
  // At most INT_MAX bytes. Messages of one tag come in their order.
  virtual bool send(MpiCommunicator communicator, const void *data, size_t bytes, unsigned peer,
                    int tag, MpiRequest &request) = 0;
  virtual bool receive(MpiCommunicator communicator, void *data, size_t bytes, unsigned peer,
                       int tag, MpiRequest &request) = 0;
  virtual bool test(MpiRequest &request, bool &done) = 0;
  // Whether it has begun, and no test() has said that it is over.
  virtual bool isUnderWay(const MpiRequest &request) = 0;
  // For what is received, if it is under way: it comes nowhere, unless it is there already. The
  // next tests say when it is over.
  virtual void cancel(MpiRequest &request) = 0;
  virtual void endJob(int code) = 0;
  virtual void finalize() = 0;
};

} // namespace mpc::rt

#endif
