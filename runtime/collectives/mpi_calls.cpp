// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/mpi_calls.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <string_view>

namespace mpc::rt {
namespace {

// The constants of an implementation that are used here.
template <typename Handle> struct MpiConstants {
  const char *name;
  size_t eagerBytes;
  Handle world, byte, errorsReturn, noRequest;
  void *ignoredStatus;
  int threads[4]; // MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE
};

// The functions with handles of this type.
template <typename Handle> class MpiLibrary : public MpiCalls {
public:
  MpiLibrary(void *library, const MpiConstants<Handle> &constants) : constants(constants) {
    bool all = true;
    auto find = [&](auto &function, const char *symbol) {
      void *address = dlsym(library, symbol);
      all = all && address;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    find(mpiInitialized, "MPI_Initialized");
    find(mpiFinalized, "MPI_Finalized");
    find(mpiInitThread, "MPI_Init_thread");
    find(mpiQueryThread, "MPI_Query_thread");
    find(mpiIsThreadMain, "MPI_Is_thread_main");
    find(mpiCommDup, "MPI_Comm_dup");
    find(mpiCommSetErrhandler, "MPI_Comm_set_errhandler");
    find(mpiCommRank, "MPI_Comm_rank");
    find(mpiCommSize, "MPI_Comm_size");
    find(mpiIsend, "MPI_Isend");
    find(mpiIrecv, "MPI_Irecv");
    find(mpiTest, "MPI_Test");
    find(mpiCancel, "MPI_Cancel");
    find(mpiAbort, "MPI_Abort");
    find(mpiFinalize, "MPI_Finalize");
    complete = all;
  }

  bool isComplete() const { return complete; }
  const char *name() const override { return constants.name; }
  size_t eagerBytes() const override { return constants.eagerBytes; }
  bool isInitialized() override { return flagOf(mpiInitialized); }
  bool isFinalized() override { return flagOf(mpiFinalized); }
  bool initialize(Threads wanted, Threads &provided) override {
    int got = 0;
    if (mpiInitThread(nullptr, nullptr, constants.threads[int(wanted)], &got) != 0)
      return false;
    provided = levelOf(got);
    return true;
  }
  Threads threads() override {
    int got = 0;
    (void)mpiQueryThread(&got);
    return levelOf(got);
  }
  bool isMainThread() override { return flagOf(mpiIsThreadMain); }
  bool duplicate(const void *of, MpiCommunicator &made) override {
    Handle own = {};
    const Handle given = of ? *static_cast<const Handle *>(of) : constants.world;
    const bool done =
        mpiCommDup(given, &own) == 0 && mpiCommSetErrhandler(own, constants.errorsReturn) == 0;
    made.handle = toPointer(own);
    return done;
  }
  unsigned rank(MpiCommunicator of) override { return numberOf(of, mpiCommRank); }
  unsigned size(MpiCommunicator of) override { return numberOf(of, mpiCommSize); }
  bool send(MpiCommunicator by, const void *data, size_t bytes, unsigned peer, int tag,
            MpiRequest &request) override {
    Handle handle = {};
    bool sent = mpiIsend(data, int(bytes), constants.byte, int(peer), tag, fromPointer(by.handle),
                         &handle) == 0;
    request.handle = toPointer(handle);
    return sent;
  }
  bool receive(MpiCommunicator by, void *data, size_t bytes, unsigned peer, int tag,
               MpiRequest &request) override {
    Handle handle = {};
    bool received = mpiIrecv(data, int(bytes), constants.byte, int(peer), tag,
                             fromPointer(by.handle), &handle) == 0;
    request.handle = toPointer(handle);
    return received;
  }
  bool test(MpiRequest &request, bool &done) override {
    Handle handle = fromPointer(request.handle);
    int flag = 0;
    bool worked = mpiTest(&handle, &flag, constants.ignoredStatus) == 0;
    request.handle = toPointer(handle);
    done = flag != 0;
    return worked;
  }
  bool isUnderWay(const MpiRequest &request) override {
    const Handle handle = fromPointer(request.handle);
    return handle != Handle() && handle != constants.noRequest;
  }
  void cancel(MpiRequest &request) override {
    Handle handle = fromPointer(request.handle);
    if (isUnderWay(request))
      (void)mpiCancel(&handle);
  }
  void endJob(int code) override { (void)mpiAbort(constants.world, code); }
  void finalize() override { (void)mpiFinalize(); }

private:
  static bool flagOf(int (*function)(int *)) {
    int flag = 0;
    return function(&flag) == 0 && flag != 0;
  }
  static unsigned numberOf(MpiCommunicator of, int (*function)(Handle, int *)) {
    int number = 0;
    (void)function(fromPointer(of.handle), &number);
    return unsigned(number);
  }
  Threads levelOf(int level) const {
    int known = 0;
    for (int i = 0; i != 4; ++i)
      if (constants.threads[i] <= level)
        known = i;
    return Threads(known);
  }
  // A handle is an int or a pointer.
  static void *toPointer(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
      return handle;
    else
      return reinterpret_cast<void *>(intptr_t(handle));
  }
  static Handle fromPointer(void *pointer) {
    if constexpr (std::is_pointer_v<Handle>)
      return pointer;
    else
      return Handle(reinterpret_cast<intptr_t>(pointer));
  }

  const MpiConstants<Handle> constants;
  bool complete = false;
  int (*mpiInitialized)(int *) = nullptr;
  int (*mpiFinalized)(int *) = nullptr;
  int (*mpiInitThread)(int *, char ***, int, int *) = nullptr;
  int (*mpiQueryThread)(int *) = nullptr;
  int (*mpiIsThreadMain)(int *) = nullptr;
  int (*mpiCommDup)(Handle, Handle *) = nullptr;
  int (*mpiCommSetErrhandler)(Handle, Handle) = nullptr;
  int (*mpiCommRank)(Handle, int *) = nullptr;
  int (*mpiCommSize)(Handle, int *) = nullptr;
  int (*mpiIsend)(const void *, int, Handle, int, int, Handle, Handle *) = nullptr;
  int (*mpiIrecv)(void *, int, Handle, int, int, Handle, Handle *) = nullptr;
  int (*mpiTest)(Handle *, int *, void *) = nullptr;
  int (*mpiCancel)(Handle *) = nullptr;
  int (*mpiAbort)(Handle, int) = nullptr;
  int (*mpiFinalize)() = nullptr;
};

template <typename Handle>
std::unique_ptr<MpiCalls> complete(void *library, const MpiConstants<Handle> &constants) {
  auto calls = std::make_unique<MpiLibrary<Handle>>(library, constants);
  if (!calls->isComplete())
    return nullptr;
  return calls;
}

void *constantPointer(uintptr_t value) { return reinterpret_cast<void *>(value); }

// MPICH exports the same functions by its own ABI and by the standard's. The file's name tells them
// apart, which the standard fixes: libmpi_abi.
bool hasStandardAbi(void *library) {
  link_map *map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name)
    return false;
  const std::string_view path = map->l_name;
  return path.substr(path.rfind('/') + 1).substr(0, 10) == "libmpi_abi";
}

// Which implementation `library` is, told by what it exports. The numbers are those of its header,
// which each of them keeps for programs that were linked before.
std::unique_ptr<MpiCalls> identify(void *library) {
  if (void *world = dlsym(library, "ompi_mpi_comm_world"))
    return complete<void *>(library, {"Open MPI",
                                      60 << 10,
                                      world,
                                      dlsym(library, "ompi_mpi_byte"),
                                      dlsym(library, "ompi_mpi_errors_return"),
                                      dlsym(library, "ompi_request_null"),
                                      nullptr,
                                      {0, 1, 2, 3}});
  if (hasStandardAbi(library))
    return complete<void *>(library, {"MPI ABI",
                                      16 << 10,
                                      constantPointer(0x101),
                                      constantPointer(0x247),
                                      constantPointer(0x143),
                                      constantPointer(0x180),
                                      nullptr,
                                      {0, 1024, 2048, 4096}});
  return complete<int>(library, {"MPICH",
                                 16 << 10,
                                 0x44000000,
                                 0x4c00010d,
                                 0x54000001,
                                 0x2c000000,
                                 constantPointer(1),
                                 {0, 1, 2, 3}});
}

void *openFirst(std::initializer_list<const char *> files, int flags) {
  for (const char *file : files)
    if (void *library = dlopen(file, flags))
      return library;
  return nullptr;
}

} // namespace

std::unique_ptr<MpiCalls> MpiCalls::open(std::string &problem) {
  // Open MPI's own plugins look for its symbols in the global scope.
  const int flags = RTLD_NOW | RTLD_GLOBAL;
  void *library = nullptr;
  const char *wanted = std::getenv("MPC_MPI_LIBRARY");
  if (wanted && *wanted) {
    library = dlopen(wanted, flags);
    if (!library) {
      const char *why = dlerror();
      problem = std::string("MPC_MPI_LIBRARY: ") + (why ? why : wanted) +
                "; name the libmpi.so of the mpirun that starts the job";
      return nullptr;
    }
  }
  // One that the program uses already (mpi4py, or its own).
  if (!library)
    library = openFirst(
        {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"},
        flags | RTLD_NOLOAD);
  const bool startedByOpenMpi = std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK");
  if (!library && startedByOpenMpi)
    library = openFirst({"libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0"}, flags);
  if (!library)
    library = openFirst(
        {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"},
        flags);
  if (!library) {
    problem = "no MPI library is found; install Open MPI or MPICH, or name the library in "
              "MPC_MPI_LIBRARY";
    return nullptr;
  }
  std::unique_ptr<MpiCalls> calls = identify(library);
  if (!calls)
    problem = "the MPI library lacks functions of MPI 2; install Open MPI 4 or newer, or MPICH 4 "
              "or newer";
  return calls;
}

} // namespace mpc::rt
