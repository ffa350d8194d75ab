# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare_apart.py MPCC MPC_OPT MPC_RUN MODEL POLICY DATA FOLDER: a model whose kernels run on parts of products beside
the same one whose kernels run after them."""

import pathlib
import subprocess
import sys

mpcc, mpc_opt, mpc_run, model, policy, data = sys.argv[1:7]
folder = pathlib.Path(sys.argv[7])
folder.mkdir()


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


run(mpcc, model, "--initialize=1", f"--policy={policy}", "--compile-to=buffers", "--name=net", "-o", folder)
apart = run(mpc_opt, folder / "net.mlir", "--convert-linalg-to-mpcrt", "--canonicalize", "--cse")
(folder / "apart").mkdir()
(folder / "apart" / "net.mlir").write_text(apart.replace('mpc.phase = "buffers"', 'mpc.phase = "kernels"'), encoding="utf-8")
joined = run(mpcc, folder / "net.mlir", "--compile-from=buffers", "--compile-to=kernels")
assert "mpcrt.interleave" not in apart and " replaced {" in joined

results = []
for source, phase in ((folder / "net.mlir", "buffers"), (folder / "apart" / "net.mlir", "kernels")):
    library = source.parent / "library"
    run(mpcc, source, f"--compile-from={phase}", "--march=native", "--name=net", "-o", library)
    files = [source.parent / name for name in ("many.npz", "few.npz", "trained.safetensors")]
    run(mpc_run, "predict", library, "--inputs", data, "--outputs", files[0], "--batch-size", 200)
    run(mpc_run, "predict", library, "--inputs", data, "--outputs", files[1], "--batch-size", 3)
    run(mpc_run, "train", library, "--data", data, "--batch-size", 50, "--epochs", 1, "--threads", 2, "--save", files[2])
    results.append([path.read_bytes() for path in files])
assert results[0] == results[1], f"{policy}: kernels on parts of products give other bytes than kernels after them"
print("predictions of 200 and 3 rows and weights after 4 steps are the same bytes")
