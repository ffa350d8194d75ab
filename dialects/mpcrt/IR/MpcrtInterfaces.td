// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interfaces of mpcrt ops.

#ifndef MPCRT_INTERFACES
#define MPCRT_INTERFACES

include "mlir/IR/OpBase.td"

def Mpcrt_BufferizedCallInterface : OpInterface<"BufferizedCallOpInterface"> {
  let cppNamespace = "::mpc::mpcrt";
  let description = [{
    A destination-style op that computes dense arrays from dense arrays: on tensors it has a result
    per init, on memrefs none and the memory effects that follow from being in destination style.
    Its verifier holds these rules; ops add what they know of shapes.
  }];
  let methods = [
    InterfaceMethod<"Whether what the init holds is read: a result is added to it.",
                    "bool", "readsInit", (ins "::mlir::OpOperand &":$init), "", "return false;">
  ];
  let extraSharedClassDeclaration = [{
    /// Whether the op is on buffers.
    bool isBufferized() {
      return ::llvm::isa<::mlir::MemRefType>(
          ::llvm::cast<::mlir::DestinationStyleOpInterface>($_op.getOperation())
              .getDpsInitOperand(0)->get().getType());
    }
  }];
  let verify = "return ::mpc::mpcrt::detail::verifyBufferizedCall($_op);";
}

def Mpcrt_FallibleInterface : OpInterface<"FallibleOpInterface"> {
  let cppNamespace = "::mpc::mpcrt";
  let description = [{
    An op of host functions whose run may fail: the function returns its status at once, before the
    next step.
  }];
}

def Mpcrt_HostCallInterface : OpInterface<"HostCallOpInterface"> {
  let cppNamespace = "::mpc::mpcrt";
  let description = [{
    An op of host functions that becomes a call of the runtime.
  }];
  let methods = [
    InterfaceMethod<"Whether addresses and numbers are all that the call takes, and it gives none: "
                    "such calls, one behind the other, are a table.",
                    "bool", "isTableStep", (ins), "", "return $_op->getNumResults() == 0;">
  ];
}

def Mpcrt_ServiceCallInterface
    : OpInterface<"ServiceCallOpInterface",
                  [Mpcrt_BufferizedCallInterface, Mpcrt_FallibleInterface, Mpcrt_HostCallInterface]> {
  let cppNamespace = "::mpc::mpcrt";
  let description = [{
    A call of a service of the runtime. Such a call stands in host functions only.
  }];
}

def Mpcrt_LibraryCallInterface
    : OpInterface<"LibraryCallOpInterface", [Mpcrt_ServiceCallInterface]> {
  let cppNamespace = "::mpc::mpcrt";
  let description = [{
    A service that takes two factors and may keep a packed copy of the right one when this is a
    variable.
  }];
  let methods = [
    InterfaceMethod<"Left operand.", "::mlir::Value", "getLhs">,
    InterfaceMethod<"Right operand.", "::mlir::Value", "getRhs">,
    InterfaceMethod<"Vector added along the last dimension, or null.", "::mlir::Value", "getBias">,
    InterfaceMethod<"Where the result goes.", "::mlir::Value", "getOut">,
    InterfaceMethod<"The layer path, for messages.", "::llvm::StringRef", "getLayer">,
    InterfaceMethod<"Whether a kernel may run on parts of the result while others are computed (mpcrt.interleave).",
                    "bool", "takesKernel">,
    InterfaceMethod<"Whether these parts are whole rows of the last dimension, so that the kernel reads other arrays as they "
                    "lie in memory.", "bool", "hasPartsOfWholeRows", (ins), "", "return false;">
  ];
}

#endif // MPCRT_INTERFACES
