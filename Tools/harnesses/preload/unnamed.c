// Refuses files without a name (O_TMPFILE), as some file systems do, for Tools/harnesses/kill-points; loaded before the
// C library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>

#define OPENING(name, path, flags, ...)                                                                                \
  mode_t mode = 0;                                                                                                     \
  va_list rest;                                                                                                        \
  va_start(rest, flags);                                                                                               \
  if (flags & (O_CREAT | __O_TMPFILE)) mode = va_arg(rest, mode_t);                                                    \
  va_end(rest);                                                                                                        \
  if ((flags & O_TMPFILE) == O_TMPFILE) {                                                                              \
    errno = EOPNOTSUPP;                                                                                                \
    return -1;                                                                                                         \
  }                                                                                                                    \
  __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                 \
  if (!next) abort();                                                                                                  \
  return next(__VA_ARGS__, mode);

int open(const char *path, int flags, ...) { OPENING(open, path, flags, path, flags) }
int open64(const char *path, int flags, ...) { OPENING(open64, path, flags, path, flags) }
int openat(int at, const char *path, int flags, ...) { OPENING(openat, path, flags, at, path, flags) }
int openat64(int at, const char *path, int flags, ...) { OPENING(openat64, path, flags, at, path, flags) }
