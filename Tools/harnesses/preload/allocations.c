// Makes allocations of one library fail, for Tools/harnesses/out-of-memory; loaded before the C library.
//
// COFFER_FAIL_IN is a part of the library's file name. COFFER_FAIL_AT is the number of the allocation that fails, from
// 1; with COFFER_FAIL_LASTS all later ones fail too. At exit the process writes the number of the library's allocations
// to the file COFFER_FAIL_COUNT.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t count);
void *__libc_calloc(size_t number, size_t count);
void *__libc_realloc(void *memory, size_t count);

static const char *library;
static uintptr_t first, last;
static unsigned long fail_at;
static int lasts;
static atomic_ulong calls;

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  if (!strstr(info->dlpi_name, library)) return 0;
  first = info->dlpi_addr;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    uintptr_t end = first + info->dlpi_phdr[index].p_vaddr + info->dlpi_phdr[index].p_memsz;
    if (info->dlpi_phdr[index].p_type == PT_LOAD && end > last) last = end;
  }
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  library = getenv("COFFER_FAIL_IN");
  const char *number = getenv("COFFER_FAIL_AT");
  fail_at = number ? strtoul(number, NULL, 10) : 0;
  lasts = getenv("COFFER_FAIL_LASTS") != NULL;
  if (library) dl_iterate_phdr(find, NULL);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("COFFER_FAIL_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%lu\n", atomic_load(&calls));
  fclose(file);
}

// Whether the library makes this allocation, and it has to fail.
static int fails(void *caller) {
  if ((uintptr_t)caller < first || (uintptr_t)caller >= last) return 0;
  unsigned long number = atomic_fetch_add(&calls, 1) + 1;
  if (!fail_at || (lasts ? number < fail_at : number != fail_at)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t count) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(count);
}

void *calloc(size_t number, size_t count) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, count);
}

void *realloc(void *memory, size_t count) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, count);
}
