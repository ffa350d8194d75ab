/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two generated headers in one program. */
#include "net.h"
#include "other.h"

#include <stdio.h>

int main(int argc, char **argv) {
  mpc_rt_model_t *first = NULL, *second = NULL;
  if (argc < 3 || net_model_open(argv[1], &first) || other_model_open(argv[2], &second)) {
    fprintf(stderr, "error: %s\n", mpc_rt_last_error());
    return 1;
  }
  puts("two models");
  mpc_rt_model_release(first);
  mpc_rt_model_release(second);
  return 0;
}
