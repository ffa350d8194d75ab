/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* HDF5 can read files in S3 buckets, which takes libcurl and its twenty libraries; mpcc reads
 * files. Each of these functions does nothing or says that it failed. */
#include <stddef.h>

enum { CURL_FAILED_INIT = 2 };
int curl_global_init(long flags) {
  (void)flags;
  return CURL_FAILED_INIT;
}
void curl_global_cleanup(void) {}
void *curl_easy_init(void) { return NULL; }
void curl_easy_cleanup(void *handle) { (void)handle; }
int curl_easy_setopt(void *handle, int option, ...) {
  (void)handle;
  (void)option;
  return CURL_FAILED_INIT;
}
int curl_easy_perform(void *handle) {
  (void)handle;
  return CURL_FAILED_INIT;
}
void *curl_slist_append(void *list, const char *line) {
  (void)list;
  (void)line;
  return NULL;
}
void curl_slist_free_all(void *list) { (void)list; }
