// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source, images and their tables.
#include "lib/Codegen/CUDA/CudaProgram.h"
#include "mpc-rt/cuda.h"
#include "mpc/Support/InternalError.h"
#include "mpc/Support/Sha256.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/Compression.h"

using namespace mpc;
using llvm::Constant;
using llvm::StringRef;

llvm::Expected<CudaProgram> mpc::buildCudaProgram(mlir::ModuleOp module, const CudaTarget &target) {
  if (!target.sourceOnly)
    if (llvm::Error error = checkNvrtc())
      return error;
  auto source = printCudaKernels(module, target.fp32Precision);
  if (failed(source))
    return internalError("a kernel has no CUDA form");
  CudaProgram program;
  program.kernels = std::move(source->kernels);
  program.groups = std::move(source->groups);
  program.text = std::move(source->text);
  program.hash = Sha256::of(program.text);
  program.keepText = target.keepSource;
  program.fp32Precision = target.fp32Precision;
  if (target.sourceOnly) {
    // No driver takes it: a GPU says so when the model is loaded.
    program.images.push_back({target.ptx(), /*isPtx=*/true, "// --target=cuda:source"});
    return program;
  }
  for (unsigned architecture : target.architectures) {
    program.images.push_back({architecture, /*isPtx=*/false, ""});
    if (architecture == target.ptx())
      program.images.push_back({architecture, /*isPtx=*/true, ""});
  }
  return program;
}

CudaCompilation::CudaCompilation(CudaProgram &program, const CudaTarget &target, std::string name)
    : program(program), name(std::move(name)) {
  if (target.sourceOnly)
    return;
  // NVRTC may be called from several threads.
  for (size_t i = 0; i < target.architectures.size(); ++i)
    failures.push_back(llvm::Error::success());
  for (auto [failure, architecture] : llvm::zip_equal(failures, target.architectures))
    pool.async([this, &failure = failure, architecture = architecture] {
      llvm::SmallVector<CudaImage *> wanted;
      for (CudaImage &image : this->program.images)
        if (image.architecture == architecture)
          wanted.push_back(&image);
      auto made = compileCuda(this->program.text, this->name, architecture, wanted.size() > 1);
      if (!made) {
        failure = made.takeError();
        return;
      }
      for (auto [image, bytes] : llvm::zip_equal(wanted, *made))
        *image = std::move(bytes);
    });
}

llvm::Error CudaCompilation::finish() {
  pool.wait();
  // A fault that stops one compilation mostly stops the others too: the first one tells it.
  llvm::Error first = llvm::Error::success();
  for (llvm::Error &failure : failures)
    if (first)
      llvm::consumeError(std::move(failure));
    else
      first = std::move(failure);
  failures.clear();
  return first;
}

namespace {
/// Constants laid out as the C structs are.
class CudaTables {
public:
  explicit CudaTables(llvm::Module &module) : module(module), context(module.getContext()) {}

  Constant *i32(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  Constant *null() { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context)); }
  Constant *structure(llvm::ArrayRef<Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  llvm::GlobalVariable *global(Constant *value, StringRef name) {
    auto *variable =
        new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::PrivateLinkage, value, "mpc.cuda." + name);
    variable->setAlignment(llvm::Align(16));
    return variable;
  }
  Constant *bytes(StringRef value, StringRef name, bool terminated) {
    return global(llvm::ConstantDataArray::getString(context, value, terminated), name);
  }
  Constant *array(llvm::ArrayRef<Constant *> elements, StringRef name) {
    if (elements.empty())
      return null();
    auto *type = llvm::ArrayType::get(elements[0]->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements), name);
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
};
} // namespace

void mpc::addCudaTables(llvm::Module &module, const CudaProgram &program) {
  CudaTables b(module);
  std::vector<Constant *> images, kernels, groups;
  for (const CudaImage &image : program.images)
    images.push_back(b.structure({b.i32(image.architecture), b.i32(image.isPtx),
                                  b.bytes(image.bytes, "image", /*terminated=*/true),
                                  b.i64(image.bytes.size())}));
  for (const CudaKernel &kernel : program.kernels)
    kernels.push_back(b.structure(
        {b.bytes(kernel.name, "name", true), b.bytes(kernel.arguments, "arguments", true),
         b.i32(kCudaBlockThreads), b.i32(kernel.isStage), b.i32(kernel.lanes)}));
  for (const CudaGroup &group : program.groups) {
    std::vector<Constant *> members, waits;
    for (unsigned kernel : group.kernels)
      members.push_back(b.i32(kernel));
    for (bool isWaiting : group.waits)
      waits.push_back(b.i32(isWaiting));
    groups.push_back(
        b.structure({b.bytes(group.name, "name", true), b.array(members, "members"),
                     b.array(waits, "waits"), b.i32(members.size()), b.i32(kCudaBlockThreads)}));
  }
  llvm::SmallVector<uint8_t> compressed;
  if (program.keepText)
    llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(program.text), compressed);
  Constant *source =
      program.keepText ? b.bytes(llvm::toStringRef(compressed), "source", false) : b.null();
  llvm::GlobalVariable *tables =
      b.global(b.structure({b.i32(sizeof(mpc_rt_cuda_program_t)), b.i32(MPC_RT_CUDA_VERSION),
                            b.i32(images.size()), b.i32(kernels.size()), b.array(images, "images"),
                            b.array(kernels, "kernels"), source, b.i64(compressed.size()),
                            b.i64(program.text.size()), b.bytes(program.hash, "hash", true),
                            b.i32(unsigned(program.fp32Precision)), b.i32(groups.size()),
                            b.array(groups, "groups")}),
               "program");
  llvm::IRBuilder<> builder(module.getContext());
  auto *query =
      llvm::Function::Create(llvm::FunctionType::get(builder.getPtrTy(), false),
                             llvm::GlobalValue::ExternalLinkage, MPC_RT_CUDA_QUERY_SYMBOL, module);
  query->setVisibility(llvm::GlobalValue::DefaultVisibility);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", query));
  builder.CreateRet(tables);
}
